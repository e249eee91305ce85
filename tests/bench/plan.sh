#!/bin/bash
# plan.sh - what planning a multicast costs: CRL for 100 hosts and one segment is to
# stay below 10 ms, for 32 hosts and 1 MiB below 50 ms, for 1000 hosts below 1 s.
. "${0%/*}/bench-lib.sh"
machine
"$top_builddir/tests/bench/plan" "$@"
