#!/bin/bash
# demo.sh - from a fresh Debian 12 to a matrix product on a real parallel
# virtual machine: installs missing packages, builds in build/, runs
#   nowfarm run matmul --n 320 --policy presend:td=auto --slaves 4 --verify
# and says whether the result is right.  Exit status 0 if and only if it is.
set -u
cd "$(dirname "$(readlink -f "$0")")" || exit 1
. .ci/setup.sh

log=build/demo.log
mkdir -p build
quietly() {
    say "$1"
    shift
    if ! "$@" > "$log" 2>&1 < /dev/null; then
        tail -n 40 "$log" >&2
        echo "demo.sh: that failed (all of it: $log)" >&2
        exit 1
    fi
}
ask_for_sudo .ci/packages || exit 1
quietly "packages" install_packages
tell_of_distclean
quietly "autoreconf" generate_configure
quietly "configure" configure_in build
quietly "make" make_in build all
prepare_pvm

say "nowfarm $product"
multiply_in build
status=$?
case $status in
0) say "the result was verified: it is right" ;;
4) say "the result was verified: it is WRONG" ;;
*) say "the job failed with exit status $status" ;;
esac
exit $status
