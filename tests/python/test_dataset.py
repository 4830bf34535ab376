"""Pipelines: sources, operations on rows, batches, iterators, and that order and values are the
same for any number of workers and for blocks as for rows."""

import itertools
import time

import numpy as np
import pytest

import diptych as ms
import diptych.dataset as ds
from diptych.dataset import transforms, vision


@pytest.fixture(autouse=True)
def _seed():
    before = ds.config._seed
    ds.config.set_seed(3)
    yield
    ds.config._seed = before


def numbers(data, column=0):
    """The values of a column, one epoch, as a list."""
    return [row[column].tolist() for row in data.create_tuple_iterator(num_epochs=1)]


def count_to(n, **more):
    return ds.NumpySlicesDataset(list(range(n)), "x", **more)


class Squares:
    """Random access: (i, i * i)."""

    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        if i == 13 and self.n == 14:
            raise KeyError("thirteen")
        return i, np.array([i * i, 1], np.float32)


# ---- sources


def test_numpy_slices_kinds():
    data = ds.NumpySlicesDataset(([[1, 2], [3, 4]], [0.5, 1.5]), shuffle=False)
    assert data.get_col_names() == ["column_0", "column_1"]
    assert data.output_shapes() == [[2], []] and data.output_types() == [np.int64, np.float64]
    rows = list(data)
    assert isinstance(rows[0][0], ms.Tensor) and rows[1][0].tolist() == [3, 4]
    named = ds.NumpySlicesDataset({"a": np.zeros((3, 2)), "b": ["x", "y", "zz"]}, shuffle=False)
    rows = list(named.create_dict_iterator(num_epochs=1))
    assert [str(row["b"]) for row in rows] == ["x", "y", "zz"] and rows[0]["a"].shape == (2,)
    with pytest.raises(ValueError, match="column 'b' has 1 rows and 'a' has 2"):
        ds.NumpySlicesDataset({"a": [1, 2], "b": [1]})
    with pytest.raises(ValueError, match="3 names for 1 columns"):
        ds.NumpySlicesDataset([1, 2], ["a", "b", "c"])
    with pytest.raises(TypeError, match="column 'x' is int"):
        ds.NumpySlicesDataset(5, "x")


def test_generator_sources():
    def function():
        yield from zip(range(3), "abc", strict=True)

    data = ds.GeneratorDataset(function, ["n", "s"])
    for _ in range(2):
        assert [(int(n), str(s)) for n, s in data] == [(0, "a"), (1, "b"), (2, "c")]
    assert data.get_dataset_size() == 3
    assert numbers(ds.GeneratorDataset([4, 5, 6], "x", shuffle=False)) == [4, 5, 6]
    assert sorted(numbers(ds.GeneratorDataset([4, 5, 6], "x"))) == [4, 5, 6]
    typed = ds.GeneratorDataset(Squares(4), ["n", "q"], [ms.int32, ms.float64], num_samples=2)
    assert typed.output_types() == [np.int32, np.float64] and len(typed) == 2
    with pytest.raises(ValueError, match="'shuffle' needs a source with __getitem__"):
        ds.GeneratorDataset(function, ["n", "s"], shuffle=True)
    with pytest.raises(TypeError, match="'source' is of type int"):
        ds.GeneratorDataset(3, "x")
    with pytest.raises(ValueError, match="row 0 has 2 values; 'column_names' names 1"):
        list(ds.GeneratorDataset(function, "n"))
    with pytest.raises(TypeError, match="column 'x' of row 0 is dict"):
        list(ds.GeneratorDataset([{"a": 1}], "x"))


@pytest.mark.parametrize("workers,processes", [(3, False), (2, True)])
def test_generator_workers_keep_order(workers, processes):
    one = ds.GeneratorDataset(Squares(50), ["n", "q"])
    many = ds.GeneratorDataset(
        Squares(50), ["n", "q"], num_parallel_workers=workers, python_multiprocessing=processes
    )
    assert numbers(one) == numbers(many)
    assert numbers(one, 1) == numbers(many, 1)
    many.close_pool()


# ---- samplers


