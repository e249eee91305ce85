#!/bin/sh
# lab-net - the cables of a lab, laid with ip and tc (iproute2).
#
# nowfarm-lab calls it in the network namespace of the lab's switch or of a host,
# never in the machine's own.  The eth0 of host I is on port pI of the bridge
# `switch`; PID, of a process there, says which namespace a host is.
#
#   lab-net build switch|hub MEDIUM_BPS ADDRESS/RATE_BPS/LATENCY_US/PID...
#   lab-net limit DEVICE RATE_BPS [LATENCY_US]
#   lab-net cable INDEX up|down
#   lab-net probe             try all of it, in a namespace to throw away
#   lab-net quiet             no IPv6 here
#
# Rates are in bit/s, 0 means no limit.  What goes wrong is one line on standard
# error, exit status 3.
# shellcheck disable=SC2086
# WHERE below is one word or two: here, or on PID.
set -u
PATH=$PATH:/usr/sbin:/sbin

give_up() {
    echo "$*" >&2
    exit 3
}

# must WHAT COMMAND...: COMMAND, silently; if it fails, WHAT is missing here
must() {
    what=$1
    shift
    said=$("$@" 2>&1) ||
        give_up "$what: $(echo "${said:-failed}" | head -n 1)"
}

on() { # PID COMMAND...: in the network namespace of PID
    keeper=$1
    shift
    nsenter --net="/proc/$keeper/ns/net" "$@"
}
here() { "$@"; }

need_programs() {
    for program in ip tc nsenter; do
        command -v $program > /dev/null || give_up \
            "needs $program (Debian: iproute2, util-linux)"
    done
}

# Neighbour discovery is traffic that nobody asked for.
no_ipv6() {
    for file in /proc/sys/net/ipv6/conf/all/disable_ipv6 \
        /proc/sys/net/ipv6/conf/default/disable_ipv6; do
        if [ -w $file ]; then echo 1 > $file; fi
    done
}

# Where bridges ask the machine's firewall about every frame, that took a fifth
# of the processors with eight hosts; a lab has no firewall.  The settings are this
# namespace's own; kernels before 5.3, which have them once, show them to none but
# the machine's.
no_firewall() {
    for file in /proc/sys/net/bridge/bridge-nf-call-*; do
        if [ -w "$file" ]; then echo 0 > "$file"; fi
    done
}

# A token bucket lets a burst through at full speed, and a segment that the
# network card is to cut up counts as one.  So up to 100 Mbit/s (131 us a frame)
# let one frame through at a time, and have segments cut up before; faster links
# need a bucket of 131 us, or the rate is not reached.
#
# Whatever waits for its time costs a timer in the bucket of its host and one in
# that of its port: of eight hosts of 100 Mbit/s that pass data on, frame by frame,
# more than two processors can do.  So a lab may let $frames through at a time.
frames=1
bucket() { # RATE_BPS: bytes
    bytes=$(($1 / 61035))
    [ $bytes -ge $((frames * 1514 + 500)) ] || bytes=$((frames * 1514 + 500))
    [ $bytes -ge 2048 ] || bytes=2048
    echo $bytes
}
# Enough for 200 ms, or for two windows of a slow TCP.
queue() { # RATE_BPS: bytes
    bytes=$(($1 / 40))
    [ $bytes -ge 65536 ] || bytes=65536
    echo $bytes
}
# A segment that is larger than the bucket would be cut up by the processors, a
# frame at a time.  The bucket counts the headers that its frames will have.
segments() { # WHERE DEVICE RATE_BPS
    bytes=65536
    count=65535
    if [ "$3" -gt 0 ]; then
        bytes=$(($(bucket "$3") / 16 * 15))
        [ $bytes -le 65536 ] || bytes=65536
    fi
    if [ "$3" -gt 0 ] && [ "$3" -lt 1000000000 ]; then
        [ "$frames" -gt 1 ] || bytes=1500
        count=$frames
    fi
    must "segmentation cannot be set" $1 ip link set dev "$2" \
        gso_max_size $bytes gso_max_segs $count
}

