"""A variational auto-encoder (Kingma and Welling 2013) by a loop of one's own.

python examples/python/vae.py [--epochs 6] [--mode graph|eager] [--figure FILE] [--data DIR]
                              [--images N]

The encoder says where in a plane an image lies, as mean and log variance; the decoder paints the
image of a point drawn there. The loss is the negative evidence lower bound in nats an image:

    -log p(image | z) + KL(N(mean, variance) || N(0, 1)),    z = mean + sigma * noise

with pixels as probabilities. Prints it for the test images; the figure is a map of the plane.
"""

import argparse
from collections.abc import Callable

import fashion
import numpy as np
import shared

import diptych as ms
import diptych.dataset as ds
from diptych import nn, ops


class VAE(nn.Cell):
    """Images (N, 784) to logits of pixels (N, 784), means and log variances (N, latent)."""

    def __init__(self, latent: int, width: int) -> None:
        super().__init__()
        self.encoder = nn.SequentialCell(
            nn.Dense(784, width), nn.ReLU(), nn.Dense(width, width), nn.ReLU()
        )
        self.mean, self.log_var = nn.Dense(width, latent), nn.Dense(width, latent)
        self.decoder = nn.SequentialCell(
            nn.Dense(latent, width), nn.ReLU(), nn.Dense(width, width), nn.ReLU(),
            nn.Dense(width, 784),
        )  # fmt: skip

    def construct(self, x: ms.Tensor) -> tuple[ms.Tensor, ms.Tensor, ms.Tensor]:
        h = self.encoder(x)
        mean, log_var = self.mean(h), self.log_var(h)
        z = mean + ops.exp(0.5 * log_var) * ops.randn_like(mean)
        return self.decoder(z), mean, log_var


def elbo_loss(net: VAE, images: ms.Tensor) -> tuple[ms.Tensor, ms.Tensor]:
    """The loss and its second part, the divergence, in nats an image."""
    x = images.reshape((images.shape[0], -1))
    logits, mean, log_var = net(x)
    # -x log p - (1 - x) log(1 - p) for p = sigmoid(logits)
    painting = (ops.softplus(logits) - x * logits).sum(1).mean()
    divergence = 0.5 * (ops.exp(log_var) + mean * mean - 1.0 - log_var).sum(1).mean()
    return painting + divergence, divergence


def make_step(net: VAE, rate: float) -> Callable[[ms.Tensor], tuple[ms.Tensor, ms.Tensor]]:
    optimizer = nn.Adam(net.trainable_params(), rate)
    grad_fn = ms.value_and_grad(
        lambda images: elbo_loss(net, images), None, net.trainable_params(), has_aux=True
    )

    def step(images: ms.Tensor) -> tuple[ms.Tensor, ms.Tensor]:
        values, grads = grad_fn(images)
        optimizer(grads)
        return values

    return step


def evaluate(net: VAE, data: ds.Dataset) -> float:
    with ms.no_grad():
        losses = [float(elbo_loss(net, images)[0]) for images, _ in data]
    return sum(losses) / len(losses)


def train(args: argparse.Namespace, net: VAE) -> list[float]:
    """The mean losses of the epochs."""
    data = fashion.batches(args.data, "train", args.batch, args.images)
    step = make_step(net, args.lr)
    if args.mode == "graph":
        step = ms.jit(step)
    means = []
    for epoch in range(1, args.epochs + 1):
        losses = []
        with shared.progress_bar(len(data), "steps", f"epoch {epoch}/{args.epochs}") as bar:
            for images, _ in data:
                loss, divergence = step(images)
                losses.append(float(loss))
                bar.update()
                if len(losses) % 50 == 0:
                    bar.set_postfix(loss=f"{losses[-1]:.1f}", divergence=f"{float(divergence):.1f}")
        means.append(sum(losses) / len(losses))
        print(f"epoch {epoch}: loss {means[-1]:.2f}")
    return means


def draw(plt, net: VAE, data: ds.Dataset, file: str) -> None:
    """The plane: what the decoder paints at its points, and where the test images lie."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 5.2))
    places = np.linspace(-2.2, 2.2, 15, dtype=np.float32)
    points = np.stack(np.meshgrid(places, places[::-1]), -1).reshape(-1, 2)
    made = ops.sigmoid(net.decoder(ms.Tensor(points))).asnumpy().reshape(15, 15, 28, 28)
    left.imshow(made.swapaxes(1, 2).reshape(420, 420), cmap="gray_r", extent=[-2.35, 2.35] * 2)
    left.set(title="what the decoder paints at each point")
    for images, labels in data:
        mean = net.mean(net.encoder(images.reshape((len(images), -1)))).asnumpy()
        dots = right.scatter(*mean.T, c=labels.asnumpy(), s=2, cmap="tab10", vmin=0, vmax=9)
    right.legend(dots.legend_elements(num=10)[0], fashion.CLASSES, fontsize=7, loc="upper right")
    right.set(title="where the encoder puts test images", xlim=(-4, 5.5), ylim=(-4, 4))
    shared.save_figure(figure, file)


def parse(argv: list[str] | None) -> argparse.Namespace:
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--epochs", type=int, default=6)
    p.add_argument("--mode", choices=["graph", "eager"], default="graph")
    p.add_argument("--batch", type=int, default=128)
    p.add_argument("--width", type=int, default=256, help="features of the dense layers")
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--figure", help="write the map of the plane to this file")
    fashion.add_arguments(p)
    return p.parse_args(argv)


def main(argv: list[str] | None = None) -> tuple[list[float], float]:
    args = parse(argv)
    plt = shared.pyplot(args.figure)
    ms.set_seed(args.seed)
    net = VAE(2, args.width)
    means = train(args, net)
    test = fashion.batches(args.data, "test", 1000)
    loss = evaluate(net, test)
    print(f"test images: {loss:.2f} nats an image")
    if args.figure:
        draw(plt, net, test, args.figure)
    return means, loss


if __name__ == "__main__":
    main()
