/* The members of a line, and arrays that grow. */
#include "config.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "common/base/alloc.h"
#include "common/base/error.h"
#include "common/base/text.h"
#include "common/trace/history_impl.h"

/* Any number but a lease's: exact in every JSON reader; 285 years. */
static const int64_t NUMBER_MOST = INT64_C(1) << 53;

/* ---- members of a line ---- */

/* A count or a time.  Without @p required, 0 if it is not there. */
enum nf_status nf_history_get(struct nf_history_reader *r, const json_t *line,
                              const char *key, bool required,
                              uint64_t *number_p)
{
    const json_t *value = json_object_get(line, key);
    json_int_t number;

    *number_p = 0;
    if (value == NULL && !required)
        return NF_OK;
    if (value == NULL)
        return nf_fail(r->err, NF_ERR_INVAL, "\"%s\" is missing", key);
    if (!json_is_integer(value))
        return nf_fail(r->err, NF_ERR_INVAL, "\"%s\": want an integer", key);
    number = json_integer_value(value);
    if (number < 0)
        return nf_fail(r->err, NF_ERR_INVAL,
                       "\"%s\" is negative: %" JSON_INTEGER_FORMAT, key,
                       number);
    if (number > NUMBER_MOST && strcmp(key, "lease") != 0 &&
        strcmp(key, "seed") != 0)
        return nf_fail(r->err, NF_ERR_INVAL,
                       "\"%s\" is above 2^53: %" JSON_INTEGER_FORMAT, key,
                       number);
    *number_p = (uint64_t)number;
    return NF_OK;
}

enum nf_status nf_history_get_all(struct nf_history_reader *r,
                                  const json_t *line,
                                  const struct nf_history_field *fields)
{
    enum nf_status status = NF_OK;

    for (; fields->key != NULL && status == NF_OK; fields++)
        status =
            nf_history_get(r, line, fields->key, fields->required, fields->to);
    return status;
}

enum nf_status nf_history_get_text(struct nf_history_reader *r,
                                   const json_t *line, const char *key,
                                   char *text, size_t bytes)
{
    const json_t *value = json_object_get(line, key);

    if (!json_is_string(value))
        return nf_fail(r->err, NF_ERR_INVAL, "\"%s\": want a text", key);
    snprintf(text, bytes, "%s", json_string_value(value));
    nf_text_make_utf8(text, strlen(text)); /* if it was cut */
    nf_text_make_line(text);
    return NF_OK;
}

enum nf_status nf_history_no_memory(struct nf_history_reader *r)
{
    return nf_fail(r->err, NF_ERR_NOMEM, "out of memory");
}

/* Room for one element more.  @return false if there is none */
bool nf_history_room(void **array, uint32_t count, uint32_t *capacity,
                     size_t bytes)
{
    uint32_t more = *capacity == 0 ? 16 : 2 * *capacity;
    void *block;

    if (count < *capacity)
        return true;
    if (more >= NF_HISTORY_NONE / 2)
        return false;
    block = nf_realloc(*array, more * bytes);
    if (block == NULL)
        return false;
    *array = block;
    *capacity = more;
    return true;
}
