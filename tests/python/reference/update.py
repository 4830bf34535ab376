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
            scale: Array) -> tuple[Array, ...]:
    g = _gradient(param, grad, weight_decay, scale)
    accum = accum + np.square(g)
    return param - lr * g / (np.sqrt(accum) + eps), accum
