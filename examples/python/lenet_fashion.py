"""LeNet-5 on Fashion-MNIST in eager and in Graph mode: full data set, batch 32, Adam 1e-3.

python examples/python/lenet_fashion.py [--mode both] [--epochs 5] [--net lenet|mlp] [--figure FILE]
                                        [--data DIR] [--images N]

Prints a progress bar, the loss and the test accuracy, and then for each mode the time to the first
step, images/s, the peak memory of tensors and the accuracy.
"""

import argparse
import time
from dataclasses import dataclass

import fashion
import shared
from tqdm import tqdm

import diptych as ms
import diptych.dataset as ds
from diptych import nn, ops

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


def accuracy(net: nn.Cell, test: ds.Dataset) -> float:
    net.set_train(False)
    right = count = 0
    with ms.no_grad():
        for images, labels in test:
            right += int((net(images).argmax(1) == labels).sum())
            count += len(labels)
    net.set_train(True)
    return right / count


def train_epoch(step: nn.Cell, data: ds.Dataset, batch: int, bar: tqdm) -> list[float]:
    """One pass in random order; returns the losses."""
    losses = []
    for images, labels in data:
        losses.append(float(step(images, labels)))
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


def train(args: argparse.Namespace, mode: int) -> Result:
    """Trains from the same seed; only ``mode`` differs."""
    ms.set_context(mode=mode)
    ms.set_seed(args.seed)
    data = fashion.batches(args.data, "train", args.batch, args.images)
    test = fashion.batches(args.data, "test", 1000)
    net = LeNet5() if args.net == "lenet" else mlp()
    optimizer = nn.Adam(net.trainable_params(), learning_rate=1e-3)
    step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.CrossEntropyLoss()), optimizer).set_train()
    total = len(data) * args.batch
    print(
        f"{NAMES[mode]} mode, {args.net}: {sum(w.size for w in net.trainable_params()):,} "
        f"parameters, {total:,} images an epoch"
    )
    ms.runtime.reset_peak_memory_stats()
    first_step = time_first_step(step, *next(iter(data)))
    losses, epochs, seconds = [], [], 0.0
    for epoch in range(1, args.epochs + 1):
        with shared.progress_bar(total, "images", f"epoch {epoch}/{args.epochs}") as bar:
            start = time.perf_counter()
            found = train_epoch(step, data, args.batch, bar)
            seconds += time.perf_counter() - start
        losses += found
        epochs.append(sum(found) / len(found))
        share = accuracy(net, test)
        print(f"epoch {epoch}: loss {epochs[-1]:.4f}, test accuracy {100 * share:.2f} %")
    peak = ms.runtime.max_memory_allocated() / 2**20
    return Result(net, losses, epochs, first_step, len(losses) * args.batch / seconds, peak, share)


def compare(results: dict[int, Result]) -> None:
    """The table of the modes."""
    print(f"\n{'mode':<8}{'first step':>12}{'images/s':>12}{'peak memory':>14}{'accuracy':>11}")
    for mode, r in results.items():
        print(
            f"{NAMES[mode]:<8}{1e3 * r.first_step:>9.1f} ms{r.images_per_s:>12,.0f}"
            f"{r.peak_mb:>11.0f} MB{100 * r.accuracy:>9.2f} %"
        )
    if len(results) > 1:
        eager, graph = (r.losses for r in results.values())
        same = sum(a == b for a, b in zip(eager, graph, strict=True))
        print(f"losses equal bit for bit: {same:,} of {len(eager):,} steps")


def draw(plt, results: dict[int, Result], args: argparse.Namespace) -> None:
    """The loss curves and twelve test images with what the last net says."""
    figure = plt.figure(figsize=(10, 4.5))
    curve = figure.add_subplot(1, 2, 1)
    for (mode, r), style in zip(results.items(), ("o-", "x--"), strict=False):
        curve.plot(range(1, len(r.epochs) + 1), r.epochs, style, label=f"{NAMES[mode]} mode")
    curve.set(xlabel="epoch", ylabel="training loss", title="Loss")
    curve.legend()
    net = list(results.values())[-1].net
    net.set_train(False)
    images, labels = next(iter(fashion.batches(args.data, "test", 12)))
    for i, guess in enumerate(net(images).argmax(1).tolist()):
        place = figure.add_subplot(3, 8, (i // 4) * 8 + 5 + i % 4)
        place.imshow(images[i, 0].asnumpy(), cmap="gray_r")
        right = guess == int(labels[i])
        place.set_title(fashion.CLASSES[guess], fontsize=8, color="black" if right else "red")
        place.axis("off")
    shared.save_figure(figure, args.figure)


def parse(argv: list[str] | None) -> argparse.Namespace:
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--epochs", type=int, default=5)
    p.add_argument("--batch", type=int, default=32)
    p.add_argument("--net", choices=["lenet", "mlp"], default="lenet")
    p.add_argument("--mode", choices=["eager", "graph", "both"], default="both")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--figure", help="write the loss curve and some guesses to this file")
    fashion.add_arguments(p)
    return p.parse_args(argv)


def main(argv: list[str] | None = None) -> dict[int, Result]:
    args = parse(argv)
    plt = shared.pyplot(args.figure)
    modes = {"eager": [ms.PYNATIVE_MODE], "graph": [ms.GRAPH_MODE]}.get(args.mode, list(NAMES))
    results = {mode: train(args, mode) for mode in modes}
    compare(results)
    if args.figure:
        draw(plt, results, args)
    return results


if __name__ == "__main__":
    main()
