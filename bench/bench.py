"""One workload, one JSON line: how long a whole training step takes.

python bench/bench.py WORK [MODE] [--dtype f32|bf16] [--steps N]
WORK: resnet50 gpt lstm dense mlp dynamic chain dispatch     MODE: eager compile

A step is forward, loss, backward, optimiser, and the loss read as a number; ms_per_step is the
median. The keys are those of the peers' scripts, so that lines compare directly.
"""

import argparse
import json
import resource
import time
import timeit

t0 = time.perf_counter()
import diptych as ms  # noqa: E402

import_s = time.perf_counter() - t0

import workloads  # noqa: E402


def time_dispatch(mode: str, n: int = 40_000) -> float:
    """ns of one x + y on 16 floats, or of a call of a compiled function that does it; best of
    five."""
    names = {"x": ms.ops.ones((16,)), "y": ms.ops.ones((16,)), "add": ms.jit(lambda x, y: x + y)}
    statement = "x + y" if mode == "eager" else "add(x, y)"
    timeit.timeit(statement, globals=names, number=1000)
    return min(timeit.repeat(statement, globals=names, number=n, repeat=5)) / n * 1e9


def report(args: argparse.Namespace, step, items: int) -> None:
    t = time.perf_counter()
    step()
    first = time.perf_counter() - t
    step()
    times, end = [], time.perf_counter() + 60
    while len(times) < args.steps and time.perf_counter() < end:
        t = time.perf_counter()
        step()
        times.append(time.perf_counter() - t)
    median = sorted(times)[len(times) // 2] * 1e3
    print(json.dumps({
        "peer": "diptych",
        "work": args.work,
        "mode": args.mode,
        "dtype": args.dtype,
        "ms_per_step": round(median, 4),
        "per_s": round(items / median * 1e3, 2),
        "first_s": round(first, 2),
        "import_s": round(import_s, 2),
        "rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }))


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("work", choices=[*workloads.TRAINED, "chain", "dispatch"])
    p.add_argument("mode", nargs="?", default="eager", choices=["eager", "compile"])
    p.add_argument("--dtype", default="f32", choices=["f32", "bf16"])
    p.add_argument("--steps", type=int, default=10)
    args = p.parse_args()
    ms.set_seed(0)
    if args.work == "dispatch":
        ns = round(time_dispatch(args.mode))
        print(json.dumps({"peer": "diptych", "work": "dispatch", "mode": args.mode,
                          "ns_per_op": ns, "import_s": round(import_s, 2)}))
        return
    if args.work == "chain":
        if args.dtype != "f32":
            p.error("chain runs in f32")
        x, y = ms.ops.randn((2048, 2048)), ms.ops.randn((2048, 2048))
        chain = workloads.chain if args.mode == "eager" else ms.jit(workloads.chain)
        report(args, lambda: chain(x, y), 2048 * 2048)
        return
    step, items = workloads.trainer(args.work, args.dtype, args.mode)
    report(args, step, items)


if __name__ == "__main__":
    main()
