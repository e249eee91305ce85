#!/bin/bash
# Slaves that come after each other, as on a busy host, are of one start: all are in
# the broadcast of shared data, and in the exchange.
. "${0%/*}/lib.sh"
need_pvm

cd "$work" || exit 99
# The n-th to be started goes on 0.08 s times n after the first was: the last of eight
# comes more than 0.3 s after the first, and none as long after another.
cat > slave <<EOS
#!/bin/bash
exec 9>> "$work/started"
flock 9
echo "\${EPOCHREALTIME/./}" >&9
mapfile -t started < "$work/started"
flock -u 9
exec 9>&-
wait_us=\$((started[0] + 80000 * \${#started[@]} - \${EPOCHREALTIME/./}))
[ \$wait_us -le 0 ] || sleep "\$(printf 0.%06d \$wait_us)"
exec "$NF_SLAVE" "\$@"
EOS
chmod +x slave
late() { # ARGS...: eight such slaves; once more where the machine held one up
    for _ in 1 2 3 4 5; do
        rm -f started
        run run "$@" --slaves 8 --slots 1 --verify --json \
            --slave-program "$work/slave"
        if [ "$rc" != 0 ] || [ "$(json "$member")" = 8 ]; then return; fi
        wait_until 10 no_slaves
    done
}
member=shared.slaves
late synth --units 60 --cost 10ms --shared 1MiB
job_verified "shared data"
same "shared data: all get them by the broadcast" "$(json $member)" 8
member=exchange.slaves
late transpose --rows 300 --cols 200
job_verified "exchange"
same "exchange: all are in it" "$(json $member)" 8
finish
