"""Datasets in files: MNIST, CIFAR, image folders, text, CSV; whole and damaged; text transforms."""

import gzip
import pickle
import struct
from pathlib import Path

import numpy as np
import pytest

import diptych as ms
import diptych.dataset as ds
from diptych.dataset import text, vision

FASHION = Path("/usr/share/datasets/fashion-mnist")


def column(data, i=0):
    return [row[i].tolist() for row in data.create_tuple_iterator(num_epochs=1, output_numpy=True)]


# ---- MNIST


def write_idx(path, array):
    head = struct.pack(f">BBBB{array.ndim}I", 0, 0, 8, array.ndim, *array.shape)
    raw = head + array.tobytes()
    path.write_bytes(gzip.compress(raw) if path.suffix == ".gz" else raw)


def test_mnist(tmp_path):
    rng = np.random.default_rng(0)
    images = {
        part: rng.integers(0, 256, (n, 4, 3), np.uint8) for part, n in (("train", 5), ("t10k", 3))
    }
    for part, x in images.items():
        end = ".gz" if part == "train" else ""
        write_idx(tmp_path / f"{part}-images-idx3-ubyte{end}", x)
        write_idx(tmp_path / f"{part}-labels-idx1-ubyte{end}", np.arange(len(x), dtype=np.uint8))
    data = ds.MnistDataset(tmp_path, "test", shuffle=False)
    assert data.get_col_names() == ["image", "label"] and len(data) == 3
    assert data.output_shapes() == [[4, 3, 1], []]
    assert data.output_types() == [np.uint8, np.uint32]
    np.testing.assert_array_equal(np.array(column(data))[..., 0], images["t10k"])
    both = ds.MnistDataset(tmp_path, shuffle=False, num_parallel_workers=2)
    assert column(both, 1) == [0, 1, 2, 3, 4, 0, 1, 2]
    picked = ds.MnistDataset(tmp_path, "train", sampler=ds.PKSampler(1, 2))
    assert column(picked, 1) == [0, 1]
    with pytest.raises(ValueError, match="'usage' is 'valid'"):
        ds.MnistDataset(tmp_path, "valid")
    with pytest.raises(ValueError, match="there is no such folder"):
        ds.MnistDataset(tmp_path / "nowhere")
    (tmp_path / "t10k-labels-idx1-ubyte").unlink()
    with pytest.raises(ValueError, match="holds none of t10k-labels-idx1-ubyte"):
        ds.MnistDataset(tmp_path)


def test_mnist_that_does_not_fit(tmp_path):
    write_idx(tmp_path / "train-images-idx3-ubyte", np.zeros((3, 2, 2), np.uint8))
    write_idx(tmp_path / "train-labels-idx1-ubyte", np.zeros(4, np.uint8))
    with pytest.raises(ValueError, match="they must be uint8 images"):
        list(ds.MnistDataset(tmp_path, "train"))


@pytest.mark.skipif(not FASHION.is_dir(), reason="package dataset-fashion-mnist is not installed")
def test_fashion_mnist():
    data = ds.FashionMnistDataset(FASHION, "train")
    assert len(data) == 60000
    data = data.map([vision.Rescale(1 / 255, 0), vision.HWC2CHW()], "image")
    x, y = next(iter(data.batch(6000)))
    assert x.shape == (6000, 1, 28, 28) and x.dtype == ms.float32
    counts = np.bincount(y.asnumpy(), minlength=10)
    assert len(counts) == 10 and counts.min() > 480
    assert abs(float(x.mean()) - 72.94 / 255) < 0.01


# ---- CIFAR


def cifar_records(n, labels, seed):
    rng = np.random.default_rng(seed)
    pixels = rng.integers(0, 256, (n, 3072), np.uint8)
    return pixels, rng.integers(0, 10, (n, labels)).astype(np.uint8)


def as_images(pixels):
    return pixels.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)


