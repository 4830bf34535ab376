#!/bin/sh
# Installs what the tests need, builds, runs all C tests and all Python tests. Arguments go to pytest.
set -eu
. "$(dirname "$0")/setup.sh"

need_packages $build_packages $data_packages
need_venv pytest
need_diptych
status=0
say "C tests"
.venv/bin/python tools/ctests.py build/py || status=1
say "Python tests"
.venv/bin/python -m pytest -q tests/python "$@" || status=1
exit $status
