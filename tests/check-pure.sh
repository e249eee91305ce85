#!/bin/sh
# Purity is tested, not promised: objects of the pure folders may refer only to
# our own pure functions, plain memory and text functions, zlib's checksum and
# libm, and may hold no variables.
: "${NM:=nm}" "${top_builddir:=.}"
allow='^(nf_[a-z0-9_]*|mem(set|cpy|move|cmp|chr)|str(n?len|n?cmp|r?chr|c?spn|pbrk|str)|v?snprintf|sqrt|ceil|floor|fabs|log|log2|exp|pow|fmin|fmax|round|l?lround|crc32_z|abort|__assert_fail|__stack_chk_fail|__u?(div|mod|divmod)ti[34]|_GLOBAL_OFFSET_TABLE_|(__)?(asan|ubsan|tsan|lsan|msan|sanitizer|gcov)_.*|__(str|mem|v?snprintf)[a-z]*_chk)$'
# ours, but not pure: the clock, the log, the switch of the allocator's tests
deny='^(nf_now_us|nf_sleep_until_us|nf_log.*|nf_alloc_fail_after)$'
# Members of a group plan alike in floating point: these round as the library
# likes.
inexact='^(log|log2|exp|pow)$'
quiet='^(__odr_asan.*|__asan.*|__ubsan.*|__gcov.*|\.L.*|)$'
export allow deny inexact quiet
bad=0
found=0
for dir in model policy coll tree farm wire; do
  objects=
  for object in "$top_builddir"/common/$dir/*libnfcore_la-*.o \
                "$top_builddir"/common/$dir/.libs/*libnfcore_la-*.o; do
    test -f "$object" || continue
    found=`expr $found + 1`
    objects="$objects $object"
  done
  test -n "$objects" || continue
  # "object: U name"
  $NM -A -u $objects | dir=$dir awk '
    { object = $1; sub(/:$/, "", object) }
    $NF ~ ENVIRON["deny"] || $NF !~ ENVIRON["allow"] ||
    (ENVIRON["dir"] == "tree" && $NF ~ ENVIRON["inexact"]) {
      print "IMPURE " object " refers to " $NF
      bad = 1
    }
    END { exit bad }' || bad=1
  # "object:name|value|class|type|size|line|section": writable data is state
  $NM -A -f sysv $objects | tr -d ' ' | awk -F'|' '
    { name = object = $1; sub(/:[^:]*$/, "", object); sub(/.*:/, "", name) }
    name !~ ENVIRON["quiet"] &&
    (($7 ~ /^\.(data|bss|tbss|tdata|sdata|sbss)(\.|$)/ && $7 !~ /^\.data\.rel\.ro/) ||
     $7 == "*COM*") {
      print "IMPURE " object " holds the variable " name
      bad = 1
    }
    END { exit bad }' || bad=1
done
if test $found -eq 0; then
  echo "no objects under $top_builddir/common: nothing was checked"
  exit 99
fi
echo "$found objects checked"
exit $bad
