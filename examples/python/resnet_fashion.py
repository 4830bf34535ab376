"""ResNet-18 on Fashion-MNIST by Model.fit, with flipped and shifted images.

python examples/python/resnet_fashion.py [--epochs 3] [--mode graph|eager] [--width 64]
                                         [--figure FILE] [--data DIR] [--images N]

The net is diptych.models.resnet18 with one channel and a first convolution that suits images of
28 x 28. Prints the test accuracy after each epoch.
"""

import argparse
from dataclasses import dataclass

import fashion
import numpy as np
import shared

import diptych as ms
import diptych.dataset as ds
from diptych import models, nn, train
from diptych.dataset import vision


class Losses(train.Callback):
    """Keeps the loss of every step."""

    def __init__(self) -> None:
        self.losses: list[float] = []

    def on_train_step_end(self, run_context: train.RunContext) -> None:
        self.losses.append(float(run_context.original_args().net_outputs))


@dataclass
class Result:
    losses: list[float]  # of the steps
    accuracy: list[float]  # after each epoch
    confusion: np.ndarray  # (10, 10): rows are labels, columns guesses


def small_resnet18(width: int) -> nn.Cell:
    """ResNet-18 for (N, 1, 28, 28): the first convolution is 3 x 3 and keeps all places."""
    net = models.resnet18(num_classes=10, in_channels=1, width=width)
    net.conv1 = nn.Conv2d(1, width, 3, weight_init="HeNormal")
    return net


def fit(args: argparse.Namespace) -> Result:
    augment = [vision.RandomCrop(28, padding=2), vision.RandomHorizontalFlip()]
    data = fashion.batches(args.data, "train", args.batch, args.images, augment)
    test = fashion.batches(args.data, "test", 500, args.test_images)
    net = small_resnet18(args.width)
    print(f"{sum(p.size for p in net.trainable_params()):,} parameters, {len(data)} steps an epoch")
    steps = args.epochs * len(data)
    optimizer = nn.Momentum(
        net.trainable_params(), nn.CosineDecayLR(0.0, args.lr, steps), 0.9, weight_decay=5e-4
    )
    metrics = {"accuracy": train.Accuracy(), "confusion": train.ConfusionMatrix(10)}
    loss = nn.CrossEntropyLoss(label_smoothing=0.1)
    model = ms.Model(net, loss, optimizer, metrics=metrics)
    losses, history = Losses(), train.History()
    model.fit(args.epochs, data, test, callbacks=[train.ProgressBar(), losses, history])
    return Result(losses.losses, history.history["accuracy"], history.history["confusion"][-1])


def draw(plt, result: Result, file: str) -> None:
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.5))
    left.plot(range(1, len(result.losses) + 1), result.losses, linewidth=0.8)
    per_epoch = len(result.losses) // len(result.accuracy)
    for epoch, accuracy in enumerate(result.accuracy, 1):
        left.axvline(epoch * per_epoch, color="0.8", linewidth=0.8)
        text = f"{100 * accuracy:.2f} % "
        left.text(epoch * per_epoch, 0.95, text, ha="right", transform=left.get_xaxis_transform())
    left.set(xlabel="step", ylabel="training loss", title="Loss; test accuracy after the epochs")
    shares = result.confusion / result.confusion.sum(1, keepdims=True)
    right.imshow(np.sqrt(shares), cmap="Blues")
    right.set_xticks(range(10), fashion.CLASSES, rotation=60, ha="right", size=8)
    right.set_yticks(range(10), fashion.CLASSES, size=8)
    for i, j in np.ndindex(10, 10):
        if shares[i, j] >= 0.01:
            color = "white" if shares[i, j] > 0.5 else "black"
            text = f"{100 * shares[i, j]:.0f}"
            right.text(j, i, text, ha="center", va="center", size=7, color=color)
    right.set(xlabel="the net says", title="Test images of each kind, %")
    shared.save_figure(figure, file)


def parse(argv: list[str] | None) -> argparse.Namespace:
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--epochs", type=int, default=3)
    p.add_argument("--mode", choices=["graph", "eager"], default="graph")
    p.add_argument("--batch", type=int, default=128)
    p.add_argument("--width", type=int, default=64, help="channels of the first stage")
    p.add_argument("--lr", type=float, default=0.05)
    p.add_argument("--test-images", type=int, help="test with the first ones only")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--figure", help="write loss and confusion matrix to this file")
    fashion.add_arguments(p)
    return p.parse_args(argv)


def main(argv: list[str] | None = None) -> Result:
    args = parse(argv)
    plt = shared.pyplot(args.figure)
    ms.set_context(mode=ms.GRAPH_MODE if args.mode == "graph" else ms.PYNATIVE_MODE)
    ms.set_seed(args.seed)
    ds.config.set_seed(args.seed)
    result = fit(args)
    print(f"test accuracy {100 * result.accuracy[-1]:.2f} %")
    if args.figure:
        draw(plt, result, args.figure)
    return result


if __name__ == "__main__":
    main()
