#!/bin/sh
# From a clone on Debian 12 to a trained network: installs what is missing (root or sudo), builds
# Diptych into .venv, and trains LeNet-5 on Fashion-MNIST. Arguments go to the example.
set -eu
. "$(dirname "$0")/setup.sh"

need_packages $build_packages $data_packages
need_venv
need_diptych
say "training LeNet-5 on Fashion-MNIST"
exec .venv/bin/python examples/python/lenet_fashion.py "$@"
