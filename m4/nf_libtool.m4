dnl libtool 2.4.7 looks whether the shell can cut strings only after it has chosen to run
dnl sed for each file name; told so, it links our libraries in a sixth of the time.
AC_DEFUN([NF_LIBTOOL], [
AC_REQUIRE([LT_INIT])
AS_IF([($SHELL -c 'x=a/b/c; test 5aa/bb/cc = "${#x}${x%%/*}${x%/*}${x#*/}${x##*/}"') 2> /dev/null],
  [LIBTOOL="_G_HAVE_XSI_OPS=yes $LIBTOOL"])])
