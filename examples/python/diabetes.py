"""Regression on a table: how diabetes goes on in a year, from ten numbers of each patient.

python examples/python/diabetes.py [--epochs 200] [--mode graph|eager] [--figure FILE]

The 442 patients are those of scikit-learn's load_diabetes (Efron et al. 2004). A small net with
weight decay is stopped when its error on held-out patients no longer falls, and compared with
linear least squares on others again.
"""

import argparse

import numpy as np
import shared

import diptych as ms
import diptych.dataset as ds
from diptych import nn, train

Split = tuple[np.ndarray, np.ndarray]  # inputs (n, 10) and targets (n, 1), float32


def load(seed: int) -> tuple[list[Split], float, float]:
    """Patients to train (282), to stop by (80) and to test (80); mean and scale of the targets."""
    try:
        from sklearn.datasets import load_diabetes
    except ImportError:
        raise SystemExit("the table comes with scikit-learn: pip install scikit-learn") from None
    x, y = load_diabetes(return_X_y=True, scaled=False)
    order = np.random.default_rng(seed).permutation(len(x))
    parts = np.split(order, [282, 362])
    mean, scale = x[parts[0]].mean(0), x[parts[0]].std(0)
    y_mean, y_scale = y[parts[0]].mean(), y[parts[0]].std()
    inputs = ((x - mean) / scale).astype(np.float32)
    targets = ((y - y_mean) / y_scale).astype(np.float32)[:, None]
    return [(inputs[p], targets[p]) for p in parts], float(y_mean), float(y_scale)


def batches(split: Split, batch: int, shuffle: bool) -> ds.Dataset:
    data = ds.NumpySlicesDataset({"x": split[0], "y": split[1]}, shuffle=shuffle)
    return data.batch(min(batch, len(split[0])))


def fit(args: argparse.Namespace, training: Split, stopping: Split) -> ms.Model:
    net = nn.SequentialCell(
        nn.Dense(10, args.width), nn.Tanh(), nn.Dropout(p=0.2), nn.Dense(args.width, 1)
    )
    optimizer = nn.AdamWeightDecay(net.trainable_params(), 3e-3, weight_decay=0.05)
    model = ms.Model(net, nn.MSELoss(), optimizer, metrics={"mse", "mae"})
    patience = train.EarlyStopping(
        "mse", mode="min", patience=25, restore_best_weights=True, verbose=True
    )
    held_out = batches(stopping, 80, False)
    callbacks = [patience]
    model.fit(args.epochs, batches(training, 32, True), held_out, callbacks=callbacks)
    return model


def r_squared(y: np.ndarray, guess: np.ndarray) -> float:
    """1 - squared error / variance: 1 is perfect, 0 no better than the mean."""
    return float(1 - ((y - guess) ** 2).sum() / ((y - y.mean()) ** 2).sum())


def least_squares(training: Split, x: np.ndarray) -> np.ndarray:
    """The linear guess for x, (n, 1)."""
    inputs, targets = training
    ones = np.ones((len(inputs), 1))
    weights = np.linalg.lstsq(np.hstack([inputs, ones]), targets, rcond=None)[0]
    return x @ weights[:-1] + weights[-1]


def draw(plt, y: np.ndarray, guesses: dict[str, np.ndarray], file: str) -> None:
    figure, axes = plt.subplots(figsize=(5.5, 5))
    ends = [y.min(), y.max()]
    axes.plot(ends, ends, color="0.8")
    for (name, guess), marker in zip(guesses.items(), "ox", strict=True):
        axes.plot(y, guess, marker, label=f"{name}, R² {r_squared(y, guess):.2f}")
    axes.set(xlabel="progression after a year", ylabel="prediction", title="80 test patients")
    axes.legend()
    shared.save_figure(figure, file)


def parse(argv: list[str] | None) -> argparse.Namespace:
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--epochs", type=int, default=200)
    p.add_argument("--mode", choices=["graph", "eager"], default="graph")
    p.add_argument("--width", type=int, default=32, help="features of the hidden layer")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--figure", help="write targets and predictions to this file")
    return p.parse_args(argv)


def main(argv: list[str] | None = None) -> dict[str, float]:
    args = parse(argv)
    plt = shared.pyplot(args.figure)
    (training, stopping, test), mean, scale = load(args.seed)
    ms.set_context(mode=ms.GRAPH_MODE if args.mode == "graph" else ms.PYNATIVE_MODE)
    ms.set_seed(args.seed)
    model = fit(args, training, stopping)
    y = mean + scale * test[1]
    guesses = {
        "net": mean + scale * model.predict(ms.Tensor(test[0])).asnumpy(),
        "least squares": mean + scale * least_squares(training, test[0]),
    }
    for name, guess in guesses.items():
        error = np.abs(y - guess).mean()
        print(f"{name:<14} R² {r_squared(y, guess):.3f}, mean absolute error {error:.1f}")
    if args.figure:
        draw(plt, y, guesses, args.figure)
    return {name: r_squared(y, guess) for name, guess in guesses.items()}


if __name__ == "__main__":
    main()
