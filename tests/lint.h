/* For clang-tidy only (see lint.sh), included before each source file.
 *
 * Analyzing one file, it can't know that nf_fail() returns the status that it
 * is given, and follows paths on which a failure was a success. */
#include "config.h"
#include "common/base/error.h"

#ifndef NF_LINT_BARE /* for error.c, which defines it */
static inline enum nf_status nf_lint_same(enum nf_status status,
                                          enum nf_status same)
{
    (void)status;
    return same;
}
#define nf_fail(err, status, ...)                                              \
    nf_lint_same((nf_fail)((err), (status), __VA_ARGS__), (status))
#endif
