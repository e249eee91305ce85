#!/bin/bash
# `nowfarm plans` and `nowfarm plan`: every schedule of the goldens as it is
# printed there, all of them checked, and what is turned down.
. "${0%/*}/lib.sh"
cd "$work" || exit 99
golden=$top_srcdir/tests/golden/collectives.tsv

# --- the list
run plans --json
same "plans: exit status" "$rc" 0
check "plans: stdout is one JSON object" only_json
grep -o '"name":"[^"]*"' out | cut -d '"' -f 4 > names
for field in op other_names summary cost items ports order power_of_two source keeps; do
    same "plans: all have $field" "$(grep -o "\"$field\":" out | wc -l)" \
        "$(wc -l < names)"
done
same "plans: the last one" "$(json "algorithms.$(($(wc -l < names) - 1)).name")" \
    "$(tail -n 1 names)"
at_least "plans: algorithms" "$(wc -l < names)" 40
run plans
same "plans for people: exit status" "$rc" 0
while read -r plan; do
    grep -q "^$plan: " out || fail "plans for people: $plan is missing"
done < names

# --- by the names that reports and papers have
# is_named OP ALGORITHM
is_named() { grep -q "^$1\.$2: \|^    also: .*\b$1\.$2\(\$\|,\)" out; }
# is_sound OP ALGORITHM: it is printed, and checked
is_sound() {
    timeout 10 "$NF" plan "$1" "$2" --ranks 8 --segments 5 --check \
        > printed 2>&1 && [ -s printed ]
}
while read -r op all; do
    for one in $all; do
        check "plans for people: $op.$one" is_named "$op" "$one"
        check "plan $op $one" is_sound "$op" "$one"
    done
done << 'END'
bcast flat binomial knomial edge_disjoint nesbt ksegment pipeline twopath
bcast scatter_allgather_ring scatter_allgather_circulant circulant
reduce linear binomial binomial_ordered chain seg_gather circulant
allreduce reduce_bcast seg rec_doubling ring circulant
reduce_scatter circulant doubling halving ring
allgather circulant rec_doubling ring
scan linear pipeline overlapped_pipeline brent_kung rootp rootp_seg
scan brent_kung_seg rec_doubling
exscan linear pipeline overlapped_pipeline brent_kung rootp rootp_seg
exscan brent_kung_seg rec_doubling
gather linear binomial windowed
scatter linear binomial windowed
barrier linear tree dissemination
END

# --- the goldens, line by line
# All-to-all is printed in another way, below.
grep -v '^#\|^alltoall' "$golden" | cut -f 1-4 | uniq > plans
while IFS=$'\t' read -r plan ranks root k; do
    timeout 10 "$NF" plan "${plan%%.*}" "${plan#*.}" --ranks "$ranks" \
        --root "$root" --segments "$k" --check || echo "status $?"
done < plans > got 2> err
grep -v '^#\|^alltoall' "$golden" > want
check "all $(wc -l < plans) plans of the goldens are printed as they are there" \
    cmp got want
check "and nothing is said of them" cmp err /dev/null

# --- all-to-all: step, source, destination, way, blocks
# Their column k is no number of segments, and said as one it is ignored.
grep '^alltoall' "$golden" | cut -f 1-4 | uniq > plans
while IFS=$'\t' read -r plan ranks root k; do
    timeout 10 "$NF" plan alltoall "${plan#*.}" --ranks "$ranks" \
        --root "$root" --segments "$k" || echo "status $?"
done < plans > got 2> err
grep '^alltoall' "$golden" | awk -F '\t' '{
    printf "%d %d %d", $5 + 1, $6, $7
    n = split($8, items, ",")
    for (i = 1; i <= n; i++)
        printf " %d>%d", items[i] / $2, items[i] % $2
    print "" }' > want
check "all-to-all: all $(wc -l < plans) plans of the goldens" cmp got want
check "all-to-all: nothing is said of them" cmp err /dev/null
run plan alltoall mdh --shape 1x3 --check
cat > want << 'END'
1 0 2 @1+2 0>2
1 2 0 @1+1 2>0 2>1
2 0 1 @1+1 0>1 2>1
2 1 2 @1+1 1>2
3 1 0 @1-1 1>0
# each block is delivered once
# steps 3, V 5, V_contended 5
# messages 5, blocks 7; of one rank: messages 2, peers 2, blocks held 4
# a rank sends and receives at most 1 a step (as it must be)
# messages on a channel: at most 1 (as it must be)
# step 1: messages 2, largest 2; on a channel: messages 1, blocks 2
# step 2: messages 2, largest 2; on a channel: messages 1, blocks 2
# step 3: messages 1, largest 1; on a channel: messages 1, blocks 1
END
check "all-to-all: routes, and what a torus carries" cmp out want
for plan in naive dh cdh khop bruck_grid pairwise_grid; do
    run plan alltoall $plan --shape 4x2x6 --check
    same "$plan on 4 x 2 x 6: exit status" "$rc" 0
