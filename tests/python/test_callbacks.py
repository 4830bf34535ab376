"""Callbacks that print, stop, slow down and write events."""

import io
import math
import re
import struct
import time
import zlib

import numpy as np
import pytest

import diptych as ms
from diptych import nn, ops
from diptych.train import (
    EarlyStopping,
    History,
    LambdaCallback,
    LearningRateScheduler,
    LossMonitor,
    ProgressBar,
    ReduceLROnPlateau,
    SummaryCollector,
    SummaryRecord,
    TimeMonitor,
)
from diptych.train.events import crc32c

DATA = [(np.ones((4, 2), np.float32), np.ones((4, 1), np.float32))] * 3


def make_model(lr=0.1, metrics=None) -> ms.Model:
    ms.set_seed(3)
    net = nn.Dense(2, 1)
    return ms.Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), lr), metrics or {"loss"})


def script(values):
    """A callback that puts values in the place of an evaluation's results."""
    left = iter(values)

    def replace(context):
        context.original_args().eval_results = {"loss": next(left), "acc": 0.5}

    return LambdaCallback(on_train_epoch_end=replace)


# ---- printing


def test_loss_and_time_are_printed(capsys):
    make_model().fit(2, DATA, DATA, callbacks=[LossMonitor(2), TimeMonitor(data_time=True)])
    out = capsys.readouterr().out.splitlines()
    assert [line.split(",")[0] for line in out if line.startswith("epoch")] == [
        "epoch: 1 step: 2", "epoch: 2 step: 1", "epoch: 2 step: 3"]
    assert all(math.isfinite(float(line.split(" is ")[1])) for line in out if "loss is" in line)
    assert sum(line.startswith("Eval result: epoch") for line in out) == 2
    times = [line for line in out if line.startswith("Train epoch time")]
    assert len(times) == 2 and all("per step time" in t and "data time" in t for t in times)
    assert sum(line.startswith("Eval epoch time") for line in out) == 2


def test_an_evaluation_does_not_count_as_training_time(capsys):
    steps = LambdaCallback(on_train_step_begin=lambda context: time.sleep(0.03))
    make_model().fit(1, DATA, DATA, callbacks=[steps, TimeMonitor(data_time=True)])
    train = [line for line in capsys.readouterr().out.splitlines() if line.startswith("Train")]
    assert float(re.search(r"epoch time: ([\d.]+) ms", train[0])[1]) >= 90, "three steps"


def test_a_loss_that_is_lost_ends_the_training():
    data = [(np.full((4, 2), np.inf, np.float32), np.ones((4, 1), np.float32))]
    with pytest.raises(ValueError, match="epoch: 1 step: 1: the loss is (nan|inf)"):
        make_model().train(1, data, callbacks=LossMonitor())


def test_the_bar_is_lines_where_no_terminal_is(capsys):
    make_model().fit(2, DATA, DATA[:1], callbacks=ProgressBar(seconds=1000))
    err = capsys.readouterr().err.splitlines()
    shape = r"(epoch [12]/2|eval): (3/3|1/1) \[00:0\d, [\d.]+ step/s, loss=[\d.e-]+\]"
    assert len(err) == 4 and all(re.fullmatch(shape, line) for line in err), err
    make_model().train(1, iter(DATA), callbacks=ProgressBar(seconds=0))
    err = capsys.readouterr().err.splitlines()
    assert len(err) == 4 and err[0].startswith("epoch 1/1: 1 [")  # three steps and the end


def test_the_bar_tells_when_data_are_the_bottleneck(capsys):
    rows = ms.dataset.NumpySlicesDataset([[1.0, 2.0]] * 12, "x").map(lambda x: slowly(x, 0.02))
    slow = rows.zip(ms.dataset.NumpySlicesDataset([[1.0]] * 12, "y")).batch(4)
    slow = slow.map(lambda x: x.astype(np.float32), "x").map(lambda y: y.astype(np.float32), "y")
    make_model().fit(1, slow, slow, callbacks=ProgressBar(seconds=0))
    lines = capsys.readouterr().err.splitlines()
    shares = [int(share) for share in re.findall(r", loss=\S+, waits (\d+) %\]", "".join(lines))]
    assert len(shares) == len(lines) and min(shares) > 10, lines

    class Quick(list):
        def get_wait_time(self):
            return 1e-9

    make_model().train(1, Quick(DATA), callbacks=ProgressBar(seconds=0))
    assert "waits" not in capsys.readouterr().err


