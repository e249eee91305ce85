#!/bin/bash
# Four hosts; one is lost in mid-exchange: its cable is pulled, or its pvmd and its
# slave are killed.  transpose, sort and fft go on among the others and are right, and
# the report says which host was lost.
. "${0%/*}/lab-lib.sh"
need_pvm

hosts_file ws0 ws1 ws2 ws3
farm=(--slaves 4 --slots 1 --hosts "$work/hosts" --policy static --verify --json)
exchanging() { grep -q "exchange $1: phase" "$work/err"; }
fft_on() { on "$1" nowfarm-fft; } # its slaves, and on ws0 its master

# To look for processes takes longer than the exchange may: before it begins.
is_there() { err_says "slave [0-9]+ \($1\) is there"; }
list_victims() {
    mapfile -t victims < <(pvmd_on "$1"; slaves_on "$1"; fft_on "$1")
    [ ${#victims[@]} -ge 2 ]
}
pull() { lab cut "$1"; }
kill_host() { kill -9 "${victims[@]}"; }

# lose HOW EXCHANGE TEXT ARGS...: run a job and lose ws2 so long after its n-th exchange
# has begun, until that was still under way.  The delays are parts of what the exchange
# takes on these wires, half a second and more.
lose() {
    local how=$1 nth=$2 text=$3 delay lost_ms counted=0
    shift 3
    for delay in 0.15 0.05 0.3 0; do
        lab up 3 100mbit
        start_in ws0 run "$@" "${farm[@]}"
        check "$text: there is a slave on ws2" wait_until 60 is_there ws2
        check "$text: and a pvmd" list_victims ws2
        check "$text: exchange $nth begins" wait_until 60 exchanging "$nth"
        sleep $delay
        $how ws2
        lost_ms=$(now_ms)
        check "$text: it is noticed" wait_until $((20 * slow)) over "$nth"
        noticed_ms=$(($(now_ms) - lost_ms))
        job_ends "$text" && counted=1
        lab down
        [ $counted = 0 ] || break
    done
    same "$text: lost in the exchange" $counted 1
}
# it is called off, or was done before
over() { err_says "exchange $1 is off" || exchanging $(($1 + 1)) || gone; }
# job_ends TEXT: right.  @return whether the host was lost in the exchange
job_ends() {
    await 90
    job_verified "$1"
    err_says "exchange $nth is off: slave [0-9]+ \(ws2\) is lost" || return 1
    at_most "$1: called off within 5 s" $noticed_ms $((5000 * slow)) ms
    same "$1: lost slaves" "$(json lost_slaves)" 1
    same "$1: the report names the host" "$(json lost.0.host)" ws2
    at_least "$1: done again" "$(json exchange.recomputed)" 1
    same "$1: exchanged in the end among" "$(json exchange.slaves)" 3
}

export NOWFARM_LOG=info
square=(transpose --rows 2000 --cols 2000 --bands 40)
lose pull 1 "transpose, cable pulled" "${square[@]}"
lose kill_host 1 "transpose, pvmd and slave killed" "${square[@]}"
numbers=(sort --count 4000000 --units 40)
lose pull 1 "sort, cable pulled" "${numbers[@]}"
lose kill_host 1 "sort, pvmd and slave killed" "${numbers[@]}"
if [ -x "$top_builddir/apps/fft/nowfarm-fft" ]; then
    waves=(fft --count 4194304 --units 40)
    lose pull 2 "fft, cable pulled" "${waves[@]}"
    lose kill_host 3 "fft, pvmd and slave killed" "${waves[@]}"
else
    echo "# fft is left out: nowfarm-fft is not built"
fi
finish
