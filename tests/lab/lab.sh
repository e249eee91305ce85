#!/bin/bash
# lab.sh - a network of workstations on one machine.
#
# Each workstation ws0..wsN is a network namespace with a host name, an address
# and a PVM_TMP of its own, so that a real pvmd runs on each and all traffic
# crosses a real (virtual) cable.  The switch between them is a namespace too:
# nothing of a lab is visible outside, and labs of different names coexist.
# Needs root and iproute2; exit status 3 if it cannot be done here.
#
#   export NF_LAB=NAME        1 to 24 letters, digits, '-'; default: lab
#   lab.sh check              can this machine do it?
#   lab.sh up N [RATE]        ws0..wsN; RATE (100mbit) limits every link
#   lab.sh exec WS CMD...     run CMD there
#   lab.sh cut WS             pull the network cable
#   lab.sh mend WS            plug it in again
#   lab.sh pids WS            processes there
#   lab.sh down               end all that runs inside, remove everything
#
# PVM starts its daemons on other hosts with the program in PVM_RSH: use
# `lab.sh exec ws0 ...`, which sets it to the script labrsh beside this file.
set -eu
name=${NF_LAB:-lab}
case $name in
'' | *[!a-zA-Z0-9-]* | ?????????????????????????*)
    echo "lab.sh: NF_LAB=$name: want 1 to 24 letters, digits or '-'" >&2
    exit 2
    ;;
esac
here=$(cd "$(dirname "$(readlink -f "$0")")" && pwd)
run=/run/nowfarm-lab/$name
switch=$name-switch

give_up() {
    echo "lab.sh: $*" >&2
    exit 3
}

can() {
    [ "$(id -u)" = 0 ] || give_up "needs root"
    command -v ip > /dev/null || give_up "needs ip (Debian: iproute2)"
    unshare -n -m -u true 2> /dev/null ||
        give_up "this kernel or container allows no namespaces"
    unshare -n sh -c 'ip link add v0 type veth peer name v1 &&
        ip link add b0 type bridge' 2> /dev/null ||
        give_up "this kernel or container allows no veth or bridge"
}

# A token bucket lets one burst through at full speed: below 1 Gbit/s allow
# one frame only, and no segmentation offload, or small messages see no limit.
limit() { # NAMESPACE DEVICE RATE
    local burst=16k
    case $3 in
    *gbit) ;;
    *)  burst=2k
        ip -n "$1" link set "$2" gso_max_size 1500 gso_max_segs 1
        ;;
    esac
    tc -n "$1" qdisc add dev "$2" root tbf rate "$3" burst $burst latency 200ms
}

up() { # N [RATE]
    local i
    can
    [ ! -e "$run" ] || give_up "lab $name is up already (lab.sh down)"
    mkdir -p "$run"
    ip netns add "$switch"
    ip -n "$switch" link add name hub type bridge
    ip -n "$switch" link set dev hub up
    echo "127.0.0.1 localhost" > "$run/hosts"
    for i in $(seq 0 "$1"); do
        echo "10.77.0.$((10 + i)) ws$i" >> "$run/hosts"
    done
    for i in $(seq 0 "$1"); do
        mkdir "$run/ws$i"
        ip netns add "$name-ws$i"
        ip -n "$switch" link add name "p$i" type veth \
            peer name eth0 netns "$name-ws$i"
        ip -n "$switch" link set dev "p$i" master hub up
        ip -n "$name-ws$i" addr add "10.77.0.$((10 + i))/24" dev eth0
        ip -n "$name-ws$i" link set eth0 up
        ip -n "$name-ws$i" link set lo up
        if [ -n "${2:-}" ]; then
            limit "$name-ws$i" eth0 "$2"
            limit "$switch" "p$i" "$2"
        fi
    done
}

enter() { # WS CMD...
    local ws=$1
    shift
    [ -d "$run/$ws" ] || give_up "lab $name has no $ws"
    export NF_LAB=$name PVM_TMP=$run/$ws PVM_RSH=$here/labrsh
    exec ip netns exec "$name-$ws" unshare -m -u sh -c '
        hostname "$1" && mount --bind "$2" /etc/hosts && shift 2 && exec "$@"
        ' sh "$ws" "$run/hosts" "$@"
}

# As rsh: [-l USER] [-n] WS [-l USER] [-n] CMD..., one shell command line.
rsh() {
    local ws=
    while [ $# -gt 0 ]; do
        case $1 in
        -l) shift ;;
        -*) ;;
        *)  [ -z "$ws" ] || break
            ws=$1
            ;;
        esac
        shift
    done
    enter "$ws" sh -c "$*"
}

stations() {
    ip netns list | awk -v p="$name-" 'index($1, p) == 1 {print $1}'
}

down() {
    local ns
    for ns in $(stations); do
        ip netns pids "$ns" 2> /dev/null | xargs -r kill -9 2> /dev/null || true
    done
    for ns in $(stations); do
        ip netns del "$ns" 2> /dev/null || true
    done
    rm -rf "$run"
    rmdir "${run%/*}" 2> /dev/null || true
}

case ${1:-} in
check) can ;;
up) up "$2" "${3:-}" ;;
exec) shift; enter "$@" ;;
rsh) shift; rsh "$@" ;;
cut) ip -n "$switch" link set "p${2#ws}" down ;;
mend) ip -n "$switch" link set "p${2#ws}" up ;;
pids) ip netns pids "$name-$2" ;;
down) down ;;
*)  sed -n '2,/^set/s/^# \{0,1\}//p' "$0"
    exit 2
    ;;
esac