def test_cifar10_binary(tmp_path):
    parts = [cifar_records(3, 1, i) for i in range(6)]
    for i, (pixels, labels) in enumerate(parts):
        name = f"data_batch_{i + 1}.bin" if i < 5 else "test_batch.bin"
        np.concatenate([labels, pixels], 1).tofile(tmp_path / name)
    data = ds.Cifar10Dataset(tmp_path, "train", shuffle=False)
    x, y = next(data.batch(20).create_tuple_iterator(output_numpy=True))
    np.testing.assert_array_equal(x, np.concatenate([as_images(p) for p, _ in parts[:5]]))
    np.testing.assert_array_equal(y, np.concatenate([la[:, 0] for _, la in parts[:5]]))
    assert y.dtype == np.uint32 and len(ds.Cifar10Dataset(tmp_path)) == 18
    (tmp_path / "test_batch.bin").write_bytes(b"abc")
    with pytest.raises(ValueError, match="test_batch.bin is no CIFAR file: it has 3 bytes"):
        list(ds.Cifar10Dataset(tmp_path, "test"))


class Evil:
    """A pickle of it would run a function."""

    def __reduce__(self):
        return print, ("must not be printed",)


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_cifar100_pickles(tmp_path, protocol, capsys):
    pixels, labels = cifar_records(4, 2, 1)
    table = {
        b"data": pixels,
        b"coarse_labels": labels[:, 0].tolist(),
        b"fine_labels": labels[:, 1].tolist(),
        b"filenames": [b"a.png"] * 4,
    }
    (tmp_path / "test").write_bytes(pickle.dumps(table, protocol))
    data = ds.Cifar100Dataset(tmp_path, "test", shuffle=False)
    assert data.get_col_names() == ["image", "coarse_label", "fine_label"]
    np.testing.assert_array_equal(np.array(column(data)), as_images(pixels))
    assert column(data, 2) == labels[:, 1].tolist()
    for bad, why in (
        (pickle.dumps({**table, b"x": Evil()}, protocol), "it names (builtins|__builtin__).print"),
        (pickle.dumps(table, protocol)[:-200], "is no CIFAR file"),
        (pickle.dumps([1], protocol), "is no CIFAR file"),
        (b"", "is no CIFAR file"),
        (pickle.dumps({**table, b"data": pixels[:, :-1]}, protocol), "is no CIFAR file"),
        (pickle.dumps({**table, b"data": pixels.astype(np.int16)}, protocol), "of type"),
        (pickle.dumps({**table, b"fine_labels": [1]}, protocol), "4 images"),
    ):
        (tmp_path / "test").write_bytes(bad)
        with pytest.raises(ValueError, match=why):
            list(ds.Cifar100Dataset(tmp_path, "test"))
    assert capsys.readouterr().out == ""


# ---- folders


@pytest.mark.parametrize("workers", [1, 3])
def test_image_folder(tmp_path, workers):
    image = pytest.importorskip("PIL.Image")
    colours = {}
    for label, name in enumerate(("cat", "dog")):
        (tmp_path / name).mkdir()
        for i in range(4):
            colours[label, i] = pixels = np.full((3 + i, 4, 3), 40 * i + label, np.uint8)
            image.fromarray(pixels).save(tmp_path / name / f"{i}.png")
    (tmp_path / "cat" / "notes.txt").write_text("no image")
    data = ds.ImageFolderDataset(tmp_path, num_parallel_workers=workers, shuffle=False)
    assert data.get_class_indexing() == {"cat": 0, "dog": 1} and data.num_classes() == 2
    assert len(data) == 8 and data.output_types() == [np.uint8, np.int32]
    decoded = data.map(vision.Decode(), "image", num_parallel_workers=workers)
    direct = ds.ImageFolderDataset(
        tmp_path, num_parallel_workers=workers, shuffle=False, decode=True
    )
    for each in (decoded, direct):
        for pixels, row in zip(colours.values(), each, strict=True):
            np.testing.assert_array_equal(row[0].asnumpy(), pixels)
    some = ds.ImageFolderDataset(tmp_path, class_indexing={"dog": 7}, extensions=[".png"])
    assert column(some, 1) == [7] * 4
    (tmp_path / "dog" / "0.png").write_bytes(b"broken")
    with pytest.raises(ValueError, match="6 bytes are no readable image") as caught:
        list(direct)
    assert str(Path("dog") / "0.png") in str(caught.value.__notes__)
    with pytest.raises(ValueError, match="no file in the folders"):
        ds.ImageFolderDataset(tmp_path, extensions=".gif")
    with pytest.raises(ValueError, match="'class_indexing' names 'cow'"):
        ds.ImageFolderDataset(tmp_path, class_indexing={"cow": 0})