def test_samplers():
    def rows(sampler, n=6):
        return numbers(count_to(n, sampler=sampler))

    assert rows(ds.SequentialSampler(2, 3)) == [2, 3, 4]
    assert sorted(rows(ds.RandomSampler())) == list(range(6))
    assert len(rows(ds.RandomSampler(True, 20))) == 20
    assert rows(ds.SubsetSampler([4, 1])) == [4, 1]
    assert rows([5, 0]) == [5, 0] and rows(iter([1, 2])) == [1, 2]
    assert sorted(rows(ds.SubsetRandomSampler([4, 1, 3]))) == [1, 3, 4]
    assert set(rows(ds.WeightedRandomSampler([0, 1, 0, 2], 30))) == {1, 3}
    assert sorted(rows(ds.WeightedRandomSampler([1, 1, 0, 2], 3, False))) == [0, 1, 3]
    with pytest.raises(IndexError, match="row 6 was asked for"):
        rows([6])
    with pytest.raises(ValueError, match="'sampler' and 'shuffle'"):
        count_to(3, sampler=[1], shuffle=True)
    outer = ds.SequentialSampler(1, 2)
    outer.add_child(ds.SubsetSampler([5, 3, 2]))
    assert rows(outer) == [3, 2]


def test_distributed_shards_cover_all():
    for shuffle in (False, True):
        shards = [numbers(count_to(7, num_shards=3, shard_id=i, shuffle=shuffle)) for i in range(3)]
        assert all(len(shard) == 3 for shard in shards)
        assert set(itertools.chain(*shards)) == set(range(7))
    assert numbers(count_to(7, num_shards=3, shard_id=1, shuffle=False)) == [1, 4, 0]
    with pytest.raises(ValueError, match="must be given together"):
        count_to(7, num_shards=3)
    with pytest.raises(ValueError, match="'shard_id' is 3"):
        count_to(7, num_shards=3, shard_id=3)


def test_pk_sampler():
    labels = np.array([1, 0, 1, 0, 2, 2, 1])
    data = ds.NumpySlicesDataset({"x": np.arange(7), "label": labels}, sampler=ds.PKSampler(2))
    assert numbers(data) == [1, 3, 0, 2, 4, 5]
    shuffled = ds.NumpySlicesDataset(
        {"x": np.arange(7), "label": labels}, sampler=ds.PKSampler(2, 2, shuffle=True)
    )
    drawn = numbers(shuffled, 1)
    assert len(drawn) == 4 and drawn[0] == drawn[1] and drawn[2] == drawn[3]
    with pytest.raises(ValueError, match="class 0 has 2 rows"):
        numbers(ds.NumpySlicesDataset({"label": labels}, sampler=ds.PKSampler(3)))


# ---- operations on rows


def both_ways(n):
    """The same rows from arrays (blocks) and from Python (one by one)."""
    yield count_to(n, shuffle=False)
    yield ds.GeneratorDataset(list(range(n)), "x", shuffle=False)


def test_take_skip_repeat():
    for data in both_ways(5):
        assert numbers(data.take(2)) == [0, 1] and numbers(data.skip(3)) == [3, 4]
        assert numbers(data.repeat(2)) == [0, 1, 2, 3, 4] * 2
        assert numbers(data.repeat().take(7)) == [0, 1, 2, 3, 4, 0, 1]
        assert numbers(data.repeat(2).skip(4).take(3)) == [4, 0, 1]
        assert data.repeat(3).get_repeat_count() == 3 and len(data.repeat(3).batch(4)) == 4
        with pytest.raises(ValueError, match="'count' is 0"):
            data.repeat(0)


def test_without_end():
    for data in both_ways(5):
        endless = data.repeat()
        assert len(endless) == 5 and len(endless.take(7)) == 7 and len(endless.batch(2)) == 3
        assert len(numbers(endless.shuffle(100).take(20))) == 20
        other = ds.NumpySlicesDataset(list(range(7)), "y", shuffle=False)
        both = endless.zip(other)
        assert len(both) == 7 and numbers(both) == [0, 1, 2, 3, 4, 0, 1]
        assert len(numbers(endless.batch(3).take(4))) == 4
        with pytest.raises(ValueError, match="repeats without end"):
            len(endless.filter(lambda x: True))
        with pytest.raises(ValueError, match="repeats without end"):
            endless.split([0.5, 0.5])
        assert numbers(data.filter(lambda x: False).repeat()) == []


@pytest.mark.parametrize("size", [3, 10, 2000])
def test_shuffle_is_a_permutation_and_the_same_both_ways(size):
    orders = [numbers(data.shuffle(size)) for data in both_ways(1500)]
    assert orders[0] == orders[1] != list(range(1500))
    assert sorted(orders[0]) == list(range(1500))
    for place, value in enumerate(orders[0]):
        assert value <= place + size


