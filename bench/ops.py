"""Times every op of tests/cases.def at a thousand and a million elements, against PyTorch if asked.

    python bench/ops.py [--torch PYTHON] [--ops add,exp] [--sizes 1000,1000000] [--seconds 0.05]

Prints one JSON line a row and size, then one with the geometric mean of the ratios ours / torch and
the worst ops. Each side runs in a process of its own; PYTHON is an interpreter that has torch.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
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


# ---- our side: chooses the sizes, runs first


def enlarged(case: Any, count: int, only_lead: bool) -> list[tuple[int, ...]] | None:
    """Sizes of the inputs such that the largest has about `count` elements. Equal sizes stay equal:
    all sizes above 1 grow alike, or only the leading one."""
    shapes = [i.dims for i in case.inputs]
    largest = max(shapes, key=math.prod, default=())
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


# Ops whose trailing sizes carry a meaning (windows, channels): only the batch grows.
BY_BATCH = {"conv", "conv_transpose", "rnn_layer", "batch_norm_train", "batch_norm_infer"}


def our_call(case: Any, dims: list[tuple[int, ...]]) -> Callable[[], Any]:
    """The op with inputs of these sizes, ready to be called."""
    import test_cases
    from cases import values_of

    inputs: list[Any] = []
    for position, i in enumerate(case.inputs):
        if i.is_absent or i.number is not None:
            inputs.append(i.number)
            continue
        values = values_of(case, position, dims[position])
        inputs.append(test_cases.to_tensor(values, i.dtype, i.is_reversed))
    attrs, _ = test_cases.attributes(case)
    op = test_cases.OPS[case.op]
    return lambda: op(*inputs, **attrs)


def time_ours(case: Any, count: int, seconds: float) -> dict[str, Any] | None:
    for only_lead in [True] if case.op in BY_BATCH else [False, True]:
        dims = enlarged(case, count, only_lead)
        if dims is None:
            return None
        try:
            call = our_call(case, dims)
            call()
        except Exception:  # these sizes do not suit the attributes
            continue
        return {"dims": dims, "ours": best_time(call, seconds)}
    return None


def our_side(args: argparse.Namespace) -> None:
    sys.path.insert(0, str(ROOT / "tests" / "python"))
    from cases import read_cases
    from test_cases import OPS

    wanted = set(args.ops.split(",")) if args.ops else None
    for case in read_cases():
        if (wanted and case.op not in wanted) or case.op not in OPS or OPS[case.op].hidden:
            continue
        for count in args.sizes:
            found = time_ours(case, count, args.seconds)
            job = {"op": case.op, "case": str(case), "size": count, "attrs": case.attrs}
            job["inputs"] = [vars(i) for i in case.inputs]
            print(json.dumps(job | (found or {"skipped": "no larger version"})), flush=True)


# ---- the other side


def torch_side(args: argparse.Namespace) -> None:
    sys.path.insert(0, str(ROOT / "bench"))
    import torch_ops

    for line in sys.stdin:
        job = json.loads(line)
        if "ours" in job:
            try:
                call = torch_ops.call_of(job)
                job["torch"] = best_time(call, args.seconds) if call else None
            except Exception as error:
                job["torch"], job["why"] = None, f"{type(error).__name__}: {error}"[:200]
        print(json.dumps(job), flush=True)


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
            row["ratio"] = round(job["ours"] / job["torch"], 3)
        elif "torch" in job:
            row["torch"] = job.get("why", "no counterpart in bench/torch_ops.py")
        yield row


def mean_of(ratios: list[float]) -> float:
    return round(math.exp(sum(map(math.log, ratios)) / len(ratios)), 3)


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
    out["without_counterpart"] = sorted({r["op"] for r in rows if isinstance(r.get("torch"), str)})
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
