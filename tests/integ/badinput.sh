#!/bin/bash
# Bad input: exit status 2, one clear line, nothing started, nothing written.
. "${0%/*}/lib.sh"
. "$lib_dir/matrix.sh"
cd "$work" || exit 99

# bad TEXT PATTERN ARGS...: refused, and the line matches PATTERN.
bad() {
    local text=$1 pattern=$2
    shift 2
    run -t 10 "$@"
    refused 2 "$text"
    check "$text: the line says what" err_says "$pattern"
    check "$text: no pvmd, no slave" test -z "$(pvmd_pids; slave_pids)"
    check "$text: no file" test -z "$(find "$work/pvm" "$work/results" -type f)"
    rm -f results/* # one leak is one failure
}
mkdir results
out=results/c.mtx

bad "unknown subcommand" frobnicate frobnicate
bad "unknown application" nosuch run nosuch
bad "unknown option" frobnicate run matmul --n 8 --frobnicate
bad "missing argument" '(^|[^a-z])n([^a-z]|$)' run matmul --n
bad "stray argument" stray run matmul --n 8 stray
bad "unknown policy" bogus run matmul --n 8 --policy bogus --out $out
bad "unknown parameter" bogus run matmul --n 8 --policy presend:bogus=1
bad "parameter twice" g run matmul --n 8 --policy presend:g=1,g=2
bad "parameter without value" td run matmul --n 8 --policy presend:td=
bad "no unit on a policy's time" 100 run matmul --n 8 --policy presend:td=100
bad "negative policy time" td run matmul --n 8 --policy presend:td=-5ms
bad "negative grain" g run matmul --n 8 --policy send:g=-1
bad "grain of zero" g run matmul --n 8 --policy send:g=0
bad "empty policy" policy run matmul --n 8 --policy ''
bad "negative n" '-5' run matmul --n -5 --out $out
bad "n of zero" n run matmul --n 0
bad "absurd n" 99999999999999999999 run matmul --n 99999999999999999999
bad "n that no memory holds" n run matmul --n 4000000000
bad "n with rubbish" 12x run matmul --n 12x
bad "n not a number" nan run matmul --n nan
bad "zero slaves" slaves run matmul --n 8 --slaves 0
bad "negative slaves" slaves run matmul --n 8 --slaves -1
bad "absurd slaves" slaves run matmul --n 8 --slaves 1000000000000
bad "zero slots" slots run matmul --n 8 --slots 0
bad "unknown transport" pigeon run matmul --n 8 --transport pigeon
bad "no unit on --unit-timeout" 5 run matmul --n 8 --unit-timeout 5
bad "negative --unit-timeout" timeout run matmul --n 8 --unit-timeout -5s
bad "zero attempts" attempts run matmul --n 8 --max-attempts 0
bad "--seed with files" seed run matmul --seed 3 --a x.mtx --b x.mtx
bad "--a without --b" '--b' run matmul --a x.mtx
bad "both --n and files" '--n' run matmul --n 3 --a x.mtx --b x.mtx
bad "no unit on --cost" 5 run synth --cost 5
bad "no unit on --in" 64 run synth --in 64
bad "spread above 1" 2 run synth --spread 2
bad "spread NaN" nan run synth --spread nan
bad "fault of no unit" 7 run synth --units 5 --fault 7:kill
bad "unknown fault" sneeze run synth --fault 1:sneeze

bad "negative dims" '-3' run montecarlo --dims -3 --out $out
bad "zero dims" dims run montecarlo --integrand ball --dims 0
bad "dims that the integrand has not" 'pi wants 2' run montecarlo --dims 3
bad "zero samples" samples run montecarlo --samples 0 --out $out
bad "one sample" samples run montecarlo --samples 1
bad "absurd samples" 99999999999999999999 run montecarlo \
    --samples 99999999999999999999
bad "samples in too many units" chunk run montecarlo --samples 1000000000000 \
    --chunk 3
bad "zero chunk" chunk run montecarlo --chunk 0
bad "unknown integrand" nosuch run montecarlo --integrand nosuch
bad "too few samples to verify" verify run montecarlo --samples 999 --verify
bad "output into no directory" nowhere run montecarlo --out nowhere/x.json

printf '%s\n' '%%MatrixMarket matrix array real general' '2 2' 1 2 3 4 > ok.mtx
mtx() { # TEXT PATTERN FILE: as --a, beside a good --b
    bad "$1" "$2" run matmul --a "$3" --b ok.mtx --out $out
}
mtx "missing file" nosuch.mtx nosuch.mtx
mtx "directory as input" results results
mtx "empty file" empty.mtx "$(: > empty.mtx; echo empty.mtx)"
printf 'hello\n' > rubbish.mtx
mtx "not Matrix Market" rubbish rubbish.mtx
printf '%s\n' '%%MatrixMarket matrix array real general' '2 2' 1 2 3 > short.mtx
mtx "truncated array" short short.mtx
printf '%s\n' '%%MatrixMarket matrix array real general' '2 2' 1 2 3 4 5 \
    > long.mtx
mtx "array with too much" long long.mtx
printf '%s\n' '%%MatrixMarket matrix array real general' '2 2' 1 nan 3 4 \
    > nan.mtx
mtx "NaN text" nan nan.mtx
printf '%s\n' '%%MatrixMarket matrix array real general' '2 2' 1 two 3 4 \
    > word.mtx
mtx "word for a number" word word.mtx
printf '%s\n' '%%MatrixMarket matrix array real general' '-2 2' 1 2 > neg.mtx
mtx "negative size" neg neg.mtx
printf '%s\n' '%%MatrixMarket matrix array real general' \
    '1000000000 1000000000' 1 > huge.mtx
mtx "array that no memory holds" huge huge.mtx
printf '%s\n' '%%MatrixMarket matrix array complex general' '1 1' '1 1' > z.mtx
mtx "complex numbers" complex z.mtx
printf '%s\n' '%%MatrixMarket matrix coordinate real general' '2 2 1' '3 1 5' \
    > index.mtx
mtx "index outside" index index.mtx
printf '%s\n' '%%MatrixMarket matrix coordinate real general' '2 2 3' \
    '1 1 5' > fewer.mtx
mtx "fewer entries than claimed" fewer fewer.mtx
printf '%s\n' '%%MatrixMarket matrix array real general' '2 3' 1 2 3 4 5 6 \
    > wide.mtx
mtx "shapes that do not match" '2.*3|3.*2' wide.mtx

npy_f64 False '2, 2' 1 2 3 4 > ok.npy
npy_f64 False '2, 2' 1 2 3 > short.npy
mtx "truncated .npy" short.npy short.npy
head -c 20 ok.npy > header.npy
mtx "truncated .npy header" header.npy header.npy
npy_f64 False '1152921504606846976, 1' 1 > lying.npy
mtx ".npy that claims 2^60 elements" lying.npy lying.npy
npy_f64 False '4294967296, 4294967296' 1 > overflow.npy
mtx ".npy whose size overflows" overflow.npy overflow.npy
npy_f64 False '2, 2, 2' 1 2 3 4 5 6 7 8 > cube.npy
mtx ".npy of three dimensions" cube.npy cube.npy
{ npy_header '<c16' False '1, 1'; le 8 0; le 8 0; } > complex.npy
mtx ".npy of complex numbers" complex.npy complex.npy
{ npy_header '|O' False '1, 1'; le 8 0; } > object.npy
mtx ".npy of objects" object.npy object.npy
{ npy_header '<f8' False '1, 1'; printf '\0\0\0\0\0\0\xf8\x7f'; } > nan.npy
mtx "NaN in a .npy" 'nan.npy' nan.npy
printf 'not numpy at all, but long enough to hold a header ........' > rub.npy
mtx "not a .npy" rub.npy rub.npy

bad "output into a missing directory" nodir run matmul --n 8 \
    --out nodir/c.mtx
bad "output is a directory" results run matmul --n 8 --out results
bad "output of unknown format" c.xyz run matmul --n 8 --out results/c.xyz
bad "more slaves than can exchange" '4097 slaves: .*at most 4096' run transpose --rows 8 \
    --cols 8 --transport local --slaves 4097
bad "missing hosts file" nohosts run matmul --n 8 --hosts nohosts
# Root may read and write everything, unless it is without that capability.
confined='setpriv --bounding-set=-dac_override,-dac_read_search --'
if [ "$(id -u)" != 0 ]; then
    confined=
elif ! $confined true 2> /dev/null; then
    confined=no
    echo "# as root without setpriv: files that nobody may read are left out"
fi
if [ "$confined" != no ]; then
    printf '#!/bin/sh\nexec %s %s "$@"\n' "$confined" "$NF" > nowfarm
    chmod 755 nowfarm
    NF=$work/nowfarm
    cp ok.mtx secret.mtx
    cp ok.npy secret.npy
    echo ws1 > secret.hosts
    chmod 000 secret.*
    mtx "unreadable file" 'secret.*Permission denied' secret.mtx
    mtx "unreadable .npy" 'secret.*Permission denied' secret.npy
    bad "unreadable hosts file" 'secret.*Permission denied' run matmul --n 8 \
        --hosts secret.hosts --out $out
    mkdir ro
    chmod 555 ro
    bad "output into a read-only directory" ro run matmul --n 8 --out ro/c.mtx
fi
finish
