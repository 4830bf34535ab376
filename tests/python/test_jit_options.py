"""Options of jit and the context that name what there is, and repeated calls."""

from __future__ import annotations

import pytest

import diptych as ms


def test_levels_and_backends_that_change_nothing_say_so() -> None:
    assert ms.jit(lambda x: x * 2, backend="ms_backend")(ms.Tensor([1.0])).tolist() == [2.0]
    with pytest.raises(ValueError, match="backend"):
        ms.jit(lambda x: x, backend="GE")
    ms.set_context(jit_level="O0", jit_syntax_level=ms.LAX)
    with pytest.warns(UserWarning, match="stages all it can"):
        ms.set_context(jit_syntax_level=ms.STRICT)
    ms.set_context(jit_syntax_level=ms.LAX)


def test_a_training_step_is_repeated_from_c_until_a_dict_it_read_is_filled() -> None:
    extras: dict[str, float] = {}

    @ms.jit
    def f(x: ms.Tensor) -> ms.Tensor:
        for v in extras.values():
            x = x * v
        return x + 1

    x = ms.Tensor([1.0])
    for _ in range(3):
        assert f(x).tolist() == [2.0]
    assert f._remembered >= 1
    extras["scale"] = 3.0
    assert f(x).tolist() == [4.0]
