#!/bin/bash
# Schedules of all-to-all as `nowfarm plan` prints them, carried out by an awk script that
# knows nothing of how they are made: of shapes and numbers of ranks that no golden has.
# Each block must be where it is sent from, and in the end where it belongs; a rank has one
# message each way in a step; on the ways that are said no channel has two, where that is
# promised; and steps and blocks are what the formulas of the paper and of mixed radices
# say.
. "${0%/*}/lib.sh"
cd "$work" || exit 99

cat > carry_out.awk << 'AWK'
# shape: sides, slowest first; ports 1: one message each way; channels 1: one on each
function wrong(what) {
    print "line " NR ", \"" substr($0, 1, 60) "\": " what
    bad = 1
    exit 1
}
function settle(    block) {
    for (block in moving) at[block] = moving[block]
    split("", moving); split("", sent); split("", taken); split("", channel)
    if (step > 0) { steps++; volume += largest }
    largest = 0
}
# Along a side, hop by hop. @return where that ends
function walk(from, route,    side, hops, apart, there, way) {
    side = substr(route, 2) + 0
    match(route, /[-+][0-9]+$/)
    hops = substr(route, RSTART) + 0
    if (side >= sides || hops == 0) wrong("no such way")
    apart = 1
    for (way = sides; way > side + 1; way--) apart *= length_of[way]
    way = hops > 0 ? 1 : -1
    for (; hops != 0; hops -= way) {
        if (channels && channel[from " " side " " way]++ > 0)
            wrong("a second message on a channel")
        there = int(from / apart) % length_of[side + 1]
        from += ((there + way + length_of[side + 1]) % length_of[side + 1] - there) * apart
    }
    return from
}
BEGIN {
    sides = split(shape, length_of, "x")
    ranks = 1
    for (i = 1; i <= sides; i++) ranks *= length_of[i]
    for (s = 0; s < ranks; s++) for (q = 0; q < ranks; q++) at[s ">" q] = s
}
/^#/ { next }
{
    if ($1 < step) wrong("steps go back")
    if ($1 != step) { settle(); step = $1 }
    from = $2; to = $3; first = 4
    if ($4 ~ /^@/) {
        if (walk(from, $4) != to) wrong("a way to somewhere else")
        first = 5
    } else if (channels)
        wrong("no way is said")
    if (from == to || NF < first) wrong("no message")
    if (++sent[from] > busiest) busiest = sent[from]
    if (++taken[to] > busiest) busiest = taken[to]
    if (ports && busiest > 1) wrong("more than one message")
    for (i = first; i <= NF; i++) {
        if (!($i in at)) wrong("no such block")
        if (at[$i] != from || $i in moving) wrong("it has not " $i)
        moving[$i] = to
    }
    if (NF - first + 1 > largest) largest = NF - first + 1
}
END {
    if (bad) exit 1
    settle()
    for (s = 0; s < ranks; s++)
        for (q = 0; q < ranks; q++)
            if (at[s ">" q] != q) { print s ">" q " is at " at[s ">" q]; exit 1 }
    print steps + 0, volume + 0
    print busiest + 0 > "busiest"
}
AWK
carried() { awk -v shape="$1" -v ports="$2" -v channels="$3" -f carry_out.awk; }

# The sums over sides; and by digits, of any number of ranks.
cat > formula.awk << 'AWK'
function up(a, b) { return int((a + b - 1) / b) }
function log_2(n,    k) { for (k = 0; 2 ^ k < n; k++); return k }
BEGIN {
    count = split(numbers, x, "x")
    p = 1
    for (i = 1; i <= count; i++) p *= x[i]
    if (kind == "merge") {
        n = x[1]; k = n - 1; q = k * k / 4 + k - 1
        print k + 2 * log_2(n), (n + 2 * k) * q + 3 * k * k + 3 * n * k / 2
        exit
    }
    if (kind == "radices") {
        w = 1
        for (i = 1; i <= count && w < ranks; i++) {
            r = x[i]; part = ranks % (w * r)
            s += (r < up(ranks, w) ? r : up(ranks, w)) - 1
            v += ranks - int(ranks / (w * r)) * w - (part < w ? part : w)
            w *= r
        }
        print s, v
        exit
    }
    for (i = 1; i <= count; i++) {
        n = x[i]
        if (n == 1) continue
        if (kind == "naive") { s1 = n - 1; v1 = n * (n - 1) / 2 }
        else if (kind == "cyclic") { s1 = up(n, 2); v1 = int(n * n / 4) }
        else if (n % 2 == 0) { s1 = n / 2; v1 = n * n / 4 }
        else { s1 = (n + 3) / 2; v1 = (n * n - 1) / 4 + n }
        s += s1; v += p / n * v1
    }
    print s, v
}
AWK
formula() { awk -v kind="$1" -v numbers="$2" -v ranks="${3:-0}" -f formula.awk; }

