"""Primitive classes of optimiser steps, ``ops.ApplyAdagrad()(var, accum, lr, grad)``: the variables
take over their new values, which are returned. They are composed of elementwise ops; the optimisers
of nn have fused steps of their own."""

from __future__ import annotations

from typing import Any

from .._core import Tensor, op_table
from .primitive import assign, wrapped

_table = op_table
_sqrt, _square, _sign, _abs = (_table[n] for n in ("sqrt", "square", "sign", "abs"))


def _set(*pairs: tuple[Any, Tensor]) -> Any:
    """Variables take over values of their own dtype; one comes alone."""
    done = tuple(assign(variable, value.astype(variable.dtype)) for variable, value in pairs)
    return done if len(done) > 1 else done[0]


def _shrunk(prox: Tensor, rate: Any, l1: Any, l2: Any) -> Tensor:
    """The proximal step of l1 and l2 penalties (Duchi and Singer 2009)."""
    return _sign(prox) * _table["relu"](_abs(prox) - rate * l1) / (1 + rate * l2)


def apply_gradient_descent(var: Any, alpha: Any, delta: Tensor) -> Any:
    """var - alpha delta."""
    return _set((var, var - delta * alpha))


def apply_proximal_gradient_descent(var: Any, alpha: Any, l1: Any, l2: Any, delta: Tensor) -> Any:
    """The proximal step from var - alpha delta."""
    return _set((var, _shrunk(var - delta * alpha, alpha, l1, l2)))


def apply_adagrad(var: Any, accum: Any, lr: Any, grad: Tensor, update_slots: bool = True) -> Any:
    """accum += grad^2; var - lr grad / sqrt(accum)."""
    total = accum + _square(grad) if update_slots else accum
    return _set((var, var - grad * lr / _sqrt(total)), (accum, +total))


def apply_adagrad_v2(
    var: Any, accum: Any, lr: Any, grad: Tensor, epsilon: float = 1e-6, update_slots: bool = True
) -> Any:
    """accum += grad^2; var - lr grad / (sqrt(accum) + epsilon)."""
    total = accum + _square(grad) if update_slots else accum
    return _set((var, var - grad * lr / (_sqrt(total) + epsilon)), (accum, +total))


def apply_proximal_adagrad(var: Any, accum: Any, lr: Any, l1: Any, l2: Any, grad: Tensor) -> Any:
    """accum += grad^2; the proximal step of rate lr / sqrt(accum) (Duchi et al. 2011)."""
    total = accum + _square(grad)
    rate = lr / _sqrt(total)
    return _set((var, _shrunk(var - grad * rate, rate, l1, l2)), (accum, total))


def apply_adagrad_da(
    var: Any, accum: Any, squared: Any, grad: Tensor, lr: Any, l1: Any, l2: Any, global_step: Any
) -> Any:
    """Dual averaging: the proximal step from all gradients so far (Duchi et al. 2011)."""
    total, squares = accum + grad, squared + _square(grad)
    pull = _sign(total) * _table["relu"](_abs(total) - global_step * l1)
    new = -(pull * lr) / (_sqrt(squares) + lr * l2 * global_step)
    return _set((var, new), (accum, total), (squared, squares))


def apply_adadelta(
    var: Any, accum: Any, accum_update: Any, lr: Any, rho: Any, epsilon: Any, grad: Tensor
) -> Any:
    """Steps scaled by the ratio of moving root mean squares of steps and gradients (Zeiler
    2012)."""
    total = accum * rho + _square(grad) * (1 - rho)
    step = _sqrt(accum_update + epsilon) * grad / _sqrt(total + epsilon)
    steps = accum_update * rho + _square(step) * (1 - rho)
    return _set((var, var - step * lr), (accum, total), (accum_update, steps))


def apply_ada_max(
    var: Any, m: Any, v: Any, beta1_power: Any, lr: Any, beta1: Any, beta2: Any, epsilon: Any,
    grad: Tensor,
) -> Any:  # fmt: skip
    """Adam by the largest gradient (Kingma and Ba 2015)."""
    mean = m * beta1 + grad * (1 - beta1)
    top = _table["maximum"](v * beta2, _abs(grad))
    return _set((var, var - mean / (top + epsilon) * (lr / (1 - beta1_power))), (m, mean), (v, top))