# ---- text and CSV


def test_text_files(tmp_path):
    (tmp_path / "a.txt").write_text("eins\n\nzwei\n", encoding="utf-8")
    (tmp_path / "b.txt").write_bytes("drei\r\nvär".encode())
    data = ds.TextFileDataset(str(tmp_path / "*.txt"), shuffle=False)
    assert column(data) == ["eins", "zwei", "drei", "vär"] and len(data) == 4
    assert column(data.batch(4)) == [["eins", "zwei", "drei", "vär"]]
    row = next(iter(data))
    assert isinstance(row[0], np.ndarray), "text has no tensors"
    files = [tmp_path / "a.txt", tmp_path / "b.txt"]
    orders = set()
    for epoch in range(20):
        by_file = ds.TextFileDataset(files, shuffle=ds.Shuffle.FILES)
        by_file.set_epoch(epoch)
        orders.add(tuple(column(by_file)))
    assert orders == {("eins", "zwei", "drei", "vär"), ("drei", "vär", "eins", "zwei")}
    assert sorted(column(ds.TextFileDataset(files))) == ["drei", "eins", "vär", "zwei"]
    part = ds.TextFileDataset(files, shuffle=False, num_shards=2, shard_id=1)
    assert column(part) == ["zwei", "vär"]
    with pytest.raises(ValueError, match="there is no such file"):
        ds.TextFileDataset(str(tmp_path / "*.csv"))
    (tmp_path / "c.txt").write_bytes(b"\xff\xfe\xff")
    with pytest.raises(ValueError, match="c.txt is not UTF-8"):
        list(ds.TextFileDataset(tmp_path / "c.txt"))


