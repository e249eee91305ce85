#!/bin/bash
# An ordinary user needs no root: a virtual machine of several hosts, and a
# product that is right.
. "${0%/*}/lab-lib.sh"
need_pvm

if [ "$(id -u)" != 0 ]; then
    as_user() { "$@"; }
else
    # from /, whoever is nobody must be able to run what was built
    user=$(id -u nobody) || skip "there is no user nobody"
    chmod 755 "$work"
    mkdir "$work/home"
    chown "$user" "$work/home"
    as_user() {
        (cd / && env -u PVM_ALLOW_ROOT -u PVM_TMP HOME="$work/home" \
            setpriv --reuid "$user" --regid "$user" --clear-groups "$@")
    }
    as_user "$NF" --version > /dev/null 2>&1 ||
        skip "nobody may not run $NF"
    test_cleanup() { as_user "$NF" lab down 2> /dev/null; }
fi
as_user "$NF" lab check > "$work/can" 2>&1 ||
    skip "not for ordinary users here: $(tail -n 1 "$work/can")"

here() { # ARGS...: nowfarm lab ARGS, as `run`
    as_user timeout 60 "$NF" lab "$@" > "$work/out" 2> "$work/err" < /dev/null
    rc=$?
}
# where there can be no user namespaces: one line, and nothing is left
if unshare -U --map-current-user --keep-caps true 2> /dev/null; then
    as_user unshare -U --map-current-user --keep-caps sh -c '
        echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"' \
        sh "$NF" lab up 1 > "$work/out" 2> "$work/err"
    rc=$?
    refused 3 "up without user namespaces"
    check "... says so" err_says 'user namespaces'
fi
here up 3 100mbit
same "up: exit status" "$rc" 0
here hosts --all
same "hosts: exit status" "$rc" 0
cp "$work/out" "$work/hosts"
chmod 644 "$work/hosts"
here exec ws0 id -u
check "the user stays who they are" \
    eval '[ "$(cat "$work/out")" = "$(as_user id -u)" ]'
here exec ws0 "$NF" run matmul --n 500 --slaves 4 --hosts "$work/hosts" \
    --verify --json
job_verified "a product on four hosts"
at_least "a product on four hosts: slaves" "$(json slaves)" 2
here exec ws0 "$NF" add ws2
same "hosts can be added: exit status" "$rc" 0
here exec ws2 "$NF" hosts --json
same "... and see each other" "$("$jsonget" "$work/out" hosts.1.host)" ws2
here pids ws2
check "a pvmd is on ws2" test -s "$work/out"
pids=$(cat "$work/out")
here cpu ws1 50
if [ "$rc" != 0 ]; then
    refused 3 "no quotas"
    check "... says who may" err_says 'needs root'
fi
here down
same "down: exit status" "$rc" 0
left=
for pid in $pids; do
    if alive "$pid"; then left="$left $pid"; fi
done
same "down ended all that ran there" "$left" ""
check "no file is left" \
    eval '[ ! -e "/tmp/nowfarm-lab-$(as_user id -u)/$NOWFARM_LAB" ]'
finish
