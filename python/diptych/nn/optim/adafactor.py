"""AdaFactor: Adam whose second moments are kept as one row and one column a matrix."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ... import ops
from ..._core import Tensor
from ...common.parameter import Parameter, ParameterTuple
from ..bounds import bounded
from .optimizer import Optimizer

__all__ = ["AdaFactor"]

_WARM_UP, _COLD = 1e-6, 1e-2


class AdaFactor(Optimizer):
    """Adam with sublinear memory (Shazeer and Stern 2018).

    With t the step and b = 1 - t^-decay_rate, the squares g^2 + eps[0] are averaged by b: of
    parameters with two axes or more over the last axis (row) and over the last but one (col), of
    others element by element (v). u = g / sqrt(row / mean(row) * col) or g / sqrt(v), divided by
    max(1, rms(u) / clip_threshold), times the rate; averaged by beta1 if that is not 0. The
    parameter less rate * weight_decay * parameter, less u.

    Args:
        params: Parameters or groups, as Optimizer takes them.
        learning_rate: the rate; None with relative_step.
        eps: added to squares; least rms of a parameter for scale_parameter.
        clip_threshold: largest rms of u.
        decay_rate: how fast the averages of squares become slow, 0 to 1.
        beta1: 0 to below 1; 0 keeps no first moment.
        scale_parameter: the rate counts in units of the parameter, max(eps[1], rms(parameter)).
        relative_step: the rate is min(0.01, 1 / sqrt(t)).
        warmup_init: with relative_step, min(1e-6 t, 1 / sqrt(t)).
        compression: states are kept as float16.

    >>> import diptych as ms
    >>> w = ms.Parameter(ms.Tensor([2.0]), name="w")
    >>> ms.nn.AdaFactor([w], beta1=0.0)((ms.Tensor([1.0]),)), round(w.item(), 4)
    (True, 1.98)
    """

    def __init__(
        self,
        params: Any,
        learning_rate: Any = None,
        eps: tuple[float, float] = (1e-30, 1e-3),
        clip_threshold: float = 1.0,
        decay_rate: float = 0.8,
        beta1: float = 0.9,
        weight_decay: Any = 0.0,
        scale_parameter: bool = True,
        relative_step: bool = True,
        warmup_init: bool = False,
        compression: bool = False,
        loss_scale: float = 1.0,
    ) -> None:
        if relative_step and learning_rate is not None:
            raise ValueError(
                f"AdaFactor: learning_rate is {learning_rate} with relative_step; it must be None "
                "then, or relative_step False"
            )
        if learning_rate is None and not relative_step:
            raise ValueError("AdaFactor: learning_rate is None without relative_step; give a rate")
        if warmup_init and not relative_step:
            raise ValueError("AdaFactor: warmup_init is True; relative_step must be True then")
        if not isinstance(eps, list | tuple) or len(eps) != 2:
            raise TypeError(f"AdaFactor: eps is {eps!r}; it must be two numbers")
        super().__init__(0.0 if relative_step else learning_rate, params, weight_decay, loss_scale)
        self.eps = tuple(bounded("AdaFactor", "eps", e, 0.0) for e in eps)
        self.clip_threshold = bounded(
            "AdaFactor", "clip_threshold", clip_threshold, 0.0, open_low=True
        )
        self.decay_rate = bounded("AdaFactor", "decay_rate", decay_rate, 0.0, 1.0)
        self.beta1 = bounded("AdaFactor", "beta1", beta1, 0.0, 1.0)
        self.scale_parameter, self.relative_step = scale_parameter, relative_step
        self.warmup_init, self.compression = warmup_init, compression
        matrices = [p for p in self.parameters if p.ndim > 1]
        others = [p for p in self.parameters if p.ndim < 2]
        averaged = list(self.parameters) if self.beta1 else []
        self.exp_avg = self._zeros("exp_avg", [(p, p.shape) for p in averaged])
        self.exp_avg_sq = self._zeros("exp_avg_sq", [(p, p.shape) for p in others])
        self.exp_avg_sq_row = self._zeros("exp_avg_sq_row", [(p, p.shape[:-1]) for p in matrices])
        self.exp_avg_sq_col = self._zeros(
            "exp_avg_sq_col", [(p, (*p.shape[:-2], p.shape[-1])) for p in matrices]
        )

    def _zeros(self, prefix: str, shapes: Sequence[tuple[Parameter, Any]]) -> ParameterTuple:
        dtype = ops.float16 if self.compression else ops.float32
        return ParameterTuple(
            Parameter(ops.zeros(shape, dtype), name=f"{prefix}.{p.name}", requires_grad=False)
            for p, shape in shapes
        )

    def _rate(self, name: str) -> Any:
        """The present rate; relative_step: it follows the step."""
        if not self.relative_step:
            return super()._rate(name)
        step = (self.global_step + 1).astype(ops.float32).reshape(())
        return ops.minimum(step * _WARM_UP if self.warmup_init else _COLD, ops.rsqrt(step))

    def _averaged(self, state: Parameter, value: Tensor, keep: Any) -> Tensor:
        """The running average with a new value in it, which the state keeps."""
        made = state.value().astype(ops.float32) * keep + value * (1 - keep)
        state._assign(made.astype(state.dtype))
        return made

    def _direction(
        self, p: Parameter, g: Tensor, keep: Tensor, states: dict[str, Iterator[Parameter]]
    ) -> Tensor:
        """g over the root of the averaged squares, its rms limited."""
        squares = ops.square(g) + self.eps[0]
        if p.ndim > 1:
            row = self._averaged(next(states["row"]), ops.mean(squares, -1), keep)
            col = self._averaged(next(states["col"]), ops.mean(squares, -2), keep)
            row = row / ops.mean(row, -1, True)
            u = g * ops.rsqrt(row).expand_dims(-1) * ops.rsqrt(col).expand_dims(-2)
        else:
            u = g * ops.rsqrt(self._averaged(next(states["all"]), squares, keep))
        return u / ops.maximum(_rms(u) / self.clip_threshold, 1.0)

    def construct(self, gradients: Sequence[Tensor]) -> bool:
        """Applies one gradient a parameter; returns True."""
        gradients = self._check_gradients(gradients)
        if any(g is None for g in gradients):
            raise ValueError("AdaFactor: a gradient is None; every parameter must have one")
        rates = self._spread(self._rate(batch.rate) for batch in self._batches)
        decays = self._spread(self._decay(batch.decay) for batch in self._batches)
        gradients = self.gradients_centralization(self.scale_grad(gradients))
        step = self.global_step + 1
        keep = 1 - ops.pow(step.astype(ops.float32).reshape(()), -self.decay_rate)
        states = {
            "row": iter(self.exp_avg_sq_row),
            "col": iter(self.exp_avg_sq_col),
            "all": iter(self.exp_avg_sq),
        }
        first = iter(self.exp_avg)
        for p, g, rate, decay in zip(self.parameters, gradients, rates, decays, strict=True):
            value = p.value().astype(ops.float32)
            if self.scale_parameter:
                rate = rate * ops.maximum(_rms(value), self.eps[1])
            u = self._direction(p, g.astype(ops.float32), keep, states) * rate
            if self.beta1:
                u = self._averaged(next(first), u, self.beta1)
            p._assign((value - value * (rate * decay) - u).astype(p.dtype))
        self.global_step._assign(step)
        return True


def _rms(x: Tensor) -> Tensor:
    return ops.sqrt(ops.mean(ops.square(x)))
