"""Checkpoints: what goes in comes out, damage is named and changes nothing, training resumes bit
for bit."""

import json
import os
import struct
import subprocess
import sys
import textwrap
import zlib

import numpy as np
import pytest

import diptych as ms
from diptych import nn, ops
from diptych.train import CheckpointConfig, LambdaCallback, ModelCheckpoint


def make_net(seed=5) -> nn.Cell:
    ms.set_seed(seed)
    return nn.SequentialCell(nn.Dense(4, 8), nn.BatchNorm1d(8), nn.Dropout(p=0.3), nn.Dense(8, 3))


def values(net: nn.Cell) -> dict[str, np.ndarray]:
    return {p.name: p.asnumpy().copy() for p in net.get_parameters()}


def assert_same(a: dict, b: dict) -> None:
    assert a.keys() == b.keys()
    for name in a:
        np.testing.assert_array_equal(a[name], b[name], err_msg=name)


# ---- saving and loading


def test_a_network_comes_back(tmp_path):
    net, other = make_net(), make_net(6)
    ms.save_checkpoint(net, tmp_path / "net", append_dict={
        "epoch_num": 3, "rate": 0.1, "good": True, "note": "a \"b\" ü", "extra": ms.Tensor([1, 2])})
    loaded = ms.load_checkpoint(tmp_path / "net.ckpt")
    assert loaded["epoch_num"].item() == 3 and loaded["rate"].item() == 0.1
    assert loaded["good"].item() is True and loaded["note"] == "a \"b\" ü"
    assert loaded["extra"].tolist() == [1, 2]
    assert isinstance(loaded["0.weight"], ms.Parameter) and loaded["0.weight"].name == "0.weight"
    missing, foreign = ms.load_param_into_net(other, loaded)
    assert missing == [] and foreign == ["extra", "epoch_num", "rate", "good", "note"]
    assert_same(values(net), values(other))


def test_what_may_be_saved(tmp_path):
    net = nn.Dense(2, 3)
    for obj in (net, dict(net.parameters_dict()),
                [{"name": p.name, "data": p} for p in net.get_parameters()]):
        ms.save_checkpoint(obj, tmp_path / "x.safetensors", format="safetensors")
        assert sorted(ms.load_checkpoint(tmp_path / "x.safetensors")) == ["bias", "weight"]
    ms.save_checkpoint(net, tmp_path / "y", choice_func=lambda n: n == "bias", format="safetensors")
    assert list(ms.load_checkpoint(tmp_path / "y.safetensors")) == ["bias"]
    twice = nn.CellList([nn.Dense(2, 3), nn.Dense(2, 3)])
    for cell in twice:
        cell.update_parameters_name("")
    for error, call, text in [
        (TypeError, lambda: ms.save_checkpoint(3, tmp_path / "z"), "save_obj must be a Cell"),
        (TypeError, lambda: ms.save_checkpoint([3], tmp_path / "z"), "item 0"),
        (TypeError, lambda: ms.save_checkpoint({"a": 3}, tmp_path / "z"), "'a' must be a Tensor"),
        (ValueError, lambda: ms.save_checkpoint(twice, tmp_path / "z"), "the name 'weight'"),
        (ValueError, lambda: ms.save_checkpoint(net, tmp_path / "z", format="h5"), "'h5'"),
        (TypeError, lambda: ms.save_checkpoint(net, tmp_path / "z", append_dict={"a": [1]}), "'a'"),
        (ValueError, lambda: ms.save_checkpoint(
            net, tmp_path / "z", append_dict={"bias": 1}), "'bias' of append_dict"),
        (OSError, lambda: ms.save_checkpoint(net, tmp_path / "no" / "z"), "no/z.ckpt"),
    ]:
        with pytest.raises(error, match=text):
            call()
    assert sorted(os.listdir(tmp_path)) == ["x.safetensors", "y.safetensors"]


