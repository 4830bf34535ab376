"""Items a second of a data pipeline, one JSON line.

python bench/data.py WORK [--peer diptych|torch|numpy] [--workers N] [--epochs N]
WORK: normalise   60,000 images of 28 x 28 bytes, shuffled, normalised as floats, batches of 128
      augment     10,000 images of 32 x 32 x 3, random crop after padding, flip, then the same
      function    10,000 images through a Python function, one by one

The peers do the same in the way their users write it: torch with a Dataset of one item at a time
and its DataLoader (torch-batched: with a Dataset that takes a list of items), numpy with a loop
over fancy indexing in one thread. items_per_s is the best epoch, wait_s what its reader waited.
"""

import argparse
import json
import time
from collections.abc import Callable, Iterable, Iterator

import numpy as np

BATCH, MEAN, STD = 128, 0.286, 0.353
SHAPES = {"normalise": (60_000, 28, 28), "augment": (10_000, 32, 32, 3),
          "function": (10_000, 28, 28)}  # fmt: skip


def random_crop(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The image after padding by 4, a random crop and a random flip."""
    wide = np.pad(image, ((4, 4), (4, 4), (0, 0)))
    top, left = rng.integers(0, 9, 2)
    part = wide[top : top + image.shape[0], left : left + image.shape[1]]
    return part[:, ::-1] if rng.random() < 0.5 else part


def normalised(images: np.ndarray) -> np.ndarray:
    """Bytes (..., H, W) or (..., H, W, C) of a batch as floats, channels first."""
    x = (images.astype(np.float32) / 255 - MEAN) / STD
    return x[:, None] if x.ndim == 3 else np.ascontiguousarray(x.transpose(0, 3, 1, 2))


def numpy_epochs(work: str, images: np.ndarray, labels: np.ndarray) -> Callable[[], Iterable]:
    rng = np.random.default_rng(0)

    def epoch() -> Iterator[tuple[np.ndarray, np.ndarray]]:
        order = rng.permutation(len(images))
        for i in range(0, len(order), BATCH):
            rows = order[i : i + BATCH]
            x = images[rows]
            if work == "augment":
                x = np.stack([random_crop(image, rng) for image in x])
            if work == "function":
                yield np.stack([image / 255.0 for image in x]), labels[rows]
            else:
                yield normalised(x), labels[rows]

    return epoch


def torch_epochs(
    work: str, images: np.ndarray, labels: np.ndarray, workers: int, batched: bool
) -> Callable[[], Iterable]:
    import torch
    from torch.utils.data import DataLoader, Dataset

    x, y = torch.from_numpy(images), torch.from_numpy(labels)
    rng = np.random.default_rng(0)

    class Items(Dataset):
        def __len__(self) -> int:
            return len(x)

        def __getitem__(self, i):
            if work == "function":
                return x[i] / 255.0, y[i]
            item = x[i]
            if work == "augment":
                item = torch.from_numpy(random_crop(images[i], rng).copy()).permute(2, 0, 1)
            item = (item.float() / 255 - MEAN) / STD
            return (item if item.ndim == 3 else item[None]), y[i]

    class Batches(Items):
        def __getitems__(self, rows):
            item = (x[rows].float() / 255 - MEAN) / STD
            return item[:, None], y[rows]

    if batched and work != "normalise":
        raise SystemExit("torch-batched runs normalise only")
    more = {"collate_fn": lambda batch: batch} if batched else {}
    data = Batches() if batched else Items()
    loader = DataLoader(data, BATCH, shuffle=True, num_workers=workers, **more)
    return lambda: loader


def diptych_epochs(
    work: str, images: np.ndarray, labels: np.ndarray, workers: int
) -> Callable[[], Iterable]:
    import diptych.dataset as ds
    from diptych.dataset import vision

    ds.config.set_num_parallel_workers(max(workers, 1))
    steps = [vision.Rescale(1 / 255, 0.0), vision.Normalize([MEAN], [STD]), vision.HWC2CHW()]
    if work == "augment":
        steps = [vision.RandomCrop(32, padding=4), vision.RandomHorizontalFlip(), *steps]
    if work == "function":
        steps = [lambda image: image / 255.0]
    data = ds.NumpySlicesDataset({"image": images, "label": labels}).map(steps, "image")
    data = data.batch(BATCH)
    return lambda: data


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("work", choices=[*SHAPES])
    p.add_argument("--peer", default="diptych",
                   choices=["diptych", "torch", "torch-batched", "numpy"])  # fmt: skip
    p.add_argument("--workers", type=int, default=0)
    p.add_argument("--epochs", type=int, default=5)
    args = p.parse_args()
    rng = np.random.default_rng(0)
    shape = SHAPES[args.work]
    data = rng.integers(0, 256, shape, np.uint8), rng.integers(0, 10, shape[0])
    if args.peer == "diptych":
        epoch = diptych_epochs(args.work, *data, args.workers)
    elif args.peer == "numpy":
        epoch = numpy_epochs(args.work, *data)
    else:
        epoch = torch_epochs(args.work, *data, args.workers, args.peer == "torch-batched")
    best = None
    for _ in range(args.epochs):
        batches, start = epoch(), time.perf_counter()
        n = sum(len(labels) for _, labels in batches)
        seconds = time.perf_counter() - start
        wait = batches.get_wait_time() if hasattr(batches, "get_wait_time") else None
        best = min(best or (seconds, wait), (seconds, wait), key=lambda pair: pair[0])
    assert n == shape[0]
    print(json.dumps({"peer": args.peer, "work": args.work, "workers": args.workers,
                      "items_per_s": round(n / best[0]),
                      "wait_s": best[1] and round(best[1], 4)}))  # fmt: skip


if __name__ == "__main__":
    main()
