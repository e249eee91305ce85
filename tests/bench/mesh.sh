#!/bin/bash
# mesh.sh - what a mesh costs over bare PVM, between two processes of this host.
set -u
top_builddir=${top_builddir:-build}
export PVM_TMP PVM_ALLOW_ROOT=1
[ -n "${PVM_ROOT:-}" ] || [ ! -d /usr/lib/pvm3 ] || export PVM_ROOT=/usr/lib/pvm3
PVM_TMP=$(mktemp -d) || exit 99
trap 'rm -rf "$PVM_TMP"' EXIT
timeout 300 "$top_builddir/tests/bench/mesh_bench" "${1:-21}"
status=$?
[ $status -ne 3 ] || { echo "no PVM here: skipped"; exit 0; }
exit $status
