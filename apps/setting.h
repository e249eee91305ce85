#ifndef NF_APPS_SETTING_H
#define NF_APPS_SETTING_H
/** @file setting.h  Options of applications, as they are written. */
#include <stdint.h>
#include "nowfarm.h"

/** A number of [lo, hi].
 *  @param option   without "--"
 *  @param value_p  untouched on failure
 *  @retval NF_ERR_INVAL, NF_ERR_RANGE  err: "--n abc: not a number (want 1 to
 *  ...)" */
enum nf_status nf_setting_count(const char *option, const char *value,
                                uint64_t lo, uint64_t hi, uint64_t *value_p,
                                struct nf_error *err);
/** The name of a file.
 *  @param name_p  what was there is freed; to nf_free()
 *  @retval NF_ERR_INVAL  it is empty
 *  @retval NF_ERR_NOMEM */
enum nf_status nf_setting_file(const char *option, const char *value,
                               char **name_p, struct nf_error *err);
#endif
