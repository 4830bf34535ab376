"""Model and its cells: steps against loops written out, modes, evaluation, loss scaling."""

import numpy as np
import pytest

import diptych as ms
from diptych import nn, ops
from diptych.train import Callback, LambdaCallback, Metric

RNG = np.random.default_rng(5)
X = RNG.standard_normal((24, 4)).astype(np.float32)
Y = (X @ RNG.standard_normal((4, 3)) > 0).astype(np.float32)
DATA = [(X[i : i + 8], Y[i : i + 8]) for i in (0, 8, 16)]


def make_net() -> nn.Cell:
    ms.set_seed(5)
    return nn.SequentialCell(nn.Dense(4, 8), nn.Tanh(), nn.Dense(8, 3))


def weights(net: nn.Cell) -> list[np.ndarray]:
    return [p.asnumpy().copy() for p in net.get_parameters()]


def by_hand(epochs: int, data=DATA) -> list[np.ndarray]:
    """The same training as a loop with backward and step."""
    net = make_net()
    optimizer, loss_fn = nn.Adam(net.trainable_params(), 0.01), nn.MSELoss()
    for _ in range(epochs):
        for x, y in data:
            loss_fn(net(ms.Tensor(x)), ms.Tensor(y)).backward()
            optimizer.step()
    return weights(net)


def make_model(**options) -> tuple[ms.Model, nn.Cell]:
    net = make_net()
    optimizer = nn.Adam(net.trainable_params(), 0.01, loss_scale=options.pop("scale", 1.0))
    return ms.Model(net, nn.MSELoss(), optimizer, **options), net


class Data:
    """What diptych.dataset's objects offer."""

    def __init__(self, data):
        self.data = data

    def get_dataset_size(self):
        return len(self.data)

    def __iter__(self):
        return iter([[ms.Tensor(a) for a in batch] for batch in self.data])


@pytest.mark.parametrize("data", [
    DATA,
    Data(DATA),
    [{"x": x, "y": y} for x, y in DATA],
    tuple((ms.Tensor(x), ms.Tensor(y)) for x, y in DATA),
], ids=["arrays", "dataset", "dicts", "tensors"])
def test_training_is_the_loop_written_out(data):
    model, net = make_model()
    model.train(3, data)
    for got, want in zip(weights(net), by_hand(3), strict=True):
        np.testing.assert_array_equal(got, want)


def test_networks_may_give_their_loss_or_be_the_whole_step():
    net = make_net()
    with_loss = nn.WithLossCell(net, nn.MSELoss())
    ms.Model(with_loss, optimizer=nn.Adam(net.trainable_params(), 0.01)).train(2, DATA)
    step_net = make_net()
    step = nn.TrainOneStepCell(nn.WithLossCell(step_net, nn.MSELoss()),
                               nn.Adam(step_net.trainable_params(), 0.01))
    ms.Model(step).train(2, DATA)
    for a, b, want in zip(weights(net), weights(step_net), by_hand(2), strict=True):
        np.testing.assert_array_equal(a, want)
        np.testing.assert_array_equal(b, want)


def test_a_scaled_loss_trains_the_same():
    for manager, scale in (
        (ms.train.FixedLossScaleManager(1024.0), 1.0),
        (ms.train.FixedLossScaleManager(1024.0, False), 1024.0),
        (ms.train.DynamicLossScaleManager(1024, 2, 3), 1.0),
    ):
        model, net = make_model(loss_scale_manager=manager, scale=scale)
        model.train(2, DATA)
        for got, want in zip(weights(net), by_hand(2), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)
    assert model.train_network.scale_sense.item() == 1024 * 2 * 2  # 6 steps, twice 3 good ones


def test_a_step_that_overflows_is_left_out():
    net = nn.WithLossCell(nn.Dense(2, 1), nn.MSELoss())
    optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)
    update = nn.DynamicLossScaleUpdateCell(2.0**10, 4, 2)
    step = nn.TrainOneStepWithLossScaleCell(net, optimizer, update)
    x, y = ops.ones((4, 2)), ops.ones((4, 1))
    before = weights(net)
    _, overflow, scale = step(x * float("inf"), y)
    assert overflow.item() and scale.item() == 1024 and step.scale_sense.item() == 256
    assert optimizer.global_step.item() == 0
    for a, b in zip(before, weights(net), strict=True):
        np.testing.assert_array_equal(a, b)
    for want in (256, 1024, 1024, 4096):
        loss, overflow, _ = step(x, y)
        assert not overflow.item() and np.isfinite(loss.item())
        assert step.scale_sense.item() == want
    step.set_sense_scale(ms.Tensor([8.0]))
    assert step(x, y)[2].item() == 8
    with pytest.raises(TypeError, match="'scale_sense' must be a Cell or a Tensor"):
        nn.TrainOneStepWithLossScaleCell(net, optimizer, 2.0)


