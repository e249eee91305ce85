#!/bin/bash
# decide.sh - what deciding costs: the farm and the policy, and hardly anything
# around them.  Time per unit is to stay below 1 us at 64 slaves and below 10 us
# at 10000.  Then what the adaptive pacer's decisions are worth, in virtual time.
. "${0%/*}/bench-lib.sh"
machine
"$top_builddir/tests/bench/decide" "$@" || exit 1
echo
"$top_builddir/tests/bench/auto_table"