def test_epochs_and_repeats_have_their_own_order():
    data = count_to(50)
    first, second = numbers(data), numbers(data)
    assert first != second
    data.reset()
    assert numbers(data) == first
    data.set_epoch(1)
    assert numbers(data) == second
    iterator = count_to(50).create_tuple_iterator(num_epochs=2)
    assert [[x.tolist() for (x,) in iterator] for _ in range(3)] == [first, second, []]
    twice = numbers(count_to(50).repeat(2))
    assert sorted(twice[:50]) == sorted(twice[50:]) and twice[:50] != twice[50:]
    ds.config.set_seed(4)
    assert numbers(count_to(50)) != first


def test_seed_of_the_framework_holds():
    ds.config._seed = None
    ms.set_seed(11)
    one = numbers(count_to(50))
    assert numbers(count_to(50)) == one
    ms.set_seed(12)
    assert numbers(count_to(50)) != one


def test_split():
    for data in both_ways(10):
        a, b = data.split([0.75, 0.25])
        assert (len(a), len(b)) == (8, 2) and sorted(numbers(a) + numbers(b)) == list(range(10))
        assert numbers(a) == numbers(a)
        c, d = data.split([3, 7], randomize=False)
        assert numbers(c) == [0, 1, 2] and numbers(d) == list(range(3, 10))
        with pytest.raises(ValueError, match="together 4"):
            data.split([2, 2])
        with pytest.raises(ValueError, match="must add up to 1"):
            data.split([0.5, 0.2])
    a, b = count_to(10).split([0.5, 0.5])
    assert sorted(numbers(a) + numbers(b)) == list(range(10))
    assert sorted(numbers(a.shuffle(5)) + numbers(b)) == list(range(10))


def test_columns():
    data = ds.NumpySlicesDataset({"a": [1, 2], "b": [3, 4], "c": [5, 6]}, shuffle=False)
    assert data.project(["c", "a"]).get_col_names() == ["c", "a"]
    assert numbers(data.project(["c", "a"])) == [5, 6]
    renamed = data.rename(["a", "b"], ["b", "a"])
    assert renamed.get_col_names() == ["b", "a", "c"] and numbers(renamed.batch(2)) == [[1, 2]]
    with pytest.raises(ValueError, match="'columns' names 'd'; the columns are"):
        data.project("d")
    with pytest.raises(ValueError, match="must not come twice"):
        data.rename("a", "b")
    assert numbers(data.filter(lambda a, b, c: a > 1), 2) == [6]
    many = count_to(100, shuffle=False).filter(lambda x: x % 3 == 0, num_parallel_workers=3)
    assert numbers(many) == list(range(0, 100, 3)) and len(many) == 34
    pairs = list(data.create_tuple_iterator(["c", "b"], num_epochs=1))
    assert [value.tolist() for value in pairs[0]] == [5, 3]


def test_zip_concat_flat_map_apply():
    x, y = count_to(3, shuffle=False), ds.NumpySlicesDataset([7, 8], "y", shuffle=False)
    both = ds.zip((x, y))
    assert both.get_col_names() == ["x", "y"] and numbers(both, 1) == [7, 8] and len(both) == 2
    assert numbers((x + x.skip(1)).batch(2)) == [[0, 1], [2, 1], [2]] and len(x + x) == 6
    with pytest.raises(ValueError, match="all datasets must have the same"):
        x + y
    with pytest.raises(ValueError, match="must not come twice"):
        x.zip(x)
    flat = x.flat_map(lambda n: ds.NumpySlicesDataset([int(n)] * 2, "z", shuffle=False))
    assert numbers(flat) == [0, 0, 1, 1, 2, 2] and flat.get_col_names() == ["z"]
    assert numbers(x.apply(lambda data: data.batch(3))) == [[0, 1, 2]]
    with pytest.raises(TypeError, match="'apply_func' gave int"):
        x.apply(lambda data: 3)


# ---- map