def test_choosing_and_renaming(tmp_path):
    path = tmp_path / "net.ckpt"
    ms.save_checkpoint(make_net(), path)
    names = list(ms.load_checkpoint(path))
    assert list(ms.load_checkpoint(path, filter_prefix="1")) == [n for n in names if n[0] != "1"]
    assert list(ms.load_checkpoint(path, specify_prefix=["0", "3"])) == [
        n for n in names if n[0] in "03"]
    assert list(ms.load_checkpoint(path, choice_func=lambda n: n == "3.bias")) == ["3.bias"]
    renamed = ms.load_checkpoint(path, name_map={"3.bias": "b", "3.weight": None})
    assert "b" in renamed and renamed["b"].name == "b"
    assert "3.weight" not in renamed and "0.weight" in renamed
    with pytest.raises(ValueError, match="'x' twice"):
        ms.load_checkpoint(path, name_map=lambda n: "x")
    with pytest.raises(ValueError, match="no parameter that is wanted; it has 0.weight"):
        ms.load_checkpoint(path, specify_prefix="nothing")
    with pytest.raises(ValueError, match="filter_prefix"):
        ms.load_checkpoint(path, filter_prefix="")


def test_values_are_converted_where_nothing_is_lost():
    net = nn.SequentialCell(nn.Dense(3, 2))
    half = ms.Parameter(ms.Tensor([[1.5, 2, 3], [4, 5, 6]], ms.float16))
    assert ms.load_param_into_net(net, {"0.weight": half}) == (["0.bias"], [])
    assert net[0].weight.dtype == ms.float32 and net[0].weight.tolist()[0][0] == 1.5
    ms.load_param_into_net(net, {"0.weight": ops.ones((2, 1, 3)), "other": half})
    assert net[0].weight.shape == (2, 3)
    count = nn.CellList([nn.Dense(1, 1)])
    count.steps = ms.Parameter(ms.Tensor(0, ms.int32), name="steps", requires_grad=False)
    ms.load_param_into_net(count, {"steps": ms.Tensor(7, ms.int64)})
    assert count.steps.item() == 7
    before = values(net)
    for error, given, strict, text in [
        (ValueError, ops.ones((3, 2)), False, r"'0.weight' has shape \(3, 2\) in the file and \(2"),
        (TypeError, ops.ones((2, 3), ms.int32), False, "is int32 in the file and float32"),
        (TypeError, half, True, "is float16 in the file"),
        (ValueError, ops.ones((2, 1, 3)), True, "has shape"),
        (TypeError, "text", False, "must be a Parameter"),
    ]:
        with pytest.raises(error, match=text):
            ms.load_param_into_net(net, {"0.bias": ops.ones(2), "0.weight": given}, strict)
        assert_same(before, values(net))
    with pytest.raises(ValueError, match="do not fit into int32"):
        ms.load_param_into_net(count, {"steps": ms.Tensor(2**40, ms.int64)})


# ---- damaged and foreign files


def test_damage_is_named_and_changes_nothing(tmp_path):
    path = tmp_path / "net.ckpt"
    net, other = make_net(), make_net(6)
    ms.save_checkpoint(net, path)
    good = path.read_bytes()
    before = values(other)
    header = 8 + int.from_bytes(good[:8], "little")
    samples = {
        "empty": b"", "short": good[:5], "no data": good[:header], "cut": good[:-3],
        "longer": good + b"x", "length": b"\xff" * 8 + good[8:],
        "json": good[:20] + b"}" + good[21:],
        "torch": b"PK\x03\x04" + good, "pickle": b"\x80\x02}q" + good,
        "protobuf": b"\n\x1c\n\x08conv.weight" + good,
    }
    for kind, data in samples.items():
        bad = tmp_path / "bad.ckpt"
        bad.write_bytes(data)
        with pytest.raises(ValueError, match=r"bad\.ckpt"):
            ms.load_checkpoint(bad, other)
        assert_same(before, values(other)), kind
    with pytest.raises(OSError, match="nowhere"):
        ms.load_checkpoint(tmp_path / "nowhere.ckpt", other)
    ms.save_checkpoint({"0.weight": ops.ones((4, 8)), "0.bias": ops.ones(8)}, path)
    with pytest.raises(ValueError, match=r"'0.weight' has shape \(4, 8\) in the file and \(8, 4\)"):
        ms.load_checkpoint(path, other)
    assert_same(before, values(other))


