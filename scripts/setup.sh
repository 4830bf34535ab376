# Set-up shared by demo.sh, test.sh and .ci/run; sourced, not run. Plain sh.
#
# Comes in: the tree this file stands in. Goes out: Debian packages installed, a virtual environment
# .venv with the Python package in it. Every step first looks whether its work is already done
# (packages: asked of dpkg; environment and package: stamp files that hold what they were made of),
# so a second run does nothing.

top=$(cd "$(dirname "$0")/.." && pwd)
cd "$top"
export LC_ALL=C.UTF-8 PIP_DISABLE_PIP_VERSION_CHECK=1
PATH=$top/.venv/bin:$PATH

# What a build needs, what the examples and tests need besides.
build_packages="gcc libc6-dev ninja-build pkg-config libdnnl-dev zlib1g-dev
    python3 python3-dev python3-venv"
data_packages="dataset-fashion-mnist bible-kjv bible-kjv-text"
# meson-python drives the build; 0.16 is the first with the settings of pyproject.toml.
python_packages="meson-python>=0.16 meson>=1.2.3 numpy>=1.24 tqdm"

say() { printf '== %s\n' "$*"; }
die() { printf 'error: %s\n' "$*" >&2; exit 1; }

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"
    elif command -v sudo >/dev/null 2>&1; then sudo "$@"
    else die "this step needs root: run the script as root, or install sudo. The step: $*"
    fi
}

apt_install() {
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -y -o Acquire::Retries=3 \
        -o Dpkg::Use-Pty=0 install --no-install-recommends "$@" >/dev/null
}

# need_packages NAME...: installs the Debian packages that are missing.
need_packages() {
    missing=
    for package in "$@"; do
        state=$(dpkg-query -W -f '${Status}' "$package" 2>/dev/null || true)
        case $state in *' installed') ;; *) missing="$missing $package" ;; esac
    done
    [ -n "$missing" ] || return 0
    command -v apt-get >/dev/null 2>&1 ||
        die "this is no Debian system; install what these packages hold, then run again:$missing"
    say "installing Debian packages:$missing"
    set -- $missing
    if ls /var/lib/apt/lists/*_Packages* >/dev/null 2>&1 && apt_install "$@" 2>/dev/null; then
        return 0
    fi
    as_root apt-get -qq -o Acquire::Retries=3 update ||
        say "apt-get update reported a problem; going on with the lists there are"
    apt_install "$@" || die "apt-get could not install:$missing"
}

# The system's interpreter, unless the user names another one in PYTHON.
find_python() {
    python=${PYTHON:-/usr/bin/python3}
    [ -x "$python" ] || python=$(command -v "$python" || command -v python3) ||
        die "no Python found; set PYTHON to an interpreter of version 3.11 or later"
    "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
        die "$python is $("$python" --version); Diptych needs Python 3.11 or later (set PYTHON)"
}

# stamp_is FILE TEXT: whether the stamp file holds this text.
stamp_is() { [ -e "$1" ] && [ "$(cat "$1")" = "$2" ]; }

# need_venv [PACKAGE...]: the environment, with the build tools and the given packages in it.
need_venv() {
    find_python
    want="$("$python" --version) $python $python_packages"
    if ! stamp_is .venv/stamp-venv "$want"; then
        say "making the virtual environment .venv ($("$python" --version))"
        "$python" -m venv --clear .venv
        .venv/bin/python -m pip install -q $python_packages
        printf '%s\n' "$want" >.venv/stamp-venv
    fi
    [ $# -gt 0 ] || return 0
    stamp_is .venv/stamp-extra "$*" && return 0
    say "installing into .venv: $*"
    .venv/bin/python -m pip install -q "$@"
    printf '%s\n' "$*" >.venv/stamp-extra
}

# One hash over everything the package is made of.
source_hash() {
    find src include python meson.build meson_options.txt pyproject.toml -type f \
        ! -name '*.pyc' -print0 | sort -z | xargs -0 sha256sum | sha256sum | cut -d ' ' -f 1
}

# need_diptych: the package, built in build/py and installed into .venv.
need_diptych() {
    hash=$(source_hash)
    stamp_is .venv/stamp-diptych "$hash" && return 0
    say "building and installing diptych (log: build/install.log)"
    mkdir -p build
    .venv/bin/python -m pip install -v --no-build-isolation --no-deps --force-reinstall \
        --config-settings=build-dir=build/py . >build/install.log 2>&1 ||
        { tail -40 build/install.log >&2; die "the build failed; the whole log: build/install.log"; }
    printf '%s\n' "$hash" >.venv/stamp-diptych
}
