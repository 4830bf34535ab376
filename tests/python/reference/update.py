"""Optimiser steps in double, written from the formulas of the papers."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def _gradient(param: Array, grad: Array, weight_decay: Array, scale: Array) -> Array:
    return grad * scale + weight_decay * param


def _moments(m: Array, v: Array, g: Array, beta1: Array, beta2: Array) -> tuple[Array, Array]:
    return beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * np.square(g)


def sgd(param: Array, grad: Array, lr: Array, weight_decay: Array, scale: Array) -> Array:
    return param - lr * _gradient(param, grad, weight_decay, scale)


def momentum(param: Array, accum: Array, grad: Array, lr: Array, mu: Array, dampening: Array,
             weight_decay: Array, scale: Array, use_nesterov: bool = False) -> tuple[Array, ...]:
    g = _gradient(param, grad, weight_decay, scale)
    accum = mu * accum + (1 - dampening) * g
    return param - lr * (g + mu * accum if use_nesterov else accum), accum


def adam(param: Array, m: Array, v: Array, grad: Array, lr: Array, step: Array, beta1: Array,
         beta2: Array, eps: Array, weight_decay: Array, scale: Array,
         use_nesterov: bool = False) -> tuple[Array, ...]:
    g = _gradient(param, grad, weight_decay, scale)
    m, v = _moments(m, v, g, beta1, beta2)
    rate = lr * np.sqrt(1 - beta2**step) / (1 - beta1**step)
    ahead = beta1 * m + (1 - beta1) * g if use_nesterov else m
    return param - rate * ahead / (np.sqrt(v) + eps), m, v


def adam_amsgrad(param: Array, m: Array, v: Array, vmax: Array, grad: Array, lr: Array,
                 step: Array, beta1: Array, beta2: Array, eps: Array, weight_decay: Array,
                 scale: Array) -> tuple[Array, ...]:
    g = _gradient(param, grad, weight_decay, scale)
    m, v = _moments(m, v, g, beta1, beta2)
    vmax = np.maximum(vmax, v)
    rate = lr * np.sqrt(1 - beta2**step) / (1 - beta1**step)
    return param - rate * m / (np.sqrt(vmax) + eps), m, v, vmax


def adamw(param: Array, m: Array, v: Array, grad: Array, lr: Array, step: Array, beta1: Array,
          beta2: Array, eps: Array, weight_decay: Array, scale: Array) -> tuple[Array, ...]:
    m, v = _moments(m, v, grad * scale, beta1, beta2)
    mean, square = m / (1 - beta1**step), v / (1 - beta2**step)
    return param * (1 - lr * weight_decay) - lr * mean / (np.sqrt(square) + eps), m, v


def adam_weight_decay(param: Array, m: Array, v: Array, grad: Array, lr: Array, beta1: Array,
                      beta2: Array, eps: Array, weight_decay: Array,
                      scale: Array) -> tuple[Array, ...]:
    m, v = _moments(m, v, grad * scale, beta1, beta2)
    return param - lr * (m / (np.sqrt(v) + eps) + weight_decay * param), m, v


def rmsprop(param: Array, mean_square: Array, moment: Array, grad: Array, lr: Array, decay: Array,
            mu: Array, eps: Array, weight_decay: Array, scale: Array) -> tuple[Array, ...]:
    g = _gradient(param, grad, weight_decay, scale)
    mean_square = decay * mean_square + (1 - decay) * np.square(g)
    moment = mu * moment + lr * g / np.sqrt(mean_square + eps)
    return param - moment, mean_square, moment


def rmsprop_centered(param: Array, mean_square: Array, mean: Array, moment: Array, grad: Array,
                     lr: Array, decay: Array, mu: Array, eps: Array, weight_decay: Array,
                     scale: Array) -> tuple[Array, ...]:
    g = _gradient(param, grad, weight_decay, scale)
    mean_square = decay * mean_square + (1 - decay) * np.square(g)
    mean = decay * mean + (1 - decay) * g
    moment = mu * moment + lr * g / np.sqrt(mean_square - np.square(mean) + eps)
    return param - moment, mean_square, mean, moment


def adagrad(param: Array, accum: Array, grad: Array, lr: Array, eps: Array, weight_decay: Array,
            scale: Array, update_slots: bool = True) -> tuple[Array, ...]:
    g = _gradient(param, grad, weight_decay, scale)
    accum = accum + np.square(g) if update_slots else accum
    return param - lr * g / (np.sqrt(accum) + eps), accum


def adadelta(param: Array, accum: Array, accum_update: Array, grad: Array, lr: Array, rho: Array,
             eps: Array, weight_decay: Array, scale: Array) -> tuple[Array, ...]:
    g = _gradient(param, grad, weight_decay, scale)
    accum = rho * accum + (1 - rho) * np.square(g)
    delta = np.sqrt(accum_update + eps) / np.sqrt(accum + eps) * g
    return param - lr * delta, accum, rho * accum_update + (1 - rho) * np.square(delta)


def adamax(param: Array, m: Array, v: Array, grad: Array, lr: Array, step: Array, beta1: Array,
           beta2: Array, eps: Array, weight_decay: Array, scale: Array) -> tuple[Array, ...]:
    g = _gradient(param, grad, weight_decay, scale)
    m, v = beta1 * m + (1 - beta1) * g, np.maximum(beta2 * v, np.abs(g))
    return param - lr / (1 - beta1**step) * m / (v + eps), m, v


def nadam(param: Array, m: Array, v: Array, grad: Array, lr: Array, step: Array, beta1: Array,
          beta2: Array, eps: Array, momentum_decay: Array, weight_decay: Array,
          scale: Array) -> tuple[Array, ...]:
    g = _gradient(param, grad, weight_decay, scale)
    m, v = _moments(m, v, g, beta1, beta2)
    mu = [beta1 * (1 - 0.5 * 0.96 ** (t * momentum_decay)) for t in range(1, int(step) + 2)]
    now = (1 - mu[-2]) * g / (1 - np.prod(mu[:-1]))
    ahead = mu[-1] * m / (1 - np.prod(mu))
    return param - lr * (now + ahead) / (np.sqrt(v / (1 - beta2**step)) + eps), m, v


def lamb(param: Array, m: Array, v: Array, grad: Array, lr: Array, step: Array, beta1: Array,
         beta2: Array, eps: Array, weight_decay: Array, scale: Array) -> tuple[Array, ...]:
    m, v = _moments(m, v, grad * scale, beta1, beta2)
    u = m / (1 - beta1**step) / (np.sqrt(v / (1 - beta2**step)) + eps) + weight_decay * param
    sizes = np.linalg.norm(param), np.linalg.norm(u)
    trust = sizes[0] / sizes[1] if all(sizes) else 1.0
    return param - lr * trust * u, m, v


def ftrl(param: Array, accum: Array, linear: Array, grad: Array, lr: Array, l1: Array, l2: Array,
         lr_power: Array, weight_decay: Array, scale: Array) -> tuple[Array, ...]:
    g = _gradient(param, grad, weight_decay, scale)
    new = accum + np.square(g)
    linear = linear + g - (new**-lr_power - accum**-lr_power) / lr * param
    shrunk = np.where(np.abs(linear) > l1, np.sign(linear) * l1 - linear, 0)
    return shrunk / (new**-lr_power / lr + 2 * l2), new, linear


def rprop(param: Array, prev: Array, size: Array, grad: Array, lr: Array, step: Array,
          eta_minus: Array, eta_plus: Array, size_min: Array, size_max: Array,
          weight_decay: Array, scale: Array) -> tuple[Array, ...]:
    g = _gradient(param, grad, weight_decay, scale)
    turn = np.sign(g * prev)
    factor = np.where(turn > 0, eta_plus, np.where(turn < 0, eta_minus, 1.0))
    size = np.clip((lr if step == 1 else size) * factor, size_min, size_max)
    g = np.where(turn < 0, 0.0, g)
    return param - np.sign(g) * size, g, size


def asgd(param: Array, average: Array, grad: Array, lr: Array, step: Array, lambd: Array,
         alpha: Array, t0: Array, weight_decay: Array, scale: Array) -> tuple[Array, ...]:
    g = _gradient(param, grad, weight_decay, scale)
    eta = lr / (1 + lambd * lr * (step - 1)) ** alpha
    param = param * (1 - lambd * eta) - eta * g
    return param, average + (param - average) / np.maximum(1.0, step - 1 - t0)