def test_other_programs_read_and_write_the_same_files(tmp_path):
    theirs = pytest.importorskip("safetensors.numpy")
    net = make_net()
    ms.save_checkpoint(net, tmp_path / "ours.safetensors", append_dict={"epoch_num": 3})
    for name, value in theirs.load_file(tmp_path / "ours.safetensors").items():
        np.testing.assert_array_equal(value, values(net)[name])
    made = {"0.weight": np.ones((8, 4), np.float32), "1.weight": np.full(8, 2, np.float32),
            "1.bias": np.full(8, 3, np.float32), "1.running_mean": np.full(8, 4, np.float32),
            "1.running_var": np.full(8, 5, np.float32), "1.num_batches_tracked": np.array(9)}
    theirs.save_file(made, tmp_path / "torch.safetensors", {"format": "pt"})
    loaded = ms.load_checkpoint(tmp_path / "torch.safetensors",
                                name_map=ms.train.torch_name_map(net))
    assert ms.load_param_into_net(net, loaded) == (["0.bias", "3.weight", "3.bias"], [])
    for i, name in enumerate(("gamma", "beta", "moving_mean", "moving_variance")):
        np.testing.assert_array_equal(values(net)[f"1.{name}"], i + 2)


# Written by google.protobuf 7.36 from the published schema: fc.weight float32 (2, 3) in two parts,
# fc.bias float16, epoch_num int64 (), half bfloat16, flag bool, empty float32 (300, 0), and a text.
MINDSPORE_FILE = bytes.fromhex("""
0a280a0966632e776569676874121b080208031207466c6f617433321a0c0000803f0000004000004040
0a280a0966632e776569676874121b080208031207466c6f617433321a0c000080400000a0400000c040
0a1c0a0766632e62696173121108021207466c6f617431361a04003800bc
0a200a0965706f63685f6e756d121308001205496e7436341a080700000000000000
0a1a0a0468616c6612120802120842466c6f617431361a04c03f00c0
0a140a04666c6167120c08021204426f6f6c1a020100
0a190a05656d707479121008ac0208001207466c6f617433321a00
0a210a046e6f74651219080012037374721a106700000072000000fc000000df000000""")


def with_crc(message):
    return message + b"crc_num" + zlib.crc32(message).to_bytes(10, "big")


def test_a_protobuf_file_of_mindspore(tmp_path):
    path = tmp_path / "net.ckpt"
    for data in (MINDSPORE_FILE, with_crc(MINDSPORE_FILE)):
        path.write_bytes(data)
        loaded = ms.load_checkpoint(path)
        assert loaded.pop("note") == "grüß"
        got = {name: (p.dtype.name, p.tolist()) for name, p in loaded.items()}
        assert got == {
            "fc.weight": ("float32", [[1, 2, 3], [4, 5, 6]]), "fc.bias": ("float16", [0.5, -1]),
            "epoch_num": ("int64", 7), "half": ("bfloat16", [1.5, -2]),
            "flag": ("bool", [True, False]), "empty": ("float32", [[]] * 300)}
    net = nn.SequentialCell(nn.Dense(3, 2))
    loaded = ms.load_checkpoint(path, net, specify_prefix="fc.",
                                name_map=lambda name: name.replace("fc", "0"))
    assert values(net)["0.weight"].tolist() == [[1, 2, 3], [4, 5, 6]] and len(loaded) == 2


def test_a_damaged_protobuf_file_names_the_entry(tmp_path):
    path, net = tmp_path / "net.ckpt", make_net()
    before = values(net)
    bad = {
        "cut short": MINDSPORE_FILE[:104],
        "unknown type": MINDSPORE_FILE.replace(b"Float16", b"Float61"),
        "has 4 bytes": MINDSPORE_FILE.replace(b"\x02\x12\x07Float16", b"\x04\x12\x07Float16"),
        "CRC-32": with_crc(MINDSPORE_FILE).replace(b"\x80\x40", b"\x81\x40", 1),
    }
    for text, data in bad.items():
        path.write_bytes(data)
        with pytest.raises(ValueError, match=rf"net\.ckpt.*{text}") as caught:
            ms.load_checkpoint(path, net)
        assert "'fc.bias'" in str(caught.value) or text == "CRC-32"
    for n in range(1, len(MINDSPORE_FILE)):
        path.write_bytes(MINDSPORE_FILE[:n])
        try:
            ms.load_checkpoint(path)  # whole entries are a whole file
        except ValueError as error:
            assert "net.ckpt" in str(error)
    rng = np.random.default_rng(0)
    for _ in range(500):
        noise = bytearray(MINDSPORE_FILE)
        noise[rng.integers(1, len(noise))] = rng.integers(256)
        path.write_bytes(noise)
        try:
            ms.load_checkpoint(path)
        except ValueError as error:
            assert "net.ckpt" in str(error)
    assert_same(before, values(net))


