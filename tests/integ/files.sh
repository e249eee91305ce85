#!/bin/bash
# Matrices from files and into files, every format; threads are enough.
. "${0%/*}/lib.sh"
. "$lib_dir/matrix.sh"
cd "$work" || exit 99

# A = 1 2      B = 1 0 2 1     C = A B = 7 2 2 3
#     3 4          3 1 0 1              15 4 6 7
#     5 6                               23 6 10 11
c_columns="7 15 23 2 4 6 2 6 10 3 7 11"
printf '%s\n' '%%MatrixMarket matrix array real general' '% a comment' '3 2' \
    1 3 5 2 4 6 > a.mtx
printf '%s\n' '%%MatrixMarket matrix coordinate integer general' \
    '2 4 6' '1 1 1' '2 1 3' '2 2 1' '1 3 2' '1 4 1' '2 4 1' > b.mtx
npy_f64 False '3, 2' 1 2 3 4 5 6 > a_c.npy
npy_f64 True '3, 2' 1 3 5 2 4 6 > a_f.npy
npy_f32 False '2, 4' 1 0 2 1 3 1 0 1 > b_c32.npy
npy_f32 True '2, 4' 1 3 0 1 2 0 1 1 > b_f32.npy
npy_f64 False '3, 4' 7 2 2 3 15 4 6 7 23 6 10 11 > c_c.npy
npy_f64 True '3, 4' 7 15 23 2 4 6 2 6 10 3 7 11 > c_f.npy

product() { # TEXT A B OUT
    run run matmul --a "$2" --b "$3" --out "$4" --transport local --slaves 2 \
        --verify --json
    job_verified "$1"
}
for pair in "a.mtx b.mtx" "a_c.npy b_c32.npy" "a_f.npy b_f32.npy" \
    "a.mtx b_f32.npy" "a_f.npy b.mtx"; do
    a=${pair% *} b=${pair#* }
    rm -f c.mtx c.npy
    product "$a times $b" "$a" "$b" c.mtx
    # shellcheck disable=SC2086
    check "$a times $b: the values in c.mtx" mtx_is c.mtx 3 4 $c_columns
    product "$a times $b into .npy" "$a" "$b" c.npy
    # either order is right, if the header says which: compare the data only
    check "$a times $b: the values in c.npy" eval '
        tail -c 96 c.npy > got
        if grep -aq "fortran_order.: True" c.npy; then
            tail -c 96 c_f.npy | cmp -s - got
        else
            tail -c 96 c_c.npy | cmp -s - got
        fi'
done

# symmetric: only the lower triangle is stored
#   S = 2 5    S S = 29 15
#       5 1          15 26
printf '%s\n' '%%MatrixMarket matrix coordinate real symmetric' \
    '2 2 3' '1 1 2' '2 1 5' '2 2 1' > s.mtx
product "a symmetric matrix" s.mtx s.mtx c.mtx
check "a symmetric matrix: the values" mtx_is c.mtx 2 2 29 15 15 26
printf '%s\n' '%%MatrixMarket matrix array real symmetric' '2 2' 2 5 1 > t.mtx
product "a symmetric array" t.mtx t.mtx c.mtx
check "a symmetric array: the values" mtx_is c.mtx 2 2 29 15 15 26

# what was written can be read again, and replaced
product "reading back what was written" c.mtx c.mtx c.npy
product "replacing a file" c.npy c.npy c.npy
check "no temporary file is left" \
    same "files" "$(find . -newer t.mtx -type f ! -name 'c.*' ! -name got \
        ! -name out ! -name err | wc -l)" 0
finish