def slowly(x, seconds):
    time.sleep(seconds)
    return x


class Parts(ms.train.Metric):
    """Gives what it was made with."""

    def __init__(self, value):
        super().__init__()
        self.value = value

    def clear(self):
        pass

    def update(self, *inputs):
        pass

    def eval(self):
        return self.value


def test_the_bar_tells_the_numbers_of_an_evaluation(capsys):
    metrics = {"loss": ms.train.Loss(), "parts": Parts(np.eye(2)), "half": Parts(np.float32(0.5))}
    make_model(metrics=metrics).fit(1, DATA, DATA[:1], callbacks=ProgressBar(seconds=1000))
    assert re.search(r"^eval: loss [\d.e-]+, half 0\.5$", capsys.readouterr().out, re.MULTILINE)


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_the_bar_redraws_itself_in_a_terminal_and_prints_stay_whole(capsys):
    pytest.importorskip("tqdm")
    screen = Terminal()
    make_model().fit(2, DATA, DATA, callbacks=[ProgressBar(seconds=0, file=screen), LossMonitor()])
    drawn = screen.getvalue()
    assert "\r" in drawn and "epoch 2/2: 100%" in drawn and "step/s" in drawn and "loss=" in drawn
    out = capsys.readouterr().out.splitlines()
    assert sum(line.startswith("epoch: ") for line in out) == 6
    bar = ProgressBar(file=screen)
    stop = LambdaCallback(on_train_step_begin=lambda c: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        make_model().train(1, DATA, callbacks=[bar, stop])
    from diptych.train.callback import progress

    assert progress._open_bars == []


# ---- stopping and slowing down


def epochs_until(stopping, values) -> int:
    history = History()
    make_model().train(len(values), DATA, callbacks=[script(values), stopping, history])
    return len(history.epoch["epoch"])


def test_early_stopping():
    assert epochs_until(EarlyStopping(patience=2), [3, 2, 2.5, 2.1, 1, 1]) == 4
    assert epochs_until(EarlyStopping(), [3, 2, 2.5, 1]) == 3
    assert epochs_until(EarlyStopping(min_delta=0.5, patience=1), [3, 2.8, 1]) == 2
    assert epochs_until(EarlyStopping(patience=2, mode="max"), [1, 2, 3, 2, 2, 9]) == 5
    assert epochs_until(EarlyStopping("acc", patience=3), [1] * 6) == 4
    assert epochs_until(EarlyStopping("eval_acc", patience=3), [1] * 6) == 4
    assert epochs_until(EarlyStopping(patience=2, baseline=0.5), [3, 2, 1, 0]) == 2
    assert epochs_until(EarlyStopping("loss", patience=10), [1] * 3) == 3
    with pytest.raises(ValueError, match="there is no 'speed'; monitor can be loss or loss, acc"):
        epochs_until(EarlyStopping("speed"), [1])
    for bad in ({"mode": "up"}, {"patience": -1}, {"min_delta": -1.0}):
        with pytest.raises(ValueError, match=next(iter(bad))):
            EarlyStopping(**bad)


def test_early_stopping_goes_back_to_the_best_weights(capsys):
    model = make_model()
    seen = []
    keep = LambdaCallback(on_train_epoch_end=lambda c: seen.append(
        [p.asnumpy().copy() for p in model.predict_network.get_parameters()]))
    stop = EarlyStopping(patience=2, restore_best_weights=True, verbose=True)
    model.train(9, DATA, callbacks=[script([3, 1, 2, 2, 2]), keep, stop])
    assert len(seen) == 4
    for p, want in zip(model.predict_network.get_parameters(), seen[1], strict=True):
        np.testing.assert_array_equal(p.asnumpy(), want)
    assert "Epoch 4: early stopping, the best eval_loss is 1.0" in capsys.readouterr().out


def rates(callback, values) -> list[float]:
    model = make_model(0.8)
    seen = []
    look = LambdaCallback(on_train_epoch_end=lambda c: seen.append(
        round(model._optimizer.learning_rate.item(), 6)))
    model.train(len(values), DATA, callbacks=[script(values), callback, look])
    return seen


def test_the_rate_falls_on_a_plateau():
    values = [3, 2, 2, 2, 2, 2, 2, 2]
    assert rates(ReduceLROnPlateau(factor=0.5, patience=2), values) == [
        0.8, 0.8, 0.8, 0.4, 0.4, 0.2, 0.2, 0.1]
    assert rates(ReduceLROnPlateau(factor=0.5, patience=1, cooldown=2), values[:6]) == [
        0.8, 0.8, 0.4, 0.4, 0.2, 0.2]
    assert rates(ReduceLROnPlateau(factor=0.1, patience=1, min_lr=0.5), values[:4]) == [
        0.8, 0.8, 0.5, 0.5]
    with pytest.raises(ValueError, match="factor is 1.5"):
        ReduceLROnPlateau(factor=1.5)
    with pytest.raises(ValueError, match="constant learning rate"):
        make_model([0.1, 0.2]).train(1, DATA, callbacks=ReduceLROnPlateau())


def test_the_rate_follows_a_function():
    model = make_model(0.5)
    model.train(1, DATA, callbacks=LearningRateScheduler(lambda rate, step: rate / step))
    np.testing.assert_allclose(model._optimizer.learning_rate.item(), 0.5 / 6, rtol=1e-6)


def test_history_keeps_losses_and_results():
    history = History()
    make_model(metrics={"loss", "mae"}).fit(3, DATA, DATA, callbacks=history)
    assert set(history.history) == {"net_output", "loss", "mae"}
    assert all(len(v) == 3 for v in history.history.values())
    assert history.history["loss"][2] < history.history["loss"][0]


# ---- event files


def test_checksums():
    # RFC 3720, appendix B.4
    for data, want in [(b"", 0), (b"\x00" * 32, 0x8A9136AA), (b"\xff" * 32, 0x62A8AB43),
                       (bytes(range(32)), 0x46DD794E), (b"123456789", 0xE3069283)]:
        assert crc32c(data) == want


def masked(data: bytes) -> int:
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def fields(message: bytes) -> list[tuple[int, object]]:
    """A protobuf message as (number, value), by the published wire format."""
    at, found = 0, []

    def varint() -> int:
        nonlocal at
        n = shift = 0
        while True:
            byte = message[at]
            at += 1
            n |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return n

    while at < len(message):
        key = varint()
        kind = key & 7
        if kind == 0:
            value: object = varint()
        elif kind == 2:
            n = varint()
            value, at = message[at : at + n], at + n
        else:
            code = {1: "<d", 5: "<f"}[kind]
            value = struct.unpack_from(code, message, at)[0]
            at += struct.calcsize(code)
        found.append((key >> 3, value))
    return found


def read_events(path) -> list[tuple[int, dict[str, list[tuple[int, object]]]]]:
    """(step, {tag: fields of the value}) of each event; checksums are looked at."""
    data, events = path.read_bytes(), []
    while data:
        (n,) = struct.unpack("<Q", data[:8])
        assert struct.unpack("<I", data[8:12])[0] == masked(data[:8])
        body = data[12 : 12 + n]
        assert struct.unpack("<I", data[12 + n : 16 + n])[0] == masked(body)
        data = data[16 + n :]
        event = dict(fields(body))
        if not events:
            assert event[3] == b"brain.Event:2"
        values = [fields(v) for k, v in fields(event.get(5, b"")) if k == 1]
        events.append((event.get(2, 0), {dict(v)[1].decode(): v for v in values}))
    return events[1:]


def test_values_are_written_as_tensorboard_reads_them(tmp_path):
    x = np.random.default_rng(0).standard_normal(1000)
    picture = np.arange(12, dtype=np.uint8).reshape(1, 3, 4)
    with SummaryRecord(tmp_path) as record:
        record.add_value("scalar", "loss", ms.Tensor(0.5))
        record.add_value("histogram", "x", ms.Tensor(x))
        record.add_value("image", "picture", picture)
        record.record(300)
        record.record(301)
        record.add_value("scalar", "loss", -1)
        record.record(2**40)
    (path,) = tmp_path.iterdir()
    assert "tfevents" in path.name
    (step, values), (last, _) = read_events(path)
    assert step == 300 and last == 2**40
    assert dict(values["loss"])[2] == 0.5
    histo = dict(fields(dict(values["x"])[5]))
    f32 = x.astype(np.float32).astype(float)
    np.testing.assert_allclose([histo[i] for i in range(1, 6)],
                               [f32.min(), f32.max(), 1000, f32.sum(), np.square(f32).sum()])
    limits, counts = np.frombuffer(histo[6]), np.frombuffer(histo[7])
    assert counts.sum() == 1000
    np.testing.assert_array_equal(np.cumsum(counts)[:-1],
                                  [(f32 < limit).sum() for limit in limits[:-1]])
    image = dict(fields(dict(values["picture"])[4]))
    assert (image[1], image[2], image[3]) == (3, 4, 1)
    png = image[4]
    start = png.index(b"IDAT") + 4
    (n,) = struct.unpack(">I", png[start - 8 : start - 4])
    rows = np.frombuffer(zlib.decompress(png[start : start + n]), np.uint8).reshape(3, 5)
    np.testing.assert_array_equal(rows[:, 1:], picture[0])
    with pytest.raises(ValueError, match="is closed"):
        record.add_value("scalar", "a", 1)
        record.record(1)


def test_images_can_be_read(tmp_path):
    reader = pytest.importorskip("PIL.Image")
    from diptych.train.events import _png

    pixels = np.random.default_rng(0).integers(0, 256, (5, 7, 3), np.uint8)
    np.testing.assert_array_equal(np.asarray(reader.open(io.BytesIO(_png(pixels)))), pixels)


def test_the_collector_writes_a_training(tmp_path):
    collector = SummaryCollector(tmp_path, 2, {"histogram_regular": "weight"})
    make_model().fit(2, DATA, DATA, callbacks=collector)
    (path,) = tmp_path.iterdir()
    events = read_events(path)
    assert [step for step, v in events if "loss" in v] == [1, 2, 4, 6]
    assert all(abs(dict(v["learning_rate"])[2] - 0.1) < 1e-6 for _, v in events if "loss" in v)
    assert [step for step, v in events if "eval/loss" in v] == [3, 6]
    assert [step for step, v in events if "weight" in v] == [3, 6]
    quiet = SummaryCollector(tmp_path / "q", 1, {"collect_metric": True}, False)
    make_model().train(1, DATA, callbacks=quiet)
    (path,) = (tmp_path / "q").iterdir()
    assert all(set(v) == {"loss"} for _, v in read_events(path))
    with pytest.raises(ValueError, match="no 'graph'"):
        SummaryCollector(tmp_path, collect_specified_data={"graph": True})
    with pytest.raises(ValueError, match="plugin is 'graph'"):
        SummaryRecord(tmp_path).add_value("graph", "g", 1)
    with pytest.raises(ValueError, match=r"shape \(2, 3, 4\)"):
        SummaryRecord(tmp_path).add_value("image", "g", ops.ones((2, 3, 4)))


def test_the_bar_in_a_notebook_without_widgets(capsys, monkeypatch):
    from diptych.train.callback import progress

    monkeypatch.setattr(progress, "_is_notebook", lambda: True)
    monkeypatch.setattr(progress.importlib.util, "find_spec", lambda name: None)
    make_model().train(1, DATA, callbacks=ProgressBar())
    assert "epoch 1/1: 100%" in capsys.readouterr().err
