#ifndef NF_BASE_ERROR_H
#define NF_BASE_ERROR_H
/** @file error.h  Status plus one line of text. */
#include "nowfarm.h"

/** Set *err (may be NULL) and return @p status, so that failing is one line:
 *  `return nf_fail(err, NF_ERR_INVAL, "--n %s: not a number", text);` */
enum nf_status nf_fail(struct nf_error *err, enum nf_status status,
                       const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/** Put "@p prefix: " before the text of *err (may be NULL).
 *  @return err->status, or NF_ERR_FAILED if err is NULL */
enum nf_status nf_fail_prefix(struct nf_error *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
#endif