def apply_adam_with_amsgrad(
    var: Any, m: Any, v: Any, vhat: Any, beta1_power: Any, beta2_power: Any, lr: Any, grad: Tensor,
    beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-8,
) -> Any:  # fmt: skip
    """Adam by the largest mean square so far (Reddi et al. 2018)."""
    mean = m * beta1 + grad * (1 - beta1)
    squares = v * beta2 + _square(grad) * (1 - beta2)
    most = _table["maximum"](vhat, squares)
    rate = lr * (1 - beta2_power) ** 0.5 / (1 - beta1_power)
    new = var - mean * rate / (_sqrt(most) + epsilon)
    return _set((var, new), (m, mean), (v, squares), (vhat, most))


def apply_adam(
    var: Any, m: Any, v: Any, beta1_power: Any, beta2_power: Any, lr: Any, beta1: Any, beta2: Any,
    epsilon: Any, gradient: Tensor, use_nesterov: bool = False,
) -> Any:  # fmt: skip
    """Adam (Kingma and Ba 2015), or with Nesterov's step (Dozat 2016)."""
    mean = m * beta1 + gradient * (1 - beta1)
    squares = v * beta2 + _square(gradient) * (1 - beta2)
    rate = lr * (1 - beta2_power) ** 0.5 / (1 - beta1_power)
    step = mean * beta1 + gradient * (1 - beta1) if use_nesterov else mean
    return _set((var, var - step * rate / (_sqrt(squares) + epsilon)), (m, mean), (v, squares))


def apply_power_sign(
    var: Any, m: Any, lr: Any, logbase: Any, sign_decay: Any, beta: Any, grad: Tensor
) -> Any:
    """Steps larger where gradient and its mean agree in sign (Bello et al. 2017)."""
    mean = m * beta + grad * (1 - beta)
    scale = _table["exp"](_sign(grad) * _sign(mean) * (logbase * sign_decay))
    return _set((var, var - scale * grad * lr), (m, mean))


def apply_ftrl(
    var: Any, accum: Any, linear: Any, grad: Tensor, lr: Any = 0.001, l1: Any = 0.0, l2: Any = 0.0,
    lr_power: Any = -0.5,
) -> Any:  # fmt: skip
    """Follow the regularised leader (McMahan et al. 2013)."""
    total = accum + _square(grad)
    powers = total ** (-lr_power)
    pull = linear + grad - (powers - accum ** (-lr_power)) / lr * var
    bend = powers / lr + l2 * 2
    new = _sign(pull) * -_table["relu"](_abs(pull) - l1) / bend
    _set((accum, total), (linear, pull))
    return _set((var, new))


def _unlocked(step: Any) -> Any:
    """The step with ``use_locking``, which changes nothing: a variable takes over a whole value at
    once, so that nobody sees half of it."""

    def run(*args: Any, use_locking: bool = False, **kwargs: Any) -> Any:
        if not isinstance(use_locking, bool):
            raise TypeError(f"{step.__name__}: use_locking is {use_locking!r}; it must be a bool")
        return step(*args, **kwargs)

    run.__name__ = step.__name__
    return run


_CLASSES: dict[str, tuple[Any, tuple[str, ...]]] = {
    "Adam": (_unlocked(apply_adam), ("use_locking", "use_nesterov")),
    "ApplyAdaMax": (apply_ada_max, ()),
    "ApplyAdadelta": (apply_adadelta, ()),
    "ApplyAdagrad": (apply_adagrad, ("update_slots",)),
    "ApplyAdagradDA": (_unlocked(apply_adagrad_da), ("use_locking",)),
    "ApplyAdagradV2": (apply_adagrad_v2, ("epsilon", "update_slots")),
    "ApplyAdamWithAmsgrad": (
        _unlocked(apply_adam_with_amsgrad), ("beta1", "beta2", "epsilon", "use_locking"),
    ),
    "ApplyFtrl": (_unlocked(apply_ftrl), ("use_locking",)),
    "ApplyGradientDescent": (apply_gradient_descent, ()),
    "ApplyPowerSign": (apply_power_sign, ()),
    "ApplyProximalAdagrad": (_unlocked(apply_proximal_adagrad), ("use_locking",)),
    "ApplyProximalGradientDescent": (apply_proximal_gradient_descent, ()),
}  # fmt: skip
for _name, (_target, _start) in _CLASSES.items():
    globals()[_name] = wrapped(_name, _target, *_start)

__all__ = list(_CLASSES)