def test_sens_multiplies_gradients():
    grads = []

    class Keep(nn.Optimizer):
        def construct(self, gradients):
            grads.append([g.asnumpy() for g in gradients])
            return True

    net = nn.WithLossCell(nn.Dense(2, 1), nn.MSELoss())
    for sens in (1.0, 8.0):
        loss = nn.TrainOneStepCell(net, Keep(0.1, net.trainable_params()), sens)(
            ops.ones((4, 2)), ops.ones((4, 1)))
    for a, b in zip(*grads, strict=True):
        np.testing.assert_allclose(8 * a, b, rtol=1e-6)
    np.testing.assert_allclose(loss.item(), net(ops.ones((4, 2)), ops.ones((4, 1))).item())


def test_a_step_of_ones_own_uses_grad_with_sens():
    class Step(nn.TrainOneStepCell):
        def construct(self, *inputs):
            loss = self.network(*inputs)
            grads = self.grad(self.network, self.weights)(*inputs, ops.ones_like(loss))
            self.optimizer(self.grad_reducer(ops.clip_by_global_norm(grads, 1e9)))
            return loss

    net = make_net()
    step = Step(nn.WithLossCell(net, nn.MSELoss()), nn.Adam(net.trainable_params(), 0.01))
    ms.Model(step).train(1, DATA)
    for got, want in zip(weights(net), by_hand(1), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-7)


def test_value_and_gradients_of_a_cell():
    net = nn.WithLossCell(nn.Dense(2, 1), nn.MSELoss())
    x, y = ops.ones((4, 2)), ops.ones((4, 1))
    value, grads = nn.ForwardValueAndGrad(net, net.trainable_params(), get_by_list=True)(x, y)
    _, want = ms.value_and_grad(net, None, net.trainable_params())(x, y)
    assert value.item() == net(x, y).item()
    for a, b in zip(grads, want, strict=True):
        np.testing.assert_array_equal(a.asnumpy(), b.asnumpy())


# ---- evaluation


def test_evaluation_measures_without_training():
    model, net = make_model(metrics={"mse", "loss"})
    before = weights(net)
    results = model.eval(DATA)
    out = net(ms.Tensor(X)).asnumpy()
    np.testing.assert_allclose(results["mse"], np.square(out - Y).sum() / len(X), rtol=1e-5)
    np.testing.assert_allclose(results["loss"], np.square(out - Y).mean(), rtol=1e-5)
    for a, b in zip(before, weights(net), strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(model.predict(ms.Tensor(X)).asnumpy(), out)


def test_modes_go_back_to_what_they_were():
    net = nn.SequentialCell(nn.Dense(4, 8), nn.Dropout(p=0.5), nn.Dense(8, 3))
    seen = []
    net[1].register_forward_pre_hook(lambda cell, inputs: seen.append(cell.training))
    net[0].set_train(True)
    model = ms.Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.1), {"loss"})
    model.fit(1, DATA[:1], DATA[:1])
    model.predict(ms.Tensor(X))
    assert seen == [True, False, False]
    assert net[0].training and not net[1].training and not model.predict(ms.Tensor(X)).requires_grad


def test_evaluation_networks_of_ones_own():
    class Evaluate(nn.Cell):
        def __init__(self, net):
            super().__init__()
            self.net = net

        def construct(self, x, y, weight):
            return y, self.net(x) * weight, ops.zeros(())

    class Third(Metric):
        def clear(self):
            self.n = 0

        def update(self, *outputs):
            self.n += len(outputs)

        def eval(self):
            return self.n

    net = make_net()
    data = [(x, y, np.float32(0)) for x, y in DATA]
    model = ms.Model(net, nn.MSELoss(), metrics={"mse": ms.train.MSE(), "loss": ms.train.Loss()},
                     eval_network=Evaluate(net), eval_indexes=[2, 1, 0])
    np.testing.assert_allclose(model.eval(data)["mse"], np.square(Y).sum() / len(Y), rtol=1e-6)
    assert model.eval(data)["loss"] == 0
    assert ms.Model(net, metrics={"n": Third()}, eval_network=Evaluate(net)).eval(data)["n"] == 9


def test_fit_evaluates_when_it_is_time():
    for frequency, want in ((2, [2, 4]), ([1, 3], [1, 3]), (1, [1, 2, 3, 4])):
        seen = []
        model, _ = make_model(metrics={"loss"})
        epoch = LambdaCallback(
            on_eval_end=lambda c, seen=seen: seen.append(c.original_args().cur_step_num))
        history = ms.train.History()
        model.fit(4, DATA, DATA[:2], frequency, callbacks=[history, epoch])
        assert seen == [2] * len(want)
        assert history.epoch["epoch"] == [1, 2, 3, 4]