# limit WHERE DEVICE RATE_BPS [DELAY_US]: of what leaves DEVICE
limit() {
    $1 tc qdisc del dev "$2" root 2> /dev/null
    segments "$1" "$2" "$3"
    parent=root
    if [ "${4:-0}" -gt 0 ]; then
        must "latencies need netem (sch_netem), which this kernel lacks" \
            $1 tc qdisc add dev "$2" root handle 1: \
            netem delay "${4}us" limit 100000
        parent="parent 1:1"
    fi
    [ "$3" -eq 0 ] || must "rates need tbf (sch_tbf), which this kernel lacks" \
        $1 tc qdisc add dev "$2" $parent handle 10: tbf rate "${3}bit" \
        burst "$(bucket "$3")" limit "$(queue "$3")"
}

# Between hosts of a lab TCP goes by CUBIC, as Debian's kernels have it, whatever this
# machine is set to.  Where it can't, which `probe` tells, it goes as the machine does.
use_cubic() { # WHERE
    route=$($1 ip route show dev eth0 2>&1)
    must "TCP by CUBIC" $1 ip route change $route dev eth0 congctl cubic
}

add_host() { # INDEX ADDRESS RATE_BPS LATENCY_US PID
    on "$5" "$0" quiet
    must "no cables (veth)" ip link add name "p$1" type veth \
        peer name eth0 netns "$5"
    must "no ports (bridge)" ip link set dev "p$1" master switch up
    must "address $2" on "$5" ip addr add "$2/24" dev eth0
    must "eth0" on "$5" ip link set dev eth0 up
    must "lo" on "$5" ip link set dev lo up
    (use_cubic "on $5") 2> /dev/null
    limit "on $5" eth0 "$3" "$4"
    limit here "p$1" "$3"
}

add_switch() {
    no_ipv6
    no_firewall
    must "no switch (bridge)" ip link add name switch type bridge
    must "no switch (bridge)" ip link set dev switch up
}

# A hub: every frame, whoever sent it, passes one device of the medium's rate
# before it reaches the bridge, so all share it and both directions do.
add_medium() { # RATE_BPS
    must "a hub needs ifb, which this kernel lacks" \
        ip link add name medium type ifb
    must "medium" ip link set dev medium up
    limit here medium "$1"
}
share_medium() { # INDEX RATE_BPS PID
    segments "on $3" eth0 "$2"
    must "a hub needs sch_ingress, which this kernel lacks" \
        tc qdisc add dev "p$1" handle ffff: ingress
    must "a hub needs cls_u32 and act_mirred, which this kernel lacks" \
        tc filter add dev "p$1" parent ffff: protocol all u32 match u32 0 0 \
        action mirred egress redirect dev medium
}

build() { # switch|hub MEDIUM_BPS HOST...
    kind=$1
    medium_bps=$2
    shift 2
    need_programs
    add_switch
    [ "$kind" = switch ] || add_medium "$medium_bps"
    i=0
    for host; do
        # shellcheck disable=SC2046
        add_host $i $(echo "$host" | tr / ' ')
        [ "$kind" = switch ] || share_medium $i "$medium_bps" "${host##*/}"
        i=$((i + 1))
    done
}

# try KEY COMMAND...: tell whether COMMAND works
try() {
    key=$1
    shift
    if why=$("$@" 2>&1); then
        echo "$key yes"
    else
        echo "$key no $why"
        return 1
    fi
}
try_switch() {
    need_programs
    add_switch
    must "no cables (veth)" ip link add name p0 type veth peer name p1
    must "no ports (bridge)" ip link set dev p0 master switch
}
try_cubic() {
    must "address" ip addr add 10.77.0.1/24 dev eth0
    must "port" ip link set dev p0 up
    must "eth0" ip link set dev eth0 up
    use_cubic here
}
try_hub() {
    add_medium 10000000
    share_medium 0 10000000 $$
}
probe() {
    try network try_switch || return 0
    must "port" ip link set dev p1 name eth0
    try cubic try_cubic
    try rates limit here p0 100000000
    try hub try_hub
    try latency limit here p0 0 1000
    return 0
}

verb=${1:-}
shift
case $verb in
build | limit)
    frames=$1
    shift
    if [ "$verb" = build ]; then build "$@"; else limit here "$@"; fi
    ;;
cable) must "cable" ip link set dev "p$1" "$2" ;;
quiet) no_ipv6 ;;
probe) probe ;;
*) give_up "lab-net: build, limit, cable, quiet or probe?" ;;
esac
