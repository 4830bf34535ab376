"""GeneratorDataset(batch_sampler, collate_fn): batches that users choose, as NumPy makes them."""

import numpy as np
import pytest

import diptych as ms
import diptych.dataset as ds
from diptych.dataset import text

RNG = np.random.default_rng(5)
ROWS = [RNG.integers(0, 9, n).astype(np.float32) for n in (3, 1, 4, 1, 5, 2)]
ROUNDS = [[0, 2, 4], [5, 1], [3]]


class Pairs:
    def __len__(self):
        return 6

    def __getitem__(self, i):
        return np.full(2, i, np.float32), i * i


def padded(rows):
    """Rows of different lengths, and their lengths."""
    lengths = np.array([len(row) for row in rows])
    made = np.zeros((len(rows), lengths.max()), np.float32)
    for line, row in zip(made, rows, strict=True):
        line[: len(row)] = row
    return made, lengths


@pytest.mark.parametrize("processes", [False, True])
def test_batches_as_asked(processes):
    workers = {"num_parallel_workers": 2, "python_multiprocessing": processes}
    data = ds.GeneratorDataset(Pairs(), ["x", "y"], batch_sampler=ROUNDS, **workers)
    for _ in range(2):
        for (x, y), chosen in zip(data, ROUNDS, strict=True):
            assert x.tolist() == [[i, i] for i in chosen] and y.tolist() == [i * i for i in chosen]
    assert len(data) == 3 and data.get_batch_size() == -1
    data.close_pool()
    odd = ds.GeneratorDataset(ROWS, ["x", "n"], [ms.float16, ms.int32], batch_sampler=ROUNDS,
                              collate_fn=padded, **workers)  # fmt: skip
    for (x, n), chosen in zip(odd, ROUNDS, strict=True):
        want = padded([ROWS[i] for i in chosen])
        np.testing.assert_array_equal(x.asnumpy(), want[0])
        assert (x.dtype, n.dtype, n.tolist()) == (ms.float16, ms.int32, want[1].tolist())
    odd.close_pool()


def test_a_sampler_that_draws_anew():
    class Halves:
        """Two random halves; without a length."""

        rounds = 0

        def __iter__(self):
            self.rounds += 1
            order = np.random.default_rng(self.rounds).permutation(6)
            return iter([order[:3], order[3:]])

    sampler = Halves()
    data = ds.GeneratorDataset(Pairs(), ["x", "y"], batch_sampler=sampler).repeat(2)
    seen = [y.tolist() for _, y in data]
    assert sampler.rounds == 2 and seen[:2] != seen[2:]
    squares = [i * i for i in range(6)]
    assert sorted(seen[0] + seen[1]) == sorted(seen[2] + seen[3]) == squares
    assert data.get_dataset_size() == 4


def test_what_is_refused():
    def data(**more):
        return ds.GeneratorDataset(Pairs(), ["x", "y"], **more)

    for name, value in [("shuffle", True), ("num_samples", 3), ("sampler", [1]), ("num_shards", 2)]:
        with pytest.raises(ValueError, match=f"'batch_sampler' and '{name}'"):
            data(batch_sampler=ROUNDS, **{name: value})
    for wrong in (3, [[]], [[0.5]], [[[1]]], ["ab"]):
        with pytest.raises(TypeError, match="'batch_sampler'"):
            list(data(batch_sampler=wrong))
    with pytest.raises(ValueError, match="'collate_fn' needs a 'batch_sampler'"):
        data(collate_fn=padded)
    with pytest.raises(TypeError, match="'collate_fn' is 3"):
        data(batch_sampler=ROUNDS, collate_fn=3)
    with pytest.raises(ValueError, match="needs a source with __getitem__"):
        ds.GeneratorDataset(iter([1]), "x", batch_sampler=ROUNDS)
    with pytest.raises(ValueError, match="use_sampler: the dataset has a 'batch_sampler'"):
        data(batch_sampler=ROUNDS).use_sampler(ds.SequentialSampler())
    with pytest.raises(ValueError, match="'x' has shape .3. in row 0 and .4. in row 2"):
        list(ds.GeneratorDataset(ROWS, "x", batch_sampler=ROUNDS))
    with pytest.raises(ValueError, match=r"the batch of rows \[0, 2, 4\] has 1 values"):
        list(data(batch_sampler=ROUNDS, collate_fn=len))
    with pytest.raises(ZeroDivisionError) as caught:
        list(data(batch_sampler=ROUNDS, collate_fn=lambda rows: 1 // 0))
    assert "in collate_fn, the batch of rows [0, 2, 4]" in caught.value.__notes__[0]


def test_build_vocab():
    lines = ["to be or not to be", "that is the question"]
    data = ds.GeneratorDataset([np.array(line.split()) for line in lines], "word", shuffle=False)
    vocab = data.build_vocab("word", special_tokens=["<pad>"])
    words = ["<pad>", "be", "to", "is", "not", "or", "question", "that", "the"]
    assert vocab.vocab() == {word: i for i, word in enumerate(words)}
    assert data.build_vocab(top_k=1, freq_range=(2, None)).vocab() == {"be": 0}
    looked = data.map(text.Lookup(vocab), "word")
    assert next(iter(looked))[0].tolist() == [2, 1, 5, 4, 2, 1]


# ---- functions of rows in front of batch, which calls them for a whole batch


def test_a_function_before_batch_sees_its_rows_in_order():
    calls = []

    def noted(x):
        calls.append(int(x))
        return x * 2 + int(ds.row_rng().integers(1000))

    rows = np.arange(10)
    plain = ds.NumpySlicesDataset(rows, "x", shuffle=False).map(noted)
    ds.config.set_seed(7)
    want = [int(x) for (x,) in plain]
    calls.clear()
    for chain in (plain, plain.repeat(1), plain.project("x"), plain.rename("x", "y")):
        made = [x.tolist() for (x,) in chain.batch(4, drop_remainder=True)]
        assert made == [want[:4], want[4:8]]
        plain.reset()
    assert calls[:8] == list(range(8))
    two = ds.NumpySlicesDataset({"x": rows, "y": rows}, shuffle=False)
    two = two.map(lambda x: (x, [x, -x]), "x", ["a", "b"]).batch(5)
    assert [v.tolist() for v in next(iter(two))] == [
        [0, 1, 2, 3, 4], [[i, -i] for i in range(5)], [0, 1, 2, 3, 4]]  # fmt: skip


def test_errors_of_functions_before_batch():
    data = ds.NumpySlicesDataset(np.arange(10), "x", shuffle=False)
    with pytest.raises(ZeroDivisionError) as caught:
        list(data.map(lambda x: x if x != 6 else 1 // 0).batch(4))
    assert "map: in <lambda> on ['x'], row 6" in caught.value.__notes__[0]
    with pytest.raises(ValueError, match=r"'x' has shape \[0\] in row 0 and \[1\] in row 1"):
        list(data.map(lambda x: np.zeros(int(x))).batch(4))
    with pytest.raises(TypeError, match="map: an operation gave None"):
        list(data.map(lambda x: None).batch(4))
    sizes = data.map(lambda x: np.zeros(int(x))).map(len).batch(4)
    assert next(iter(sizes))[0].tolist() == [0, 1, 2, 3]
