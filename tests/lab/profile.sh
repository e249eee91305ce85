#!/bin/bash
# `make profile-coll` in small: it tells where the processors' time goes, in shares
# that make up a whole, and refuses what is no number.
. "${0%/*}/lab-lib.sh"
need_pvm
slow_test
profile() {
    timeout -k 5 $((240 * slow)) "$BASH" "$top_srcdir/tests/bench/coll-profile.sh" \
        "$@" > "$work/out2" 2> "$work/err2" < /dev/null
    rc2=$?
}
# shares SIDE: of one side's kinds, and of the functions with most: their sum
shares() {
    awk -v side="$1" -v part="$2" '
        / percent of / { on = $1 == side ":"; functions = 0; next }
        /of these, the functions/ { functions = 1; next }
        on && functions == (part == "functions") && $1 ~ /^[0-9.]+$/ { sum += $1 }
        END { printf("%.0f\n", sum) }' "$work/out2"
}
whole() { # SIDE: rounded to a tenth, up to ten kinds
    local sum
    sum=$(shares "$1" kinds)
    [ "$sum" -ge 99 ] && [ "$sum" -le 101 ]
}
samples() { sed -n "s/^$1: percent of \([0-9]*\) samples/\1/p" "$work/out2"; }

for bad in 0 -1 x 5x 123456789; do
    profile $bad
    same "$bad hosts: exit status" "$rc2" 2
    check "$bad hosts: says so" grep -q -e "$bad is not a number from 1" \
        "$work/err2"
done

profile 2 65536 200
[ "$rc2" != 77 ] || [ "$failures" != 0 ] ||
    skip "$(sed -n 's/^skipped: //p' "$work/out2")"
same "exit status" "$rc2" 0
check "our time" grep -q '^# ours: [1-9][0-9]* us a call, by bcast\.' "$work/out2"
at_least "our samples" "$(samples ours)" 100
check "our shares are a whole" whole ours
at_least "our functions" "$(shares ours functions)" 1
at_most "our functions" "$(shares ours functions)" 101
check "our programs are among them" grep -q 'the programs and their libraries' \
    "$work/out2"
if grep -q '^# Open MPI: ' "$work/out2"; then
    check "Open MPI's shares are a whole" whole openmpi
else
    echo "not compared: no Open MPI" \
        "$(sed -n 's/^# openmpi failed/that works here/p' "$work/out2")"
fi
finish