def test_names_of_torch_modules():
    """As torch.nn prints them: state_dict() of the same layers."""
    layer = nn.TransformerEncoderLayer(4, 2, 8)
    names = ms.train.torch_name_map(nn.SequentialCell(nn.PReLU(3), layer, nn.Embedding(5, 4)))
    theirs = ["0.weight", "1.self_attn.in_proj_weight", "1.self_attn.out_proj.bias",
              "1.linear1.weight", "1.linear2.bias", "1.norm1.weight", "2.weight"]
    assert [names(name) for name in theirs] == [
        "0.w", "1.self_attn.in_proj_weight", "1.self_attn.out_proj.bias", "1.dense1.weight",
        "1.dense2.bias", "1.norm1.gamma", "2.embedding_table"]
    bare = ms.train.torch_name_map(nn.BatchNorm2d(3))
    assert [bare(n) for n in ("weight", "bias", "running_mean", "running_var")] == [
        "gamma", "beta", "mean", "variance"]

    class Own(nn.Cell):
        def __init__(self):
            super().__init__()
            self.w, self.weight = ms.Parameter(ops.ones(1)), ms.Parameter(ops.ones(1))
            self.dense1, self.linear1 = nn.Dense(1, 1), nn.Dense(1, 1)

    names = ms.train.torch_name_map(Own())
    for name in ("w", "weight", "dense1.weight", "linear1.weight", "other"):
        assert names(name) == name


