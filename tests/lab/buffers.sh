#!/bin/bash
# Receivers that are slow to read have room for all that may be sent to them: no
# host drops what it has received, which costs its sender 200 ms.
. "${0%/*}/lab-lib.sh"
need_pvm
slow_test
cd "$work" || exit 99
dropped() { # WS: packets, for want of room
    lab exec "$1" cat /proc/net/netstat < /dev/null | awk '
        /^TcpExt:/ && !n {n = split($0, name); next}
        /^TcpExt:/ {for (i = 2; i <= n; i++)
            if (name[i] ~ /^(RcvPruned|TCPRcvQDrop)$/) sum += $i}
        END {print sum + 0}'
}

# eight on few processors, all of them sending and receiving at once
hosts_file ws0 ws1 ws2 ws3 ws4 ws5 ws6 ws7
lab up 7 100mbit
for algorithm in allgather.rec_doubling reduce_scatter.halving; do
    start_in ws0 coll-bench "${algorithm%%.*}" --algorithm "$algorithm" \
        --sizes 512KiB --slaves 8 --hosts "$work/hosts" --repeat 20 --json
    await 60
    same "$algorithm: status" "$rc" 0
    same "$algorithm: members" "$(json results.0.slaves)" 8
done
for i in 0 1 2 3 4 5 6 7; do
    same "ws$i drops nothing" "$(dropped ws$i)" 0
done
lab down
