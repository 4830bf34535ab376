"""Data pipelines under MindSpore's names: ``import diptych.dataset as ds``."""

from . import config, text, transforms, vision
from .base import Dataset
from .batching import BatchInfo
from .draws import row_rng
from .images import (
    Cifar10Dataset,
    Cifar100Dataset,
    FashionMnistDataset,
    ImageFolderDataset,
    MnistDataset,
)
from .operations import concat
from .operations import zip_datasets as zip
from .prefetch import DictIterator, TupleIterator
from .samplers import (
    DistributedSampler,
    PKSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    SubsetSampler,
    WeightedRandomSampler,
)
from .sources import GeneratorDataset, NumpySlicesDataset
from .textfiles import CSVDataset, Shuffle, TextFileDataset

__all__ = [
    "BatchInfo",
    "CSVDataset",
    "Cifar100Dataset",
    "Cifar10Dataset",
    "Dataset",
    "DictIterator",
    "DistributedSampler",
    "FashionMnistDataset",
    "GeneratorDataset",
    "ImageFolderDataset",
    "MnistDataset",
    "NumpySlicesDataset",
    "PKSampler",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "Shuffle",
    "SubsetRandomSampler",
    "SubsetSampler",
    "TextFileDataset",
    "TupleIterator",
    "WeightedRandomSampler",
    "concat",
    "config",
    "row_rng",
    "text",
    "transforms",
    "vision",
    "zip",
]