def test_foreign_metadata_are_passed_over(tmp_path):
    path = tmp_path / "x.safetensors"
    for metadata in ({"diptych": "[1, 2]"}, {"diptych": 3}, {"other": "text"}, {"diptych": "{"},
                     {"diptych": "[" * 100_000}, {"diptych": '{"a": [1], "b": 1e400}'}, "text"):
        head = json.dumps({"__metadata__": metadata, "a": {
            "dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode()
        path.write_bytes(struct.pack("<Q", len(head)) + head + struct.pack("<f", 2))
        assert ms.load_checkpoint(path)["a"].tolist() == [2]
    with pytest.raises(ValueError, match="is no int64"):
        ms.save_checkpoint({}, path, append_dict={"n": 2**70})


# ---- asynchronous saving


def test_an_asynchronous_save_has_the_values_of_its_moment(tmp_path):
    net = nn.Dense(64, 64)
    want = values(net)
    optimizer = nn.SGD(net.trainable_params(), 1.0)
    ms.save_checkpoint(net, tmp_path / "a.ckpt", async_save=True)
    for _ in range(3):
        optimizer(tuple(ops.ones_like(p) for p in optimizer.parameters))
    ms.train.wait_for_checkpoints()
    assert not ms.async_ckpt_thread_status()
    assert_same(want, {k: v.asnumpy() for k, v in ms.load_checkpoint(tmp_path / "a.ckpt").items()})


def test_the_error_of_the_writer_comes_with_the_next_call(tmp_path):
    net = nn.Dense(2, 2)
    ms.save_checkpoint(net, tmp_path / "no" / "a.ckpt", async_save=True)
    with pytest.raises(RuntimeError, match=r"asynchronous save of .*no/a\.ckpt failed"):
        ms.save_checkpoint(net, tmp_path / "b.ckpt")
    ms.save_checkpoint(net, tmp_path / "b.ckpt", async_save=True)
    ms.train.wait_for_checkpoints()
    assert os.listdir(tmp_path) == ["b.ckpt"]


# ---- in the course of a training

X = np.random.default_rng(0).standard_normal((20, 4)).astype(np.float32)
Y = np.random.default_rng(1).standard_normal((20, 3)).astype(np.float32)


class Shuffled:
    """Batches in an order drawn from the random state when an epoch starts."""

    def __init__(self, known=True):
        self.known = known

    def get_dataset_size(self):
        return 5 if self.known else 0

    def __iter__(self):
        order = ops.randperm(20).asnumpy().reshape(5, 4)
        return ((X[rows], Y[rows]) for rows in order)


def make_model(seed=5):
    net = make_net(seed)
    rate = nn.ExponentialDecayLR(0.05, 0.9, 4)
    return ms.Model(net, nn.MSELoss(), nn.Adam(net.trainable_params(), rate, use_amsgrad=True)), net


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("file", ["run-1_3", "run-2_5", "run-3_1", "run-2_2"])
def test_a_resumed_training_continues_bit_for_bit(tmp_path, file, known):
    model, net = make_model()
    ms.set_seed(11)
    config = CheckpointConfig(keep_checkpoint_max=0, async_save=True)
    losses = []
    keep = LambdaCallback(on_train_step_end=lambda c: losses.append(
        c.original_args().net_outputs.item()))
    model.train(4, Shuffled(known), callbacks=[ModelCheckpoint("run", tmp_path, config), keep])
    want, state = values(model.train_network), ms.get_rng_state().tolist()

    model, net = make_model(77)
    ms.set_seed(99)
    again = []
    keep = LambdaCallback(on_train_step_end=lambda c: again.append(
        (c.original_args().cur_step_num, c.original_args().net_outputs.item())))
    model.train(4, Shuffled(known), callbacks=keep, resume_from=tmp_path / f"{file}.ckpt")
    first = again[0][0] - 1
    epoch, step = map(int, file[4:].split("_"))
    assert first == 5 * (epoch - 1) + step
    assert [loss for _, loss in again] == losses[first:]
    assert_same(want, values(model.train_network))
    assert ms.get_rng_state().tolist() == state


def test_resuming_needs_a_file_of_the_same_training(tmp_path):
    model, net = make_model()
    ms.save_checkpoint(net, tmp_path / "net.ckpt")
    before = values(model.train_network)
    with pytest.raises(ValueError, match="was not written by ModelCheckpoint"):
        model.train(2, Shuffled(), resume_from=tmp_path / "net.ckpt")
    other = ms.Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.1))
    other.train(1, Shuffled(), callbacks=ModelCheckpoint("sgd", tmp_path))
    before = values(model.train_network)
    with pytest.raises(ValueError, match="does not fit: it lacks"):
        model.train(2, Shuffled(), resume_from=tmp_path / "sgd-1_5.ckpt")
    assert_same(before, values(model.train_network))


def names(path):
    return sorted(p.name for p in path.iterdir())


def test_checkpoints_come_when_they_are_due_and_the_oldest_go(tmp_path):
    def run(directory, epochs=2, error=None, **options):
        model, _ = make_model()
        callbacks = [ModelCheckpoint("m", tmp_path / directory, CheckpointConfig(**options))]
        if error:
            callbacks.append(LambdaCallback(on_train_step_end=error))
        model.train(epochs, Shuffled(), callbacks=callbacks)
        return callbacks[0]

    run("steps", save_checkpoint_steps=2, keep_checkpoint_max=3)
    assert names(tmp_path / "steps") == ["m-2_1.ckpt", "m-2_3.ckpt", "m-2_5.ckpt"]
    last = run("last", save_checkpoint_steps=4, format="safetensors")
    assert names(tmp_path / "last") == [
        "m-1_4.safetensors", "m-2_3.safetensors", "m-2_5.safetensors"]
    assert last.latest_ckpt_file_name.endswith("m-2_5.safetensors")
    run("last", save_checkpoint_steps=100)
    assert "m_1-2_5.ckpt" in names(tmp_path / "last")
    run("seconds", save_checkpoint_seconds=1000)
    assert names(tmp_path / "seconds") == ["m-2_5.ckpt"]
    run("minutes", keep_checkpoint_per_n_minutes=10)
    assert names(tmp_path / "minutes") == ["m-2_5.ckpt"]

    def fail(context):
        if context.original_args().cur_step_num == 3:
            raise RuntimeError("out of luck")

    for save, want in ((True, ["m-1_3.ckpt"]), (False, [])):
        with pytest.raises(RuntimeError, match="out of luck"):
            run(f"error{save}", error=fail, save_checkpoint_steps=100, exception_save=save)
        assert names(tmp_path / f"error{save}") == want


def test_what_a_checkpoint_may_hold(tmp_path):
    model, net = make_model()
    config = CheckpointConfig(5, saved_network=net, append_info=["epoch_num", {"note": "x"}])
    model.train(1, Shuffled(), callbacks=ModelCheckpoint("net", tmp_path, config))
    loaded = ms.load_checkpoint(tmp_path / "net-1_5.ckpt")
    assert list(loaded) == [*values(net), "note", "epoch_num"]
    assert loaded["note"] == "x" and loaded["epoch_num"].item() == 1
    for error, call, text in [
        (ValueError, lambda: CheckpointConfig(0, 0), "never save"),
        (ValueError, lambda: CheckpointConfig(append_info=["loss"]), "'loss'"),
        (ValueError, lambda: CheckpointConfig(-1), "'save_checkpoint_steps'"),
        (TypeError, lambda: CheckpointConfig(saved_network=3), "saved_network"),
        (ValueError, lambda: ModelCheckpoint("a/b"), "without /"),
        (TypeError, lambda: ModelCheckpoint("a", config=3), "CheckpointConfig"),
    ]:
        with pytest.raises(error, match=text):
            call()


def test_a_process_that_dies_while_it_saves_leaves_the_older_file_whole(tmp_path):
    """The writer is stopped at any moment, the first after its file was begun."""
    path = tmp_path / "net.ckpt"
    ms.save_checkpoint({"w": ops.ones(10)}, path)
    code = f"""
        import os, sys
        import diptych as ms
        from diptych import ops
        big = {{f"w{{i}}": ops.zeros((1024, 1024)) for i in range(64)}}
        ms.save_checkpoint(big, {str(path)!r}, async_save=True)
        print("started", flush=True)
        while len(os.listdir({str(tmp_path)!r})) < 2 and ms.async_ckpt_thread_status():
            pass
        os.kill(os.getpid(), 9)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=False)
    assert done.stdout == "started\n" and done.returncode == -9, done.stderr
    loaded = ms.load_checkpoint(path)
    assert list(loaded) == ["w"] or len(loaded) == 64  # the old file, or the new one complete
    ms.save_checkpoint({"w": ops.ones(10)}, path)
    assert ms.load_checkpoint(path)["w"].shape == (10,)


@pytest.mark.parametrize("file", ["run-1_3", "run-2_5", "run-3_1"])
def test_data_sets_go_on_with_the_order_of_the_epoch(tmp_path, file):
    def run(callbacks, resume_from=None):
        data = ms.dataset.NumpySlicesDataset((X, Y), ["x", "y"], shuffle=True).batch(4)
        losses = []
        look = LambdaCallback(on_train_step_end=lambda c: losses.append(
            c.original_args().net_outputs.item()))
        make_model()[0].train(3, data, callbacks=[*callbacks, look], resume_from=resume_from)
        return losses

    ms.dataset.config.set_seed(7)
    all_losses = run([ModelCheckpoint("run", tmp_path, CheckpointConfig(keep_checkpoint_max=0))])
    epoch, step = map(int, file[4:].split("_"))
    ms.dataset.config.set_seed(7)
    again = run([], tmp_path / f"{file}.ckpt")
    assert again == all_losses[5 * (epoch - 1) + step :]


def test_export_writes_the_graph(tmp_path):
    net = nn.SequentialCell(nn.Dense(3, 4), nn.ReLU(), nn.Dense(4, 2))
    ms.export(net, ops.ones((5, 3)), file_name=str(tmp_path / "net"), file_format="GRAPH")
    text = (tmp_path / "net.graph").read_text()
    names, graph = text.split("graph(", 1)
    assert [line.split(" is the parameter ")[1] for line in names.splitlines()] == [
        p.name for p in net.get_parameters()
    ]
    for line, p in zip(names.splitlines(), net.get_parameters(), strict=True):
        assert f"{line.split()[1]}: float32[{', '.join(map(str, p.shape))}]" in graph
    assert graph.count(" = dense(") == 2 and graph.count(" = relu(") == 1
    with pytest.raises(ValueError, match="'ONNX'; it must be 'GRAPH'"):
        ms.export(net, ops.ones((5, 3)), file_name="x", file_format="ONNX")
    with pytest.raises(TypeError, match="net is of type function"):
        ms.export(ops.gelu, ops.ones((5, 3)), file_name="x", file_format="GRAPH")
