#!/bin/bash
# A run is recorded, drawn in every form and replayed; also one whose master was
# killed with -9 in mid-job.
. "${0%/*}/lib.sh"
need_pvm
cd "$work" || exit 99

# have PROGRAM PACKAGE: is it here?  If not, what it would check is left out, and
# the log says so.
have() {
    command -v "$1" > /dev/null && return
    echo "# left out, as there is no $1 (Debian: $2)"
    return 1
}

# chrome TEXT TRACE: x.json has a slice for every send and every result in it, and
# what programs need to show them.
chrome() {
    local when='"pid":[0-9]+,"tid":[0-9]+,"ts":[0-9]+'
    "$jsonget" x.json traceEvents | sed 's/},{"ph":/}\n{"ph":/g' > events
    grep '"ph":"X"' events > slices
    same "$1: JSON: slices of sends" "$(grep -c '"name":"send",' slices)" \
        "$(grep -c '"ev":"sent".*}$' "$2")"
    same "$1: JSON: slices of units" \
        "$(grep -cE '"name":"units? [0-9-]+","cat":"compute"' slices)" \
        "$(grep -c '"ev":"result".*}$' "$2")"
    same "$1: JSON: slices without name, place, time or length" \
        "$(grep -vcE "\"name\":\"[^\"]+\",.*$when,\"dur\":[0-9]+[,}]" slices)" 0
    same "$1: JSON: events without place or time" \
        "$(grep -v '"ph":"M"' events | grep -vcE "${when}[,}]")" 0
    same "$1: JSON: threads that have slices and no name" "$(comm -23 \
        <(grep -oE '"pid":[0-9]+,"tid":[0-9]+' slices | sort -u) \
        <(grep -F '"name":"thread_name"' events |
            grep -oE '"pid":[0-9]+,"tid":[0-9]+' | sort -u))" ""
}

# drawn TEXT TRACE: every form comes out, and is what it should be
drawn() {
    local form
    for form in svg json paje; do
        rm -f "x.$form"
        run gantt "$2" -o "x.$form"
        same "$1: gantt into .$form: exit status" "$rc" 0
        check "$1: gantt into .$form: nothing on stdout" out_empty
        check "$1: gantt into .$form: a file" test -s "x.$form"
    done
    check "$1: the picture is whole" grep -q '^</svg>$' x.svg
    check "$1: the JSON is JSON, of events" \
        eval '"$jsonget" x.json traceEvents.0.ph > /dev/null'
    chrome "$1" "$2"
    if have pj_dump pajeng; then
        check "$1: pj_dump reads the Paje file" \
            eval 'pj_dump x.paje > dump 2> dump.err && [ ! -s dump.err ] &&
                grep -q "^State.*compute" dump'
    fi
    if have vite vite; then
        HOME=$work QT_QPA_PLATFORM=offscreen timeout 60 \
            vite -e vite.svg x.paje > vite.log 2>&1
        check "$1: ViTE reads the Paje file" \
            grep -q "^0 errors and 0 warnings" vite.log
        check "$1: ViTE draws it" grep -q "</svg>" vite.svg
    fi
    if have xmllint libxml2-utils; then
        check "$1: the picture is XML" xmllint --noout x.svg
    fi
}

# --- a run that ends well, with a loss in it ---------------------------------
mkdir marks
run run synth --units 120 --cost 5ms --slaves 3 --slots 1 --shared 1MiB \
    --fault 40:kill-once --fault-dir marks --trace good.trace --verify --json
job_verified "a recorded run"
makespan=$(json makespan_s)
same "the first line is a header" \
    "$(head -n 1 good.trace | grep -c '"nowfarm_trace":1,.*"app":"synth"')" 1
same "the last line is the end" \
    "$(tail -n 1 good.trace | grep -c '"ev":"end","status":"done"')" 1
same "the loss is in it" "$(grep -c '"ev":"lost"' good.trace)" 1
at_least "all results are in it" "$(grep -c '"ev":"result"' good.trace)" 120
check "no temporary file is left" \
    eval '! ls -A | grep -q "nowfarm-trace"'
"$jsonget" <(tail -n 1 good.trace) makespan_us > end 2> /dev/null
same "its makespan is the report's" \
    "$(awk -v a="$(cat end)" -v b="$makespan" \
        'BEGIN { d = a - b * 1e6; print (d < 2 && d > -2) }')" 1
drawn "a recorded run" good.trace
same "a recorded run: JSON: every unit has its slice" \
    "$(sed -n 's/.*"name":"unit \([0-9]*\)",.*/\1/p' slices | sort -n)" \
    "$(seq 0 119)"
check "a recorded run: no warning" eval '[ ! -s "$work/err" ]'

run replay good.trace --policies 'send;gss' --runs 5 --json
same "replay: exit status" "$rc" 0
check "replay: stdout is one JSON object and nothing else" only_json
same "replay: the policy that was used, and two more" \
    "$("$jsonget" "$work/out" policies.2.policy > /dev/null && echo yes)" yes
check "replay: it says the best" has_field best
check "replay: and its own error" has_field model_error
run replay good.trace --runs 5
same "replay as text: exit status" "$rc" 0
check "replay as text: a conclusion" grep -q '^Best: ' "$work/out"
run replay good.trace --runs 5 --seed 3
cp "$work/out" one
run replay good.trace --runs 5 --seed 3
check "replay: the same seed, the same answer" cmp -s one "$work/out"

# --- a run that is killed ----------------------------------------------------
echo old > dead.trace
start run synth --units 2000 --cost 20ms --slaves 3 --slots 1 \
    --trace dead.trace
