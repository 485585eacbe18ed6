"""Builds tfprof's options by chained calls, as native's ProfileOptionBuilder does, and offers its ready-made ones."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Self

from tfprof_widget.lib.errors import ProfileWarning, value_error
from tfprof_widget.profiles.options import EVERYTHING, OPTIONS, TRAINABLE_VARIABLES, near_options

NOT_NATIVE = ("device_regexes", "run_name_regexes", "worker_regexes", "across_workers", "timing")


def default_options() -> dict[str, Any]:
    """The options that a builder starts with.

    >>> default_options()["max_depth"], default_options()["select"]
    (100, ['micros'])
    """
    return {
        option.name: list(option.default) if isinstance(option.default, tuple) else option.default
        for option in OPTIONS
        if option.name not in NOT_NATIVE
    }


class ProfileOptionBuilder:
    """Chain calls to set options; `build` gives the dict that `profile` and `Profiler` take.

    >>> options = ProfileOptionBuilder().with_max_depth(3).select(["bytes"]).with_empty_output().build()
    >>> options["max_depth"], options["select"], options["output"]
    (3, ['bytes'], 'none')
    """

    def __init__(self, options: Mapping[str, Any] | None = None) -> None:
        self._options = default_options() if options is None else copy.deepcopy(dict(options))

    @staticmethod
    def trainable_variables_parameter() -> dict[str, Any]:
        """Options to count the parameters of trainable variables."""
        return default_options() | {
            "max_depth": 10000,
            "account_type_regexes": [TRAINABLE_VARIABLES],
            "account_displayed_op_only": True,
            "select": ["params"],
        }

    @staticmethod
    def float_operation() -> dict[str, Any]:
        """Options to count float operations."""
        return default_options() | {
            "max_depth": 10000,
            "min_float_ops": 1,
            "order_by": "float_ops",
            "account_displayed_op_only": True,
            "select": ["float_ops"],
        }

    @staticmethod
    def time_and_memory(
        min_micros: int = 1,
        min_bytes: int = 1,
        min_accelerator_micros: int = 0,
        min_cpu_micros: int = 0,
        min_peak_bytes: int = 0,
        min_residual_bytes: int = 0,
        min_output_bytes: int = 0,
    ) -> dict[str, Any]:
        """Options to show execution times and memory."""
        return default_options() | {
            "max_depth": 10000,
            "min_bytes": min_bytes,
            "min_peak_bytes": min_peak_bytes,
            "min_residual_bytes": min_residual_bytes,
            "min_output_bytes": min_output_bytes,
            "min_micros": min_micros,
            "min_accelerator_micros": min_accelerator_micros,
            "min_cpu_micros": min_cpu_micros,
            "order_by": "micros",
            "account_displayed_op_only": True,
            "select": ["micros", "bytes"],
        }

    def build(self) -> dict[str, Any]:
        """The options as a dict."""
        return copy.deepcopy(self._options)

    def with_max_depth(self, max_depth: int) -> Self:
        """Show no row deeper than this; in op view, the first row and so many after it."""
        return self._with(max_depth=max_depth)

    def with_min_memory(
        self,
        min_bytes: int = 0,
        min_peak_bytes: int = 0,
        min_residual_bytes: int = 0,
        min_output_bytes: int = 0,
    ) -> Self:
        """Show only rows with at least this memory."""
        return self._with(
            min_bytes=min_bytes,
            min_peak_bytes=min_peak_bytes,
            min_residual_bytes=min_residual_bytes,
            min_output_bytes=min_output_bytes,
        )

    def with_min_execution_time(
        self, min_micros: int = 0, min_accelerator_micros: int = 0, min_cpu_micros: int = 0
    ) -> Self:
        """Show only rows with at least this execution time in microseconds."""
        return self._with(
            min_micros=min_micros,
            min_accelerator_micros=min_accelerator_micros,
            min_cpu_micros=min_cpu_micros,
        )

    def with_min_micros(self, min_micros: int) -> Self:
        """Show only rows with at least this execution time; an example in tfprof's documents uses this name."""
        return self._with(min_micros=min_micros)

    def with_min_bytes(self, min_bytes: int) -> Self:
        """Show only rows that requested at least this many bytes."""
        return self._with(min_bytes=min_bytes)

    def with_min_parameters(self, min_params: int) -> Self:
        """Show only rows with at least this many parameters."""
        return self._with(min_params=min_params)

    def with_min_occurrence(self, min_occurrence: int) -> Self:
        """Show only rows that occur at least this often."""
        return self._with(min_occurrence=min_occurrence)

    def with_min_float_operations(self, min_float_ops: int) -> Self:
        """Show only rows with at least this many float operations."""
        return self._with(min_float_ops=min_float_ops)

    def with_accounted_types(self, account_type_regexes: Sequence[str]) -> Self:
        """Count only nodes of which a type (op, device, or one that an op log gives) matches one of these."""
        return self._with(account_type_regexes=copy.copy(account_type_regexes))

    def with_node_names(
        self,
        start_name_regexes: Sequence[str] | None = None,
        show_name_regexes: Sequence[str] | None = None,
        hide_name_regexes: Sequence[str] | None = None,
        trim_name_regexes: Sequence[str] | None = None,
    ) -> Self:
        """Choose rows by name: where to start, what to show, what to hide, and where to stop."""
        given = {
            "start_name_regexes": start_name_regexes,
            "show_name_regexes": show_name_regexes,
            "hide_name_regexes": hide_name_regexes,
            "trim_name_regexes": trim_name_regexes,
        }
        return self._with(**{name: copy.copy(regexes) for name, regexes in given.items() if regexes is not None})

    with_displaying_options = with_node_names

    def account_displayed_op_only(self, is_true: bool) -> Self:
        """Whether the totals count the shown rows only."""
        return self._with(account_displayed_op_only=is_true)

    def with_empty_output(self) -> Self:
        """Print nothing."""
        return self._with(output="none")

    def with_stdout_output(self) -> Self:
        """Print to the terminal."""
        return self._with(output="stdout")

    def with_file_output(self, outfile: str) -> Self:
        """Print into a file instead of the terminal."""
        return self._with(output=f"file:outfile={outfile}")

    def with_timeline_output(self, timeline_file: str) -> Self:
        """Write a timeline for chrome://tracing."""
        return self._with(output=f"timeline:outfile={timeline_file}")

    def with_pprof_output(self, pprof_file: str) -> Self:
        """Write a profile for pprof."""
        return self._with(output=f"pprof:outfile={pprof_file}")

    def order_by(self, attribute: str) -> Self:
        """Order the rows under one parent by this attribute."""
        return self._with(order_by=attribute)

    def select(self, attributes: Sequence[str]) -> Self:
        """Print these columns."""
        return self._with(select=copy.copy(attributes))

    def with_step(self, step: int) -> Self:
        """Show this step; -1 is the mean of all."""
        return self._with(step=step)

    def _with(self, **options: Any) -> Self:
        self._options.update(options)
        return self


