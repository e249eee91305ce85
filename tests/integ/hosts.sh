#!/bin/bash
# Hosts files and the virtual machine's own commands, on one machine.
. "${0%/*}/lib.sh"
need_pvm

run add no-such-host.invalid
same "adding an unknown host to nothing: exit status" "$rc" 3
check "adding an unknown host to nothing: no pvmd is left" \
    wait_until 5 no_pvmd
me=$(hostname)
cd "$work" || exit 99

# Whoever is in the virtual machine is not tried: this host may let nobody in.
cat > noting-rsh <<'EOF'
#!/bin/bash
echo "$*" >> "${0%/*}/tried"
exit 1
EOF
chmod +x noting-rsh
export PVM_RSH=$work/noting-rsh
for host in "$me" localhost 127.0.0.1; do
    for text in "to nothing" again; do
        run add "$host"
        same "adding $host $text: exit status" "$rc" 0
        same "adding $host $text: nothing is said" "$(cat out err)" ""
    done
    run hosts --json
    same "adding $host: it is in the virtual machine" "$(json hosts.0.host)" \
        "$me"
    check "adding $host: once" eval '! has_field hosts.1'
    run remove "$host"
    refused 2 "removing $host, which started the virtual machine"
    check "removing $host: what helps is named" err_says 'nowfarm remove --all'
    run remove --all
    same "remove --all after adding $host: exit status" "$rc" 0
done
check "this host was not tried" test ! -e tried
run add no-such-host.invalid
check "another host is tried" grep -q no-such-host.invalid tried
unset PVM_RSH

printf '# a comment\n\n%s # this machine\n' "$me" > good
run run synth --units 50 --slaves 2 --hosts good --verify --json
job_verified "a hosts file with comments"

printf '# fine so far\n%s\n%s frobnicate=7\n' "$me" "$me" > bad
run run synth --units 50 --slaves 2 --hosts bad --json
refused 2 "a bad line in the hosts file"
check "a bad line in the hosts file: it is named" \
    err_says 'bad(:|.*line )3([^0-9]|$)'
check "a bad line in the hosts file: nothing started" no_pvmd

printf '# nobody\n' > none
run run synth --units 50 --hosts none --json
refused 2 "a hosts file without hosts"

printf '%s\nno-such-host.invalid\n' "$me" > unknown
# The one slave here begins 0.3 s after it is there.  So let the host fail 1 s after
# that, however long the start takes: who waits longer comes after it.
cat > late-rsh <<'EOF'
#!/bin/bash
until grep -q ' is there, pid ' "${0%/*}/err"; do sleep 0.01; done
sleep 1
exit 1
EOF
chmod +x late-rsh
PVM_RSH=$work/late-rsh NOWFARM_LOG=info start run synth --units 50 --slaves 2 \
    --chatty --hosts unknown --verify --json
await 60
job_verified "an unknown host"
check "an unknown host is named" err_says 'no-such-host.invalid left out'
# the job may be over before what the slave printed has come
ahead='says hello$|left out: not in the virtual machine by the end of the job'
check "an unknown host delays nobody: units begin before it has failed" \
    eval 'grep -Eo "$ahead|no-such-host.invalid left out: [a-z ]*" err |
        head -n 1 | grep -Eq "$ahead"'

printf 'no-such-host.invalid\n' > only
run run synth --units 50 --slaves 2 --hosts only --json
same "only unknown hosts: exit status" "$rc" 3
check "only unknown hosts: named" err_says no-such-host.invalid

echo quit | timeout 20 pvm > /dev/null 2>&1
run hosts
same "hosts: exit status" "$rc" 0
check "hosts: names this machine" grep -q "$me" "$work/out"
run hosts --json
check "hosts --json: names this machine" test "$(json hosts.0.host)" = "$me"
kill -STOP "$(pvmd_pids)"
run -t 15 hosts
refused 3 "hosts of a stopped pvmd"
kill -CONT "$(pvmd_pids)"
run add no-such-host.invalid
same "adding an unknown host: exit status" "$rc" 3
check "adding an unknown host: named" err_says no-such-host.invalid
run remove no-such-host.invalid
check "removing an unknown host fails" test "$rc" -ne 0
check "removing an unknown host: named" err_says no-such-host.invalid
check "the virtual machine is still there" test -n "$(pvmd_pids)"
run remove --all
same "remove --all: exit status" "$rc" 0
run hosts
refused 3 "hosts, after remove --all"
check "remove --all: no pvmd is left" wait_until 2 no_pvmd
if [ "$(id -u)" = 0 ]; then
    unset PVM_ALLOW_ROOT
    run hosts
    refused 3 "hosts as root, without PVM_ALLOW_ROOT"
    run run synth --units 5
    refused 3 "run as root, without PVM_ALLOW_ROOT"
    check "the variable is named" err_says PVM_ALLOW_ROOT
fi
finish