done
run plan alltoall dh --shape 6x6 --check --json
same "Double-Hop of 6 x 6: V" "$(json load.volume_blocks)" 108
same "Double-Hop of 6 x 6: on a channel" "$(json load.channel_messages)" 1
run plan alltoall pairwise_shift --shape 6x6 --check
check "pairwise on 6 x 6 meets itself" grep -q \
    '^# messages on a channel: at most 2 (not promised)$' out
run plan alltoall mixed --ranks 13 --radices 3x3x2 --check
check "radices 3 x 3 x 2 of 13" grep -q '^# steps 5, V 19,' out
run plan alltoall bruck --ranks 27 --radix 3 --check
check "radix 3 of 27" grep -q '^# steps 6, V 54,' out
run plan alltoall naive --ranks 6 --count 0 --check
check "all-to-all of nothing: no messages" \
    test -z "$(grep -v '^#' "$work/out")"
check "and none on a channel, as it must be" grep -q \
    '^# messages on a channel: at most 0 (as it must be)$' out
for plan in "mdh --ranks 1" "split-merge --shape 1x1" "split-merge:merge0 --shape 1x1"; do
    # shellcheck disable=SC2086
    run plan alltoall $plan
    same "$plan, all-to-all of one: exit status" "$rc" 0
    check "$plan, all-to-all of one: no messages" out_empty
done

# the same by other names, as scripts have them
while read -r other ours; do
    read -ra words <<< "$ours"
    for format in "" --json; do
        run plan alltoall "$other" --shape 5x5 $format
        same "plan $other $format: exit status" "$rc" 0
        cp out other.out
        run plan alltoall "${words[@]}" --shape 5x5 $format
        check "plan $other $format: is $ours" cmp other.out out
    done
done << 'END'
dh mdh
khop:k=2 khop --radix 2
split-merge split_merge
split-merge:merge0 split_merge0
pairwise pairwise_shift
tournament tournament_hd
bruck:r=4 bruck --radix 4
mixed:r=3/3/3 mixed --radices 3x3x3
mixed:radices=3x3x3 mixed --radices 3x3x3
END
run plan alltoall mixed:r=2/3 --ranks 5
cp out other.out
check "radices of five" grep -q . out
run plan alltoall mixed:r=2/3/4096/4096/4096/4096/4096/4096 --ranks 5
same "radices beyond the product: exit status" "$rc" 0
check "radices beyond the product change nothing" cmp other.out out
run plan alltoall xor --ranks 8
cp out other.out
run plan alltoall pairwise_xor --ranks 8
check "plan xor: is pairwise_xor" cmp other.out out
run plan alltoall dh:shape=3x4 --json
same "the shape with the name: ranks" "$(json ranks)" 12
same "an all-to-all is not cut: segments" "$(json segments)" 1
same "the first step of an all-to-all" "$(json messages.0.step)" 1
run plan barrier tree --ranks 2
same "a barrier has nothing but 0 to send" "$(cut -f 8 out | xargs)" "0 0"
run plan barrier tree --ranks 2 --json
same "a barrier has nothing but 0 to send, as JSON" \
    "$(json messages.0.items.0) $(json messages.1.items.0)" "0 0"
run plan bcast circulant:k=5 --ranks 6 --json
same "segments with the name" "$(json segments)" 5
same "the first step of a broadcast" "$(json messages.0.step)" 0
run plan bcast circulant:k=5 --ranks 6 --segments 3 --json
same "segments with the name and without: the option holds" \
    "$(json segments)" 3
for pair in "allreduce rd rec_doubling" "allreduce seg seg_doubling" \
    "scan rootp rootp_chain" "exscan rootp_seg.fd rootp_seg_chain.fd"; do
    read -r op other ours <<< "$pair"
    run plan "$op" "$other" --ranks 7
    cp out other.out
    run plan "$op" "$ours" --ranks 7
    check "plan $op $other: is $ours" cmp other.out out
done

# --- two levels, neighbours sharing hosts
for op in bcast reduce allreduce barrier; do
    run plan $op two_level --ranks 13 --per-host 4 --check
    same "$op between 4 hosts: exit status" "$rc" 0
    check "$op between 4 hosts: hosts talk by their leaders" \
        awk -F '\t' 'int($6 / 4) != int($7 / 4) && ($6 % 4 || $7 % 4) {exit 1}' \
        "$work/out"
