#!/bin/bash
# Whatever happens to a lab, `down` leaves nothing, nor does an `up` that fails.
. "${0%/*}/lab-lib.sh"

# what of labs can be seen on this machine, and all interfaces and namespaces
snapshot() {
    ip -o link show 2> /dev/null | cut -d: -f1,2
    ip netns list 2> /dev/null
    find /sys/fs/cgroup -maxdepth 2 -name "nowfarm-lab.$NOWFARM_LAB*" \
        2> /dev/null
    grep nowfarm-lab /proc/self/mountinfo
    ls -d /run/nowfarm-lab/"$NOWFARM_LAB"* \
        "/tmp/nowfarm-lab-$(id -u)/$NOWFARM_LAB"* 2> /dev/null
    lab_processes
}
# processes of this test in other network namespaces than ours
lab_processes() {
    local pid net own
    own=$(readlink /proc/self/ns/net)
    for pid in $(our_pids); do
        net=$(readlink "/proc/$pid/ns/net") || continue
        [ "$net" = "$own" ] || echo "process $pid"
    done
}
as_before() {
    snapshot > "$work/after"
    cmp -s "$work/before" "$work/after"
}
clean() { # TEXT
    if wait_until 10 as_before; then
        ok "$1: nothing is left"
    else
        fail "$1: something is left: $(diff "$work/before" "$work/after")"
    fi
}
gone_at_once() { # TEXT: no namespace and no process, even before down
    check "$1: no process is left, even without down" \
        wait_until 10 eval '[ -z "$(lab_processes)" ]'
}
snapshot > "$work/before"

# processes inside: some in the background, some that ignore signals
busy() {
    lab exec ws0 sh -c 'trap "" TERM HUP INT; while :; do sleep 1; done' &
    lab exec ws1 sh -c '(setsid sleep 1000 > /dev/null 2>&1 &)'
    lab exec ws2 bash -c 'cd "$PVM_TMP" && mkdir -m 500 closed &&
        ln -s /etc link && (exec -a "nowfarm lab" setsid sleep 1000 &)' \
        > /dev/null 2>&1
    check "processes are in the lab" wait_until 20 \
        eval '[ "$(lab_processes | wc -l)" -ge 6 ]'
}
lab up 2 100mbit
check "interfaces of a lab are not seen outside" eval \
    '[ "$(ip -o link show | cut -d: -f1,2)" = "$(grep -v / "$work/before" |
        head -n "$(ip -o link show | wc -l)")" ]'
busy
run lab down
same "down with processes inside: exit status" "$rc" 0
clean "down with processes inside"
check "files behind links stay" test -e /etc/passwd
run lab down
same "down twice: exit status" "$rc" 0
clean "down twice"

# the lab itself is killed
lab up 2
busy
keeper=$(for pid in $(our_pids); do
    grep -q '^NSpid:.*\b1$' "/proc/$pid/status" && echo "$pid"
done)
check "pid 1 of the lab is there" test -n "$keeper"
kill -9 "$keeper"
gone_at_once "the lab's pid 1 was killed"
run lab exec ws0 true
refused 3 "exec in a lab that was killed"
run lab up 2
same "up after that: exit status" "$rc" 0
run lab down
same "down after that: exit status" "$rc" 0
clean "a lab that was killed"

# up is killed in the middle
for ms in 0 5 10 20 30 50 80 130 200; do
    setsid "$NF" lab up 30 100mbit 2> /dev/null &
    pid=$!
    sleep "$(printf '0.%03d' $ms)"
    kill -9 $pid 2> /dev/null
    wait $pid 2> /dev/null
    status=$?
    [ $status -eq 0 ] || # 0: it was complete, and stays
        gone_at_once "up was killed after $ms ms"
    run lab down
    same "down after kill -9 at $ms ms: exit status" "$rc" 0
    clean "kill -9 at $ms ms"
done
setsid "$NF" lab up 100 100mbit 2> "$work/err" &
pid=$!
# the shell has it ignored in what runs in the background
catches_int() { ((0x$(sed -n 's/^SigCgt:\t//p' /proc/$pid/status) & 2)); }
wait_until 20 catches_int
sleep 0.1
kill -INT $pid
wait $pid
same "interrupted: exit status" "$?" 130
clean "interrupted"

# up fails half-way: the third cable cannot be laid, or no rate be set
mkdir "$work/bin"
for tool in ip tc; do
    real=$(PATH=$PATH:/usr/sbin:/sbin command -v $tool)
    cat > "$work/bin/$tool" << END
#!/bin/sh
case "$tool \$*" in
"ip link add name p2 "* | "tc qdisc add dev p2 "*)
    echo "Error: not today" >&2
    exit 2
    ;;
esac
exec $real "\$@"
END
    chmod 755 "$work/bin/$tool"
    PATH=$work/bin:$PATH run lab up 3 10mbit
    refused 3 "up without a working $tool"
    check "... says what is missing" err_says 'not today'
    rm "$work/bin/$tool"
    clean "up without a working $tool"
done
run lab up 1
same "up after a failure: exit status" "$rc" 0
run lab down
same "down after that: exit status" "$rc" 0
clean "up after a failure"

# all labs of this user: not those of others here, so with a /run of our own
if [ "$(id -u)" = 0 ]; then
    unshare -m sh -c '
        mount -t tmpfs none /run && "$0" lab -n "$1-a" up 1 &&
            "$0" lab -n "$1-b" up 1 && "$0" lab list && "$0" lab down --all &&
            "$0" lab list --json; ls -A /run' "$NF" "$NOWFARM_LAB" \
        > "$work/out" 2> "$work/err"
    same "down --all" "$(sort "$work/out" | tr '\n' ' ')" \
        "$NOWFARM_LAB-a $NOWFARM_LAB-b {\"labs\":[]} "
    clean "down --all"
fi
finish
