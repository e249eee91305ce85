#!/bin/sh
# lint: cppcheck and clang-tidy over the sources, and no finding is accepted.
# Run it as `make lint`; CPPFLAGS are those of the build, PARALLEL processes.
# What is not looked for, and why: .clang-tidy, and below.
: "${top_srcdir:=.}" "${top_builddir:=.}" "${CPPFLAGS:=}" "${PARALLEL:=2}"
: "${CPPCHECK:=cppcheck}" "${CLANG_TIDY:=clang-tidy-14}"
top_builddir=$(cd "$top_builddir" && pwd) && cd "$top_srcdir" || exit 1
bad=0 ran=0
sources=$(find common master slave sim apps -name '*.c' | sort)

if command -v "$CPPCHECK" > /dev/null; then
    echo "cppcheck"
    ran=1
    # evutil_timercmp takes an operator, which cppcheck can't parse
    # shellcheck disable=SC2086
    "$CPPCHECK" --quiet --error-exitcode=1 -j "$PARALLEL" --std=c11 \
        --enable=warning,performance,portability --inline-suppr \
        --suppress=missingIncludeSystem --suppress=missingInclude \
        -D'evutil_timercmp(a,b,op)=((a)->tv_sec op (b)->tv_sec)' \
        -I "$top_builddir" -I . -I include $sources || bad=1
else
    echo "cppcheck is not here: left out"
fi

if command -v "$CLANG_TIDY" > /dev/null; then
    echo "clang-tidy"
    ran=1
    flags=$top_builddir/lint.flags # one a line: nothing to quote
    mkdir -p "$flags"
    # shellcheck disable=SC2086
    printf '%s\n' -std=c11 "-I$top_builddir" "-I$PWD" "-I$PWD/include" \
        -DNF_BINDIR=\"\" -DNF_LIBEXECDIR=\"\" -DNF_SYSCONFDIR=\"\" $CPPFLAGS \
        -include "$PWD/tests/lint.inc" > "$flags/compile_flags.txt"
    # the counts of what is in other headers are of no interest
    echo "$sources" | CLANG_TIDY=$CLANG_TIDY FLAGS=$flags \
        xargs -n 1 -P "$PARALLEL" sh -c '
            case $1 in */error.c) set -- "$1" --extra-arg=-DNF_LINT_BARE ;; esac
            $CLANG_TIDY --quiet -p "$FLAGS" "$@" 2> /dev/null' sh || bad=1
else
    echo "clang-tidy is not here: left out"
fi
test $ran = 1 || exit 77
exit $bad
