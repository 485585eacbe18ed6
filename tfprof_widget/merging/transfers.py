"""The transfers of several profiles as one table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tfprof_widget.ingest.transfers import nodes_of
from tfprof_widget.merging.dictionaries import recoded, united
from tfprof_widget.profiles import Profile
from tfprof_widget.tables import Indices, Transfers


def merged_transfers(profiles: Sequence[Profile], names: tuple[str, ...], steps: Sequence[Indices]) -> Transfers:
    """All transfers by step, device and time; `names` are those of all nodes, `steps` what each profile's steps become.

    >>> from tfprof_widget.demo import demo_profile
    >>> len(merged_transfers([demo_profile()], (), [np.zeros(1, np.int32)]))
    0
    """
    tables = [profile.transfers for profile in profiles]
    devices, device_codes = united([table.devices for table in tables])
    tensors, tensor_codes = united([table.tensors for table in tables])
    kinds, kind_codes = united([table.kinds for table in tables])
    columns: dict[str, list[NDArray[np.integer]]] = {
        "step": [code[table.step] for table, code in zip(tables, steps, strict=True)],
        "kind": [code[table.kind] for table, code in zip(tables, kind_codes, strict=True)],
        "source": [recoded(table.source, code) for table, code in zip(tables, device_codes, strict=True)],
        "target": [recoded(table.target, code) for table, code in zip(tables, device_codes, strict=True)],
        "tensor": [recoded(table.tensor, code) for table, code in zip(tables, tensor_codes, strict=True)],
        "start_nanos": [table.start_nanos for table in tables],
        "duration_nanos": [table.duration_nanos for table in tables],
        "bytes": [table.bytes for table in tables],
    }
    joined: dict[str, NDArray[Any]] = {name: np.concatenate(parts) for name, parts in columns.items()}
    joined["node"] = recoded(joined["tensor"], nodes_of(tensors, names))
    keys = ("bytes", "kind", "duration_nanos", "tensor", "source", "start_nanos", "target", "step")
    order = np.lexsort([joined[name] for name in keys])
    return Transfers(devices, tensors, kinds, **{name: column[order] for name, column in joined.items()})
