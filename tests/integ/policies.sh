#!/bin/bash
# send, the forms of presend, and gss give the right product, over PVM and in
# threads, and say so in one JSON object.  (All sizers: sizers.sh.)
. "${0%/*}/lib.sh"

fields="app units slaves slots policy transport makespan_s compute_s
    lower_bound_s messages bytes_out bytes_in retries duplicates lost_slaves
    verified breakdown_s.compute breakdown_s.transfer breakdown_s.master
    breakdown_s.idle breakdown_s.tail"

transports=local
if (need_pvm > /dev/null); then transports="pvm local"; fi

for transport in $transports; do
    for policy in send presend:td=20ms presend:td=auto \
        presend-round:td=5ms gss; do
        what="$policy on $transport"
        run run matmul --n 320 --policy "$policy" --slaves 4 \
            --transport "$transport" --verify --json
        job_verified "$what"
        for field in $fields; do
            has_field "$field" || fail "$what: field $field is missing"
        done
        same "$what: app" "$(json app)" matmul
        same "$what: transport" "$(json transport)" "$transport"
        same "$what: slaves" "$(json slaves)" 4
        same "$what: retries" "$(json retries)" 0
        same "$what: duplicates" "$(json duplicates)" 0
        check "$what: the parts of the time add up to the makespan" \
            awk -v m="$(json makespan_s)" -v c="$(json breakdown_s.compute)" \
            -v t="$(json breakdown_s.transfer)" \
            -v a="$(json breakdown_s.master)" -v i="$(json breakdown_s.idle)" \
            -v l="$(json breakdown_s.tail)" 'BEGIN {
                d = c + t + a + i + l - m
                exit !(m > 0 && d < 0.02 * m + 1e-4 && -d < 0.02 * m + 1e-4)
            }'
    done
done

run run matmul --n 320 --slaves 4 --transport local --verify
same "report for people: exit status" "$rc" 0
check "report for people says that the result is right" \
    grep -qi verif "$work/out" "$work/err"

check "no slave is left" wait_until 5 no_slaves
check "no pvmd is left" wait_until 5 no_pvmd
finish
