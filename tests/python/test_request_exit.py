"""OnRequestExit: a signal ends the training after its step, and the file goes on from there."""

import os
import signal
import threading

import numpy as np
import pytest

import diptych as ms
from diptych import nn
from diptych.train import LambdaCallback, OnRequestExit

RNG = np.random.default_rng(5)
DATA = [(RNG.standard_normal((4, 2)).astype(np.float32), np.ones((4, 1), np.float32))
        for _ in range(3)]  # fmt: skip


def make_model():
    ms.set_seed(3)
    net = nn.SequentialCell(nn.Dense(2, 8), nn.Dropout(p=0.5), nn.Dense(8, 1))
    return ms.Model(net, nn.MSELoss(), nn.Adam(net.trainable_params(), 0.01))


def weights(model):
    return [p.asnumpy().copy() for p in model.train_network.get_parameters()]


def at_step(n, action):
    return LambdaCallback(
        on_train_step_begin=lambda c: action() if c.original_args().cur_step_num == n else None
    )


@pytest.mark.parametrize("sig", [signal.SIGTERM, signal.SIGUSR1])
def test_the_training_ends_and_goes_on(tmp_path, capsys, sig):
    whole = make_model()
    whole.train(3, DATA)
    steps, before = [], signal.getsignal(sig)
    count = LambdaCallback(on_train_step_end=lambda c: steps.append(1))
    cut = make_model()
    asked = OnRequestExit(file_name="net", directory=tmp_path / "new", sig=sig)
    kill = at_step(5, lambda: os.kill(os.getpid(), sig))
    cut.train(3, DATA, callbacks=[kill, asked, count])
    assert len(steps) == 5 and signal.getsignal(sig) is before
    assert "saved" in capsys.readouterr().out
    resumed = make_model()
    resumed.train(3, DATA, resume_from=tmp_path / "new" / "net.ckpt")
    for a, b in zip(weights(whole), weights(resumed), strict=True):
        np.testing.assert_array_equal(a, b)


def test_the_handler_is_given_back_after_an_error(tmp_path):
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(ZeroDivisionError):
        make_model().train(1, DATA, callbacks=[OnRequestExit(directory=tmp_path),
                                               at_step(2, lambda: 1 / 0)])  # fmt: skip
    assert signal.getsignal(signal.SIGTERM) is before
    assert not list(tmp_path.iterdir()), "nobody asked"


def test_without_a_file(tmp_path):
    kill = at_step(1, lambda: os.kill(os.getpid(), signal.SIGTERM))
    make_model().train(1, DATA, callbacks=[kill, OnRequestExit(False, directory=tmp_path)])
    assert not list(tmp_path.iterdir())


def test_what_is_refused(tmp_path):
    for text, settings in (("save_mindir is True", {"save_mindir": True}),
                           ("file_name is 'a/b'", {"file_name": "a/b"}),
                           ("sig is 9", {"sig": 9}), ("sig is 1000", {"sig": 1000})):  # fmt: skip
        with pytest.raises(ValueError, match=text):
            OnRequestExit(**settings)
    found = []

    def train():
        try:
            make_model().train(1, DATA, callbacks=OnRequestExit(directory=tmp_path))
        except RuntimeError as error:
            found.append(str(error))

    thread = threading.Thread(target=train)
    thread.start()
    thread.join()
    assert found == ["OnRequestExit: the training must run in the main thread"]
