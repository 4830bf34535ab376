"""One epoch of LeNet-5 on Fashion-MNIST, data pipeline included, one JSON line.

python bench/epoch.py [MODE] [--peer diptych|torch] [--workers N] [--epochs N] [--images N]
                      [--data DIR]
MODE: eager compile

All images in a new order each epoch, batches of 32, Adam 1e-3, as the users of each peer write
it: diptych with FashionMnistDataset and Model.train, torch with a TensorDataset of floats, its
DataLoader and a loop (compile: torch.compile of the net). s_per_epoch is the best epoch after the
first; accuracy that on the test set after the last.
"""

import argparse
import gzip
import json
import resource
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

BATCH, LR = 32, 1e-3


def read_idx(folder: Path, part: str) -> tuple[np.ndarray, np.ndarray]:
    """Images (n, 1, 28, 28) float32 in [0, 1] and labels (n,) int64."""
    images = gzip.decompress((folder / f"{part}-images-idx3-ubyte.gz").read_bytes())
    labels = gzip.decompress((folder / f"{part}-labels-idx1-ubyte.gz").read_bytes())
    pixels = np.frombuffer(images, np.uint8, offset=16).reshape(-1, 1, 28, 28)
    return pixels.astype(np.float32) / 255, np.frombuffer(labels, np.uint8, offset=8).astype("i8")


def diptych_run(args: argparse.Namespace) -> tuple[Callable[[], None], Callable[[], float]]:
    """An epoch of training, and the accuracy."""
    import diptych as ms
    from diptych import nn
    from diptych.dataset import FashionMnistDataset, transforms, vision

    ms.set_seed(1)
    ms.set_context(mode=ms.GRAPH_MODE if args.mode == "compile" else ms.PYNATIVE_MODE)

    def pipeline(usage: str, size: int):
        count = args.images if usage == "train" else None
        workers = args.workers or None
        data = FashionMnistDataset(str(args.data), usage, count, workers)
        steps = [vision.Pad(2), vision.Rescale(1 / 255, 0.0), vision.HWC2CHW()]
        data = data.map(steps, "image")
        return data.map(transforms.TypeCast(ms.int32), "label").batch(size)

    net = ms.models.LeNet5(10, 1)
    optimizer = nn.Adam(net.trainable_params(), LR)
    model = ms.Model(net, nn.CrossEntropyLoss(), optimizer, metrics={"accuracy"})
    train, test = pipeline("train", BATCH), pipeline("test", 1000)
    return lambda: model.train(1, train), lambda: model.eval(test)["accuracy"]


def torch_run(args: argparse.Namespace) -> tuple[Callable[[], None], Callable[[], float]]:
    """The same by PyTorch."""
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(1)
    net = nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10),
    )  # fmt: skip
    step = torch.compile(net) if args.mode == "compile" else net
    optimizer = torch.optim.Adam(net.parameters(), LR)
    loss_fn = nn.CrossEntropyLoss()
    train, test = (
        TensorDataset(*map(torch.from_numpy, read_idx(args.data, p))) for p in ("train", "t10k")
    )
    if args.images < len(train):
        train = TensorDataset(*train[: args.images])
    loader = DataLoader(train, BATCH, shuffle=True, num_workers=args.workers)

    def epoch() -> None:
        for x, y in loader:
            optimizer.zero_grad()
            loss_fn(step(x), y).backward()
            optimizer.step()

    def accuracy() -> float:
        x, y = test.tensors
        with torch.no_grad():
            return (net(x).argmax(1) == y).float().mean().item()

    return epoch, accuracy


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("mode", nargs="?", default="eager", choices=["eager", "compile"])
    p.add_argument("--peer", default="diptych", choices=["diptych", "torch"])
    p.add_argument("--workers", type=int, default=0, help="of the data pipeline")
    p.add_argument("--epochs", type=int, default=3)
    p.add_argument("--images", type=int, default=60_000, help="of the training set")
    p.add_argument("--data", type=Path, default=Path("/usr/share/datasets/fashion-mnist"))
    args = p.parse_args()
    epoch, accuracy = (diptych_run if args.peer == "diptych" else torch_run)(args)
    times = []
    for _ in range(args.epochs):
        start = time.perf_counter()
        epoch()
        times.append(time.perf_counter() - start)
    best = min(times[1:] or times)
    print(json.dumps({"peer": args.peer, "work": "lenet_epoch", "mode": args.mode,
                      "workers": args.workers, "s_per_epoch": round(best, 3),
                      "per_s": round(args.images / best), "first_s": round(times[0], 2),
                      "accuracy": round(accuracy(), 4),
                      "rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
                      }))  # fmt: skip


if __name__ == "__main__":
    main()
