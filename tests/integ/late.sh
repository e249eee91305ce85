#!/bin/bash
# Slaves that come after each other, as on a busy host, are of one start: all are in
# the broadcast of shared data, and in the exchange.
. "${0%/*}/lib.sh"
need_pvm

cd "$work" || exit 99
# the n-th to be started is there after the others, by 0.12 s each
cat > slave <<EOS
#!/bin/bash
exec 9>> "$work/started"
flock 9
echo >&9
number=\$(wc -l < "$work/started")
flock -u 9
exec 9>&-
sleep "\$(awk "BEGIN { print 0.12 * (\$number - 1) }")"
exec "$NF_SLAVE" "\$@"
EOS
chmod +x slave
late() { # ARGS...: five such slaves; at once again where the machine held one up
    for _ in 1 2 3; do
        rm -f started
        run "$@" --slaves 5 --slots 1 --slave-program "$work/slave" --verify --json
        [ "$(json "$member")" != 5 ] || break
    done
}
member=shared.slaves
late run synth --units 60 --cost 10ms --shared 1MiB
job_verified "shared data"
same "shared data: all get them by the broadcast" "$(json $member)" 5
member=exchange.slaves
late run transpose --rows 300 --cols 200
job_verified "exchange"
same "exchange: all are in it" "$(json $member)" 5
finish
