#!/bin/bash
# decide.sh - what deciding costs: the farm and the policy, and hardly anything
# around them.  Time per unit must stay below 1 us at 64 slaves and below 10 us
# at 10000.
. "${0%/*}/bench-lib.sh"
"$top_builddir/tests/bench/decide" "$@"