# ---- the order of events


class Log(Callback):
    def __init__(self):
        self.events = []

    def __enter__(self):
        self.events.append("enter")
        return self

    def __exit__(self, *error):
        self.events.append("exit")

    def __getattribute__(self, name):
        if name.startswith("on_"):
            self.events.append(name[3:])
        return super().__getattribute__(name)


def test_callbacks_are_called_in_order():
    log = Log()
    model, _ = make_model(metrics={"loss"})
    model.fit(1, DATA[:2], DATA[:1], callbacks=log)
    step = ["train_step_begin", "train_step_end"]
    evaluation = ["eval_begin", "eval_epoch_begin", "eval_step_begin", "eval_step_end",
                  "eval_epoch_end", "eval_end"]
    assert log.events == ["enter", "train_begin", "train_epoch_begin", *step, *step, *evaluation,
                          "train_epoch_end", "train_end", "exit"]


def test_a_callback_ends_the_training_and_an_error_leaves_callbacks():
    log, steps = Log(), []

    def stop(context):
        params = context.original_args()
        steps.append((params.cur_epoch_num, params.cur_step_in_epoch, params["cur_step_num"]))
        if params.cur_step_num == 4:
            context.request_stop()

    model, _ = make_model()
    model.train(5, DATA, callbacks=[LambdaCallback(on_train_step_end=stop), log])
    assert steps == [(1, 1, 1), (1, 2, 2), (1, 3, 3), (2, 1, 4)]
    assert log.events[-3:] == ["train_epoch_end", "train_end", "exit"]
    log = Log()
    with pytest.raises(ValueError, match="Dense|dense|matmul"):
        model.train(1, [(X[:, :3], Y)], callbacks=log)
    assert log.events[-1] == "exit"


def test_bad_calls_are_named():
    net = make_net()
    model, _ = make_model()
    for error, call, text in [
        (TypeError, lambda: ms.Model(len), "'network' must be of type Cell"),
        (TypeError, lambda: ms.Model(net, optimizer=net), "'optimizer' must be of type Optimizer"),
        (ValueError, lambda: ms.Model(net, amp_level="O9"), "amp_level is 'O9'"),
        (TypeError, lambda: ms.Model(net, metrics=3), "set of names"),
        (KeyError, lambda: ms.Model(net, metrics={"speed"}), "no metric 'speed'"),
        (ValueError, lambda: model.train(0, DATA), "'epoch' must be at least 1"),
        (ValueError, lambda: model.train(2, DATA, initial_epoch=2), "'initial_epoch' is 2"),
        (TypeError, lambda: model.train(1, 7), "'train_dataset' must be a data set"),
        (TypeError, lambda: model.train(1, DATA, callbacks=[7]), "must hold Callbacks"),
        (ValueError, lambda: model.train(1, []), "gave no batch in epoch 1"),
        (ValueError, lambda: model.train(2, iter(DATA)), "gave no batch in epoch 2"),
        (ValueError, lambda: model.train(1, [(X, Y, Y)]), "it has 3 parts"),
        (ValueError, lambda: model.eval(DATA), "needs 'metrics'"),
        (ValueError, lambda: ms.Model(net, metrics={"mse"}).eval(DATA), "'loss_fn' or"),
        (TypeError, lambda: LambdaCallback(on_step=print), "'on_step' is no event"),
    ]:
        with pytest.raises(error, match=text):
            call()
    with pytest.warns(UserWarning, match="dataset_sink_mode does not apply"):
        model.train(1, DATA, dataset_sink_mode=True)


# ---- mixed precision


@pytest.mark.parametrize("level", ["O0", "O1", "O2", "O3", "auto"])
def test_mixed_precision_trains(level):
    seen = {}
    net = nn.SequentialCell(nn.Dense(4, 8), nn.LayerNorm((8,)), nn.Dense(8, 3))
    for i in range(3):
        net[i].register_forward_hook(lambda c, x, out, i=i: seen.update({i: out.dtype.name}))
    model = ms.Model(net, nn.MSELoss(), nn.Adam(net.trainable_params(), 0.02), {"loss"},
                     amp_level=level, loss_scale_manager=ms.train.DynamicLossScaleManager(256))
    before = model.eval(DATA)["loss"]
    model.train(5, DATA)
    assert model.eval(DATA)["loss"] < before
    assert all(p.dtype == ms.float32 for p in net.get_parameters())
    narrow = "float32" if level == "O0" else "float16"
    assert seen == {0: narrow, 1: "float16" if level == "O3" else "float32", 2: narrow}


