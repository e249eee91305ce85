#!/bin/bash
# nowfarm compare: every policy in every round, numbers that agree with each
# other, failures told, an end in order, and bad input before anything starts.
. "${0%/*}/lib.sh"
cd "$work" || exit 99

job=(synth --units 40 --cost 2ms --slaves 2 --slots 1)

# csv_column NAME: that column of c.csv, its policies being without commas
csv_column() {
    awk -F, -v name="$1" 'NR == 1 { for (i = 1; i <= NF; i++)
        if ($i == name) n = i }
        NR > 1 { print $n }' c.csv
}
nothing_runs() { [ -z "$(slave_pids; our_pids nowfarm)" ]; }
gnuplot_is_there() { command -v gnuplot > /dev/null; }

# --- local: the numbers

run compare "${job[@]}" --transport local --policies 'send;gss;presend:td=15ms' \
    --repeat 6 --seed 5 --json --csv c.csv
same "local: exit status" "$rc" 0
check "local: stdout is one JSON object" only_json
same "local: stderr is empty off a terminal" "$(err_lines)" 0
same "local: policies" \
    "$(json policies.0.policy) $(json policies.1.policy) $(json policies.2.policy)" \
    "send gss presend:td=15ms"
same "local: all runs count" "$(json policies.0.runs) $(json policies.2.runs)" \
    "6 6"
same "local: the first is the yardstick" "$(json policies.0.ratio)" 1.0
same "local: 40 units each 15 ms take longer than 40 of 2 ms" \
    "$(json policies.2.differs)" true
same "local: who sleeps is not the best" "$(json policies.2.ties_with_best)" \
    false
same "local: the seed is told" "$(json seed)" 5
same "local: a row a run, and a heading" "$(wc -l < c.csv)" 19
same "local: rounds" "$(csv_column round | uniq | tr '\n' ' ')" "1 2 3 4 5 6 "
same "local: every policy once a round" "$(csv_column policy | sort | uniq -c |
    awk '{ printf "%s ", $1 }')" "6 6 6 "
same "local: in another order each time" "$(csv_column policy |
    paste -d' ' - - - | sort -u | wc -l | awk '{ print ($1 > 1) }')" 1
same "local: the median is that of the rows" "$(
    awk -F, '$2 == "gss" { print $4 }' c.csv | sort -g |
        awk -v said="$(json policies.1.median_s)" '{ v[NR] = $1 }
            END { d = (v[3] + v[4]) / 2 - said; print (d * d < 1e-14) }')" 1
same "local: parts add up to the makespan" "$(awk -F, 'NR > 1 {
    d = $4 - $6 - $7 - $8 - $9 - $10; if (d > 1e-4 || d < -1e-4) n++ }
    END { print n + 0 }' c.csv)" 0
cp c.csv first.csv
run compare "${job[@]}" --transport local --policies 'send;gss;presend:td=15ms' \
    --repeat 6 --seed 5 --csv c.csv
same "the same seed, the same order" "$(cut -d, -f1-3 c.csv | md5sum)" \
    "$(cut -d, -f1-3 first.csv | md5sum)"
check "people get a table" grep -q '^makespan in ms  *median' "$work/out"
check "people get an answer" grep -Eq '^(send|gss) .*(best|lowest median)' \
    "$work/out"

# --- pictures

if gnuplot_is_there; then
    for kind in svg png; do
        run compare "${job[@]}" --transport local --policies 'send;gss' \
            --repeat 2 --warmup 0 --plot "p.$kind"
        same "plot: $kind: exit status" "$rc" 0
        check "plot: $kind: a picture" test -s "p.$kind"
    done
    check "plot: svg: complete" grep -q '</svg>' p.svg
    check "plot: png: it is one" eval \
        '[ "$(head -c 4 p.png | tail -c 3)" = PNG ]'
fi
mkdir nobin
PATH=$work/nobin: "$NF" compare "${job[@]}" --transport local --policies 'send' \
    --plot q.svg > out 2> err
rc=$?
refused 2 "plot without gnuplot"
check "plot without gnuplot: it says what to install" err_says gnuplot-nox
check "plot without gnuplot: no file" test ! -e q.svg

# --- runs that fail

run compare "${job[@]}" --transport local --fault 7:error --policies 'send;gss' \
    --repeat 2 --json --csv c.csv
same "failing: exit status" "$rc" 1
check "failing: stdout is one JSON object" only_json
same "failing: a line for each, warm-up too" "$(err_lines)" 6
check "failing: it says which, when and why" \
    err_says '^nowfarm: gss, round 2: exit status 1: .*unit 7'