def test_csv(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('n,x,s\n1,2.5,"a, b"\n2,,c\n')
    plain = ds.CSVDataset(path, shuffle=False)
    assert plain.get_col_names() == ["n", "x", "s"] and column(plain, 1) == ["2.5", ""]
    typed = ds.CSVDataset(path, column_defaults=[0, -1.0, "?"], shuffle=False)
    assert (
        column(typed) == [1, 2]
        and column(typed, 1) == [2.5, -1]
        and column(typed, 2) == ["a, b", "c"]
    )
    assert typed.output_types()[:2] == [np.int32, np.float32]
    named = ds.CSVDataset(path, column_names=["p", "q", "r"], shuffle=False)
    assert column(named) == ["n", "1", "2"]
    path.write_text("1;2\n3;x\n")
    with pytest.raises(ValueError, match="line 2, column 'b': 'x' is no int"):
        list(ds.CSVDataset(path, ";", [0, 0], ["a", "b"]))
    path.write_text("1;2\n3\n")
    with pytest.raises(ValueError, match="line 2, has 1 fields; it must have 2"):
        list(ds.CSVDataset(path, ";", [0, 0], ["a", "b"]))
    with pytest.raises(ValueError, match="'column_defaults' holds 1 values for 2 columns"):
        ds.CSVDataset(path, ";", [0], ["a", "b"])


# ---- vocabularies and tokenizers


def test_vocab(tmp_path):
    vocab = text.Vocab.from_list(["a", "b"], ["<pad>", "<unk>"])
    assert vocab.vocab() == {"<pad>": 0, "<unk>": 1, "a": 2, "b": 3} and len(vocab) == 4
    assert vocab.tokens_to_ids(["b", "z"]) == [3, -1] and vocab.ids_to_tokens([2, 9]) == ["a", ""]
    last = text.Vocab.from_list(["a", "b"], ["<unk>"], special_first=False)
    assert last.tokens_to_ids("<unk>") == 2
    (tmp_path / "v").write_text("x 5\ny 4\nz 1\n")
    assert text.Vocab.from_file(tmp_path / "v", " ", 2).vocab() == {"x": 0, "y": 1}
    rows = ["a b a c", "b a d"]
    data = ds.NumpySlicesDataset(rows, "text").map(text.WhitespaceTokenizer())
    assert list(text.Vocab.from_dataset(data, "text").vocab()) == ["a", "b", "c", "d"]
    assert list(text.Vocab.from_dataset(data, freq_range=(2, None)).vocab()) == ["a", "b"]
    assert list(text.Vocab.from_dataset(data, top_k=1, special_tokens=["?"]).vocab()) == ["?", "a"]
    looked = ds.NumpySlicesDataset(rows, "text", shuffle=False).map(
        [text.WhitespaceTokenizer(), text.Lookup(text.Vocab.from_list(["a", "b", "?"]), "?")]
    )
    assert column(looked.padded_batch(2, pad_info={"text": (None, 9)})) == [
        [[0, 1, 0, 2], [1, 0, 2, 9]]
    ]
    with pytest.raises(ValueError, match="the word 'z' is not in the vocab"):
        text.Lookup(vocab)("z")
    with pytest.raises(ValueError, match="holds 'a' more than once"):
        text.Vocab.from_list(["a", "a"])
    with pytest.raises(ValueError, match="special token 'a' is a word as well"):
        text.Vocab.from_list(["a"], ["a"])
    assert text.Vocab.from_dict({"q": 1, "p": 0}).ids_to_tokens(1) == "q"


def test_tokenizers():
    words, starts, ends = text.WhitespaceTokenizer(with_offsets=True)(" är b ")
    assert words.tolist() == ["är", "b"] and starts.tolist() == [1, 5] and ends.tolist() == [4, 6]
    assert text.UnicodeCharTokenizer()("aä!").tolist() == ["a", "ä", "!"]
    assert text.WhitespaceTokenizer()("  ").tolist() == [""]
    assert text.RegexTokenizer(r"\s+|,", r"\s+")("a, b").tolist() == ["a", " ", "b"]
    assert text.PythonTokenizer(str.split)(np.array("x y")).tolist() == ["x", "y"]
    assert str(text.NormalizeUTF8()("ﬁ")) == "fi"
    assert text.CaseFold()(np.array(["Ab", "ß"])).tolist() == ["ab", "ss"]
    assert str(text.RegexReplace("a+", "x", replace_all=False)("aabaa")) == "xbaa"
    assert text.ToNumber(ms.float32)(np.array(["1.5", "2"])).tolist() == [1.5, 2]
    assert text.Truncate(2)(np.array([1, 2, 3])).tolist() == [1, 2]
    grams = text.Ngram([1, 2], ("_", 1), ("_", 1), "-")(np.array(["a", "b"]))
    assert grams.tolist() == ["_", "a", "b", "_", "_-a", "a-b", "b-_"]
    windows = text.SlidingWindow(2, 0)(np.arange(6).reshape(3, 2))
    assert windows.tolist() == [[[0, 1], [2, 3]], [[2, 3], [4, 5]]]
    with pytest.raises(ValueError, match="no regular expression"):
        text.RegexTokenizer("(")
    with pytest.raises(ValueError, match="ToNumber: .*'x'"):
        text.ToNumber(ms.int32)("x")
    with pytest.raises(TypeError, match="it must be one text"):
        text.WhitespaceTokenizer()(3)
