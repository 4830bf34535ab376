"""Distribution: what all distributions share. A subclass defines the hooks that it can compute
(``_log_prob``, ``_mean``, ``_sample`` ...); the public functions use them or what follows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .... import _core, ops
from ...._core import Tensor
from ...cell import Cell

__all__ = ["Distribution"]


def _rest(x: Tensor) -> Tensor:
    return 1 - x


# function -> hooks that give it, the first one that is defined, and what turns theirs into it.
_FROM: dict[str, tuple[tuple[str, Callable[[Tensor], Tensor] | None], ...]] = {
    "prob": (("_prob", None), ("_log_prob", ops.exp)),
    "log_prob": (("_log_prob", None), ("_prob", ops.log)),
    "cdf": (("_cdf", None), ("_log_cdf", ops.exp)),
    "log_cdf": (("_log_cdf", None), ("_cdf", ops.log)),
    "survival_function": (("_survival_function", None), ("_cdf", _rest)),
    "log_survival": (("_log_survival", None), ("_survival_function", ops.log),
                     ("_cdf", lambda x: ops.log1p(-x))),
    "mean": (("_mean", None),),
    "sd": (("_sd", None), ("_var", ops.sqrt)),
    "var": (("_var", None), ("_sd", ops.square)),
    "mode": (("_mode", None),),
    "entropy": (("_entropy", None),),
    "kl_loss": (("_kl_loss", None),),
    "sample": (("_sample", None),),
}  # fmt: skip


class Distribution(Cell):
    """Base of distributions.

    Every function takes the distribution's own parameters (``mean`` and ``sd`` of a Normal) after
    its arguments, in place of those given to the constructor; where that left them out they must be
    given. ``dist("prob", value)`` calls a function by name.

    Args:
        seed: draws come from a state of its own that starts at this int; None or 0: from the common
            state.
        dtype: of the samples.
        name: of the distribution.
        param: a dict whose "param_dict" holds the parameters by name.

    >>> import diptych as ms
    >>> from diptych.nn.probability.distribution import Distribution
    >>> class Coin(Distribution):
    ...     def __init__(self):
    ...         super().__init__(None, ms.float32, "Coin", {"param_dict": {}})
    ...     def _prob(self, value):
    ...         return ms.ops.full_like(value, 0.5)
    >>> round(float(Coin().log_prob(ms.Tensor(1.0))), 4)
    -0.6931
    """

    _names: tuple[str, ...] = ()  # the parameters, in the order of calls

    def __init__(self, seed: int | None, dtype: Any, name: str, param: dict) -> None:
        super().__init__()
        cls = type(self).__name__
        if not isinstance(name, str):
            raise TypeError(f"For '{cls}', 'name' must be a str, but got {name!r}")
        if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int)):
            raise TypeError(f"For '{cls}', 'seed' must be an int, but got {seed!r}")
        if seed is not None and seed < 0:
            raise ValueError(f"For '{cls}', 'seed' must be 0 or more, but got {seed}")
        self.name, self.seed, self.dtype = name, seed, _core.dtype(dtype)
        self.parameters = dict(param.get("param_dict", {}))
        self._draws = 0

    # ---- parameters

    def _check_dtype(self, *legal: Any) -> None:
        if self.dtype not in legal:
            names = ", ".join(d.name for d in legal)
            raise TypeError(
                f"For '{type(self).__name__}', 'dtype' must be one of {names}, but got "
                f"{self.dtype.name}"
            )

    def _store(self, **values: Any) -> None:
        """Keeps parameters as Tensors that broadcast; None: to be given at each call."""
        kind = self.dtype if self.dtype.is_floating_point else ops.float32
        for name, value in values.items():
            if value is not None and not isinstance(value, Tensor):
                value = Tensor(value)
            setattr(self, f"_{name}_value", None if value is None else value.astype(kind))
        given = [getattr(self, f"_{n}_value") for n in values]
        self.batch_shape = self._batch([t for t in given if t is not None])

    def _check_positive(self, *names: str) -> None:
        for name in names:
            value = getattr(self, f"_{name}_value")
            if value is not None and not bool((value > 0).all()):
                raise ValueError(f"For '{type(self).__name__}', '{name}' must be positive")

    def _check_between(self, name: str) -> None:
        value = getattr(self, f"_{name}_value")
        if value is not None and not bool(ops.logical_and(value > 0, value < 1).all()):
            raise ValueError(f"For '{type(self).__name__}', '{name}' must be in (0, 1)")

    def _batch(self, tensors: list[Tensor]) -> tuple[int, ...]:
        """The common shape of parameters."""
        shape: tuple[int, ...] = ()
        for t in tensors:
            try:
                shape = (ops.zeros(shape) + ops.zeros(t.shape)).shape
            except ValueError:
                shapes = " and ".join(str(t.shape) for t in tensors)
                raise ValueError(
                    f"For '{type(self).__name__}', parameters of shapes {shapes} do not broadcast"
                ) from None
        return shape

    def _resolve(self, *given: Any) -> Any:
        """The parameters of a call, in the order of ``_names``; one alone comes as it is."""
        found = []
        for name, value in zip(self._names, given, strict=True):
            own = getattr(self, f"_{name}_value")
            if value is not None and not isinstance(value, Tensor):
                raise TypeError(
                    f"For '{type(self).__name__}', '{name}' must be a Tensor, but got "
                    f"{type(value).__name__}"
                )
            if value is None and own is None:
                raise TypeError(f"For '{type(self).__name__}', '{name}' is given nowhere")
            found.append(own if value is None else value)
        return found if len(found) > 1 else found[0]

    def _same_kind(self, dist: Any, what: str) -> None:
        if dist != type(self).__name__:
            raise ValueError(
                f"For '{type(self).__name__}', {what} is known to a '{type(self).__name__}' only, "
                f"but got {dist!r}"
            )

    def _other(self, *values: Any) -> Any:
        """The parameters of the other distribution in a divergence."""
        for name, value in zip(self._names, values, strict=True):
            if not isinstance(value, Tensor):
                raise TypeError(
                    f"For '{type(self).__name__}', '{name}' of the other distribution must be a "
                    f"Tensor, but got {type(value).__name__}"
                )
        return values if len(values) > 1 else values[0]

    # ---- draws

    def _next_seed(self) -> int | None:
        if not self.seed:
            return None
        self._draws += 1
        return self.seed + self._draws - 1

    def _uniform(self, shape: Any, *parameters: Tensor) -> Tensor:
        """Numbers of (0, 1): ``shape`` draws of each of the batch."""
        sizes = (*shape, *self._batch(list(parameters)))
        kind = parameters[0].dtype
        u = ops.rand(sizes, dtype=kind, seed=self._next_seed())
        return ops.maximum(u, 1e-7) if kind != ops.float64 else ops.maximum(u, 1e-16)

    def _normal(self, shape: Any, *parameters: Tensor) -> Tensor:
        """Standard normal numbers: ``shape`` draws of each of the batch."""
        sizes = (*shape, *self._batch(list(parameters)))
        return ops.randn(sizes, dtype=parameters[0].dtype, seed=self._next_seed())

    # ---- the public functions

    def _evaluate(self, what: str, *args: Any, **kwargs: Any) -> Any:
        for hook, then in _FROM[what]:
            function = getattr(self, hook, None)
            if function is not None:
                result = function(*args, **kwargs)
                return result if then is None else then(result)
        raise NotImplementedError(f"{type(self).__name__} does not define {what}")

    def _at(self, what: str, value: Any, *args: Any, **kwargs: Any) -> Tensor:
        if not isinstance(value, Tensor):
            raise TypeError(
                f"For '{type(self).__name__}', the value of {what} must be a Tensor, but got "
                f"{type(value).__name__}"
            )
        return self._evaluate(what, value, *args, **kwargs)

    def prob(self, value: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """Density (or probability) at value."""
        return self._at("prob", value, *args, **kwargs)

    def log_prob(self, value: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """Logarithm of the density at value."""
        return self._at("log_prob", value, *args, **kwargs)

    def cdf(self, value: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """Probability of at most value."""
        return self._at("cdf", value, *args, **kwargs)

    def log_cdf(self, value: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """Logarithm of cdf."""
        return self._at("log_cdf", value, *args, **kwargs)

    def survival_function(self, value: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """Probability of more than value."""
        return self._at("survival_function", value, *args, **kwargs)

    def log_survival(self, value: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """Logarithm of survival_function."""
        return self._at("log_survival", value, *args, **kwargs)

    def mean(self, *args: Any, **kwargs: Any) -> Tensor:
        """Mean."""
        return self._evaluate("mean", *args, **kwargs)

    def sd(self, *args: Any, **kwargs: Any) -> Tensor:
        """Standard deviation."""
        return self._evaluate("sd", *args, **kwargs)

    def var(self, *args: Any, **kwargs: Any) -> Tensor:
        """Variance."""
        return self._evaluate("var", *args, **kwargs)

    def mode(self, *args: Any, **kwargs: Any) -> Tensor:
        """The likeliest value."""
        return self._evaluate("mode", *args, **kwargs)

    def entropy(self, *args: Any, **kwargs: Any) -> Tensor:
        """Mean of -log_prob."""
        return self._evaluate("entropy", *args, **kwargs)

    def kl_loss(self, dist: Any, *args: Any, **kwargs: Any) -> Tensor:
        """Kullback-Leibler divergence from the distribution called ``dist``, whose parameters come
        first, then (if wanted) those of this one."""
        return self._evaluate("kl_loss", dist, *args, **kwargs)

    def cross_entropy(self, dist: Any, *args: Any, **kwargs: Any) -> Tensor:
        """entropy + kl_loss; the arguments are those of kl_loss."""
        kl = self._evaluate("kl_loss", dist, *args, **kwargs)
        return self._evaluate("entropy", *args[len(self._names) :]) + kl

    def sample(self, shape: Any = (), *args: Any, **kwargs: Any) -> Tensor:
        """``shape`` draws of each of the batch: a Tensor of shape ``shape + batch``."""
        return self._evaluate("sample", shape, *args, **kwargs)

    def construct(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """The function called ``name``."""
        if name != "cross_entropy" and name not in _FROM:
            raise ValueError(
                f"For '{type(self).__name__}', no function is called {name!r}; there are: "
                f"{', '.join(_FROM)}, cross_entropy"
            )
        return getattr(self, name)(*args, **kwargs)

    def extend_repr(self) -> str:
        return f"name={self.name!r}, batch_shape={getattr(self, 'batch_shape', ())}"