def of_mapping(options: Mapping[str, Any] | ProfileOptionBuilder) -> dict[str, Any]:
    """Read an options dict as native does: options not named are 0 or empty, except those given here.

    Texts may be bytes. Keys that are like no option are ignored with a warning: old programs have some, such as `viz`.

    >>> of_mapping({"min_micros": 5})["max_depth"], of_mapping({})["account_type_regexes"]
    (10, ('.*',))
    >>> of_mapping({"show_name_regexes": [b"dense.*"]})["show_name_regexes"]
    ['dense.*']
    """
    if isinstance(options, ProfileOptionBuilder):
        options = options.build()
    if not isinstance(options, Mapping):
        raise value_error(
            f"options: got {type(options).__name__}; give a dict, as ProfileOptionBuilder().build() makes one"
        )
    given = {
        "max_depth": 10,
        "select": (),
        "account_type_regexes": EVERYTHING,
        "start_name_regexes": EVERYTHING,
        "show_name_regexes": EVERYTHING,
        **{_text(name): _texts(value) for name, value in options.items()},
    }
    dump = given.pop("dump_to_file", "")
    if dump:
        given["output"] = f"file:outfile={dump}"
    for name in given.keys() - {option.name for option in OPTIONS}:
        if not near_options(name):
            del given[name]
            warnings.warn(f"unknown option {name!r} is ignored", ProfileWarning, stacklevel=2)
    return given


def _texts(value: Any) -> Any:
    return [_text(each) for each in value] if isinstance(value, list | tuple) else _text(value)


def _text(value: Any) -> Any:
    return value.decode() if isinstance(value, bytes) else value
