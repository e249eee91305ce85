#!/bin/bash
# memory.sh - what a pending unit costs: memory and processor time of the whole
# program (master and two slave threads) for 10^5 to 10^7 units without input.
#
#   [POLICY=send:g=100] [REPEATS=3] memory.sh
REPEATS=${REPEATS:-3}
. "${0%/*}/bench-lib.sh"
policy=${POLICY:-send:g=100}

machine
echo "# policy $policy, goals: below 700 MiB at 10^7 units, at most 64 bytes a" \
    "unit, processor time a unit independent of N"
printf '%10s  %12s  %14s  %12s\n' units "largest MiB" "bytes a unit" \
    "cpu us a unit"
base_kib=
for units in 1000 100000 1000000 10000000; do
    for _ in $(seq "$repeats"); do
        timeout 600 "$maxrss" "$work/rss" "$NF" run synth --units $units \
            --in 0B --policy "$policy" --transport local --slaves 2 --slots 1 \
            --json > "$work/out" 2> "$work/err" < /dev/null ||
            { cat "$work/err" >&2; exit 1; }
        read -r kib cpu_ms < "$work/rss"
        echo "$kib" >> "$work/kib.$units"
        echo "$cpu_ms" >> "$work/cpu.$units"
    done
    kib=$(median "$work/kib.$units") cpu_ms=$(median "$work/cpu.$units")
    base_kib=${base_kib:-$kib}
    printf '%10d  %12.1f  %14.1f  %12.3f\n' $units \
        "$(calc "print $kib / 1024")" \
        "$(calc "print ($kib - $base_kib) * 1024 / $units")" \
        "$(calc "print $cpu_ms * 1000 / $units")"
done