def test_map_columns():
    data = ds.NumpySlicesDataset({"a": [1, 2], "b": [10, 20]}, shuffle=False)
    assert numbers(data.map(lambda a: a + 1)) == [2, 3]
    assert numbers(data.map([lambda b: b + 1, lambda b: b * 2], "b"), 1) == [22, 42]
    merged = data.map(lambda a, b: a + b, ["a", "b"], ["s"])
    assert merged.get_col_names() == ["s"] and numbers(merged) == [11, 22]
    more = data.map(lambda b: (b, b + 1, b + 2), "b", ["p", "q", "r"])
    assert more.get_col_names() == ["p", "q", "r", "a"] and numbers(more, 3) == [1, 2]
    with pytest.raises(ValueError, match="gave 2 columns at row 0; 'output_columns' names 1"):
        numbers(data.map(lambda a: (a, a)))
    with pytest.raises(ValueError, match="'input_columns' names 'z'"):
        data.map(lambda a: a, "z")
    with pytest.raises(TypeError, match="must hold callables"):
        data.map([3])


def noisy(x):
    """A function of a row with its own random numbers."""
    return x + ds.row_rng().normal()


def fail_at_seven(x):
    if int(x) == 7:
        raise ZeroDivisionError("seven")
    return x


@pytest.mark.parametrize("workers,processes", [(1, False), (3, False), (2, True)])
def test_map_workers(workers, processes):
    how = {"num_parallel_workers": workers, "python_multiprocessing": processes}
    data = count_to(50, shuffle=False).map(noisy, **how)
    want = numbers(count_to(50, shuffle=False).map(noisy))
    assert numbers(data) == want and len(set(np.diff(want))) == 49
    assert numbers(data) != want, "another epoch draws anew"
    data.close_pool()
    bad = count_to(50, shuffle=False).map(fail_at_seven, **how)
    with pytest.raises(ZeroDivisionError, match="seven") as caught:
        numbers(bad)
    assert "row 7" in str(caught.value.__notes__)
    if processes:
        assert "fail_at_seven" in str(caught.value.__cause__), "the worker's own traceback"
    bad.close_pool()


def test_random_numbers_follow_the_row_through_shuffles():
    """A row's draw depends neither on where it stands nor on the batch it is in."""
    plain = count_to(20, shuffle=False).map([transforms.TypeCast(np.float64), noisy])
    want = dict(enumerate(numbers(plain)))
    mixed = count_to(20, shuffle=False).map([transforms.TypeCast(np.float64), noisy]).shuffle(5)
    for value in numbers(mixed):
        assert want[round(min(want, key=lambda k: abs(want[k] - value)))] == value


class OneByOne:
    """Hides the block form of a transform."""

    def __init__(self, inner):
        self.inner = inner

    def __call__(self, *columns):
        return self.inner(*columns)


@pytest.mark.parametrize("shape", [(9, 8), (9, 8, 3)])
def test_blocks_and_rows_agree(shape):
    """Every uniform transform, by block, by row and by worker: the same bits."""
    images = np.random.default_rng(0).integers(0, 256, (21, *shape), np.uint8)
    steps = [
        vision.Resize((7, 6)),
        vision.RandomCrop((6, 5), padding=1),
        vision.RandomHorizontalFlip(),
        vision.RandomVerticalFlip(0.3),
        vision.RandomRotation(20, vision.Inter.BILINEAR),
        vision.RandomResizedCrop(5),
        vision.CutOut(2),
        vision.RandomColorAdjust(0.3, 0.3),
        vision.Rescale(1 / 255, 0.1),
        vision.Normalize([0.3], [0.7]),
        vision.HWC2CHW(),
    ]
    made = []
    for operations, workers in (
        (steps, 1),
        ([OneByOne(s) for s in steps], 1),
        ([OneByOne(s) for s in steps], 3),
    ):
        data = ds.NumpySlicesDataset(images, "image").map(operations, num_parallel_workers=workers)
        made.append(np.concatenate([x.asnumpy() for (x,) in data.repeat(2).batch(8)]))
    assert made[0].dtype == np.float32 and len(made[0]) == 42
    np.testing.assert_array_equal(made[0], made[1])
    np.testing.assert_array_equal(made[0], made[2])


