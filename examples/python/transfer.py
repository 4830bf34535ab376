"""Transfer: what a net learnt of five kinds of clothes helps it to learn ten from few images.

python examples/python/transfer.py [--few 200] [--checkpoint FILE] [--figure FILE] [--data DIR]
                                   [--images N]

A net with five outputs learns T-shirt to Coat from all their images; save_checkpoint writes it. A
net with ten outputs, whose layers are called otherwise, takes the convolutions from the file by a
name map and leaves the rest. Then it learns all ten kinds from 200 images: first the new layers
alone, with the convolutions frozen, then everything at a lower rate. The same net without the
checkpoint, trained on the same images for as long, is the comparison.
"""

import argparse
import tempfile
from pathlib import Path

import fashion
import numpy as np
import shared

import diptych as ms
import diptych.dataset as ds
from diptych import nn, train


def features() -> list[nn.Cell]:
    """Images (N, 1, 28, 28) to (N, 1568)."""
    return [
        nn.Conv2d(1, 16, 3, has_bias=True), nn.ReLU(), nn.MaxPool2d(2, 2),
        nn.Conv2d(16, 32, 3, has_bias=True), nn.ReLU(), nn.MaxPool2d(2, 2),
        nn.Flatten(),
    ]  # fmt: skip


class Pretrained(nn.Cell):
    """The net of the five kinds: parameters body.0.weight ... and top.weight."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.SequentialCell(features())
        self.top = nn.Dense(1568, 5)

    def construct(self, x: ms.Tensor) -> ms.Tensor:
        return self.top(self.body(x))


class Classifier(nn.Cell):
    """The net of all ten: parameters features.0.weight ... and head.0.weight ..."""

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.SequentialCell(features())
        self.head = nn.SequentialCell(nn.Dense(1568, 64), nn.ReLU(), nn.Dense(64, 10))

    def construct(self, x: ms.Tensor) -> ms.Tensor:
        return self.head(self.features(x))


def new_names(name: str) -> str | None:
    """What Classifier calls a parameter of Pretrained; None: not wanted."""
    return name.replace("body.", "features.") if name.startswith("body.") else None


def pretrain(args: argparse.Namespace, file: Path) -> None:
    """Learns the first five kinds and writes the checkpoint."""
    rows = np.flatnonzero(fashion.labels(args.data, "train")[: args.images] < 5)
    data = fashion.batches(args.data, "train", 64, rows)
    net = Pretrained()
    model = ms.Model(net, nn.CrossEntropyLoss(), nn.Adam(net.trainable_params(), 1e-3))
    model.train(args.epochs, data, callbacks=train.ProgressBar())
    ms.save_checkpoint(net, file)


def learn(
    net: Classifier, parts: list, rate: float, epochs: int, data: ds.Dataset, test: ds.Dataset
) -> list[float]:
    """Trains these parts of the net, the others stay as they are; accuracy after each epoch."""
    for p in net.get_parameters():
        p.requires_grad = False
    for part in parts:
        for p in part.get_parameters():
            p.requires_grad = True
    optimizer = nn.Adam(net.trainable_params(), rate)
    model = ms.Model(net, nn.CrossEntropyLoss(), optimizer, metrics={"accuracy"})
    history = train.History()
    model.fit(epochs, data, test, callbacks=history)
    return history.history["accuracy"]


def draw(plt, curves: dict[str, list[float]], args: argparse.Namespace) -> None:
    figure, axes = plt.subplots(figsize=(6.5, 4))
    for name, accuracy in curves.items():
        axes.plot(range(1, len(accuracy) + 1), 100 * np.array(accuracy), label=name)
    axes.axvline(args.head_epochs + 0.5, color="0.7", linestyle=":")
    axes.text(
        args.head_epochs + 0.8, 0.4, "then all layers", transform=axes.get_xaxis_transform(), size=9
    )
    axes.set(xlabel="epoch", ylabel="test accuracy, %", title=f"Ten kinds from {args.few} images")
    axes.legend(loc="lower right")
    shared.save_figure(figure, args.figure)


def parse(argv: list[str] | None) -> argparse.Namespace:
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--epochs", type=int, default=3, help="of the first training")
    p.add_argument("--few", type=int, default=200, help="images of the second training")
    p.add_argument("--head-epochs", type=int, default=20)
    p.add_argument("--all-epochs", type=int, default=20)
    p.add_argument("--test-images", type=int, default=5000)
    p.add_argument("--checkpoint", type=Path, help="where to keep the first net")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--figure", help="write the accuracy curves to this file")
    fashion.add_arguments(p)
    return p.parse_args(argv)


def main(argv: list[str] | None = None) -> dict[str, list[float]]:
    args = parse(argv)
    plt = shared.pyplot(args.figure)
    ms.set_seed(args.seed)
    few = fashion.batches(args.data, "train", 20, args.few)
    test = fashion.batches(args.data, "test", 500, args.test_images)
    with tempfile.TemporaryDirectory() as folder:
        file = args.checkpoint or Path(folder, "five.ckpt")
        pretrain(args, file)
        net = Classifier()
        found = ms.load_checkpoint(file, name_map=new_names)
        missing, _ = ms.load_param_into_net(net, found)
    print(f"taken from the checkpoint: {', '.join(found)}; new: {', '.join(missing)}")
    moved = learn(net, [net.head], 1e-3, args.head_epochs, few, test)
    moved += learn(net, [net], 2e-4, args.all_epochs, few, test)
    fresh = Classifier()
    epochs = args.head_epochs + args.all_epochs
    curves = {
        "with the checkpoint": moved,
        "from nothing": learn(fresh, [fresh], 1e-3, epochs, few, test),
    }
    for name, accuracy in curves.items():
        print(f"{name}: test accuracy {100 * accuracy[-1]:.2f} %")
    if args.figure:
        draw(plt, curves, args)
    return curves


if __name__ == "__main__":
    main()
