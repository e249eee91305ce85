#!/bin/bash
# matmul.sh - a product of n x n matrices on two processors: nowfarm beside one
# OpenBLAS dgemm with two threads (gemm.c).  nowfarm's time is the makespan:
# from the first byte sent to the last result, all transfers included.
#
#   [N=4096] [REPEATS=5] [POLICY=presend:g=256,td=auto] matmul.sh
. "${0%/*}/bench-lib.sh"
need_pvm
n=${N:-4096}
policy=${POLICY:-presend:g=256,td=auto}
gemm=$top_builddir/tests/bench/gemm
ways="local-2-slots pvm-1-slave-2-slots pvm-2-slaves-1-slot"

way() { # WAY: the options that it stands for
    case $1 in
    local-2-slots) echo --transport local --slaves 1 --slots 2 ;;
    pvm-1-slave-2-slots) echo --transport pvm --slaves 1 --slots 2 ;;
    pvm-2-slaves-1-slot) echo --transport pvm --slaves 2 --slots 1 ;;
    esac
}

echo quit | timeout 20 pvm > /dev/null 2>&1
machine
echo "# n $n, policy $policy"
for _ in $(seq "$repeats"); do
    timeout 300 "$gemm" "$n" 2 >> "$work/gemm" || exit 1
    for way in $ways; do
        # shellcheck disable=SC2046
        job matmul --n "$n" --policy "$policy" $(way "$way")
        json makespan_s >> "$work/$way"
        calc "print $(json makespan_s) / $(tail -n 1 "$work/gemm")" \
            >> "$work/ratio.$way"
    done
done
printf '%-22s  %16s  %14s  %s\n' "" seconds ratio goal
printf '%-22s  %8.3f (%5s)\n' "one dgemm, 2 threads" \
    "$(median "$work/gemm")" "$(spread "$work/gemm")"
for way in $ways; do
    goal=1.35
    [ "$way" = local-2-slots ] && goal=1.05
    printf '%-22s  %8.3f (%5s)  %6.2f (%5s)  %s\n' "$way" \
        "$(median "$work/$way")" "$(spread "$work/$way")" \
        "$(median "$work/ratio.$way")" "$(spread "$work/ratio.$way")" $goal
done

echo
echo "# n 320: a millisecond of arithmetic; starting the job is what it costs"
for _ in $(seq "$repeats"); do
    timeout 60 "$gemm" 320 2 >> "$work/small.gemm" || exit 1
    for way in $ways; do
        # shellcheck disable=SC2046
        job matmul --n 320 --policy presend:td=auto $(way "$way")
        json makespan_s >> "$work/small.$way"
        calc "print $took_ms / 1000" >> "$work/whole.$way"
    done
done
printf '%-22s  %10s  %14s  %s\n' "" "product s" "whole command" \
    "start-up and end"
printf '%-22s  %10.4f\n' "one dgemm, 2 threads" "$(median "$work/small.gemm")"
for way in $ways; do
    product=$(median "$work/small.$way") whole=$(median "$work/whole.$way")
    printf '%-22s  %10.4f  %14.3f  %.3f\n' "$way" "$product" "$whole" \
        "$(calc "print $whole - $product")"
done
