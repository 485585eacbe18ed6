"""Reads pprof's profiles as their public description, google/pprof's profile.proto, has them."""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from typing import Any

from tfprof_widget.lib.messages import message_class


@dataclass(frozen=True)
class Sample:
    """A graph node's values, and its stack, innermost first: the function and the line of each frame."""

    values: tuple[int, ...]
    stack: tuple[tuple[str, str, int], ...]

    @property
    def functions(self) -> list[str]:
        """The functions of the stack, without their modules."""
        return [function.partition(":")[2] for function, _, _ in self.stack]


@dataclass(frozen=True)
class PprofProfile:
    """What a profile holds, by graph node."""

    types: list[tuple[str, str]]
    samples: dict[str, Sample]


def read_pprof(content: bytes) -> PprofProfile:
    """What a gzipped profile holds; each id in it has to lead somewhere, and no node may come twice."""
    profile = message_class("Profile").FromString(gzip.decompress(content))
    strings = list(profile.string_table)
    assert strings[0] == ""
    assert len(set(strings)) == len(strings)
    functions = {each.id: (strings[each.name], strings[each.filename]) for each in profile.function}
    locations = {each.id: (*functions[each.line[0].function_id], each.line[0].line) for each in profile.location}
    assert 0 not in functions
    assert 0 not in locations
    samples = {
        strings[sample.label[0].str]: Sample(tuple(sample.value), tuple(locations[each] for each in sample.location_id))
        for sample in profile.sample
    }
    assert len(samples) == len(profile.sample)
    assert {strings[label.key] for sample in profile.sample for label in sample.label} <= {"graph node:"}
    types = [(strings[each.type], strings[each.unit]) for each in profile.sample_type]
    assert all(len(sample.values) == len(types) for sample in samples.values())
    return PprofProfile(types, samples)


def nodes_of(message: Any) -> set[str]:
    """The graph nodes in a MultiGraphNodeProto and all below it."""
    return {node.name for node in message.graph_nodes}.union(*map(nodes_of, message.children))


def nodes_with_frames_below(message: Any) -> set[str]:
    """The graph nodes of all frames that call others."""
    own = {node.name for node in message.graph_nodes} if message.children else set()
    return own.union(*map(nodes_with_frames_below, message.children))
