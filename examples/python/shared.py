"""What the examples share: progress bars, and figures for those who have matplotlib."""

import sys
from types import ModuleType
from typing import Any

from tqdm import tqdm


def progress_bar(total: int, unit: str, desc: str | None = None) -> tqdm:
    """A bar that redraws itself in a terminal; in a log, a line every 20 seconds."""
    interval = 0.2 if sys.stderr.isatty() else 20
    return tqdm(total=total, unit=" " + unit, desc=desc, mininterval=interval)


def pyplot(file: str | None) -> ModuleType | None:
    """matplotlib's pyplot when a figure is wanted; asked for before the training, not after."""
    if file is None:
        return None
    try:
        import matplotlib
    except ImportError:
        raise SystemExit("--figure needs matplotlib: pip install matplotlib") from None
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    return plt


def save_figure(figure: Any, file: str) -> None:
    """Writes the figure; the ending of the name says in which format."""
    figure.tight_layout()
    figure.savefig(file, dpi=80)
    print(f"figure: {file}")