@pytest.mark.parametrize("shape", [(20, 30), (20, 30, 1), (20, 30, 3), (20, 30, 2)])
@pytest.mark.parametrize(
    "steps",
    [
        [vision.Rescale(1 / 255, 0.25), vision.Normalize([0.3], [0.7]), vision.HWC2CHW()],
        [vision.ToTensor(), vision.Normalize([0.1], [0.2], is_hwc=False)],
        [transforms.TypeCast(np.float32), vision.Rescale(3.0, -1.0)],
        [transforms.TypeCast(np.int32)],
        [vision.ToTensor(np.float16)],
        [vision.HWC2CHW(), vision.HWC2CHW(), vision.Rescale(2.0, 1.0)],
        [vision.HorizontalFlip(), vision.Normalize([7.0], [3.0]), vision.CenterCrop(18)],
    ],
)
def test_tables_give_the_same_bits(shape, steps):
    """Pointwise transforms of bytes run by table on large blocks, one by one on single images."""
    images = np.random.default_rng(1).integers(0, 256, (6, *shape), np.uint8)
    want = []
    for image in images:
        for step in steps:
            image = step(image)
        want.append(image)
    data = ds.NumpySlicesDataset(images, "x", shuffle=False).map(steps).batch(6)
    (made,) = next(data.create_tuple_iterator(output_numpy=True))
    assert made.dtype == want[0].dtype
    np.testing.assert_array_equal(made, np.stack(want))


def test_lookup_pixels_refuses_sizes_that_do_not_fit():
    from diptych import _core

    for src, tables, dst, images in (
        (6, 256, 5, 2),
        (6, 255, 6, 2),
        (7, 512, 7, 1),
        (6, 256, 6, 4),
        (0, 0, 0, 1),
        (6, 256, 6, 0),
    ):
        with pytest.raises(ValueError, match="do not fit together"):
            _core.lookup_pixels(
                np.zeros(src, np.uint8),
                np.zeros(tables, np.float32),
                np.zeros(dst, np.float32),
                images,
                True,
            )


def test_error_in_a_block_names_its_row():
    data = ds.NumpySlicesDataset([0, 1, 5, 2], "x", shuffle=False).map(transforms.OneHot(3))
    with pytest.raises(ValueError, match=r"a label is 5; it must be in \[0, 2\]") as caught:
        list(data.batch(4))
    assert "row 2" in str(caught.value.__notes__)


# ---- batch


def test_batch():
    for data in both_ways(7):
        assert numbers(data.batch(3)) == [[0, 1, 2], [3, 4, 5], [6]]
        assert numbers(data.batch(3, drop_remainder=True)) == [[0, 1, 2], [3, 4, 5]]
        assert numbers(data.batch(2, num_parallel_workers=3)) == [[0, 1], [2, 3], [4, 5], [6]]
        assert len(data.batch(3)) == 3 and len(data.batch(3, True)) == 2
        assert data.batch(3).get_batch_size() == 3
        growing = data.batch(lambda info: info.get_batch_num() + 1)
        assert numbers(growing) == [[0], [1, 2], [3, 4, 5], [6]]
        assert numbers(data.batch(2, True).batch(2)) == [[[0, 1], [2, 3]], [[4, 5]]]
    with pytest.raises(ValueError, match="'batch_size' is 0"):
        data.batch(0)
    uneven = ds.GeneratorDataset([[1], [1, 2]], "x", shuffle=False).batch(2)
    with pytest.raises(ValueError, match=r"shape \[1\] in row 0 and \[2\] in row 1"):
        list(uneven)


def add_batch_number(x, y, info):
    return [v + 100 * info.get_batch_num() for v in x], y


@pytest.mark.parametrize("workers,processes", [(1, False), (2, False), (2, True)])
def test_per_batch_map(workers, processes):
    data = ds.NumpySlicesDataset({"x": [1, 2, 3], "y": [4, 5, 6]}, shuffle=False)
    made = data.batch(
        2,
        per_batch_map=add_batch_number,
        num_parallel_workers=workers,
        python_multiprocessing=processes,
    )
    assert numbers(made) == [[1, 2], [103]] and numbers(made, 1) == [[4, 5], [6]]
    made.close_pool()
    one = data.batch(
        3, per_batch_map=lambda x, info: (x, x), input_columns="x", output_columns=["a", "b"]
    )
    assert one.get_col_names() == ["a", "b", "y"] and numbers(one, 1) == [[1, 2, 3]]


