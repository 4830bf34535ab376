"""What ``input_signature`` and ``Cell.set_inputs`` ask of the arguments of a call."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from .. import _core
from .._core import Tensor

__all__ = ["Expected", "Inputs", "Signed", "refuse_placeholders"]

Sizes = tuple[int | None, ...]


def _fits(shape: Sizes, wanted: Sizes) -> bool:
    if wanted == (...,):
        return True
    return len(shape) == len(wanted) and all(
        w is None or n == w for n, w in zip(shape, wanted, strict=True)
    )


class Expected:
    """A Tensor, or None for anything, for each argument; sizes that are None fit any size. Where
    ``takes_constants``, an argument may be any other object too, which calls must give as it is.
    """

    takes_constants = False

    def __init__(self, name: str, asked: Sequence[Any]) -> None:
        if not isinstance(asked, list | tuple):
            raise TypeError(
                f"{name} is of type {type(asked).__name__}; it must be a list or tuple with a "
                "Tensor or None for each argument"
            )
        for i, like in enumerate(asked):
            if like is not None and not isinstance(like, Tensor) and not self.takes_constants:
                raise TypeError(
                    f"{name}: entry {i} is of type {type(like).__name__}; it must be a Tensor "
                    "or None"
                )
        self.asked = tuple(asked)

    def check(self, name: str, args: Sequence[Any]) -> None:
        """Raises where the arguments of the function ``name`` are others than asked for."""
        raise NotImplementedError

    def shapes(self, like: Tensor) -> list[Sizes]:
        """The shapes that an entry stands for."""
        return [like.shape]

    def free_axes(self) -> Iterator[tuple[int, int]]:
        """(argument, axis) of sizes that may be any."""
        for i, like in enumerate(self.asked):
            if isinstance(like, Tensor) and _core.is_placeholder(like):
                yield from ((i, axis) for axis, n in enumerate(like.shape) if n is None)


class Signed(Expected):
    """``input_signature``: a call of another kind is a TypeError."""

    def __init__(self, asked: Sequence[Any]) -> None:
        super().__init__("jit: input_signature", asked)

    def shapes(self, like: Tensor) -> list[Sizes]:
        """A Tensor stands for its own shape; one made from a tuple of sizes, as in
        ``Tensor((32, 3), float32)``, for those sizes too."""
        shapes = super().shapes(like)
        if like.ndim == 1 and not _core.is_placeholder(like):
            numbers = like.tolist()
            if all(n == int(n) and n >= 0 for n in numbers):
                shapes.append(tuple(map(int, numbers)))
        return shapes

    def check(self, name: str, args: Sequence[Any]) -> None:
        """TypeError."""
        if len(args) != len(self.asked):
            raise TypeError(
                f"{name}: input_signature describes {len(self.asked)} arguments, {len(args)} were "
                "given"
            )
        for i, (arg, like) in enumerate(zip(args, self.asked, strict=True)):
            if like is None:
                continue
            shapes = self.shapes(like)
            if isinstance(arg, Tensor) and arg.dtype is like.dtype:
                if any(_fits(arg.shape, shape) for shape in shapes):
                    continue
                got = f"{arg.dtype.name}{list(arg.shape)}"
            else:
                got = getattr(getattr(arg, "dtype", None), "name", type(arg).__name__)
                got += str(list(arg.shape)) if isinstance(arg, Tensor) else ""
            wanted = " or ".join(f"{like.dtype.name}{list(s)}" for s in reversed(shapes))
            raise TypeError(f"{name}: argument {i} is {got}; input_signature asks for {wanted}")


class Inputs(Expected):
    """``Cell.set_inputs``: a call of another kind is a ValueError (another dtype: a TypeError)."""

    takes_constants = True

    def __init__(self, asked: Sequence[Any]) -> None:
        super().__init__("set_inputs", asked)

    def check(self, name: str, args: Sequence[Any]) -> None:
        """ValueError or TypeError."""
        if len(args) != len(self.asked):
            raise ValueError(
                f"{name}: set_inputs describes {len(self.asked)} inputs, {len(args)} were given"
            )
        for i, (arg, like) in enumerate(zip(args, self.asked, strict=True)):
            if not isinstance(like, Tensor):
                if like is not None and (isinstance(arg, Tensor) or arg != like):
                    got = f"a Tensor of shape {arg.shape}" if isinstance(arg, Tensor) else repr(arg)
                    raise ValueError(f"{name}: input {i} is {got}; set_inputs asks for {like!r}")
                continue
            if not isinstance(arg, Tensor):
                continue
            if arg.dtype is not like.dtype:
                raise TypeError(
                    f"{name}: the dtype of input {i} is {arg.dtype.name}; set_inputs asks for "
                    f"{like.dtype.name}"
                )
            if not _fits(arg.shape, like.shape):
                raise ValueError(
                    f"{name}: the shape of input {i} is {arg.shape}; set_inputs asks for "
                    f"{like.shape}"
                )


def refuse_placeholders(args: Sequence[Any], kwargs: dict[str, Any]) -> None:
    """Raises ValueError where an argument is a Tensor that has sizes None."""
    for arg in (*args, *kwargs.values()):
        if isinstance(arg, Tensor):
            _core.check_placeholder(arg)
