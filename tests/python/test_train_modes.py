"""A training step is the same in both modes, bit for bit: every optimiser, schedule and group."""

import numpy as np
import pytest

import diptych as ms
from diptych import nn, ops
from diptych.train.callback.progress import loss_of

X = np.random.default_rng(0).standard_normal((12, 4)).astype(np.float32)
Y = np.random.default_rng(1).standard_normal((12, 3)).astype(np.float32)

RULES = {
    "sgd": lambda p: nn.SGD(p, 0.1),
    "sgd-dampened": lambda p: nn.SGD(p, 0.1, 0.9, 0.3, 0.1),
    "momentum": lambda p: nn.Momentum(p, 0.1, 0.9, 0.1, 1.0, True),
    "adam": lambda p: nn.Adam(p, 0.1),
    "amsgrad": lambda p: nn.Adam(p, 0.1, use_amsgrad=True),
    "adamw": lambda p: nn.AdamW(p, 0.1),
    "bert": lambda p: nn.AdamWeightDecay(p, 0.1, weight_decay=0.1),
    "rmsprop": lambda p: nn.RMSProp(p, 0.1),
    "rmsprop-centered": lambda p: nn.RMSProp(p, 0.01, centered=True),
    "adagrad": lambda p: nn.Adagrad(p),
    "adadelta": lambda p: nn.Adadelta(p),
    "adamax": lambda p: nn.AdaMax(p),
    "nadam": lambda p: nn.NAdam(p),
    "lamb": lambda p: nn.Lamb(p, 0.1),
    "ftrl": lambda p: nn.FTRL(p, learning_rate=0.1),
    "rprop": lambda p: nn.Rprop(p),
    "asgd": lambda p: nn.ASGD(p),
    "lars": lambda p: nn.LARS(nn.Momentum(p, 0.1, 0.9, 0.05)),
    "lars-clip": lambda p: nn.LARS(nn.Momentum(p, 0.1, 0.9, 0.05), use_clip=True),
    "exponential": lambda p: nn.SGD(p, nn.ExponentialDecayLR(0.1, 0.9, 2, True)),
    "cosine": lambda p: nn.SGD(p, nn.CosineDecayLR(0.01, 0.1, 5)),
    "polynomial": lambda p: nn.SGD(p, nn.PolynomialDecayLR(0.1, 0.01, 3, 2.0, True)),
    "warm-up": lambda p: nn.SGD(p, nn.WarmUpLR(0.1, 3)),
    "list": lambda p: nn.SGD(p, [0.3, 0.2, 0.1]),
    "function": lambda p: nn.SGD(p, lambda step: 0.1 / (step + 1)),
    "groups": lambda p: nn.Adam(
        [
            {"params": p[:1], "lr": 0.1},
            {"params": p[1:], "weight_decay": 0.1, "lr": [0.3, 0.2], "grad_centralization": True},
        ],
        0.01,
    ),
}


class Clipped(nn.TrainOneStepCell):
    """With clipping by the global norm."""

    def construct(self, x, y):
        loss, grads = ms.value_and_grad(self.network, None, self.weights)(x, y)
        self.optimizer(ops.clip_by_global_norm(grads, 0.1))
        return loss


def scaled(network, optimizer):
    """With a loss scale that grows every second step."""
    update = nn.DynamicLossScaleUpdateCell(1024.0, 2, 2)
    return nn.TrainOneStepWithLossScaleCell(network, optimizer, update)


def train(rule, step_type, mode):
    before = ms.get_context("mode")
    ms.set_context(mode=mode)
    try:
        ms.set_seed(3)
        net = nn.SequentialCell(nn.Dense(4, 8), nn.Tanh(), nn.Dropout(p=0.2), nn.Dense(8, 3))
        optimizer = rule(net.trainable_params())
        step = step_type(nn.WithLossCell(net, nn.MSELoss()), optimizer)
        losses = []
        look = ms.train.LambdaCallback(
            on_train_step_end=lambda c: losses.append(loss_of(c.original_args().net_outputs)))
        ms.Model(step).train(2, [(X, Y), (X[:5], Y[:5])], callbacks=look)
        return losses, {p.name: p.asnumpy() for p in step.get_parameters()}
    finally:
        ms.set_context(mode=before)


@pytest.mark.parametrize(("name", "step_type"), [
    *((name, nn.TrainOneStepCell) for name in RULES), ("adam", Clipped), ("adam", scaled)])
def test_a_step_is_the_same_in_both_modes(name, step_type):
    losses, weights = train(RULES[name], step_type, ms.PYNATIVE_MODE)
    same_losses, same_weights = train(RULES[name], step_type, ms.GRAPH_MODE)
    assert losses == same_losses
    for key in weights:
        np.testing.assert_array_equal(weights[key], same_weights[key], err_msg=key)
