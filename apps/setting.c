/* Options of applications; see setting.h. */
#include "config.h"
#include "apps/setting.h"
#include "common/base/alloc.h"
#include "common/base/error.h"
#include "common/base/units.h"

enum nf_status nf_setting_count(const char *option, const char *value,
                                uint64_t lo, uint64_t hi, uint64_t *value_p,
                                struct nf_error *err)
{
    enum nf_status status = nf_parse_count(value, lo, hi, value_p);

    if (status == NF_OK)
        return NF_OK;
    return nf_fail(err, status, "--%s %.60s: %s (want %llu to %llu)", option,
                   value,
                   status == NF_ERR_RANGE ? "out of range" : "not a number",
                   (unsigned long long)lo, (unsigned long long)hi);
}

enum nf_status nf_setting_file(const char *option, const char *value,
                               char **name_p, struct nf_error *err)
{
    char *copy;

    if (*value == '\0')
        return nf_fail(err, NF_ERR_INVAL, "--%s: empty (want a file name)",
                       option);
    copy = nf_strdup(value);
    if (copy == NULL)
        return nf_fail(err, NF_ERR_NOMEM, "--%s: out of memory", option);
    nf_free(*name_p);
    *name_p = copy;
    return NF_OK;
}