done
for op in reduce allreduce; do
    run plan $op two_level_ordered --ranks 13 --per-host 4 --check
    same "$op in order between 4 hosts: exit status" "$rc" 0
done
run plans
check "what keeps the order by hosts says so" grep -q \
    'operators: any if the ranks of each host are consecutive, else commutative$' \
    out
check "what is kept is said" grep -A 3 '^reduce.linear:' out
same "reduce.linear keeps" "$(grep -A 3 '^reduce.linear:' "$work/out" |
    sed -n 's/ *keeps: //p')" '(P-1) m'
run plan bcast two_level --ranks 13 --per-host 0
same "no ranks a host: exit status" "$rc" 2

# --- every algorithm, checked, for some P and k
# some hundred times, so without a program that looks into the JSON
checked() { [ "$rc" = 0 ] && [ ! -s err ] && [[ $(< out) == *'"checked":true'* ]]; }
while read -r plan; do
    for ranks in 1 2 7 16 64; do
        run plan "${plan%%.*}" "${plan#*.}" --ranks $ranks --check --json
        if [ "$rc" = 2 ] && err_says 'wants (2, 4, 8|even|a shape)'; then
            continue # not for this P
        fi
        checked || fail "$plan with $ranks ranks: status $rc"
    done
done < names
ok "every algorithm is right with 1, 2, 7, 16 and 64 ranks"

# --- the same of fewer elements than blocks
while read -r plan; do
    for count in 0 1 5; do
        run plan "${plan%%.*}" "${plan#*.}" --ranks 16 --count $count --check --json
        if [ "$rc" = 2 ] && err_says 'wants a shape'; then
            continue
        fi
        checked || fail "$plan of $count elements: status $rc"
    done
done < names
ok "every algorithm is right of 0, 1 and 5 elements"

# --- k: the algorithm's own, the user's, no more than elements
k_of() { # ARGS...
    run plan "$@" --json
    json segments
}
same "k of nesbt is log2 P" "$(k_of bcast nesbt --ranks 20)" 4
same "k of kseg is P/2" "$(k_of bcast kseg --ranks 21)" 10
same "k of others is 1" "$(k_of bcast pipeline.fd --ranks 20)" 1
same "k as asked for" "$(k_of bcast pipeline.fd --ranks 4 --segments 9)" 9
same "k is no more than elements" \
    "$(k_of bcast pipeline.fd --ranks 4 --segments 9 --count 5)" 5
same "k is fixed for blocks" \
    "$(k_of allreduce ring --ranks 6 --segments 9)" 6

# --- empty blocks are left out
run plan allreduce ring --ranks 8 --count 3
same "3 elements in 8 blocks: exit status" "$rc" 0
same "3 elements in 8 blocks: the blocks sent" \
    "$(cut -f 8 out | sort -nu | tr '\n' ' ')" "2 5 7 "
same "3 elements in 8 blocks: messages" "$(wc -l < out)" $((3 * 14))
run plan bcast vdg_circ --ranks 8 --count 0 --check
same "no elements: exit status" "$rc" 0
check "no elements: no messages" out_empty
run plan gather binomial --ranks 4 --count 1
same "one element each: messages" "$(wc -l < out)" 3
run plan barrier tree --ranks 4 --count 0
same "a barrier has messages all the same" "$(wc -l < out)" 6
same "which carry item 0" "$(cut -f 8 out | sort -u)" 0

# --- turned down
refuse() { # TEXT PATTERN ARGS...
    local text=$1 pattern=$2
    shift 2
    run "$@"
    refused 2 "$text"
    check "$text: the line says so" err_says "$pattern"
}
refuse "plan of nothing" "operation and an algorithm" plan
refuse "plan without algorithm" "operation and an algorithm" plan bcast
refuse "unknown operation" 'no operation "sort"' plan sort quick --ranks 4
refuse "unknown algorithm" 'no algorithm "magic" for bcast' \
    plan bcast magic --ranks 4
refuse "algorithm of another operation" 'no algorithm "ring" for bcast' \
    plan bcast ring --ranks 4
refuse "full name of another operation" 'no algorithm "reduce.chain" for bcast' \
    plan bcast reduce.chain --ranks 4
run plan bcast flat --ranks 4
cp "$work/out" "$work/flat"
run plan bcast bcast.flat --ranks 4
same "full name as algorithm: the same plan" "$rc $(cksum < "$work/out")" \
    "0 $(cksum < "$work/flat")"