same "failing: they are counted" "$(json policies.0.failed)" 2
same "failing: nobody is the best" "$(json best)" null
same "failing: exit statuses are in the file" \
    "$(csv_column exit | sort | uniq -c | awk '{ print $1, $2 }')" "4 1"

# a unit that fails only the first time, and is not tried twice: one run in six
mkdir marks
run compare "${job[@]}" --transport local --max-attempts 1 \
    --fault 7:error-once --fault-dir marks --policies 'send;gss;auto' \
    --warmup 0 --repeat 2 --json
same "one failure: exit status" "$rc" 1
same "one failure: one line" "$(err_lines)" 1
check "one failure: the round" err_says ', round 1: exit status 1: '
same "one failure: the others went on" "$(json failed_runs) $(($(json \
    policies.0.runs) + $(json policies.1.runs) + $(json policies.2.runs)))" "1 5"

# --- bad input: one line, status 2, nothing run, nothing written

bad() { # TEXT PATTERN ARGS...
    local text=$1 pattern=$2
    shift 2
    rm -rf results
    mkdir results
    run -t 20 compare "$@"
    refused 2 "$text"
    check "$text: the line says what" err_says "$pattern"
    check "$text: nothing was started or written" test -z \
        "$(pvmd_pids; slave_pids; ls results)"
}
bad "no application" 'APP|application' --policies send
bad "unknown application" nosuch nosuch --policies send
bad "no policies" policies synth --units 3
bad "empty policies" policies synth --policies ''
bad "an empty policy" 'number 2' synth --policies 'send;;gss'
bad "a bad policy among several" 'number 2.*bogus' synth \
    --policies 'send;bogus;gss'
bad "a bad parameter" 'number 3.*kmin' synth --policies 'send;auto;gss:kmin=x'
bad "a policy twice" 'number 3.*number 1' synth --policies 'send;gss;send'
bad "--policy" policies synth --policy send
bad "-p" policies synth --policies 'send;gss' -p auto
bad "-p with its value" policies synth --policies 'send;gss' -psend
bad "-p behind another option" policies synth --policies 'send;gss' -qpsend
bad "no repeats" repeat synth --policies send --repeat 0
bad "negative repeats" repeat synth --policies send --repeat -1
bad "too many repeats" repeat synth --policies send --repeat 100000
bad "warm-up that is no number" warmup synth --policies send --warmup x
bad "bad seed" seed synth --policies send --seed x
bad "missing argument" repeat synth --policies send --repeat
bad "missing argument of the application" units synth --policies send --units
bad "csv in a missing folder" 'csv.*nodir' synth --policies send \
    --csv results/nodir/c.csv
bad "csv and plot in one file" 'x\.svg' synth --policies send --csv x.svg \
    --plot x.svg
bad "csv and plot in one file, by two names" 'x\.svg' synth --policies send \
    --csv results/x.svg --plot ./results/x.svg
bad "csv onto a folder" 'csv.*results' synth --policies send --csv results
bad "plot in a missing folder" 'plot.*nodir' synth --policies send \
    --plot results/nodir/p.svg
bad "plot as something else" 'svg or .png' synth --policies send \
    --plot results/p.pdf
bad "unknown option" frobnicate synth --policies send --frobnicate 3
bad "bad option of the application" 12x synth --policies send --units 12x
bad "APP and --platform" platform synth --platform results --policies send
bad "platform that is not there" nofile --platform nofile --policies send
# onto FILE OPTION PATH ARGS...: the option may not name FILE, which stays
onto() {
    local file=$1 option=$2 path=$3
    shift 3
    cp "$file" before
    bad "$option $path onto $file" "$option $path: another option" "$@" \
        "$option" "$path"
    check "$option $path onto $file: it is as it was" cmp -s before "$file"
}
# wanted PATH OPTION ARGS...: as onto, but nothing is there yet
wanted() {
    local path=$1 option=$2
    shift 2
    bad "$option $path as another output" "$option $path: another option" "$@" \
        "$option" "$path"
}
printf '%s\n' '%%MatrixMarket matrix array real general' '2 2' 1 2 3 4 > a.mtx
cp a.mtx b.mtx
ln -sf a.mtx also.svg
echo '{"units": 8, "slaves": 2, "cost": 1000}' > p.svg
hostname > hosts.svg
files=(matmul --a a.mtx --b b.mtx --transport local --policies send)
onto a.mtx --csv a.mtx "${files[@]}"
onto a.mtx --csv "$PWD/a.mtx" "${files[@]}"
onto b.mtx --csv ./b.mtx "${files[@]}"
onto a.mtx --plot also.svg "${files[@]}"
onto p.svg --csv ./p.svg --platform p.svg --policies send
onto p.svg --plot p.svg --platform ./p.svg --policies send
onto hosts.svg --csv hosts.svg synth --hosts hosts.svg --policies send
onto hosts.svg --plot ./hosts.svg synth --hosts hosts.svg --policies send
wanted results/t.svg --csv synth --policies send --trace ./results/t.svg
wanted results/t.svg --plot synth --policies send --trace ./results/t.svg
wanted results/c.mtx --csv matmul --policies send --out ./results/c.mtx
# found only when it runs: still one line, and no second round
bad "bad input of the application" nosuch.mtx matmul --a nosuch.mtx \
    --b nosuch.mtx --transport local --policies 'send;gss' --csv results/c.csv

