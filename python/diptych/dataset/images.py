"""Image data sets as they are published: MNIST and its successors, CIFAR, folders of images."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from ..io import read_idx
from .cifar import read_cifar
from .config import check_int, worker_number
from .sources import ArrayDataset, MappableDataset, RowReader, make_sampler
from .vision.formats import Decode

__all__ = [
    "Cifar100Dataset",
    "Cifar10Dataset",
    "FashionMnistDataset",
    "ImageFolderDataset",
    "MnistDataset",
]


def check_folder(where: str, folder: Any) -> Path:
    """The folder, which must exist."""
    if not isinstance(folder, str | os.PathLike):
        raise TypeError(
            f"{where}: 'dataset_dir' is of type {type(folder).__name__}; it must be a path"
        )
    path = Path(folder)
    if not path.is_dir():
        raise ValueError(f"{where}: 'dataset_dir' is {str(path)!r}; there is no such folder")
    return path


def find_file(where: str, folder: Path, names: Iterable[str]) -> Path:
    """The first of the names that is there."""
    names = list(names)
    for name in names:
        if (folder / name).is_file():
            return folder / name
    raise ValueError(f"{where}: {str(folder)!r} holds none of {', '.join(names)}")


def check_usage(where: str, usage: str | None) -> list[str]:
    """The parts that 'train', 'test' or 'all' (None) mean."""
    parts = {
        "train": ["train"],
        "test": ["test"],
        "all": ["train", "test"],
        None: ["train", "test"],
    }
    if usage not in parts:
        raise ValueError(f"{where}: 'usage' is {usage!r}; it must be 'train', 'test' or 'all'")
    return parts[usage]


class _FileDataset(ArrayDataset):
    """Arrays that are read from files at first use. A subclass lists readers of parts."""

    _names: tuple[str, ...]

    def __init__(
        self,
        dataset_dir: str | os.PathLike,
        usage: str | None = None,
        num_samples: int | None = None,
        num_parallel_workers: int | None = None,
        shuffle: bool | None = None,
        sampler: Any = None,
        num_shards: int | None = None,
        shard_id: int | None = None,
    ) -> None:
        where = type(self).__name__
        folder = check_folder(where, dataset_dir)
        self._readers = [self._part(where, folder, part) for part in check_usage(where, usage)]
        chooser = make_sampler(where, num_samples, shuffle, sampler, num_shards, shard_id)
        super().__init__(self._names, [], chooser, worker_number(where, num_parallel_workers))

    def _part(self, where: str, folder: Path, part: str) -> Callable[[], Sequence[np.ndarray]]:
        """Finds the files of 'train' or 'test'; what it returns reads them."""
        raise NotImplementedError

    def _load(self) -> None:
        if self._arrays:
            return
        with ThreadPoolExecutor(self._num_workers) as threads:
            parts = list(threads.map(lambda read: read(), self._readers))
        columns = zip(*parts, strict=True)
        self._arrays = [c[0] if len(c) == 1 else np.concatenate(c) for c in columns]

    def _length(self) -> int:
        self._load()
        return super()._length()


class MnistDataset(_FileDataset):
    """MNIST and what has its format: columns image, uint8 (28, 28, 1), and label, uint32.

    Args:
        dataset_dir: holds train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-images-... and
            t10k-labels-..., each plain or with .gz.
        usage: 'train', 'test' or 'all' (the default).
        num_samples: at most so many rows.
        num_parallel_workers: threads that read the files and make batches.
        shuffle: random order; True by default.
        sampler: a Sampler or row numbers, instead of num_samples, shuffle and num_shards.
        num_shards, shard_id: this process's part of the rows.

    The files are read at first use and stay in memory.
    """

    _names = ("image", "label")

    def _part(self, where: str, folder: Path, part: str) -> Callable[[], Sequence[np.ndarray]]:
        start = "train" if part == "train" else "t10k"
        images, labels = (
            find_file(where, folder, [f"{start}-{kind}-ubyte", f"{start}-{kind}-ubyte.gz"])
            for kind in ("images-idx3", "labels-idx1")
        )

        def read() -> Sequence[np.ndarray]:
            x, y = read_idx(images).asnumpy(), read_idx(labels).asnumpy()
            if x.dtype != np.uint8 or x.ndim != 3 or y.shape != x.shape[:1]:
                raise ValueError(
                    f"{where}: {images} holds {x.dtype} of shape {list(x.shape)} and {labels} "
                    f"{list(y.shape)}; they must be uint8 images (n, height, width) and n labels"
                )
            return x[..., None], y.astype(np.uint32)

        return read


class FashionMnistDataset(MnistDataset):
    """Fashion-MNIST (Xiao et al. 2017): 70,000 images of clothes, ten classes; as MnistDataset."""


class Cifar10Dataset(_FileDataset):
    """CIFAR-10: columns image, uint8 (32, 32, 3), and label, uint32.

    dataset_dir holds data_batch_1.bin to data_batch_5.bin and test_batch.bin (the binary version)
    or the same names without .bin (the Python version). Pickles are read without running anything
    that stands in them. The other arguments are those of MnistDataset.
    """

    _names = ("image", "label")
    _labels_of = 1
    _files = {"train": [f"data_batch_{i}" for i in range(1, 6)], "test": ["test_batch"]}

    def _part(self, where: str, folder: Path, part: str) -> Callable[[], Sequence[np.ndarray]]:
        paths = [find_file(where, folder, [f"{n}.bin", n]) for n in self._files[part]]

        def read() -> Sequence[np.ndarray]:
            parts = [read_cifar(where, path, self._labels_of) for path in paths]
            return [np.concatenate(column) for column in zip(*parts, strict=True)]

        return read


class Cifar100Dataset(Cifar10Dataset):
    """CIFAR-100: columns image, uint8 (32, 32, 3), coarse_label and fine_label, uint32.

    dataset_dir holds train.bin and test.bin, or train and test (the Python version).
    """

    _names = ("image", "coarse_label", "fine_label")
    _labels_of = 2
    _files = {"train": ["train"], "test": ["test"]}


# ---- folders


class _ImageFiles(RowReader):
    """Files as vectors of bytes, or decoded."""

    def __init__(self, paths: list[str], labels: np.ndarray, decode: bool) -> None:
        self.paths, self.labels = paths, labels
        self.decode = Decode() if decode else None

    def get(self, index: int) -> tuple[Any, ...]:
        try:
            data: Any = np.fromfile(self.paths[index], np.uint8)
            if self.decode is not None:
                data = self.decode(data)
        except (OSError, ValueError) as error:
            error.add_note(f"ImageFolderDataset: file {self.paths[index]}")
            raise
        return data, self.labels[index]


class ImageFolderDataset(MappableDataset):
    """Images in one folder a class: columns image, the file's bytes (uint8), and label, int32.

    Args:
        dataset_dir: the folder of the folders; classes are numbered in the order of their names.
        num_samples: at most so many rows.
        num_parallel_workers: threads that read and decode files.
        shuffle: random order; True by default.
        sampler: a Sampler or row numbers, instead of num_samples, shuffle and num_shards.
        extensions: endings of files to take, such as ['.jpg']; those of images by default.
        class_indexing: {folder: label}; other folders are left out.
        decode: gives uint8 (H, W, 3) instead of bytes; needs Pillow.
        num_shards, shard_id: this process's part of the rows.
    """

    _extensions = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp")

    def __init__(
        self,
        dataset_dir: str | os.PathLike,
        num_samples: int | None = None,
        num_parallel_workers: int | None = None,
        shuffle: bool | None = None,
        sampler: Any = None,
        extensions: str | Sequence[str] | None = None,
        class_indexing: dict[str, int] | None = None,
        decode: bool = False,
        num_shards: int | None = None,
        shard_id: int | None = None,
    ) -> None:
        where = "ImageFolderDataset"
        folder = check_folder(where, dataset_dir)
        endings = [extensions] if isinstance(extensions, str) else extensions or self._extensions
        self._classes = self._indexing(where, folder, class_indexing)
        paths, labels = [], []
        for name, label in self._classes.items():
            found = sorted(p for p in (folder / name).rglob("*") if p.is_file())
            chosen = [str(p) for p in found if p.name.lower().endswith(tuple(endings))]
            paths += chosen
            labels += [label] * len(chosen)
        if not paths:
            raise ValueError(
                f"{where}: no file in the folders of {str(folder)!r} ends in {', '.join(endings)}"
            )
        self._all_labels = np.array(labels, np.int32)
        self._reader = _ImageFiles(paths, self._all_labels, decode)
        chooser = make_sampler(where, num_samples, shuffle, sampler, num_shards, shard_id)
        super().__init__(["image", "label"], chooser, worker_number(where, num_parallel_workers))

    @staticmethod
    def _indexing(where: str, folder: Path, given: dict[str, int] | None) -> dict[str, int]:
        names = sorted(p.name for p in folder.iterdir() if p.is_dir())
        if given is None:
            return {name: i for i, name in enumerate(names)}
        for name, label in given.items():
            check_int(where, "class_indexing", label, -(2**31))
            if name not in names:
                raise ValueError(
                    f"{where}: 'class_indexing' names {name!r}; the folders are {names}"
                )
        return dict(given)

    def _length(self) -> int:
        return len(self._all_labels)

    def _labels(self) -> np.ndarray:
        return self._all_labels

    def get_class_indexing(self) -> dict[str, int]:
        return dict(self._classes)

    def num_classes(self) -> int | None:
        return len(self._classes)