def test_scalers_for_loops_of_ones_own():
    scaler = ms.amp.DynamicLossScaler(8, 2, 2)
    grads = scaler.unscale((scaler.scale(ms.Tensor([2.0])), ms.Tensor([8.0])))
    assert [g.item() for g in grads] == [2.0, 1.0]
    scales = []
    for good in (False, True, True, True, False):
        scaler.adjust(ms.Tensor(good))
        scales.append(scaler.scale_value.item())
    assert scales == [4, 4, 8, 8, 4]
    assert not ms.amp.StaticLossScaler(4).adjust(ms.Tensor(False))
    manager = ms.train.DynamicLossScaleManager(8, 2, 2)
    for good in (False, True, True, True, False):
        manager.update_loss_scale(not good)
    assert manager.get_loss_scale() == 4


@pytest.mark.parametrize("level", ["O0", "O2"])
def test_a_network_and_its_optimiser_for_a_loop_of_ones_own(level):
    net = make_net()
    optimizer = nn.Adam(net.trainable_params(), 0.01)
    amp_net, scaled = ms.amp.build_train_network(net, optimizer, level=level)
    assert scaled.parameters is optimizer.parameters
    for x, y in DATA:
        loss = nn.MSELoss()(amp_net(ms.Tensor(x)), ms.Tensor(y))
        ms.amp.scale_loss(loss, scaled).backward()
        scaled.step()
        assert all(p.grad is None for p in net.get_parameters())
    for got, want in zip(weights(net), by_hand(1), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5 if level == "O0" else 0.02, atol=1e-2)
    before, scale = weights(net), scaled.scaler.scale_value.item()
    loss = (amp_net(ms.Tensor(DATA[0][0])) * 1e38).sum() * 1e10
    ms.amp.scale_loss(loss, scaled).backward()
    scaled.step()
    for a, b in zip(before, weights(net), strict=True):
        np.testing.assert_array_equal(a, b)
    assert scaled.scaler.scale_value.item() == scale / 2 and scaled.global_step.item() == 3
    amp_net(ms.Tensor(DATA[0][0])).sum().backward()  # without scale_loss: a plain step
    scaled.step()
    assert scaled.global_step.item() == 4
    with pytest.raises(TypeError, match="that build_train_network gave"):
        ms.amp.scale_loss(loss, optimizer)


def test_a_built_step_is_a_step():
    net = make_net()
    optimizer = nn.Adam(net.trainable_params(), 0.01)
    step = ms.amp.build_train_network(net, optimizer, nn.MSELoss(), "O0")
    for x, y in DATA:
        step(ms.Tensor(x), ms.Tensor(y))
    for got, want in zip(weights(net), by_hand(1), strict=True):
        np.testing.assert_array_equal(got, want)
    step = ms.amp.build_train_network(net, optimizer, nn.MSELoss(), "O2",
                                      ms.train.FixedLossScaleManager(64.0))
    loss, overflow, scale = step(ms.Tensor(X), ms.Tensor(Y))
    assert scale.item() == 64 and not overflow.item() and np.isfinite(loss.item())


def test_names_at_the_top_are_those_of_train():
    for name in ms._LATER:
        assert getattr(ms, name) is getattr(ms.train, name)
    with pytest.raises(AttributeError, match="no attribute 'Modell'"):
        ms.Modell  # noqa: B018


def test_custom_mixed_precision():
    seen = {}

    class Seen(nn.Cell):
        def __init__(self, name):
            super().__init__()
            self.name = name

        def construct(self, x):
            seen[self.name] = x.dtype.name
            return x

    def net():
        return nn.SequentialCell(nn.Dense(4, 4), Seen("dense"), nn.LayerNorm((4,)), Seen("norm"))

    x = ops.ones((2, 4))
    ms.amp.custom_mixed_precision(net(), white_list=[nn.Dense])(x)
    assert seen == {"dense": "float16", "norm": "float32"}
    plain = net()
    want = plain(x).asnumpy()
    made = ms.amp.custom_mixed_precision(plain, black_list=[nn.Dense, nn.LayerNorm, Seen])(x)
    np.testing.assert_array_equal(made.asnumpy(), want)
    ms.amp.custom_mixed_precision(plain, black_list=ms.amp.get_black_list())(x)
    assert seen == {"dense": "float16", "norm": "float16"}
    changed = ms.amp.get_white_list()
    changed.clear()
    assert nn.Conv2d in ms.amp.get_white_list()
    with pytest.raises(ValueError, match="one of 'white_list' and 'black_list'"):
        ms.amp.custom_mixed_precision(net())
    with pytest.raises(TypeError, match="'white_list' holds 3"):
        ms.amp.custom_mixed_precision(net(), white_list=[3])
