"""Trees in preorder, drawn by the depths of their places."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tfprof_widget.engine.account import any_below
from tfprof_widget.engine.tree import Tree, above, nearest_above, prefix_sums, subtree_end, subtree_sizes


def tree(*parents: int, names: str = "abcde", rows: dict[int, list[int]] | None = None) -> Tree:
    """A tree with these parents; `rows` gives the graph nodes of places, else place i has node i."""
    of_place = [(rows or {}).get(place, [] if rows else [place]) for place in range(len(parents))]
    return Tree(
        names[: len(parents)],
        np.array(parents, np.int32),
        np.array([row for each in of_place for row in each], np.int32),
        prefix_sums(np.array([len(each) for each in of_place], np.int64)),
    )


LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"


def pairs(starts: NDArray[np.integer]) -> list[tuple[int, int]]:
    return list(pairwise(starts.tolist()))


# a
#   b
#     c
#     d
#   e
SMALL = tree(-1, 0, 1, 1, 0)


@st.composite
def parents(draw: st.DrawFn) -> list[int]:
    """The parents of any tree in preorder: each next place hangs under the last one or one above it."""
    found, path = [-1], [0]
    for place in range(1, draw(st.integers(1, 30))):
        del path[draw(st.integers(1, len(path))) :]
        found.append(path[-1])
        path.append(place)
    return found


def ancestors(parent: list[int], place: int) -> list[int]:
    return [] if parent[place] < 0 else [parent[place], *ancestors(parent, parent[place])]


def test_a_subtree_is_a_range() -> None:
    assert SMALL.end.tolist() == [5, 4, 3, 4, 5]
    assert SMALL.depth.tolist() == [0, 1, 2, 2, 1]


@pytest.mark.parametrize(("parent", "end"), [([-1], [1]), ([-1, 0, 0], [3, 2, 3]), ([-1, 0, 1, 2], [4, 4, 4, 4])])
def test_ends_of_a_point_a_fan_and_a_chain(parent: list[int], end: list[int]) -> None:
    assert subtree_end(np.array(parent)).tolist() == end


@given(parents())
def test_the_subtree_of_a_place_is_what_has_it_for_an_ancestor(parent: list[int]) -> None:
    for place, end in enumerate(subtree_end(np.array(parent)).tolist()):
        below = [other for other in range(len(parent)) if place in ancestors(parent, other)]
        assert [place, *below] == list(range(place, end))


@given(parents(), st.data())
def test_above_sums_over_the_ancestors(parent: list[int], data: st.DataObject) -> None:
    marked = data.draw(st.lists(st.integers(-3, 3), min_size=len(parent), max_size=len(parent)))
    expected = [sum(marked[each] for each in ancestors(parent, place)) for place in range(len(parent))]
    assert above(subtree_end(np.array(parent)), np.array(marked)).tolist() == expected


@given(parents())
def test_parents_come_from_the_sizes(parent: list[int]) -> None:
    size = subtree_end(np.array(parent)) - np.arange(len(parent))
    assert nearest_above(size).tolist() == parent


@given(parents(), st.data())
def test_what_was_below_a_dropped_place_goes_to_the_next_above_it(parent: list[int], data: st.DataObject) -> None:
    kept = [True, *data.draw(st.lists(st.booleans(), min_size=len(parent) - 1, max_size=len(parent) - 1))]
    places = [place for place, flag in enumerate(kept) if flag]
    smaller = tree(*parent, names=LETTERS).contracted(np.array(kept), np.array(kept))
    assert "".join(smaller.names) == "".join(LETTERS[place] for place in places)
    above_each = [next((each for each in ancestors(parent, place) if kept[each]), None) for place in places]
    assert smaller.parent.tolist() == [places.index(each) if each is not None else -1 for each in above_each]
    assert [smaller.rows[start:end].tolist() for start, end in pairs(smaller.row_start)] == [[each] for each in places]
    sizes = [sum(place in (other, *ancestors(parent, other)) for other in places) for place in places]
    assert subtree_sizes(subtree_end(np.array(parent)), np.array(places)).tolist() == sizes


def test_a_place_is_kept_without_the_rows_that_do_not_count() -> None:
    # a: no rows; b: rows 5 and 6; c: row 7.
    whole = tree(-1, 0, 1, rows={1: [5, 6], 2: [7]})
    smaller = whole.contracted(np.array([True, True, False]), np.array([False, True, False]))
    assert (smaller.names, smaller.rows.tolist(), smaller.row_start.tolist()) == (("a", "b"), [6], [0, 0, 1])


@given(parents(), st.data())
def test_any_below_looks_at_the_whole_subtree(parent: list[int], data: st.DataObject) -> None:
    marked = data.draw(st.lists(st.booleans(), min_size=len(parent), max_size=len(parent)))
    grown = Tree("x" * len(parent), np.array(parent), np.array([]), np.array([]))
    expected = [
        any(marked[other] for other in range(len(parent)) if place in (other, *ancestors(parent, other)))
        for place in range(len(parent))
    ]
    assert any_below(grown, np.array(marked)).tolist() == expected


def test_ranks_of_names() -> None:
    assert tree(-1, 0, 0, 0, names="_cab").name_rank.tolist() == [0, 3, 1, 2]


def test_a_place_has_a_node_of_its_own_where_it_has_exactly_one() -> None:
    assert tree(-1, 0, 0, 0, rows={1: [7], 3: [8, 9]}).single.tolist() == [-1, 7, -1, -1]


def test_prefix_sums_begin_with_nothing() -> None:
    assert prefix_sums(np.array([], np.int64)).tolist() == [0]
    assert prefix_sums(np.array([3, -1])).tolist() == [0, 3, 2]
