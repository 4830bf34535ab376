"""Helpers of the staging tests: running a staged function and comparing it with eager mode."""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import diptych as ms
from diptych.stage.errors import GraphError
from diptych.stage.lengths import Counted
from diptych.stage.result import flatten
from diptych.stage.stage import stage


class Compiled:
    """A function staged once a set of argument types, re-staged when a guard fails."""

    def __init__(self, fn: Callable) -> None:
        self.fn = fn
        self.entries: dict[Any, list[Any]] = {}
        self.count = 0

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        leaves = flatten(args, kwargs)
        key = tuple(
            (v.dtype, v.shape) if type(v) is ms.Tensor else (type(v), repr(v)) for v in leaves
        )
        entries = self.entries.setdefault(key, [])
        staged = next((s for s in entries if s.guards_hold(leaves)), None)
        if staged is None:
            staged = stage(self.fn, args, kwargs, lengths=())
            entries.append(staged)
            self.count += 1
        while True:
            try:
                out = staged.graph.run(staged.gather(leaves))
                break
            except Counted as counted:
                assert staged.lengths is not None and counted.event <= len(staged.lengths)
                lengths = (*staged.lengths[: counted.event], counted.count)
                entries.remove(staged)
                staged = stage(self.fn, args, kwargs, lengths=lengths)
                entries.append(staged)
        result = staged.rebuild(out, leaves)
        staged.replay(out, leaves)
        return result


def plain(value: Any) -> Any:
    """Tensors as (dtype, lists), containers item by item, everything else as it is."""
    if isinstance(value, ms.Tensor):
        return value.dtype.name, np.asarray(value.asnumpy(), np.float64).tolist()
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return (
            type(value)(plain(v) for v in value)
            if type(value) in (list, tuple)
            else (type(value).__name__, *map(plain, value))
        )
    return value


def outcome(fn: Callable, *args: Any) -> Any:
    """What a call gives: the result with its types, or the exception, and the printed text."""
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        try:
            result = plain(fn(*args))
        except Exception as error:
            result = (type(error).__name__, str(error).split("\n")[0])
    return result, text.getvalue()


def tensors(*values: Any) -> list[ms.Tensor]:
    """float32 tensors."""
    return [ms.Tensor(np.array(v, np.float32)) for v in values]


VECTORS = ([3.0, 4.0], [-9.0, -9.0], [0.5, 0.25])


def assert_same(fn: Callable, *inputs: Any, graphs: int = 1) -> Compiled:
    """Eager and staged results are equal for each of the inputs (a tuple is several arguments), in
    this number of graphs."""
    staged = Compiled(fn)
    for given in inputs or VECTORS:
        many = given if isinstance(given, tuple) else (given,)
        args = [tensors(v)[0] if isinstance(v, list | float) else v for v in many]
        again = [tensors(v)[0] if isinstance(v, list | float) else v for v in many]
        assert outcome(staged, *args) == outcome(fn, *again), given
    assert staged.count == graphs
    return staged


def assert_refused(fn: Callable, sentence: str, *args: Any) -> None:
    """Staging ends with an error of this first sentence, which shows the user's line."""
    given = [tensors(v)[0] if isinstance(v, list | float) else v for v in args]
    with pytest.raises(GraphError, match=re.escape(sentence)) as caught:
        stage(fn, given)
    assert "^" in str(caught.value)