# --- in simulation

if "$NF" sim farm --help > /dev/null 2>&1; then
    cat > platform.json << 'JSON'
{"units": 8, "slaves": 2, "cost": [9000, 1000, 2000, 5000, 4000, 3000, 100, 50],
 "speed": ["1", "1/2"], "ts": [0, 0], "tr": [0, 0], "prop": 1000, "net": "bus"}
JSON
    run sim farm --platform platform.json --policy gss --json
    alone=$(json makespan_s)
    run compare --platform platform.json --policies 'send;gss' --repeat 3 \
        --json --csv c.csv
    same "simulation: exit status" "$rc" 0
    same "simulation: the platform is named" "$(json platform)" platform.json
    same "simulation: no warm-up" "$(json warmup)" 0
    same "simulation: runs" "$(json policies.0.runs) $(json policies.1.runs)" \
        "3 3"
    same "simulation: the time is that of sim farm" \
        "$(json policies.1.median_s)" "$alone"
    echo '{"units": -3}' > bad.json
    bad "bad platform" 'bad.json:1.*units' --platform bad.json \
        --policies 'send;gss' --csv results/c.csv
    bad "option that sim farm has not" frobnicate --platform platform.json \
        --policies 'send;gss' --frobnicate
fi

# --- PVM, which is started once for all

need_pvm
run compare "${job[@]}" --policies 'send;gss' --repeat 2 --json --csv c.csv
same "pvm: exit status" "$rc" 0
same "pvm: transport" "$(json transport)" pvm
same "pvm: runs" "$(json policies.0.runs) $(json policies.1.runs)" "2 2"
check "pvm: it is halted at the end" wait_until 5 no_pvmd
check "pvm: nothing is left" nothing_runs

# SIGINT: the run is ended, what there is is told
for signal in INT TERM; do
    start compare synth --units 200 --cost 5ms --slaves 2 --slots 1 \
        --policies 'send;gss' --repeat 50 --warmup 0 --json --csv c.csv
    check "SIG$signal: slaves are there" wait_until 10 some_slaves 2
    first=$(pvmd_pids)
    sleep 2.5
    same "SIG$signal: the virtual machine is still the first one" \
        "$(pvmd_pids)" "$first"
    sent=$(now_ms)
    kill "-$signal" "$pid"
    await 20
    at_most "SIG$signal: it ends" $(($(now_ms) - sent)) $((8000 * slow)) ms
    same "SIG$signal: exit status" "$rc" 130
    check "SIG$signal: it says so" err_says interrupted
    check "SIG$signal: stdout is one JSON object" only_json
    same "SIG$signal: it says so there" "$(json interrupted)" true
    same "SIG$signal: rows are the runs there were" \
        "$(($(wc -l < c.csv) - 1))" \
        "$(($(json policies.0.runs) + $(json policies.1.runs)))"
    check "SIG$signal: no slaves are left" wait_until 5 no_slaves
    check "SIG$signal: no pvmd is left" wait_until 5 no_pvmd
done

# killed hard: its run ends by itself
start compare synth --units 2000 --cost 10ms --slaves 2 --policies 'send;gss'
check "SIGKILL: slaves are there" wait_until 10 some_slaves 2
kill -9 "$pid"
wait "$pid" 2> /dev/null
check "SIGKILL: nothing is left" wait_until $((15 * slow)) nothing_runs
check "SIGKILL: no pvmd is left" wait_until 10 no_pvmd

finish
