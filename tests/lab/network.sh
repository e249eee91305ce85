#!/bin/bash
# Rates of links and of the shared medium, by plain transfers: never above the
# rate, and as one to the other.  A busy machine can only be too slow, so the
# best of a few tries counts.
. "${0%/*}/lab-lib.sh"
slow_test
transfer=$top_builddir/tests/lab/transfer
lab_can rates || skip "$("$jsonget" "$work/can" reasons.rates)"

# stream FROM TO PORT SECONDS FILE: the rate in bit/s goes to FILE
stream() {
    lab exec "$2" "$transfer" receive "$3" > "$5" &
    lab exec "$1" "$transfer" send "$2" "$3" "$4"
    wait $!
}
port=5000
# measure TRIES PERCENT RATE FROM TO: $best is the best of some tries, until one
# has reached PERCENT of RATE
measure() {
    local rate
    best=0
    for ((try = 0; try < $1; try++)); do
        port=$((port + 1))
        stream "$4" "$5" $port 1 "$work/rate"
        rate=$(cat "$work/rate")
        [ "$rate" -le "$best" ] || best=$rate
        [ "$best" -lt $(($3 * $2 / 100)) ] || break
    done
}
mbit=1000000

lab up 3 100mbit
lab rate ws2 10mbit
measure 8 85 $((100 * mbit)) ws0 ws1
fast=$best
measure 4 85 $((10 * mbit)) ws0 ws2
slow_down=$best
measure 4 85 $((10 * mbit)) ws2 ws0
slow_up=$best
# what waits in queues when the clock starts may arrive faster: 3 %
at_most "a link of 100 mbit carries no more" "$fast" $((103 * mbit)) bit/s
at_most "a link of 10 mbit carries no more" "$slow_down" $((10300000)) bit/s
at_most "... nor the other way" "$slow_up" $((10300000)) bit/s
at_least "a link of 10 mbit carries that" "$slow_down" $((8 * mbit)) bit/s
at_least "... also the other way" "$slow_up" $((8 * mbit)) bit/s
at_least "100 mbit are more than 6 times 10 mbit" "$fast" $((6 * slow_down)) bit/s

# a switch: two pairs do not share
lab rate ws0 10mbit
lab rate ws1 10mbit
lab rate ws3 10mbit
two_streams() { # sets sum
    stream ws0 ws1 6001 2 "$work/a" &
    local first=$!
    stream ws2 ws3 6002 2 "$work/b"
    wait $first
    sum=$(($(cat "$work/a") + $(cat "$work/b")))
}
two_streams
at_least "two streams on a switch do not share" "$sum" $((14 * mbit)) bit/s
lab rate ws0 none
lab rate ws1 none
measure 4 100 $((200 * mbit)) ws0 ws1
at_least "without a rate it is fast" "$best" $((5 * slow_down)) bit/s
lab down

lab_can hub || finish
lab hub 3 10mbit
measure 4 85 $((10 * mbit)) ws0 ws1
alone=$best
two_streams
at_most "one stream on a hub of 10 mbit" "$alone" 10300000 bit/s
at_least "... gets it" "$alone" $((8 * mbit)) bit/s
at_most "two streams on a hub share it" "$sum" 10600000 bit/s
at_least "... and lose little" "$sum" $((7 * mbit)) bit/s
both_ways() {
    stream ws0 ws1 6003 2 "$work/a" &
    local first=$!
    stream ws1 ws0 6004 2 "$work/b"
    wait $first
    sum=$(($(cat "$work/a") + $(cat "$work/b")))
}
both_ways
at_most "... also if they go opposite ways" "$sum" 10600000 bit/s

# cables
reaches() { # FROM TO
    lab exec "$2" timeout 3 "$transfer" receive 7000 > "$work/rate" &
    timeout 3 "$NF" lab exec "$1" timeout 2 "$transfer" send "$2" 7000 0.1 \
        2> /dev/null
    wait $!
}
check "hosts reach each other" reaches ws0 ws2
lab cut ws2
check "nobody is reached whose cable is pulled" eval '! reaches ws0 ws2'
check "... the others are" reaches ws0 ws1
lab mend ws2
check "plugged in again it is" reaches ws0 ws2

# No segment is larger than the bucket: it would be cut up by the processors, and
# a broadcast over 5 hosts of 1 Gbit/s took 22 ms then in place of 13.
gso_bytes() { lab exec ws1 ip -d link show eth0 | grep -o 'gso_max_size [0-9]*'; }
lab rate ws1 10mbit
same "10 mbit: frame by frame" "$(gso_bytes)" "gso_max_size 1500"
lab rate ws1 1gbit
same "1 gbit: segments of a bucket" "$(gso_bytes)" "gso_max_size 15360"
lab rate ws1 none
same "no rate: segments as they come" "$(gso_bytes)" "gso_max_size 65536"

# More frames at a time, also after a change of the rate; a fast link has as many
# anyway.
for wrong in 0 17 some; do
    run lab up 1 --frames=$wrong
    refused 2 "--frames=$wrong"
done
lab down
lab up 2 100mbit --frames 3
# tc counts in ticks: some bytes less than what was set
has_bucket_of_three() {
    lab exec ws1 tc qdisc show dev eth0 | grep -q 'burst 50[0-9][0-9]b'
}
same "three frames: segments of three" "$(gso_bytes)" "gso_max_size 4725"
check "... and a bucket for them" has_bucket_of_three
lab rate ws1 1gbit
same "1 gbit: as without" "$(gso_bytes)" "gso_max_size 15360"
lab rate ws1 20mbit
check "20 mbit: three" has_bucket_of_three
lab status --json > "$work/status"
same "... told in JSON" "$("$jsonget" "$work/status" frames)" 3
measure 4 85 $((20 * mbit)) ws0 ws1
at_most "... a link of 20 mbit carries no more" "$best" $((20600000)) bit/s
at_least "... and that" "$best" $((16 * mbit)) bit/s

# latencies need netem
if ! lab_can latency; then
    lab down
    run lab up 1 --latency 5ms
    refused 3 "latency without netem"
    check "... says so" err_says netem
fi
finish
