"""LeNet-5 on Fashion-MNIST in eager mode: full data set, batch 32, Adam 1e-3.

python examples/python/lenet_fashion.py [--epochs 5] [--data DIR] [--net lenet|mlp] [--figure FILE]

DIR holds the four IDX files (Debian's package dataset-fashion-mnist puts them into the default
place). Prints a progress bar, the loss, the test accuracy, images/s and the peak memory.
"""

import argparse
import resource
import sys
import time
from pathlib import Path

from tqdm import tqdm

import diptych as ms
from diptych import nn, ops

CLASSES = ["T-shirt", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag",
           "Ankle boot"]


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


def train_epoch(net, optimizer, images, labels, batch: int, bar: tqdm) -> float:
    """One pass in random order; returns the mean loss."""
    loss_fn = nn.CrossEntropyLoss()
    order = ops.randperm(len(labels))
    total, n = 0.0, 0
    for i in range(0, len(labels) - batch + 1, batch):
        chosen = order[i : i + batch]
        loss = loss_fn(net(images[chosen]), labels[chosen])
        loss.backward()
        optimizer.step()
        total, n = total + float(loss), n + 1
        bar.update(batch)
        if n % 50 == 0:
            bar.set_postfix(loss=f"{total / n:.4f}", refresh=False)
    return total / n


def draw(net: nn.Cell, images: ms.Tensor, labels: ms.Tensor, losses: list[float],
         file: str) -> None:
    """The loss curve and twelve test images with what the net says."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure = plt.figure(figsize=(10, 4.5))
    curve = figure.add_subplot(1, 2, 1)
    curve.plot(range(1, len(losses) + 1), losses, marker="o")
    curve.set(xlabel="epoch", ylabel="training loss", title="Loss")
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
    p.add_argument("--data", type=Path, default=Path("/usr/share/datasets/fashion-mnist"))
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--figure", help="write the loss curve and some guesses to this PNG")
    args = p.parse_args()

    ms.set_context(mode=ms.PYNATIVE_MODE)
    ms.set_seed(args.seed)
    images, labels = load(args.data, "train")
    test_images, test_labels = load(args.data, "t10k")
    net = LeNet5() if args.net == "lenet" else mlp()
    optimizer = nn.Adam(net.trainable_params(), learning_rate=1e-3)
    print(f"{args.net}: {sum(w.size for w in net.trainable_params()):,} parameters, "
          f"{len(labels):,} training and {len(test_labels):,} test images")

    net.set_train()
    losses, seconds = [], 0.0
    for epoch in range(1, args.epochs + 1):
        with tqdm(total=len(labels), unit=" images", desc=f"epoch {epoch}/{args.epochs}",
                  mininterval=0.2 if sys.stderr.isatty() else 20) as bar:
            start = time.perf_counter()
            losses.append(train_epoch(net, optimizer, images, labels, args.batch, bar))
            seconds += time.perf_counter() - start
        print(f"epoch {epoch}: loss {losses[-1]:.4f}, "
              f"test accuracy {100 * accuracy(net, test_images, test_labels):.2f} %")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"trained in {seconds:.1f} s, {args.epochs * len(labels) / seconds:,.0f} images/s, "
          f"peak memory {peak:.0f} MB")
    if args.figure:
        draw(net, test_images, test_labels, losses, args.figure)


if __name__ == "__main__":
    main()
