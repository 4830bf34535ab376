"""Objects that a compiled function reaches in any way are looked at in each call."""

from __future__ import annotations

import array
import collections
import copy
import functools
import operator
import types
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import diptych as ms
from diptych import nn, ops


class Box:
    """What is read, written and replaced."""

    def __init__(self) -> None:
        self.t = ms.Tensor([1.0, 2.0])
        self.n = 0
        self.items: list[Any] = []


def update(box: Box, x: ms.Tensor) -> ms.Tensor:
    box.n += 1
    box.t = box.t + x
    box.items.append(x)
    return box.t * box.n


@functools.cache
def the_box(name: str) -> Box:
    return Box()


def by_default(box: Box) -> Callable:
    return lambda x, held=box: update(held, x)


def by_keyword_default(box: Box) -> Callable:
    def step(x: ms.Tensor, *, held: Box = box) -> ms.Tensor:
        return update(held, x)

    return lambda x: step(x)


def by_key(box: Box) -> Callable:
    table = {box: 1}
    return lambda x: update(next(iter(table)), x)


def by_member(box: Box) -> Callable:
    members = {box}
    return lambda x: [update(b, x) for b in members][0]  # noqa: RUF015


def by_reference(box: Box) -> Callable:
    reference = weakref.ref(box)
    return lambda x: update(reference(), x)


def by_method(box: Box) -> Callable:
    get = {"box": box}.get
    return lambda x: update(get("box"), x)


def within(container: Any, key: Any) -> Callable:
    return lambda x: update(container[key], x)


WAYS: dict[str, Callable[[Box], Callable]] = {
    "default": by_default,
    "keyword": by_keyword_default,
    "partial": lambda box: functools.partial(update, box),
    "partial keyword": lambda box: functools.partial(lambda x, box: update(box, x), box=box),
    "key": by_key,
    "member": by_member,
    "weakref": by_reference,
    "method": by_method,
    "OrderedDict": lambda box: within(collections.OrderedDict(k=box), "k"),
    "defaultdict": lambda box: within(collections.defaultdict(list, k=box), "k"),
    "ChainMap": lambda box: within(collections.ChainMap({"k": box}), "k"),
    "UserList": lambda box: within(collections.UserList([box]), 0),
    "deque": lambda box: within(collections.deque([box]), 0),
    "proxy": lambda box: within(types.MappingProxyType({"k": box}), "k"),
    "named tuple": lambda box: within(collections.namedtuple("T", "box")(box), 0),
}


@pytest.mark.parametrize("way", WAYS)
def test_objects_are_read_and_written(way: str) -> None:
    found = []
    for wrap in (lambda f: f, ms.jit):
        box, seen = Box(), []
        step, x = wrap(WAYS[way](box)), ms.Tensor([1.0, 1.0])
        for _ in range(2):
            seen.append((step(x).tolist(), box.t.tolist(), box.n, len(box.items)))
        box.t, box.n = ms.Tensor([5.0, 5.0]), 10
        seen.append((step(x).tolist(), box.t.tolist(), box.n, len(box.items)))
        found.append(seen)
    assert found[0] == found[1]


def test_objects_from_a_cached_function() -> None:
    found = []
    for name, wrap in (("eager", lambda f: f), ("compiled", ms.jit)):
        box = the_box(name)
        step = wrap(lambda x, name=name: update(the_box(name), x))
        x = ms.Tensor([1.0, 1.0])
        found.append([(step(x).tolist(), box.n) for _ in range(3)])
    assert found[0] == found[1]


class Numbers(list):
    scale = 1.0


CHANGES: dict[str, tuple[Callable[[], Any], Callable[[Any], Any], Callable[[Any], Any]]] = {
    "deque": (lambda: collections.deque([1.0], 1), lambda v: v[0], lambda v: v.append(3.0)),
    "Counter": (lambda: collections.Counter("aab"), lambda v: v["a"], lambda v: v.update("aa")),
    "proxy": (
        lambda: {"k": 1.0},
        lambda v: types.MappingProxyType(v)["k"],
        lambda v: v.update(k=3),
    ),
    "bytearray": (lambda: bytearray(b"ab"), lambda v: v[0], lambda v: v.reverse()),
    "array": (lambda: array.array("d", [1, 2]), lambda v: v[0], lambda v: v.reverse()),
    "NumPy": (lambda: np.arange(2.0), lambda v: float(v[0]), lambda v: v.fill(7)),
    "list": (lambda: Numbers([1.0, 2.0]), lambda v: v[0] * v.scale, lambda v: v.reverse()),
    "attribute": (lambda: Numbers([1.0]), lambda v: v.scale, lambda v: setattr(v, "scale", 4)),
    "tensor": (lambda: ms.Tensor([1.0]), lambda v: v[0], lambda v: v.set_data(ms.Tensor([4.0]))),
}