# one_port PLAN PROMISE: out says what was found of messages of a rank in a step
one_port() {
    same "plan $1: of a rank in a step" "$(sed -n '/^# a rank/p' out)" \
        "# a rank sends and receives at most $(cat busiest) a step ($2)"
}
# planned SHAPE CHANNELS ARGS...: sets found to steps and V of that plan, or to why not
planned() {
    local shape=$1 channels=$2
    shift 2
    run plan alltoall "$@" --check
    found=$(carried "$shape" 1 "$channels" < out)
    same "plan $*: as --check says" "$found" \
        "$(sed -n 's/^# steps \([0-9]*\), V \([0-9]*\),.*/\1 \2/p' out)"
    one_port "$*" "as it must be"
}

while read -r algorithm kind shape; do
    planned "$shape" "$([ "$kind" = cyclic ] || echo 1)" "$algorithm" --shape "$shape"
    same "$algorithm on $shape: steps and V" "$found" "$(formula "$kind" "$shape")"
done << 'END'
naive naive 7x10
naive naive 3x4x5
dh hops 10x14
dh hops 2x4x6x2
dh hops 1x20
mdh hops 9x11
mdh hops 5x8x3
mdh hops 3x3x3x3
mdh hops 1x37
cdh cyclic 9x10
cdh cyclic 41
cdh cyclic 3x5x7
split_merge merge 17x17
END
planned 9x15 1 split_merge --shape 9x15
planned 11x3 1 split_merge0 --shape 11x3
planned 1x33 1 split_merge --shape 1x33

while read -r ranks radices; do
    planned "$ranks" "" mixed --ranks "$ranks" --radices "$radices"
    same "mixed radices $radices of $ranks: steps and V" "$found" \
        "$(formula radices "$radices" "$ranks")"
done << 'END'
77 2x2x2x2x2x2x2
77 3x4x7
101 101
131 5x3x9
97 10x10
END
for ranks in 67 100 125; do
    planned "$ranks" "" bruck --ranks "$ranks" --radix 5
    same "bruck, radix 5, of $ranks: steps and V" "$found" \
        "$(formula radices 5x5x5 "$ranks")"
    planned "$ranks" "" pairwise_shift --ranks "$ranks"
    same "pairwise of $ranks: steps and V" "$found" "$((ranks - 1)) $((ranks - 1))"
    planned "$ranks" "" khop --ranks "$ranks" --radix 4
done
planned 128 "" pairwise_xor --ranks 128
same "xor of 128: steps and V" "$found" "127 127"
planned 7x9 "" bruck_grid --shape 7x9
planned 6x11 "" pairwise_grid --shape 6x11
same "pairwise along sides: steps and V" "$found" "15 $((5 * 11 + 10 * 6))"

run plan alltoall burst --ranks 4 --check
same "burst of 4: steps and V" "$(carried 4 "" "" < out)" "1 1"
same "burst of 4: of a rank in a step" "$(cat busiest)" 3
one_port "burst --ranks 4" "not promised"
check "burst of 4 is none of one port" eval '! carried 4 1 "" < out > why'
for row in "burst 3 false" "mixed 1 true"; do
    read -r algorithm most promised <<< "$row"
    run plan alltoall "$algorithm" --ranks 4 --check --json
    same "$algorithm of 4: of a rank in a step, in JSON" \
        "$(json load.step_messages) $(json load.step_promised)" "$most $promised"
done

# said with the name and by an option: the option's is taken
while read -r name option value other; do
    run plan alltoall "$name:$other" --ranks 16 "$option" "$value"
    mv out both
    run plan alltoall "$name" --ranks 16 "$option" "$value"
    check "$name: $option with the name and without" cmp -s both out
    run plan alltoall "$name:$other" --ranks 16
    check "$name: $option in the name alone is another plan" eval '! cmp -s both out'
done << 'END'
dh --shape 2x8 shape=8x2
bruck --radix 4 radix=2
mixed --radices 4x4 radices=2x2x2x2
END

# The script itself finds what is wrong.
run plan alltoall mdh --shape 5x7
cp out right
spoilt() { # TEXT SED-PROGRAM
    sed "$2" right > spoilt.txt
    check "$1 is found" eval '! cmp -s right spoilt.txt &&
        ! carried 5x7 1 1 < spoilt.txt > why'
}
spoilt "a message that is missing" 5d
spoilt "a message that is there twice" 5p
spoilt "a block that is missing" '5s/ [0-9]*>[0-9]*$//'
spoilt "another receiver" '5s/^\([0-9]*\) \([0-9]*\) [0-9]*/\1 \2 34/'
spoilt "another way" '5s/@1[+-]/@0+/'
spoilt "a block of somebody else" '5s/ [0-9]*>[0-9]*$/ 33>33/'
sed 's/^1 /2 /' right > spoilt.txt
check "two steps in one are found" eval '! carried 5x7 1 1 < spoilt.txt > why'

finish
