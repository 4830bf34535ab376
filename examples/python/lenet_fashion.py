"""LeNet-5 on Fashion-MNIST in eager and in Graph mode: full data set, batch 32, Adam 1e-3.

python examples/python/lenet_fashion.py [--mode both] [--epochs 5] [--data DIR] [--net lenet|mlp]
                                        [--figure FILE]

DIR holds the four IDX files (Debian's package dataset-fashion-mnist puts them into the default
place). Prints a progress bar, the loss and the test accuracy, and then for each mode the time to
the first step, images/s, the peak memory of tensors and the accuracy.
"""

import argparse
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from tqdm import tqdm

import diptych as ms
from diptych import nn, ops

CLASSES = ["T-shirt", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag",
           "Ankle boot"]


NAMES = {ms.PYNATIVE_MODE: "eager", ms.GRAPH_MODE: "graph"}


class LeNet5(nn.Cell):
    """LeCun et al. 1998 with ReLU and max pooling; input (N, 1, 28, 28)."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 5, pad_mode="same", has_bias=True)
        self.conv2 = nn.Conv2d(6, 16, 5, pad_mode="valid", has_bias=True)
        self.pool = nn.MaxPool2d(2, 2)
        self.fc1, self.fc2, self.fc3 = nn.Dense(400, 120), nn.Dense(120, 84), nn.Dense(84, 10)

    def construct(self, x: ms.Tensor) -> ms.Tensor:
        x = self.pool(ops.relu(self.conv1(x)))
        x = self.pool(ops.relu(self.conv2(x)))
        x = x.reshape(x.shape[0], -1)
        x = ops.relu(self.fc1(x))
        return self.fc3(ops.relu(self.fc2(x)))


def mlp() -> nn.Cell:
    return nn.SequentialCell(nn.Flatten(), nn.Dense(784, 128), nn.ReLU(), nn.Dense(128, 10))


def load(folder: Path, part: str) -> tuple[ms.Tensor, ms.Tensor]:
    """Images (N, 1, 28, 28) as float32 in [0, 1] and labels (N,) as int32."""
    images = ms.io.read_idx(str(folder / f"{part}-images-idx3-ubyte.gz"))
    labels = ms.io.read_idx(str(folder / f"{part}-labels-idx1-ubyte.gz"))
    return ops.expand_dims(images.astype(ms.float32) / 255.0, 1), labels.astype(ms.int32)


def accuracy(net: nn.Cell, images: ms.Tensor, labels: ms.Tensor, batch: int = 1000) -> float:
    net.set_train(False)
    right = 0
    with ms.no_grad():
        for i in range(0, len(labels), batch):
            guess = net(images[i : i + batch]).argmax(1).astype(ms.int32)
            right += int((guess == labels[i : i + batch]).sum())
    net.set_train(True)
    return right / len(labels)


def train_epoch(step, images, labels, batch: int, bar: tqdm) -> list[float]:
    """One pass in random order; returns the losses."""
    order = ops.randperm(len(labels))
    losses = []
    for i in range(0, len(labels) - batch + 1, batch):
        chosen = order[i : i + batch]
        losses.append(float(step(images[chosen], labels[chosen])))
        bar.update(batch)
        if len(losses) % 50 == 0:
            bar.set_postfix(loss=f"{sum(losses) / len(losses):.4f}", refresh=False)
    return losses


def time_first_step(step: nn.Cell, images: ms.Tensor, labels: ms.Tensor) -> float:
    """Seconds, compiling included; the step is taken back."""
    saved = [p.value() for p in step.get_parameters()]
    start = time.perf_counter()
    step(images, labels)
    seconds = time.perf_counter() - start
    for p, value in zip(step.get_parameters(), saved, strict=True):
        p.set_data(value)
    return seconds


@dataclass
class Result:
    """One training run."""

    net: nn.Cell
    losses: list[float]
    epochs: list[float]  # mean losses
    first_step: float
    images_per_s: float
    peak_mb: float
    accuracy: float


def train(args: argparse.Namespace, mode: int, data: tuple[ms.Tensor, ...]) -> Result:
    """Trains from the same seed; only ``mode`` differs."""
    ms.set_context(mode=mode)
    ms.set_seed(args.seed)
    images, labels, test_images, test_labels = data
    net = LeNet5() if args.net == "lenet" else mlp()
    optimizer = nn.Adam(net.trainable_params(), learning_rate=1e-3)
    step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.CrossEntropyLoss()), optimizer).set_train()
    print(f"{NAMES[mode]} mode, {args.net}: {sum(w.size for w in net.trainable_params()):,} "
          f"parameters, {len(labels):,} training and {len(test_labels):,} test images")
    ms.runtime.reset_peak_memory_stats()
    first_step = time_first_step(step, images[: args.batch], labels[: args.batch])
    losses, epochs, seconds = [], [], 0.0
    for epoch in range(1, args.epochs + 1):
        with tqdm(total=len(labels), unit=" images", desc=f"epoch {epoch}/{args.epochs}",
                  mininterval=0.2 if sys.stderr.isatty() else 20) as bar:
            start = time.perf_counter()
            found = train_epoch(step, images, labels, args.batch, bar)
            seconds += time.perf_counter() - start
        losses += found
        epochs.append(sum(found) / len(found))
        share = accuracy(net, test_images, test_labels)
        print(f"epoch {epoch}: loss {epochs[-1]:.4f}, test accuracy {100 * share:.2f} %")
    peak = ms.runtime.max_memory_allocated() / 2**20
    return Result(net, losses, epochs, first_step, len(losses) * args.batch / seconds, peak, share)


def compare(results: dict[int, Result]) -> None:
    """The table of the modes."""
    print(f"\n{'mode':<8}{'first step':>12}{'images/s':>12}{'peak memory':>14}{'accuracy':>11}")
    for mode, r in results.items():
        print(f"{NAMES[mode]:<8}{1e3 * r.first_step:>9.1f} ms{r.images_per_s:>12,.0f}"
              f"{r.peak_mb:>11.0f} MB{100 * r.accuracy:>9.2f} %")
    if len(results) > 1:
        eager, graph = (r.losses for r in results.values())
        same = sum(a == b for a, b in zip(eager, graph, strict=True))
        print(f"losses equal bit for bit: {same:,} of {len(eager):,} steps")


def draw(results: dict[int, Result], images: ms.Tensor, labels: ms.Tensor, file: str) -> None:
    """The loss curves and twelve test images with what the last net says."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure = plt.figure(figsize=(10, 4.5))
    curve = figure.add_subplot(1, 2, 1)
    for (mode, r), style in zip(results.items(), ("o-", "x--"), strict=False):
        curve.plot(range(1, len(r.epochs) + 1), r.epochs, style, label=f"{NAMES[mode]} mode")
    curve.set(xlabel="epoch", ylabel="training loss", title="Loss")
    curve.legend()
    net = list(results.values())[-1].net
    net.set_train(False)
    guesses = net(images[:12]).argmax(1).asnumpy()
    for i, guess in enumerate(guesses):
        place = figure.add_subplot(3, 8, (i // 4) * 8 + 5 + i % 4)
        place.imshow(images[i, 0].asnumpy(), cmap="gray_r")
        right = guess == int(labels[i])
        place.set_title(CLASSES[guess], fontsize=8, color="black" if right else "red")
        place.axis("off")
    figure.tight_layout()
    figure.savefig(file, dpi=110)
    print(f"figure: {file}")


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--epochs", type=int, default=5)
    p.add_argument("--batch", type=int, default=32)
    p.add_argument("--net", choices=["lenet", "mlp"], default="lenet")
    p.add_argument("--mode", choices=["eager", "graph", "both"], default="both")
    p.add_argument("--data", type=Path, default=Path("/usr/share/datasets/fashion-mnist"))
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--figure", help="write the loss curve and some guesses to this PNG")
    args = p.parse_args()

    data = (*load(args.data, "train"), *load(args.data, "t10k"))
    modes = {"eager": [ms.PYNATIVE_MODE], "graph": [ms.GRAPH_MODE]}.get(args.mode, list(NAMES))
    results = {mode: train(args, mode, data) for mode in modes}
    compare(results)
    if args.figure:
        draw(results, *data[2:], args.figure)


if __name__ == "__main__":
    main()