def test_padded_and_bucket_batches():
    rows = [np.full(n, n) for n in (1, 4, 2, 3, 6)]
    data = ds.GeneratorDataset(rows, "x", shuffle=False)
    want = [[[1, 0, 0, 0], [4] * 4], [[2, 2, 0], [3] * 3], [[6] * 6]]
    assert numbers(data.padded_batch(2)) == want
    fixed = data.take(2).padded_batch(2, pad_info={"x": ([5], -1)})
    assert numbers(fixed) == [[[1, -1, -1, -1, -1], [4, 4, 4, 4, -1]]]
    with pytest.raises(ValueError, match=r"shape \[6\] in row 4"):
        numbers(data.padded_batch(5, pad_info={"x": ([5], -1)}))
    buckets = data.bucket_batch_by_length("x", [3, 5], [2, 2, 1])
    assert numbers(buckets) == [[[1, 0], [2, 2]], [[4] * 4, [3, 3, 3, 0]], [[6] * 6]]
    edges = data.take(4).bucket_batch_by_length("x", [3, 6], [2, 2, 1], pad_to_bucket_boundary=True)
    assert numbers(edges) == [[[1, 0], [2, 2]], [[4, 4, 4, 4, 0], [3, 3, 3, 0, 0]]]
    with pytest.raises(ValueError, match="row 4 has length 6"):
        numbers(data.bucket_batch_by_length("x", [3, 6], [2, 2, 1], pad_to_bucket_boundary=True))
    with pytest.raises(ValueError, match="it must hold 3"):
        data.bucket_batch_by_length("x", [3, 6], [2])


# ---- iterators


def test_iterator_kinds():
    data = count_to(4, shuffle=False).batch(2)
    row = next(data.create_dict_iterator(output_numpy=True))
    assert isinstance(row["x"], np.ndarray) and row["x"].tolist() == [0, 1]
    iterator = data.create_tuple_iterator()
    assert [len(list(iterator)) for _ in range(3)] == [2, 2, 2]
    assert iterator.get_wait_time() >= 0 and data.get_wait_time() >= 0
    iterator.stop()
    assert list(iterator) == []
    with pytest.raises(ValueError, match="'num_epochs' is 0"):
        data.create_dict_iterator(num_epochs=0)


def test_tensors_are_their_own():
    """Writing into what an iterator gave changes neither the source nor later rows."""
    source = np.zeros((4, 3), np.float32)
    for data in (ds.NumpySlicesDataset(source, "x"), ds.NumpySlicesDataset(source, "x").batch(2)):
        for (x,) in data:
            x += 1
            assert float(x.sum()) == x.size
        assert not source.any()


def test_an_abandoned_loop_ends_its_thread():
    import gc
    import threading

    def alive():
        return sum(t.name.startswith("dataset") for t in threading.enumerate())

    before = alive()
    for _ in count_to(10000).map(noisy, num_parallel_workers=2):
        break
    gc.collect()
    for _ in range(1200):
        if alive() <= before:
            return
        time.sleep(0.05)
    raise AssertionError("the thread still runs")


def test_the_source_s_error_arrives_with_its_traceback():
    data = ds.GeneratorDataset(Squares(14), ["n", "q"], shuffle=False)
    import traceback

    with pytest.raises(KeyError, match="thirteen") as caught:
        list(data)
    assert "row 13" in str(caught.value.__notes__)
    assert "__getitem__" in "".join(traceback.format_exception(caught.value))


def test_config():
    for name, value in (("num_parallel_workers", 2), ("prefetch_size", 3)):
        before = getattr(ds.config, f"get_{name}")()
        getattr(ds.config, f"set_{name}")(value)
        assert getattr(ds.config, f"get_{name}")() == value
        assert numbers(count_to(40, shuffle=False)) == list(range(40))
        getattr(ds.config, f"set_{name}")(before)
    with pytest.raises(ValueError, match="'seed' is -1"):
        ds.config.set_seed(-1)
    with pytest.raises(TypeError, match="'size' is '3'"):
        ds.config.set_prefetch_size("3")


def test_model_trains_on_a_pipeline():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((512, 8)).astype(np.float32)
    y = (x @ rng.standard_normal((8, 3))).argmax(1)
    train, test = ds.NumpySlicesDataset((x, y), ["x", "y"]).split([0.8, 0.2])
    train = train.map(transforms.TypeCast(ms.int32), "y").shuffle(400).batch(32)
    ms.set_seed(1)
    net = ms.nn.SequentialCell(ms.nn.Dense(8, 32), ms.nn.ReLU(), ms.nn.Dense(32, 3))
    optimizer = ms.nn.Adam(net.trainable_params(), 1e-2)
    model = ms.train.Model(net, ms.nn.CrossEntropyLoss(), optimizer, {"accuracy"})
    model.train(8, train)
    assert model.eval(test.batch(64))["accuracy"] > 0.85
