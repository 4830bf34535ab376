"""Fashion-MNIST (Xiao et al. 2017) as batches: 60,000 images of clothes and 10,000 to test."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import diptych as ms
import diptych.dataset as ds
from diptych.dataset import transforms, vision

CLASSES = "T-shirt Trouser Pullover Dress Coat Sandal Shirt Sneaker Bag".split() + ["Ankle boot"]
HELP = """no Fashion-MNIST in {}: Debian has it,
    apt-get install dataset-fashion-mnist
and --data DIR names another folder with the four IDX files"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    place = Path("/usr/share/datasets/fashion-mnist")
    parser.add_argument("--data", type=Path, default=place, help="folder of the four IDX files")
    parser.add_argument("--images", type=int, help="train with the first ones only")


def batches(
    folder: Path,
    usage: str,
    batch: int,
    rows: Sequence[int] | np.ndarray | int | None = None,
    augment: Sequence[Any] = (),
) -> ds.Dataset:
    """Batches of images, float32 (batch, 1, 28, 28) in [0, 1], and labels, int32 (batch,).

    Those of usage "train" come in random order and without a last, smaller batch; those of "test"
    in the order of the file. ``rows``: the numbers of some rows, or how many of the first ones;
    ``augment``: transforms of the bytes.
    """
    if not folder.is_dir():
        raise SystemExit(HELP.format(folder))
    training = usage == "train"
    if isinstance(rows, int):
        rows = range(rows)
    if rows is None:
        data = ds.FashionMnistDataset(folder, usage, shuffle=training)
    else:
        sampler = ds.SubsetRandomSampler(rows) if training else ds.SubsetSampler(rows)
        data = ds.FashionMnistDataset(folder, usage, sampler=sampler)
    data = data.map([*augment, vision.ToTensor()], "image")
    data = data.map(transforms.TypeCast(ms.int32), "label")
    return data.batch(batch, drop_remainder=training)


def labels(folder: Path, usage: str) -> np.ndarray:
    """All labels, uint8."""
    if not folder.is_dir():
        raise SystemExit(HELP.format(folder))
    start = {"train": "train", "test": "t10k"}[usage]
    return ms.io.read_idx(folder / f"{start}-labels-idx1-ubyte.gz").asnumpy()
