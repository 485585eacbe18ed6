"""Names accelerators, and reads what recordings tell of the devices themselves."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tfprof_widget.ingest.xspace.space import DEVICES, STREAM, XLA_COPIES, XLA_OPS, ReadSpace, read_stats
from tfprof_widget.lib.arrays import LARGEST_INTEGER
from tfprof_widget.profiles.devices import Accelerator

if TYPE_CHECKING:
    from tfprof_widget.lib.messages import XPlane, XSpace

ACCELERATOR = "/job:localhost/replica:0/task:0/device:{}"
STREAMS = "/device:{}/stream:all"

_DEVICE = re.compile(r"/device:(?P<kind>GPU|TPU|CUSTOM):(?P<number>\w+)", re.IGNORECASE | re.ASCII)


def unread_devices(space: ReadSpace) -> Iterator[str]:
    """A note that names the devices of which nothing that they recorded is read, if there are such.

    >>> from tfprof_widget.ingest.xspace.space import read_space
    >>> from tfprof_widget.lib.messages import XSpace
    >>> space = XSpace(planes=[{"name": "/device:DSP:0", "lines": [{"name": "Jobs", "events": [{"duration_ps": 1}]}]}])
    >>> list(unread_devices(read_space(space)))
    ['/device:DSP:0: its events are not read, for none of its lines is one of streams or of ops of XLA']
    """
    names = [
        plane.name
        for plane in space.planes
        if plane.name.startswith(DEVICES)
        and any(plane.counts)
        and not (accelerator_of(plane.message) and any(map(_is_read, plane.lines)))
    ]
    if names:
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        yield f"{names[0]}{more}: its events are not read, for none of its lines is one of streams or of ops of XLA"


def _is_read(line: str) -> bool:
    return line.startswith(STREAM) or line in (XLA_OPS, XLA_COPIES)


def accelerator_of(plane: XPlane) -> str:
    """The accelerator that a plane is of; empty if it is of none.

    >>> from tfprof_widget.lib.messages import XPlane
    >>> accelerator_of(XPlane(name="/device:GPU:0")), accelerator_of(XPlane(name="/host:CPU"))
    ('gpu:0', '')
    """
    found = _DEVICE.search(plane.name)
    return f"{found['kind']}:{found['number']}".lower() if found is not None else ""


# What planes tell, by the names of TensorFlow's xplane_schema.cc: the field of `Accelerator`, and its units.
_FACTS = {
    "clock_rate": ("clock_hertz", 1e3),
    "core_count": ("cores", 1),
    "memory_size": ("memory_bytes", 1),
    "memory_bandwidth": ("bytes_per_second", 1),
    "peak_hbm_bw_gigabytes_per_second": ("bytes_per_second", 1e9),
    "peak_teraflops_per_second": ("float_ops_per_second", 1e12),
}


def read_accelerators(space: XSpace) -> tuple[Accelerator, ...]:
    """The accelerators in the recording that tell anything of themselves.

    >>> from tfprof_widget.lib.messages import XSpace
    >>> space = XSpace(planes=[{"name": "/device:GPU:0", "stats": [{"metadata_id": 1, "uint64_value": 1_530_000}]}])
    >>> space.planes[0].stat_metadata[1].name = "clock_rate"
    >>> [(each.name.rpartition("/")[2], each.clock_hertz) for each in read_accelerators(space)]
    [('device:gpu:0', 1530000000)]
    """
    found = []
    for plane in space.planes:
        stats = read_stats(plane, plane.stats) if accelerator_of(plane) else {}
        known: dict[str, Any] = {}
        for name, (fact, unit) in _FACTS.items():
            value = stats.get(name)
            if isinstance(value, int | float) and 0 < value * unit <= LARGEST_INTEGER:
                known[fact] = round(value * unit)
        model = str(stats.get("device_type_string", stats.get("device_vendor", "")))
        if model:
            known["model"] = model
        if isinstance(stats.get("compute_cap_major"), int):
            known["compute_capability"] = f"{stats['compute_cap_major']}.{stats.get('compute_cap_minor', 0)}"
        if known.keys() - {"model"}:  # of an accelerator that did nothing, some planes tell the vendor
            found.append(Accelerator(ACCELERATOR.format(accelerator_of(plane)), **known))
    return tuple(found)
