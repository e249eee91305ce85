#!/bin/bash
# units.sh - units per second: empty units of 8 bytes, one message each, two
# slaves of one slot, W messages outstanding at each; nowfarm beside a raw PVM
# loop (raw_pvm.c) in the same virtual machine.
#
#   [UNITS=100000] [REPEATS=5] units.sh
. "${0%/*}/bench-lib.sh"
need_pvm
units=${UNITS:-100000}
raw=$top_builddir/tests/bench/raw_pvm

echo quit | timeout 20 pvm > /dev/null 2>&1 # one virtual machine for both
machine
echo "# $units units"
for _ in $(seq "$repeats"); do
    for w in 1 2 4 16; do
        policy=window:w=$w
        [ $w = 1 ] && policy=send
        timeout 300 "$raw" "$units" 2 $w >> "$work/raw.$w" || exit 1
        job synth --units "$units" --policy $policy --slaves 2 --slots 1
        calc "print $units / $(json makespan_s)" >> "$work/nf.$w"
        calc "print $(tail -n 1 "$work/nf.$w") / $(tail -n 1 "$work/raw.$w")" \
            >> "$work/ratio.$w"
    done
done
printf '%11s  %18s  %18s  %14s  %s\n' outstanding "raw PVM units/s" \
    "nowfarm units/s" ratio goal
for w in 1 2 4 16; do
    goal=0.8
    case $w in 2 | 4) goal=0.7 ;; esac
    printf '%11d  %10.0f (%5s)  %10.0f (%5s)  %6.2f (%5s)  %s\n' $w \
        "$(median "$work/raw.$w")" "$(spread "$work/raw.$w")" \
        "$(median "$work/nf.$w")" "$(spread "$work/nf.$w")" \
        "$(median "$work/ratio.$w")" "$(spread "$work/ratio.$w")" $goal
done
