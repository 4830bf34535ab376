"""Data pipelines under MindSpore's names: ``import diptych.dataset as ds``."""

from . import config, transforms, vision
from .base import Dataset
from .batching import BatchInfo
from .draws import row_rng
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

__all__ = [
    "BatchInfo",
    "Dataset",
    "DictIterator",
    "DistributedSampler",
    "GeneratorDataset",
    "NumpySlicesDataset",
    "PKSampler",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "SubsetRandomSampler",
    "SubsetSampler",
    "TupleIterator",
    "WeightedRandomSampler",
    "concat",
    "config",
    "row_rng",
    "transforms",
    "vision",
    "zip",
]
