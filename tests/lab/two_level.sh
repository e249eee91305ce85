#!/bin/bash
# Groups by algorithms of two levels: three hosts with two members each.  Results
# are right, also by an operator that does not commute where the ranks of each
# host are consecutive; and each broadcast crosses to a host once.
. "${0%/*}/lab-lib.sh"
need_pvm
member=$top_builddir/tests/lab/two_level_member
[ -x "$member" ] || { echo "$member is not built"; exit 99; }
hosts_file ws0 ws1 ws2
two=bcast.two_level,barrier.two_level
neighbours=(0 0 1 1 2 2)
round=(0 1 2 0 1 2)

# play TEXT ALGORITHMS BYTES ROUNDS HOST...: a member on each of these
play() {
    local text=$1 algorithms=$2 bytes=$3 rounds=$4 rank=0 host pids=()
    shift 4
    rm -rf "$work/tids"
    mkdir "$work/tids"
    for host in "$@"; do
        timeout -k 1 $((60 * slow)) "$NF" lab exec "ws$host" env \
            NOWFARM_COLL="$algorithms" "$member" "$work/tids" $rank $# "$bytes" \
            "$rounds" > "$work/said.$rank" 2>> "$work/err" < /dev/null &
        pids[rank]=$!
        rank=$((rank + 1))
    done
    for rank in "${!pids[@]}"; do
        wait "${pids[rank]}"
        same "$text, member $rank: exit status" "$?" 0
        same "$text, member $rank: right" "$(tail -n 1 "$work/said.$rank")" right
    done
}
products() { cat "$work"/said.? | grep '^product' | sort -u; }
received() { # WS: bytes that came from other hosts
    lab exec "$1" sed -n 's/ *eth0: *\([0-9]*\) .*/\1/p' /proc/net/dev
}

lab up 2 100mbit
for ws in ws1 ws2; do
    run_in ws0 add $ws
    same "add $ws" "$rc2" 0
done

ordered=$two,reduce.two_level_ordered,allreduce.two_level_ordered
play "neighbours" "$ordered" 48000 6 "${neighbours[@]}"
same "neighbours: products are in order" "$(products)" "product 0"
play "neighbours, one element" "$ordered" 16 6 "${neighbours[@]}"
play "neighbours, 7 segments" "${ordered//_ordered/_ordered:k=7}" 48000 6 \
    "${neighbours[@]}"
play "hosts of 1, 3 and 2" "$ordered" 20000 6 0 1 1 1 2 2
same "hosts of 1, 3 and 2: products are in order" "$(products)" "product 0"
play "going round" "$ordered" 20000 6 "${round[@]}"
same "going round: products are refused (NF_ERR_INVAL)" "$(products)" \
    "product -1"
unordered=$two,reduce.two_level,allreduce.two_level
play "that keep no order" "$unordered" 20000 6 "${neighbours[@]}"
same "that keep no order: products are refused" "$(products)" "product -1"
play "that keep no order, going round" "$unordered" 20000 6 "${round[@]}"

# --- the price: both kinds of links are measured, and both count
run_in ws0 coll-bench reduce --hosts "$work/hosts" --slaves 6 --sizes=8B \
    --repeat 10 --algorithm two_level --json
same "coll-bench: exit status" "$rc2" 0
price() { "$jsonget" "$work/out2" "$1" 2>> "$work/err"; }
# the model is of the worse of the two, which are alike when this machine is busy
check "within a host a message takes no more than the worst one ($(
    price model.within_host.0.start_us), $(price model.pieces.0.start_us) us)" \
    awk -v in_us="$(price model.within_host.0.start_us)" \
    -v out_us="$(price model.pieces.0.start_us)" \
    'BEGIN { exit !(in_us > 0 && in_us <= out_us) }'
check "two levels have a price ($(price results.0.predicted_us) us)" \
    awk -v us="$(price results.0.predicted_us)" 'BEGIN { exit !(us > 0) }'

# 4 MB: once to the host by two levels, once to each of its members by flat
mb=4000000
before=$(received ws2)
play "one broadcast" "$two" $mb 0 "${neighbours[@]}"
once=$(($(received ws2) - before))
check "one broadcast crosses once ($once bytes)" \
    [ $once -ge $mb -a $once -lt $((mb * 3 / 2)) ]
before=$(received ws2)
play "one flat broadcast" bcast.flat $mb 0 "${neighbours[@]}"
twice=$(($(received ws2) - before))
check "one flat broadcast crosses twice ($twice bytes)" \
    [ $twice -ge $((2 * mb)) ]
finish
