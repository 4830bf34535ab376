"""An LSTM reads the King James Bible from its beginning to its end, one character at a time.

python examples/python/char_lstm.py [--epochs 1] [--mode graph|eager] [--figure FILE] [--text FILE]

32 readers start at as many places of the text; what the LSTM remembers goes from step to step, so
each reader knows what it has read so far, while gradients reach back 64 characters. Prints the loss
in nats a character on text that was held out, and some verses.
"""

import argparse

import kjv
import numpy as np
import shared

import diptych as ms
import diptych.dataset as ds
from diptych import models, nn, ops


def streams(tokens: np.ndarray, readers: int, length: int) -> ds.Dataset:
    """Pieces (readers, length) of the text and the same a character later; in each row the next
    piece goes on where the last one ended."""
    steps = (len(tokens) - 1) // (readers * length)
    if steps == 0:
        raise SystemExit(
            f"{len(tokens):,} characters are too few for {readers} x {length} at a time"
        )
    count = readers * steps * length

    def pieces(part: np.ndarray) -> np.ndarray:
        return part.reshape(readers, steps, length).swapaxes(0, 1)

    columns = {"x": pieces(tokens[:count]), "y": pieces(tokens[1 : count + 1])}
    return ds.NumpySlicesDataset(columns, shuffle=False)


class Reader:
    """The net with its optimiser and what it remembers of the text."""

    def __init__(self, args: argparse.Namespace, vocabulary: int) -> None:
        self.net = models.LSTMLanguageModel(
            vocabulary, 64, args.width, num_layers=args.layers, dropout=args.dropout
        )
        self.optimizer = nn.Adam(self.net.trainable_params(), args.lr)
        self.step = ms.jit(self.train_step) if args.mode == "graph" else self.train_step

    def loss(self, x: ms.Tensor, y: ms.Tensor, memory) -> tuple[ms.Tensor, tuple]:
        logits, memory = self.net(x, memory)
        loss = ops.cross_entropy(logits.reshape((-1, logits.shape[-1])), y.reshape((-1,)))
        return loss, memory

    def train_step(self, x: ms.Tensor, y: ms.Tensor, memory) -> tuple[ms.Tensor, tuple]:
        """Takes a step; the loss before it, and the memory for the next one."""
        loss, (h, c) = self.loss(x, y, memory)
        loss.backward()
        self.optimizer.step()
        return loss, (ops.stop_gradient(h), ops.stop_gradient(c))

    def start(self, readers: int) -> tuple[ms.Tensor, ms.Tensor]:
        """The memory of nothing, h and c."""
        lstm = self.net.lstm
        shape = (lstm.num_layers, readers, lstm.hidden_size)
        return ops.zeros(shape), ops.zeros(shape)

    def evaluate(self, data: ds.Dataset, readers: int) -> float:
        self.net.set_train(False)
        losses, memory = [], self.start(readers)
        with ms.no_grad():
            for x, y in data:
                loss, memory = self.loss(x, y, memory)
                losses.append(float(loss))
        self.net.set_train()
        return sum(losses) / len(losses)

    def sample(self, text: kjv.Text, start: str, count: int) -> str:
        """``start`` and ``count`` characters more, each drawn from what the net expects."""
        self.net.set_train(False)
        written, memory = text.encode(start), self.start(1)
        tokens = ms.Tensor(written[None])
        with ms.no_grad():
            for _ in range(count):
                logits, memory = self.net(tokens, memory)
                tokens = ops.multinomial(ops.softmax(logits[:, -1] / 0.8), 1).astype(ms.int32)
                written = np.append(written, int(tokens))
        self.net.set_train()
        return text.decode(written)


def train(args: argparse.Namespace, reader: Reader, text: kjv.Text) -> list[float]:
    """The losses of all steps."""
    data = streams(text.train, args.readers, args.length)
    if args.steps is not None:
        data = data.take(args.steps)
    losses = []
    for epoch in range(1, args.epochs + 1):
        memory = reader.start(args.readers)
        with shared.progress_bar(len(data), "steps", f"epoch {epoch}/{args.epochs}") as bar:
            for x, y in data:
                loss, memory = reader.step(x, y, memory)
                losses.append(float(loss))
                bar.update()
                if len(losses) % 20 == 0:
                    bar.set_postfix(loss=f"{losses[-1]:.3f}", refresh=False)
    return losses


def draw(plt, losses: list[float], valid: float, file: str) -> None:
    figure, axes = plt.subplots(figsize=(7, 4))
    axes.plot(range(1, len(losses) + 1), losses, color="0.75", linewidth=0.8)
    smooth = np.convolve(losses, np.ones(50) / 50, "valid") if len(losses) > 50 else losses
    axes.plot(range(len(losses) - len(smooth) + 1, len(losses) + 1), smooth, label="training")
    axes.axhline(valid, color="C3", linestyle=":", label=f"held-out text at the end: {valid:.3f}")
    axes.set(xlabel="step", ylabel="nats a character", title="LSTM on the King James Bible")
    axes.set_ylim(1.0, 3.2)
    axes.legend()
    shared.save_figure(figure, file)


def parse(argv: list[str] | None) -> argparse.Namespace:
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--epochs", type=int, default=1)
    p.add_argument("--steps", type=int, help="only so many steps an epoch")
    p.add_argument("--mode", choices=["graph", "eager"], default="graph")
    p.add_argument("--readers", type=int, default=32, help="rows of a batch")
    p.add_argument("--length", type=int, default=64, help="characters that gradients go back")
    p.add_argument("--width", type=int, default=384, help="features of the LSTM")
    p.add_argument("--layers", type=int, default=1)
    p.add_argument("--dropout", type=float, default=0.0)
    p.add_argument("--lr", type=float, default=2e-3)
    p.add_argument("--sample", type=int, default=400, help="characters to write at the end")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--figure", help="write the loss curve to this file")
    kjv.add_arguments(p)
    return p.parse_args(argv)


def main(argv: list[str] | None = None) -> list[float]:
    args = parse(argv)
    plt = shared.pyplot(args.figure)
    text = kjv.Text(kjv.read(args.text))
    ms.set_seed(args.seed)
    reader = Reader(args, len(text.characters))
    print(
        f"{sum(p.size for p in reader.net.trainable_params()):,} parameters, "
        f"{len(text.train):,} characters to learn from, {len(text.characters)} different ones"
    )
    losses = train(args, reader, text)
    valid = reader.evaluate(streams(text.valid, 8, args.length), 8)
    print(f"held-out text: {valid:.3f} nats a character\n")
    print(reader.sample(text, "Ge1:1 In the beginning", args.sample))
    if args.figure:
        draw(plt, losses, valid, args.figure)
    return losses


if __name__ == "__main__":
    main()
