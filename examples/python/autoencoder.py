"""An auto-encoder squeezes Fashion-MNIST through 16 numbers an image.

python examples/python/autoencoder.py [--epochs 4] [--mode graph|eager] [--code 16] [--figure FILE]
                                      [--data DIR] [--images N]

Convolutions halve the image twice, a dense layer makes the code, and transposed convolutions paint
the image anew. Prints the mean squared error on the test images; the figure shows some of them with
what comes out.
"""

import argparse

import fashion
import shared

import diptych as ms
import diptych.dataset as ds
from diptych import nn, train
from diptych.dataset import transforms


class AutoEncoder(nn.Cell):
    """Images (N, 1, 28, 28) to codes (N, code) and back."""

    def __init__(self, code: int) -> None:
        super().__init__()
        self.encoder = nn.SequentialCell(
            nn.Conv2d(1, 16, 3, stride=2, has_bias=True),
            nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2, has_bias=True),
            nn.ReLU(),
            nn.Flatten(),
            nn.Dense(32 * 7 * 7, code),
        )
        self.decoder = nn.SequentialCell(
            nn.Dense(code, 32 * 7 * 7, activation="relu"),
            nn.Unflatten(1, (32, 7, 7)),
            nn.Conv2dTranspose(32, 16, 3, stride=2, has_bias=True),
            nn.ReLU(),
            nn.Conv2dTranspose(16, 1, 3, stride=2, has_bias=True),
            nn.Sigmoid(),
        )

    def construct(self, x: ms.Tensor) -> ms.Tensor:
        return self.decoder(self.encoder(x))


def pairs(data: ds.Dataset) -> ds.Dataset:
    """Batches whose label is the image itself."""
    names = ["image", "copy"]
    return data.map(transforms.Duplicate(), "image", names).project(names)


def draw(plt, net: nn.Cell, args: argparse.Namespace) -> None:
    """A grid: test images and, beneath each, what the net makes of it."""
    images, _ = next(iter(fashion.batches(args.data, "test", 24)))
    made = net(images)
    figure, places = plt.subplots(4, 12, figsize=(10, 3.6))
    for i in range(24):
        row, column = 2 * (i // 12), i % 12
        places[row, column].imshow(images[i, 0].asnumpy(), cmap="gray_r", vmin=0, vmax=1)
        places[row + 1, column].imshow(made[i, 0].asnumpy(), cmap="Blues", vmin=0, vmax=1)
    for place in places.flat:
        place.axis("off")
    figure.suptitle(f"Test images, and after {args.code} numbers each (blue)", size=11)
    shared.save_figure(figure, args.figure)


def parse(argv: list[str] | None) -> argparse.Namespace:
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--epochs", type=int, default=4)
    p.add_argument("--mode", choices=["graph", "eager"], default="graph")
    p.add_argument("--batch", type=int, default=64)
    p.add_argument("--code", type=int, default=16, help="numbers an image")
    p.add_argument("--lr", type=float, default=2e-3)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--figure", help="write the grid of pictures to this file")
    fashion.add_arguments(p)
    return p.parse_args(argv)


def main(argv: list[str] | None = None) -> float:
    args = parse(argv)
    plt = shared.pyplot(args.figure)
    ms.set_context(mode=ms.GRAPH_MODE if args.mode == "graph" else ms.PYNATIVE_MODE)
    ms.set_seed(args.seed)
    net = AutoEncoder(args.code)
    optimizer = nn.Adam(net.trainable_params(), args.lr)
    model = ms.Model(net, nn.MSELoss(), optimizer, metrics={"loss"})
    data = pairs(fashion.batches(args.data, "train", args.batch, args.images))
    model.train(args.epochs, data, callbacks=train.ProgressBar())
    error = model.eval(pairs(fashion.batches(args.data, "test", 500)))["loss"]
    print(f"mean squared error on the test images: {error:.4f}")
    if args.figure:
        draw(plt, net, args)
    return error


if __name__ == "__main__":
    main()