check "slaves are there" wait_until 10 some_slaves 3
check "the old file is gone before the job ends" wait_until 10 \
    grep -q '"ev":"result"' dead.trace
kill -9 "$pid"
await 5
check "slaves are gone" wait_until 10 no_slaves
drawn "a killed run" dead.trace
check "a killed run: one line of warning" \
    eval '[ "$(err_lines)" = 1 ] && err_says "dead.trace: .* no end"'
run replay dead.trace --policies 'send' --runs 3 --json
same "replay of a killed run: exit status" "$rc" 0
check "replay of a killed run: stdout is JSON" only_json
check "replay of a killed run: a warning" err_says 'no end'
check "replay of a killed run: how much was measured" \
    err_says 'of 2000 units were measured'
# half a last line
head -c -20 dead.trace > half.trace
drawn "half a last line" half.trace
check "half a last line: it says so" err_says 'half'

# --- what is wrong -----------------------------------------------------------
for path in /no/such/dir/t /dev/null .; do
    run run synth --units 10 --slaves 2 --trace "$path"
    refused 2 "--trace $path"
    check "--trace $path: nothing was started" no_pvmd
done
run gantt good.trace
refused 2 "gantt without -o"
cp good.trace same.svg
run gantt same.svg -o same.svg
refused 2 "gantt onto its own trace"
check "gantt onto its own trace: it is still there" cmp -s good.trace same.svg
mkdir -p there
ln -sfn there way
for options in '--out t.npy --trace t.npy' '--out ./t.npy --trace t.npy' \
    '--out there/t.npy --trace way/t.npy' '--hosts h --trace h'; do
    hostname > h
    # shellcheck disable=SC2086
    run run matmul $options
    refused 2 "run $options"
    check "run $options: the file is as it was" grep -qx "$(hostname)" h
    check "run $options: no file" test -z "$(find . -name t.npy)"
done
# only files are files
for options in '--n 8 --trace 8' '--policy send --trace send' \
    '--trace local'; do
    # shellcheck disable=SC2086
    run run matmul --transport local $options
    same "run $options: exit status" "$rc" 0
    check "run $options: a trace" grep -q '"ev":"end"' "${options##* }"
done
sed '1s/"date":"[^"]*"/"date":"<b>\&<"/' good.trace > date.trace
run gantt date.trace -o date.svg
same "a date that is not one: exit status" "$rc" 0
check "a date that is not one: it is text" eval '! grep -q "<b>" date.svg'
run gantt good.trace -o x.png
refused 2 "gantt into a form that it does not know"
run gantt -o x.svg
refused 2 "gantt without a trace"
run gantt missing.trace -o x.svg
refused 2 "gantt of no file"
# unreadable FILE REASON: refused by both, with the reason and no line
unreadable() {
    for command in "gantt $1 -o y.svg" "replay $1"; do
        # shellcheck disable=SC2086
        run $command
        refused 2 "${command%% *} of $1"
        check "${command%% *} of $1: says why" err_says "^nowfarm: $1: $2\$"
    done
}
mkdir dir.trace
unreadable dir.trace 'Is a directory'
unreadable missing.trace 'No such file or directory'
if [ -r /proc/self/mem ]; then # nobody can read it at 0
    unreadable /proc/self/mem 'Input/output error'
fi
: > locked.trace
chmod 000 locked.trace
if [ -r locked.trace ]; then
    echo "# left out, as root may read everything: a file without permissions"
else
    unreadable locked.trace 'Permission denied'
fi
run gantt good.trace -o /no/such/dir/x.svg
refused 2 "gantt into no directory"
run replay good.trace --policies 'send;nonsense'
refused 2 "replay with a policy that is none"
run replay good.trace --policies ''
refused 2 "replay with no policy"
run replay good.trace --runs 1
refused 2 "replay with too few runs"
run replay good.trace more
refused 2 "replay of two traces"

# bad FILE LINE TEXT: refused by both, with file and line
bad() {
    local file=$1 line=$2
    for command in "gantt $file -o y.svg" "replay $file"; do
        # shellcheck disable=SC2086
        run $command
        refused 2 "$3: ${command%% *}"
        check "$3: ${command%% *}: file and line" \
            err_says "^nowfarm: $file: line $line: "
    done
    check "$3: no picture" test ! -e y.svg
}
sed '1s/"nowfarm_trace":1/"nowfarm_trace":99/' good.trace > bad.trace
bad bad.trace 1 "an unknown version"
sed '1s/"units":/"emulate":1,"units":/' good.trace > bad.trace
bad bad.trace 1 "an emulated world that is no text"
sed '0,/"ev":"sent"/{/"ev":"sent"/d}' good.trace > bad.trace
lease=$(sed -n 's/.*"ev":"sent","lease":\([0-9]*\),.*/\1/p' good.trace | head -n 1)
bad bad.trace "$(grep -n -m 1 "\"ev\":\"[a-z]*\",\"lease\":$lease," bad.trace |
    cut -d: -f1)" \
    "a lease answered that was never sent"
sed '5s/"t":[0-9]*/"t":0/' good.trace > bad.trace
bad bad.trace 5 "time that goes backwards"
n=$(grep -n -m 1 '"ev":"result"' good.trace | cut -d: -f1)
sed "${n}s/\"compute_us\":/\"compute_us\":-/" good.trace > bad.trace
bad bad.trace "$n" "a negative number"
head -c 3000 /dev/urandom > bad.trace
bad bad.trace 1 "noise"
: > bad.trace
bad bad.trace 1 "an empty file"
finish
