"""Times every op of tests/cases.def at a thousand and a million elements, against PyTorch if asked.

    python bench/ops.py [--torch PYTHON] [--ops add,exp] [--sizes 1000,1000000] [--seconds 0.05]

Prints one JSON line a row and size, then one with the geometric mean of the ratios ours / torch and
the worst ops. Each side runs in a process of its own, on the same inputs; PYTHON is an interpreter
that has torch and NumPy. Results of up to CHECKED elements are compared, and where they differ no
ratio is printed but the difference.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import astuple, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "python"))
CHECKED = 100_000
THREADS_OF_OTHERS = ("OPENBLAS_NUM_THREADS", "OPENBLAS_CORETYPE", "OPENBLAS_MAIN_FREE")

# ---- timing


def best_time(call: Callable[[], Any], seconds: float) -> float:
    """Seconds a call, the best of several samples."""
    clock = time.perf_counter
    call()
    begin = clock()
    call()
    once = max(clock() - begin, 1e-8)
    repeats = max(1, int(seconds / 10 / once))
    best = math.inf
    end = clock() + seconds
    while clock() < end or best is math.inf:
        begin = clock()
        for _ in range(repeats):
            call()
        best = min(best, (clock() - begin) / repeats)
    return best


# ---- inputs and results, the same on both sides


@lru_cache(maxsize=24)
def _flat_values(spec: tuple[Any, ...], position: int, room: int) -> Any:
    from cases import Case, Input, values_of

    one = Case("bench", 0, "", "", 0, [Input(*spec)] * (position + 1))
    return values_of(one, position, (room,))


def bench_values(i: Any, position: int, dims: Iterable[int]) -> Any:
    """Values of an input. Many rows share them: making a million takes longer than most calls."""
    shape = tuple(dims)
    n = math.prod(shape)
    room = 1 << max(n - 1, 0).bit_length()
    if i.is_distinct and i.lo is not None:
        room = n  # their steps depend on how many there are
    return _flat_values(astuple(replace(i, dims=())), position, room)[:n].reshape(shape)


def marks_of(results: Any, to_array: Callable[[Any], Any]) -> list[list[Any]] | None:
    """What is compared of each result: its shape, a weighted sum, the sum of the weighted
    magnitudes. None: too large."""
    results = results if isinstance(results, tuple | list) else (results,)
    if sum(math.prod(r.shape) for r in results) > CHECKED:
        return None
    marks = []
    for r in results:
        x = np.nan_to_num(to_array(r).astype(np.float64), nan=3e3, posinf=5e3, neginf=-5e3)
        weighted = x.ravel() * (1 + np.arange(x.size) % 7)
        marks.append([list(x.shape), float(weighted.sum()), float(np.abs(weighted).sum())])
    return marks


def difference(ours: Any, theirs: Any, case: Any) -> str | None:
    """How the results differ; None: they agree, or were not compared. Further results of ours are
    what its gradient reads."""
    if ours is None or theirs is None:
        return None
    if len(ours) < len(theirs):
        return f"differs: {len(ours)} results, torch has {len(theirs)}"
    half = any(i.dtype in ("f16", "bf16") for i in case.inputs)
    for k, (a, b) in enumerate(zip(ours, theirs, strict=False)):
        if a[0] != b[0]:
            return f"differs: result {k} is {a[0]}, torch has {b[0]}"
        if abs(a[1] - b[1]) > (3e-2 if half else 1e-4) * (a[2] + 1):
            return f"differs: result {k} has the sum {a[1]:.8g}, torch {b[1]:.8g} of {a[2]:.4g}"
    return None


# ---- our side: chooses the sizes, runs first


def broadcast(shapes: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """The shape that these broadcast to, if they do."""
    try:
        return [np.broadcast_shapes(*shapes)]
    except ValueError:
        return []


def enlarged(case: Any, count: int, only_lead: bool) -> list[tuple[int, ...]] | None:
    """Sizes of the inputs such that the largest, or what they broadcast to, has about `count`
    elements. Equal sizes stay equal: all sizes above 1 grow alike, or only the leading one."""
    shapes = [i.dims for i in case.inputs]
    largest = max([*shapes, *broadcast(shapes)], key=math.prod, default=())
    n = math.prod(largest)
    if n == 0 or not largest:
        return None
    if only_lead:
        lead = largest[0]
        grown = {lead: max(1, round(lead * count / n))}
        return [(grown.get(s[0], s[0]), *s[1:]) if s else s for s in shapes]
    axes = [d for d in largest if d > 1] or [largest[0]]
    factor = (count / n) ** (1 / len(axes))
    grown = {d: max(2, round(d * factor)) if d > 1 else d for s in shapes for d in s}
    return [tuple(grown[d] for d in s) for s in shapes]


# Ops whose trailing sizes carry a meaning (windows, channels) or enter the result squared: only the
# batch grows.
BY_BATCH = {
    "conv", "conv_transpose", "rnn_layer", "batch_norm_train", "batch_norm_infer", "grid_sample",
    "diag_embed",
}  # fmt: skip


def our_call(case: Any, dims: list[tuple[int, ...]]) -> Callable[[], Any]:
    """The op with inputs of these sizes, ready to be called."""
    import test_cases

    inputs: list[Any] = []
    for position, i in enumerate(case.inputs):
        if i.is_absent or i.number is not None:
            inputs.append(i.number)
            continue
        values = bench_values(i, position, dims[position])
        inputs.append(test_cases.to_tensor(values, i.dtype, i.is_reversed))
    attrs, _ = test_cases.attributes(case)
    op = test_cases.OPS[case.op]
    return lambda: op(*inputs, **attrs)


def time_ours(case: Any, count: int, seconds: float) -> dict[str, Any] | None:
    import test_cases

    for only_lead in [True] if case.op in BY_BATCH else [False, True]:
        dims = enlarged(case, count, only_lead)
        if dims is None:
            return None
        if max(map(math.prod, dims)) > 2 * count:
            continue
        try:
            call = our_call(case, dims)
            marks = marks_of(call(), test_cases.to_array)
        except Exception:  # these sizes do not suit the attributes
            continue
        return {"dims": dims, "ours": best_time(call, seconds), "marks": marks}
    return None


def our_side(args: argparse.Namespace) -> None:
    from cases import read_cases
    from test_cases import OPS

    wanted = set(args.ops.split(",")) if args.ops else None
    for row, case in enumerate(read_cases()):
        if (wanted and case.op not in wanted) or case.op not in OPS or OPS[case.op].hidden:
            continue
        for count in args.sizes:
            found = time_ours(case, count, args.seconds)
            job = {"op": case.op, "row": row, "case": str(case), "size": count}
            print(json.dumps(job | (found or {"skipped": "no larger version"})), flush=True)


# ---- the other side


def torch_side(args: argparse.Namespace) -> None:
    sys.path.insert(0, str(ROOT / "bench"))
    import torch_ops
    from cases import read_cases

    rows = read_cases()
    wrong: dict[int, str] = {}
    for line in sys.stdin:
        job = json.loads(line)
        if "ours" in job:
            time_torch(job, rows[job["row"]], torch_ops, args.seconds, wrong)
        print(json.dumps(job), flush=True)


def time_torch(
    job: dict[str, Any], case: Any, torch_ops: Any, seconds: float, wrong: dict[int, str]
) -> None:
    """Fills in "torch", or None and "why". `wrong`: rows whose results were found to differ."""
    job["torch"] = None
    try:
        values = [
            None if i.is_absent or i.number is not None else bench_values(i, k, job["dims"][k])
            for k, i in enumerate(case.inputs)
        ]
        call = torch_ops.call_of(case, values)
        if call is None:
            job["why"] = "no counterpart in bench/torch_ops.py"
            return
        if job["op"] not in torch_ops.DRAWS:
            found = difference(job["marks"], marks_of(call(), torch_ops.to_array), case)
            if found:
                wrong[job["row"]] = found
        job["why"] = wrong.get(job["row"])
        if not job["why"]:
            job["torch"] = best_time(call, seconds)
    except Exception as error:
        job["why"] = f"{type(error).__name__}: {error}"[:200]


# ---- the whole


def run_side(python: str, side: str, args: argparse.Namespace, text: str | None) -> str:
    command = [python, __file__, "--side", side, "--seconds", str(args.seconds)]
    command += ["--sizes", ",".join(map(str, args.sizes)), "--ops", args.ops]
    env = dict(os.environ)
    if side == "torch":
        env = {k: v for k, v in env.items() if k not in THREADS_OF_OTHERS and k != "PYTHONPATH"}
    done = subprocess.run(
        command, input=text, stdout=subprocess.PIPE, text=True, env=env, check=True
    )
    return done.stdout


def lines_of(jobs: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for job in jobs:
        row: dict[str, Any] = {"op": job["op"], "case": job["case"], "size": job["size"]}
        if "ours" not in job:
            yield row | {"skipped": job["skipped"]}
            continue
        row["dims"] = job["dims"]
        row["ours_us"] = round(job["ours"] * 1e6, 3)
        if job.get("torch"):
            row["torch_us"] = round(job["torch"] * 1e6, 3)
            row["ratio"] = float(f"{job['ours'] / job['torch']:.3g}")
        elif "torch" in job:
            row["torch"] = job["why"]
        yield row


def mean_of(ratios: list[float]) -> float:
    return float(f"{math.exp(sum(map(math.log, ratios)) / len(ratios)):.3g}")


def summary(rows: list[dict[str, Any]], sizes: list[int]) -> dict[str, Any]:
    """An op counts once at each size: the geometric mean of its rows."""
    out: dict[str, Any] = {}
    for size in sizes:
        ops: dict[str, list[float]] = {}
        for row in rows:
            if row["size"] == size and "ratio" in row:
                ops.setdefault(row["op"], []).append(row["ratio"])
        means = {op: mean_of(r) for op, r in ops.items()}
        if means:
            worst = sorted(means.items(), key=lambda item: -item[1])[:15]
            out[str(size)] = {"ops": len(means), "geomean": mean_of(list(means.values())),
                              "worst": dict(worst)}  # fmt: skip
    compared = {r["op"] for r in rows if "ratio" in r}
    reasons = {r["op"]: r["torch"] for r in rows if "torch" in r}
    out["not_compared"] = {op: why for op, why in reasons.items() if op not in compared}
    out["differing_rows"] = sum(str(r.get("torch")).startswith("differs") for r in rows)
    out["skipped"] = sorted(
        {r["op"] for r in rows if "skipped" in r} - {r["op"] for r in rows if "ours_us" in r}
    )
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--torch", help="an interpreter that has torch")
    parser.add_argument("--ops", default="", help="only these, by commas")
    parser.add_argument("--sizes", default="1000,1000000")
    parser.add_argument("--seconds", type=float, default=0.05, help="for each measurement")
    parser.add_argument("--side", choices=["ours", "torch"], help=argparse.SUPPRESS)
    args = parser.parse_args()
    args.sizes = [int(n) for n in args.sizes.split(",")]
    if args.side:
        (our_side if args.side == "ours" else torch_side)(args)
        return
    text = run_side(sys.executable, "ours", args, None)
    if args.torch:
        text = run_side(args.torch, "torch", args, text)
    rows = list(lines_of([json.loads(line) for line in text.splitlines()]))
    for row in rows:
        print(json.dumps(row))
    print(json.dumps(summary(rows, args.sizes)))


if __name__ == "__main__":
    main()
