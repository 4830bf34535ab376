"""Wrong calls of diptych.dataset: each error names the call, the argument and what is legal."""

import numpy as np
import pytest

import diptych as ms
import diptych.dataset as ds
from diptych.dataset import text, transforms, vision

IMAGE = np.zeros((8, 8, 3), np.uint8)
DATA = ds.NumpySlicesDataset([1, 2, 3], "x")

CALLS = {
    "NumpySlicesDataset: 'column_names'": lambda: ds.NumpySlicesDataset({}),
    "NumpySlicesDataset: column 'column_0'": lambda: ds.NumpySlicesDataset(None),
    "NumpySlicesDataset: 'sampler'": lambda: ds.NumpySlicesDataset([1], "x", sampler=3),
    "GeneratorDataset: 'source' is": lambda: ds.GeneratorDataset(None, "x"),
    "GeneratorDataset: 'source' returned": lambda: list(ds.GeneratorDataset(lambda: 3, "x")),
    "GeneratorDataset: 'column_types'": lambda: ds.GeneratorDataset([1], "x", ms.int32),
    "'python_multiprocessing' needs": lambda: ds.GeneratorDataset(
        iter([1]), "x", python_multiprocessing=True
    ),
    "MnistDataset: 'dataset_dir'": lambda: ds.MnistDataset(3),
    "TextFileDataset: 'dataset_files'": lambda: ds.TextFileDataset([]),
    "CSVDataset: 'dataset_files'": lambda: ds.CSVDataset(3),
    "DistributedSampler: 'shard_id'": lambda: ds.DistributedSampler(2, 5),
    "SubsetSampler: 'indices'": lambda: ds.SubsetSampler("abc"),
    "project: 'columns'": lambda: DATA.project(3),
    "batch: 'batch_size'": lambda: DATA.batch("3"),
    "batch: 'input_columns'": lambda: DATA.batch(2, input_columns="x"),
    "what per_batch_map gave": lambda: list(DATA.batch(2, per_batch_map=lambda x, i: 3)),
    "shuffle: 'buffer_size'": lambda: DATA.shuffle(0),
    "take: 'count'": lambda: DATA.take(1.5),
    "skip: 'count'": lambda: DATA.skip(-1),
    "split: 'sizes'": lambda: DATA.split(3),
    "zip: 'datasets'": lambda: ds.zip([DATA, 3]),
    "concat: 'datasets'": lambda: DATA + 3,
    "concat: 'datasets' is empty": lambda: ds.concat([]),
    "filter: 'predicate'": lambda: DATA.filter(3),
    "map: 'operations'": lambda: DATA.map([]),
    "map: 'num_parallel_workers'": lambda: DATA.map(len, num_parallel_workers=0),
    "map: an operation gave None": lambda: list(DATA.map(lambda x: None)),
    "map: an operation gave": lambda: list(DATA.map(lambda x: [[1], [1, 2]])),
    "padded_batch: 'pad_info' is 3": lambda: DATA.padded_batch(2, pad_info={"x": 3}),
    "padded_batch: 'pad_info' is of type list": lambda: DATA.padded_batch(2, pad_info=[3]),
    "padded_batch: column 'x' has 0 dim": lambda: list(
        DATA.padded_batch(2, False, 1, {"x": ([2], 0)})
    ),
    "'bucket_boundaries'": lambda: DATA.bucket_batch_by_length("x", 3, 3),
    "create_dict_iterator: 'num_epochs'": lambda: DATA.create_dict_iterator(num_epochs="a"),
    "Resize: 'size'": lambda: vision.Resize("ab"),
    "Resize: the image is": lambda: vision.Resize(3)("abc"),
    "Normalize: 'mean'": lambda: vision.Normalize(1, 2),
    "Normalize: 'std'": lambda: vision.Normalize([1], [0]),
    "Rescale: 'rescale'": lambda: vision.Rescale("a", 1),
    "Pad: 'padding'": lambda: vision.Pad((1, 2, 3)),
    "Pad: 'fill_value' is 300": lambda: vision.Pad(1, 300)(IMAGE),
    "Pad: 'fill_value' holds 2": lambda: vision.Pad(1, (1, 2))(IMAGE),
    "Crop: 'coordinates'": lambda: vision.Crop(3, 3),
    "Rotate: 'center'": lambda: vision.Rotate(3, center=5),
    "Rotate: 'fill_value'": lambda: vision.Rotate(30, fill_value=(1, 2))(IMAGE),
    "RandomColorAdjust: 'hue'": lambda: vision.RandomColorAdjust(hue=(0, 3)),
    "CutOut: 'length'": lambda: vision.CutOut(0),
    "Decode: the data": lambda: vision.Decode()(3),
    "ToPIL: float64": lambda: vision.ToPIL()(np.zeros((2, 2, 5))),
    "OneHot: 'num_classes'": lambda: transforms.OneHot("a"),
    "OneHot: the labels": lambda: transforms.OneHot(3)(1.5),
    "Slice: places": lambda: transforms.Slice(9)(np.zeros(3)),
    "PadEnd: 'pad_shape'": lambda: transforms.PadEnd(3),
    "Compose: 'transforms'": lambda: transforms.Compose([]),
    "Vocab.from_list: 'word_list'": lambda: text.Vocab.from_list([1]),
    "Vocab.from_dataset: 'dataset'": lambda: text.Vocab.from_dataset(3),
    "Lookup: 'vocab'": lambda: text.Lookup(3),
    "what the tokenizer gave": lambda: text.PythonTokenizer(lambda s: 3)("a"),
}


@pytest.mark.parametrize("message", CALLS)
def test_refused(message):
    if "ToPIL" in message:
        pytest.importorskip("PIL")
    with pytest.raises((TypeError, ValueError)) as caught:
        CALLS[message]()
    assert message in str(caught.value)
