#!/bin/bash
# A slow host gets its part of a core: by CPU time, not by the clock.
. "${0%/*}/lab-lib.sh"
slow_test

lab up 2
if ! lab_can cpu; then
    run lab cpu ws1 10
    refused 3 "cpu where there are no quotas"
    check "... says so in one line" err_says 'no CPU quota'
    finish
fi

# spin WS: CPU time in ms of a loop of 2 s
spin() {
    lab exec "$1" bash -c 'end=$(($(date +%s%N) / 1000000 + 2000))
        while [ $((${EPOCHREALTIME/./} / 1000)) -lt $end ]; do :; done
        read -r _ _ _ _ _ _ _ _ _ _ _ _ _ u s _ < /proc/$$/stat
        echo $(((u + s) * 1000 / $(getconf CLK_TCK)))'
}
both() { # CPU times of ws1 and ws2, spinning side by side
    spin ws1 > "$work/one" &
    spin ws2 > "$work/two"
    wait $!
    one=$(cat "$work/one") two=$(cat "$work/two")
}
lab cpu ws1 10%
both
at_most "a host of 10 % of a core computed" "$one" 300 ms
at_least "one without a quota computed" "$two" $((2 * one)) ms
same "status says so" "$(lab status --json > "$work/out"; json hosts.1.cpu_percent)" 10.0

# what runs already feels it, and what rsh starts
lab cpu ws1 none
lab exec ws0 sh -c '"$PVM_RSH" ws2 "sleep 1000"' &
waiting=$!
check "a process is on ws2" wait_until 20 eval '[ -n "$(lab pids ws2)" ]'
for pid in $(lab pids ws2); do
    check "what rsh started on ws2 is in its group" \
        grep -q "nowfarm-lab.$NOWFARM_LAB.ws2$" "/proc/$pid/cgroup"
    kill -9 "$pid"
done
wait $waiting 2> /dev/null
both
at_least "without its quota it is not slow any more" "$one" $((two / 4)) ms
finish
