"""What staging hands to the jit wrapper: places, guards, structures (stage/result.py)."""

import types

import pytest

import diptych as ms
from diptych.stage.result import (
    ABSENT,
    Either,
    Nest,
    Place,
    Read,
    Slot,
    Staged,
    Static,
    Write,
    flatten,
    same_value,
)


def test_places_get_and_set():
    owner = types.SimpleNamespace(a=1)
    items = [1, 2]
    names = {"k": 3}
    cell = types.CellType(4)
    for place, expected in [
        (Place("attr", owner, "a"), 1),
        (Place("item", items, 1), 2),
        (Place("global", names, "k"), 3),
        (Place("cell", cell), 4),
        (Place("contents", items), [1, 2]),
    ]:
        assert place.get() == expected
    assert Place("attr", owner, "b").get() is ABSENT
    Place("attr", owner, "b").set(5)
    Place("attr", owner, "b").set(ABSENT)
    assert not hasattr(owner, "b")
    Place("contents", items).set([7])
    Place("global", names, "k").set(ABSENT)
    assert items == [7] and names == {}


@pytest.mark.parametrize(
    "a, b, same",
    [
        (1, 1, True),
        (1, True, False),
        (float("nan"), float("nan"), True),
        ([1, "a"], [1, "a"], True),
        ([1], [2], False),
        ({"a": 1}, {"a": 1}, True),
        (ms.Tensor([1.0]), ms.Tensor([2.0]), True),
        (ms.Tensor([1.0]), ms.Tensor([1]), False),
        (ms.Parameter([1.0]), ms.Parameter([1.0]), False),
        (len, len, True),
    ],
)
def test_guards_compare_by_kind(a, b, same):
    assert same_value(a, b) is same


def test_staged_rebuilds_and_replays():
    owner = types.SimpleNamespace(n=0)
    structure = Nest(tuple, (Slot(0), Static("x"), Either(1, Slot(2, int), Static(None))))
    staged = Staged(
        None,
        [0],
        [],
        structure,
        [Read(Place("attr", owner, "n"), 0)],
        [Write(Place("attr", owner, "n"), Slot(2, int))],
    )
    out = [ms.Tensor([1.0]), ms.Tensor(True), ms.Tensor(3)]
    assert staged.guards_hold()
    got = staged.rebuild(out)
    assert got[0] is out[0] and got[1:] == ("x", 3)
    staged.replay(out)
    assert owner.n == 3 and not staged.guards_hold()
    assert [str(r.place) for r in staged.broken_guards()] == ["SimpleNamespace.n"]


def test_flatten_opens_plain_containers():
    assert flatten((1, [2, (3,)]), {"k": {"a": 4}}) == [1, 2, 3, 4]
