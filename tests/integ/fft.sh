#!/bin/bash
# The Fourier transform, nowfarm-fft: any length, files there and back, slaves that
# are killed in an exchange, bad input; and that nothing else is linked with FFTW.
. "${0%/*}/lib.sh"
need_pvm
NF_FFT=$top_builddir/apps/fft/nowfarm-fft
if [ ! -x "$NF_FFT" ]; then
    run run fft
    refused 2 "not built: fft"
    err_says 'FFTW' || fail "not built: says why"
    [ $failures = 0 ] || finish
    skip "nowfarm-fft is not built: no FFTW (Debian: libfftw3-dev)"
fi

# Master, keeper and slaves are one program: slaves have been told of their master.
slave_pids() {
    local one
    for one in $(our_pids nowfarm-fft); do
        grep -qz '^NOWFARM_SLAVE=pvm' "/proc/$one/environ" 2> /dev/null &&
            echo "$one"
    done
}
fft() { run run fft "$@" --verify --json; }
begin() {
    wait_until 10 no_slaves
    : > "$work/err" # what the job before has said
    start run fft "$@" --verify --json
}

# one, primes, squares, more units than lines
for transport in pvm local; do
    for count in 1 2 97 1024 30030 99225; do
        fft --count $count --slaves 3 --transport $transport
        job_verified "$count numbers, $transport"
    done
    same "phases, $transport" "$(json exchange.phases)" 4
    same "exchanges, $transport" "$(json exchange.tries)" 3
    fft --count 5040 --inverse --units 7 --slaves 2 --transport $transport
    job_verified "inverse, $transport"
done
# every C-th number: two exchanges less
for transport in pvm local; do
    for count in 1 97 1024 30030 99225; do
        fft --count $count --slaves 3 --transport $transport --layout columns
        job_verified "$count numbers in columns, $transport"
    done
    same "columns, $transport: phases" "$(json exchange.phases)" 2
    same "columns, $transport: exchanges" "$(json exchange.tries)" 1
    fft --count 5040 --inverse --units 7 --slaves 2 --transport $transport \
        --layout columns
    job_verified "inverse in columns, $transport"
done
fft --count 65536 --slaves 2 --slots 2 --policy gss
job_verified "two slots"
timeout 60 "$NF_FFT" --count 1000 --slaves 2 --verify > "$work/out" \
    2> "$work/err" < /dev/null
same "by its own name: exit status" $? 0
check "by its own name: verified" grep -q '^verified: true' "$work/out"
check "by its own name: the time by the model" grep -q \
    '^time by model .*: compute .*, exchange .*; measured .*: compute' "$work/out"

# A cosine has two lines, in the middle of nothing.
awk 'BEGIN { n = 1024; print "%%MatrixMarket matrix array real general"
    print n, 1
    for (j = 0; j < n; j++) printf "%.17g\n", cos(2 * 3.14159265358979 * 5 * j / n) }' \
    > "$work/cosine.mtx"
run run fft --file "$work/cosine.mtx" --slaves 2 --out "$work/lines.mtx" --verify
same "a cosine: exit status" "$rc" 0
same "a cosine: its lines" "$(awk 'NR > 2 && NR < 1027 && $1 > 1e-6 {
    printf "%d:%.3f ", NR - 3, $1 }' "$work/lines.mtx")" "5:512.000 1019:512.000 "
same "a cosine: two columns" "$(sed -n 2p "$work/lines.mtx")" "1024 2"
# and back, by way of complex numbers in a .npy file
run run fft --file "$work/lines.mtx" --slaves 2 --inverse --out "$work/back.npy"
same "back: exit status" "$rc" 0
check "back: complex numbers" grep -aq "'descr': '[<>]c16'.*'shape': (1024,)" \
    "$work/back.npy"
run run fft --file "$work/back.npy" --slaves 3 --out "$work/again.mtx" --verify
same "complex numbers from a file: exit status" "$rc" 0
check "complex numbers from a file: the same lines" awk '
    FNR == NR { x[FNR] = $1; next }
    FNR > 2 && ($1 - x[FNR]) ^ 2 > 1e-16 { bad = 1 }
    END { exit bad }' "$work/lines.mtx" "$work/again.mtx"

# ------------------------------------------------------------ in mid-exchange
# A slave is killed as soon as the master says that the n-th exchange begins, or a little
# later; that may be when it is over: then at once.
heard() {
    if [[ $1 =~ ' is there, pid '([0-9]+) ]]; then
        slaves+=("${BASH_REMATCH[1]}")
    elif [[ $1 == *"exchange $((phase + 1)): phase $phase, among"* ]]; then
        [ "$delay" = 0 ] || sleep "$delay"
        kill -9 "${slaves[1]}"
    fi
}
export NOWFARM_LOG=info
for phase in 0 1 2; do
    counted=0
    for delay in 0.02 0 0 0 0 0 0 0 0 0; do
        slaves=()
        begin --count 2250000 --units 40 --slaves 4 --slots 1
        await 60
        job_verified "killed in the exchange after phase $phase"
        err_says "exchange $((phase + 1)) is off: slave [0-9]+ .* is lost" ||
            continue
        counted=1
        same "killed in it: lost slaves" "$(json lost_slaves)" 1
        at_least "killed in it: exchanges" "$(json exchange.tries)" 4
        at_least "killed in it: done again" "$(json exchange.recomputed)" 1
        break
    done
    same "killed in the exchange after phase $phase: so often" $counted 1
done
heard() { :; }
unset NOWFARM_LOG

# -------------------------------------------------------------------- bad input
run run fft --file "$work/missing.npy"
refused 2 "no such file"
run run fft --file "$work/back.npy" --count 3
refused 2 "a file and a count"
run run fft --count 0
refused 2 "nothing to transform"
run run fft --layout diagonals
refused 2 "no such layout"
run run fft --units 5000
refused 2 "too many units"
printf '%%%%MatrixMarket matrix array real general\n1 3\n1\n2\n3\n' > "$work/three.mtx"
run run fft --file "$work/three.mtx"
refused 2 "three columns"
printf '%%%%MatrixMarket matrix array real general\n2 1\n1\nnan\n' > "$work/nan.mtx"
run run fft --file "$work/nan.mtx"
refused 2 "no number"
head -c 300 "$work/back.npy" > "$work/cut.npy"
run run fft --file "$work/cut.npy"
refused 2 "a file that was cut"
run run transpose --a "$work/back.npy"
refused 2 "complex numbers where real ones are wanted"
run run fft --count 20 --slaves 1 --out "$work/no/where.npy"
refused 2 "no such directory"
run run fft --count 20 --out "$work/x.txt"
refused 2 "a name of no format"
run run fft --gather tree
refused 2 "a gather"
run run fft --count 2147483647 --units x
refused 2 "no number of units"
run run fft --nonsense
refused 2 "an unknown option"

# ------------------------------------------------------------------- the licence
for file in "$NF" "$NF_SLAVE" "$NF_DAEMON" "$top_builddir/.libs/libnowfarm.so"; do
    [ -e "$file" ] || continue
    check "${file##*/} is not linked with FFTW" \
        eval "! ldd '$file' | grep -q fftw"
done
check "nowfarm-fft is" eval "ldd '$NF_FFT' | grep -q fftw"

check "no slave is left" wait_until 5 no_slaves
check "no pvmd is left" wait_until 5 no_pvmd
finish
