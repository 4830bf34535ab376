#!/bin/sh
# The slower checks, by name: scripts/check.sh asan tsan ... Each installs what it needs and keeps a
# build folder of its own, build/NAME. The names are the functions `check_...` below.
set -eu
. "$(dirname "$0")/setup.sh"

# build NAME [meson setup arguments]: configures build/NAME once, compiles.
build() {
    name=$1
    shift
    need_packages $build_packages meson
    if [ ! -e "build/$name/build.ninja" ]; then
        /usr/bin/meson setup "build/$name" "$@" >"build/$name.log" 2>&1 ||
            { tail -20 "build/$name.log"; die "could not configure build/$name"; }
    fi
    ninja -C "build/$name" --quiet
}

# c_tests NAME [meson test arguments]
c_tests() {
    name=$1
    shift
    PATH=/usr/bin:$PATH python3 tools/ctests.py "build/$name" "$@"
}

check_gcc() {
    build gcc --buildtype=debugoptimized
    c_tests gcc
}

check_clang() {
    need_packages clang
    CC=clang build clang --buildtype=release
    c_tests clang
}

check_nodnn() {
    build nodnn --buildtype=release -Ddnn=disabled
    c_tests nodnn
}

check_asan() {
    build asan --buildtype=debugoptimized -Db_sanitize=address,undefined
    c_tests asan --timeout-multiplier 4
}

check_tsan() {
    build tsan --buildtype=debugoptimized -Db_sanitize=thread -Ddnn=disabled
    c_tests tsan --timeout-multiplier 4 --suite threads
}

check_arm64() {
    need_packages gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user
    build arm64 --buildtype=release --cross-file tools/cross/aarch64.ini -Ddnn=disabled \
        -Dzlib=disabled
    c_tests arm64 --timeout-multiplier 10
}

# Dense tensors of more than 2^31 elements, then every f32 argument of the transcendental functions;
# about an hour of processor time.
check_exhaustive() {
    need_packages $build_packages
    need_venv pytest
    need_diptych
    .venv/bin/python -m pytest -q -rs tests/exhaustive
    build release --buildtype=release
    ninja -C build/release --quiet tests/c/math_f32
    build/release/tests/c/math_f32 -t "$(nproc)" -o docs/accuracy.md
}

# Prints docs/ops.md and docs/passes.md from the tables, docs/names.md from docs/names.txt,
# docs/syntax.md from the tests.
check_docs() {
    need_venv pytest
    need_diptych
    .venv/bin/python tools/names.py >build/names.md && mv build/names.md docs/names.md
    build release --buildtype=release
    ninja -C build/release --quiet tests/c/gen_docs
    build/release/tests/c/gen_docs ops >docs/ops.md
    build/release/tests/c/gen_docs passes >docs/passes.md
    python3 tools/syntax.py >docs/syntax.md
}

# Prints docs/counts.md: the instructions of a call, by callgrind.
check_counts() {
    need_packages valgrind
    build release --buildtype=release
    ninja -C build/release --quiet tests/c/counts
    python3 tools/counts.py build/release/tests/c/counts >docs/counts.md
}

# Random calls, files and graphs under the sanitizers for FUZZ_SECONDS each, from a seed of the day;
# then FUZZ_PROGRAMS random Python functions in both modes.
check_fuzz() {
    build asan --buildtype=debugoptimized -Db_sanitize=address,undefined
    ninja -C build/asan --quiet tests/c/fuzz_calls tests/c/fuzz_files tests/c/fuzz_graphs
    for fuzz in calls files graphs; do
        "build/asan/tests/c/fuzz_$fuzz" -s "${FUZZ_SEED:-$(date +%Y%m%d)}" \
            -t "${FUZZ_SECONDS:-300}"
    done
    need_venv pytest
    need_diptych
    mkdir -p build/programs
    for fuzz in stage gradient; do
        PYTHONHASHSEED=0 .venv/bin/python "tests/python/test_${fuzz}_fuzz.py" \
            "${FUZZ_SEED:-$(date +%Y%m%d)}" "${FUZZ_PROGRAMS:-300}" build/programs
    done
}

# The Python tests against a package built without oneDNN.
check_python_nodnn() {
    need_packages $build_packages
    need_venv pytest
    rm -rf build/site-nodnn
    .venv/bin/python -m pip install -q --no-build-isolation --no-deps --target build/site-nodnn \
        --config-settings=build-dir=build/py-nodnn --config-settings=setup-args=-Ddnn=disabled .
    PYTHONPATH=build/site-nodnn .venv/bin/python -m pytest -q tests/python
}

# Whether this interpreter runs and can build extensions.
is_usable() {
    "$1" -c 'import os, sys, sysconfig
include = sysconfig.get_path("include")
sys.exit(not os.path.exists(os.path.join(include, "Python.h")))' 2>/dev/null
}

# test_python VERSION: builds for the first usable interpreter of this version, if there is one, and
# runs the Python tests. Looks on the path and where pyenv keeps its versions.
test_python() {
    for candidate in "$(command -v "python$1" || true)" \
        "${PYENV_ROOT:-$HOME/.pyenv}/versions/$1".*/bin/python; do
        { [ -x "$candidate" ] && is_usable "$candidate"; } || continue
        say "Python $1: $candidate"
        venv=$top/build/venv-$1
        if [ ! -e "$venv/bin/pytest" ]; then
            "$candidate" -m venv --clear "$venv"
            "$venv/bin/python" -m pip install -q $python_packages pytest
        fi
        PATH=$venv/bin:$PATH "$venv/bin/python" -m pip install -q --no-build-isolation \
            --no-deps --force-reinstall --config-settings=build-dir="build/py-$1" .
        "$venv/bin/python" -m pytest -q tests/python
        return 0
    done
    say "Python $1: none here"
}

# The supported versions but for the one that .venv is made of.
check_pythons() {
    need_packages $build_packages
    find_python
    mine=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    for version in 3.11 3.12 3.13 3.14; do
        [ "$version" = "$mine" ] || test_python "$version"
    done
}

check_headers() {
    need_packages $build_packages
    find_python
    "$python" tools/headers.py build/py
}

check_lint() {
    need_packages clang-format git
    need_venv pytest
    [ -x build/lint/bin/ruff ] || {
        .venv/bin/python -m venv build/lint
        build/lint/bin/python -m pip install -q ruff
    }
    .venv/bin/python tools/layers.py
    .venv/bin/python tools/size.py
    git ls-files -z '*.c' '*.h' | xargs -0 clang-format --dry-run -Werror
    build/lint/bin/ruff check .
}

mkdir -p build
for check in "$@"; do
    "check_$check"
done
