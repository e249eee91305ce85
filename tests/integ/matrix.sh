# shellcheck shell=bash
# matrix.sh - write small matrix files of known bytes, with bash alone.

# le BYTES VALUE: VALUE in little-endian order.
le() {
    local i value=$2 text=
    for ((i = 0; i < $1; i++)); do
        printf -v text '%s\\x%02x' "$text" $((value >> (8 * i) & 255))
    done
    printf '%b' "$text"
}

# f64_bits VALUE: the IEEE 754 double of an integer, 0 <= VALUE < 2^52.
f64_bits() {
    local value=$1 exponent=0
    if [ "$value" -eq 0 ]; then
        echo 0
        return
    fi
    while [ $((value >> (exponent + 1))) -gt 0 ]; do
        exponent=$((exponent + 1))
    done
    echo $((((1023 + exponent) << 52) |
        ((value - (1 << exponent)) << (52 - exponent))))
}
f32_bits() {
    local bits
    bits=$(f64_bits "$1")
    if [ "$bits" -eq 0 ]; then
        echo 0
        return
    fi
    echo $(((((bits >> 52) - 1023 + 127) << 23) | ((bits >> 29) & 0x7fffff)))
}

# npy_header DESCR FORTRAN SHAPE: a version 1.0 header, as NumPy writes it.
npy_header() {
    local dict
    dict="{'descr': '$1', 'fortran_order': $2, 'shape': ($3), }"
    printf '\x93NUMPY\x01\x00'
    le 2 118
    printf '%-117s\n' "$dict"
}

# npy_f64 FORTRAN SHAPE VALUE...     npy_f32 likewise
npy_f64() {
    local value
    npy_header '<f8' "$1" "$2"
    shift 2
    for value in "$@"; do le 8 "$(f64_bits "$value")"; done
}
npy_f32() {
    local value
    npy_header '<f4' "$1" "$2"
    shift 2
    for value in "$@"; do le 4 "$(f32_bits "$value")"; done
}

# mtx_is FILE ROWS COLS VALUE...: FILE is that array, columns first.
mtx_is() {
    local file=$1
    shift
    awk -v want="$*" 'BEGIN {n = split(want, w)}
        NR == 1 && tolower($0) !~ /^%%matrixmarket matrix array real general/ {
            bad = 1
        }
        /^%/ {next}
        {for (i = 1; i <= NF; i++) if ($i + 0 != w[++k] + 0) bad = 1}
        END {exit bad || k != n}' "$file"
}
