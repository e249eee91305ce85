#!/bin/bash
# check-headers.sh - every header compiles alone and twice, as C11; the public
# one also as C99 and C++17, without any of our include folders, and it
# declares no symbol that the library does not export.
set -u
top_srcdir=${top_srcdir:-$(cd "$(dirname "$0")/.." && pwd)}
top_builddir=${top_builddir:-$top_srcdir/build}
cc=${CC:-cc} cxx=${CXX:-c++}
warnings="-Wall -Wextra -Wpedantic -Werror"
flags=$(sed -n 's/^\(EVENT\|JANSSON\|CUNIT\|BLAS\|SQLITE\|PVM\)_C\(PP\)\{0,1\}FLAGS = //p' \
    "$top_builddir/Makefile")
cd "$top_srcdir" || exit 99
status=0 headers=0

alone() { # HEADER COMPILER_WORD...: as it stands, and included twice
    local header=$1
    shift
    if ! printf '#include "%s"\n#include "%s"\nextern int nf_not_empty;\n' \
        "$header" "$header" | "$@" -fsyntax-only -; then
        echo "$header does not compile alone: $*"
        status=1
    fi
}

for header in $(find include common master slave sim apps tests -name '*.h' \
    2> /dev/null | sort); do
    headers=$((headers + 1))
    # shellcheck disable=SC2086
    alone "$header" $cc -x c -std=c11 -D_GNU_SOURCE $warnings \
        -Wno-unused-function -I. -Iinclude $flags
    grep -q '^#ifndef NF_\|^#ifndef NOWFARM_' "$header" ||
        { echo "$header has no include guard"; status=1; }
    if grep -niE '\b(TODO|FIXME|XXX)\b' "$header" /dev/null; then
        echo "$header: write it or leave it out"
        status=1
    fi
done
[ $headers -gt 0 ] || { echo "no header found"; status=1; }

public="$top_srcdir/include/nowfarm.h $top_srcdir/include/nowfarm_group.h"
for header in $public; do
    # shellcheck disable=SC2086
    alone "$header" $cc -x c -std=c99 $warnings
    # shellcheck disable=SC2086
    alone "$header" $cxx -x c++ -std=c++17 $warnings
done

# every function of the headers is exported, and nothing else is
# shellcheck disable=SC2086
declared=$(sed -n -e /^typedef/d \
    -e 's/^[a-z].*[ *]\(nf_[a-z_]*\)(.*/\1/p' $public | sort)
exported=$(sort include/nowfarm.sym)
if [ "$declared" != "$exported" ]; then
    echo "public headers and include/nowfarm.sym differ:"
    diff <(echo "$declared") <(echo "$exported")
    status=1
fi
exit $status