refuse "no ranks" "--ranks is missing" plan bcast flat
for bad in 0 -1 4097 x 1e3 4.5 18446744073709551617 ""; do
    refuse "$bad ranks" "--ranks" plan bcast flat --ranks "$bad"
done
refuse "root beyond the ranks" "--root 4: want a count from 0 to 3" \
    plan bcast flat --ranks 4 --root 4
refuse "root where there is none" "scan has no root" \
    plan scan linear --ranks 4 --root 1
run plan scan linear --ranks 4 --root 0
same "root 0 where there is none: exit status" "$rc" 0
for bad in 0 1025 x; do
    refuse "$bad segments" "--segments $bad" \
        plan bcast kseg --ranks 4 --segments $bad
done
refuse "a bad count" "--count -1" plan bcast kseg --ranks 4 --count -1
refuse "P that is not 2\^n" "wants 2, 4, 8" \
    plan allgather rec_doubling --ranks 6
for bad in bruck:r=x bruck:r=0 bruck:k=2 khop:r=2 khop:k= mixed:r=2/x \
    mixed:r=2x2/4 pairwise:r=2 split-merge:merge1 dh:k=2; do
    refuse "what comes with a name: $bad" "want " plan alltoall $bad --ranks 9
done
refuse "a radix of a tree that has its own" "want nothing" \
    plan bcast knomial4:radix=3 --ranks 9
refuse "a radix of a barrier" "want nothing" \
    plan barrier dissemination:radix=4 --ranks 9
refuse "segments of a name that has none" "want nothing" \
    plan bcast flat:k=2 --ranks 4
refuse "Split-and-Merge without a shape" "shape of two odd sides" \
    plan alltoall split_merge --ranks 25
refuse "Split-and-Merge of an even side" "shape of two odd sides" \
    plan alltoall split_merge --shape 5x6
refuse "another number of ranks than the shape's" "has 12 ranks, not 13" \
    plan alltoall naive --shape 3x4 --ranks 13
for bad in "" x 3x 3xx4 0x4 4x-1 3,4 5000 1x1x1x1x1x1x1x1x1x1x1x1x2 3x4y; do
    refuse "a shape of \"$bad\"" "--shape" plan alltoall naive --shape "$bad"
done
refuse "a shape of too many ranks" "at most 4096" \
    plan alltoall naive --shape 100x100
refuse "a shape of a broadcast" "only for alltoall" \
    plan bcast flat --shape 3x4
refuse "radices that are too few" "product is 13" \
    plan alltoall mixed --ranks 13 --radices 3x3
refuse "radices below 2" "radices from 2" \
    plan alltoall mixed --ranks 4 --radices 2x2x1
refuse "a double hop of five" "want 2, or alltoall.khop" \
    plan alltoall cdh --ranks 9 --radix 5
refuse "radices where there are none" "only for alltoall mixed" \
    plan alltoall bruck --ranks 4 --radices 2x2
refuse "a radix where there is none" "has none" \
    plan alltoall mdh --ranks 4 --radix 2
for what in "alltoall burst" "bcast binomial"; do
    refuse "hosts of $what" \
        "^nowfarm: --per-host: ${what/ /.} is not of two levels$" \
        plan $what --ranks 9 --per-host 3
done
refuse "a root of an all-to-all" "alltoall has no root" \
    plan alltoall burst --ranks 9 --root 3
for bad in 0 1 4097 x; do
    refuse "radix $bad" "radix" plan alltoall bruck --ranks 9 --radix $bad
done
refuse "more blocks than can be written" "more blocks than" \
    plan alltoall naive --ranks 1024
refuse "an argument too many" 'unexpected argument "x"' \
    plan bcast flat x --ranks 4
refuse "an unknown option" "--rank" plan bcast flat --rank 4
refuse "an argument of plans" 'unexpected argument "x"' plans x
refuse "control characters" "no operation" plan $'a\nb' $'c\033d' --ranks 2
for command in plan plans; do
    run $command --help
    same "$command --help: exit status" "$rc" 0
done
timeout 60 "$NF" plan bcast flat --ranks 4 > /dev/full 2> err
same "plan on a full disk: exit status" "$?" 1
same "plan on a full disk: one line" "$(err_lines)" 1

# --- as many ranks as there may be
run plan bcast circulant --ranks 4096 --segments 8 --check
same "4096 ranks: exit status" "$rc" 0
same "4096 ranks: messages" "$(wc -l < out)" $((4095 * 8))
run plan allreduce rec_doubling --ranks 4095 --check --json
same "4095 ranks: exit status" "$rc" 0
same "4095 ranks: checked" "$(json checked)" true
finish
