#!/bin/sh
# Every workload of bench/bench.py (or those named) in both modes, one JSON line each.
set -eu
. "$(dirname "$0")/setup.sh"

need_packages $build_packages
need_venv pytest
need_diptych
[ $# -gt 0 ] || set -- dispatch mlp dense lstm dynamic chain gpt resnet50
for work in "$@"; do
    for mode in eager compile; do .venv/bin/python bench/bench.py "$work" "$mode"; done
done