@pytest.mark.parametrize("what", CHANGES)
def test_changed_contents_are_seen(what: str) -> None:
    make, read, change = CHANGES[what]
    found = []
    for wrap in (lambda f: f, ms.jit):
        held, x = make(), ms.Tensor([2.0])
        f = wrap(lambda x, h=held: x * read(h))
        seen = [f(x).tolist()]
        change(held)
        found.append([*seen, f(x).tolist()])
    assert found[0] == found[1] and found[0][0] != found[0][1]


def test_methods_that_are_values() -> None:
    box = Box()
    one, two = nn.ReLU(), nn.Tanh()
    box.act, table = one.construct, {"k": one.construct}
    f = ms.jit(lambda x: (box.act(x), table["k"](x)))
    x = ms.Tensor([2.0])
    assert [y.item() for y in f(x)] == [2, 2]
    box.act = two.construct
    assert [y.item() for y in f(x)] == [two(x).item(), 2]
    table["k"] = two.construct
    assert [y.item() for y in f(x)] == [two(x).item()] * 2


@pytest.mark.parametrize("capture_mode", ["ast", "trace"])
def test_a_net_as_default_or_in_a_partial_changes_its_mode(capture_mode: str) -> None:
    net, x = nn.Dropout(p=0.999), ops.ones(50)
    for fn in (lambda x, net=net: net(x), functools.partial(lambda net, x: net(x), net)):
        f = ms.jit(fn, capture_mode=capture_mode)
        for training in (True, False, True):
            net.set_train(training)
            assert bool((f(x) == x).all()) is not training


class Steps:
    """What a generator reads, on the way of a loop."""

    def __init__(self, box: Box) -> None:
        self.box = box

    def factor(self) -> float:
        return self.box.n + 1.0

    def __iter__(self) -> Any:
        for i in range(self.box.n):
            yield self.box.t * i + self.factor() + sum(self.box.items)


def of_generator(box: Box) -> Callable:
    def steps(times: int) -> Any:
        for i in range(box.n):
            yield i * times + box.t + sum(box.items)

    return lambda x: sum((v * x for v in steps(2)), x)


def without_source(box: Box) -> Callable:
    names = {"box": box}
    exec("def f(x): return x * box.n * box.t + sum(box.items)", names)
    return names["f"]


NATIVE: dict[str, Callable[[Box], Callable]] = {
    "generator": of_generator,
    "iterator": lambda box: lambda x, steps=Steps(box): sum(steps, x),  # noqa: B008
    "no source": without_source,
    "copy": lambda box: lambda x: x * copy.copy(box).t * copy.deepcopy(box).n,
    "vars": lambda box: lambda x: x * vars(box)["n"] * vars(box)["t"],
    "attrgetter": lambda box: lambda x: x * operator.attrgetter("n")(box),
}


@pytest.mark.parametrize("way", NATIVE)
def test_what_native_code_reads_is_guarded(way: str) -> None:
    found = []
    for wrap in (lambda f: f, ms.jit):
        box, x = Box(), ms.Tensor([1.0, 1.0])
        box.n = 2
        step = wrap(NATIVE[way](box))
        seen = [step(x).tolist(), step(x).tolist()]
        box.n = 3
        seen.append(step(x).tolist())
        box.items.append(4.0)
        seen.append(step(x).tolist())
        box.t = ms.Tensor([5.0, 7.0])
        seen.append(step(x).tolist())
        box.t[0] = 9
        seen.append(step(x).tolist())
        found.append(seen)
    assert found[0] == found[1]


def test_tensors_outside_that_are_returned_and_moved() -> None:
    """They are the objects that stood there before the call."""

    def step(box: Box, x: ms.Tensor) -> Any:
        old = box.t
        box.t = box.t + x
        box.items.append(old)
        return old, box.items.pop(0), box.items[0]

    found = []
    for wrap in (lambda f: f, ms.jit):
        box, seen = Box(), []
        box.items = [ms.Tensor([3.0]), ms.Tensor([4.0])]
        f = wrap(functools.partial(step, box))
        for i in range(4):
            before = [box.t, *box.items]
            made = f(ms.Tensor([float(i), 1.0]))
            seen.append([next((k for k, b in enumerate(before) if b is y), None) for y in made])
            seen += [[t.tolist() for t in (*made, box.t, *box.items)], box.items[-1] is before[0]]
            box.items[0][0] = 10.0 + i
        found.append(seen)
    assert found[0] == found[1]


def test_iterators_outside_are_refused() -> None:
    x = ms.Tensor([1.0])
    for take in (next, list, lambda it: [v for v in it]):  # noqa: C416
        items = iter([1.0, 2.0])
        with pytest.raises(TypeError, match="same in every run"):
            ms.jit(lambda x, take=take, items=items: (x, take(items)))(x)
        assert next(items) == 1
