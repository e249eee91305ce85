/* Parameters of policies: text to value, and what to say if it is wrong. */
#include "config.h"
#include "common/policy/param.h"
#include <assert.h>
#include <stdio.h>
#include <string.h>
#include "common/base/error.h"
#include "common/base/units.h"

/* Bounds of parameters that state none: more is a mistake, not a wish. */
static const uint64_t most_count = UINT64_C(1000000000000);
static const uint64_t most_us = UINT64_C(604800000000); /* a week */
static const double most_real = 1e15;

static enum nf_status parse_count(const struct nf_param *param,
                                  const char *text, uint64_t *count_p,
                                  struct nf_error *err)
{
    uint64_t most = param->max != 0 ? param->max : most_count;
    bool digits = text[0] != '\0' && text[strspn(text, "0123456789")] == '\0';

    if (nf_parse_count(text, param->min, most, count_p) == NF_OK)
        return NF_OK;
    if (digits && nf_parse_count(text, 0, param->min, count_p) != NF_OK)
        return nf_fail(err, NF_ERR_INVAL, "%s %s: want a count <= %llu",
                       param->name, text, (unsigned long long)most);
    return nf_fail(err, NF_ERR_INVAL, "%s %s: want a count >= %llu",
                   param->name, text, (unsigned long long)param->min);
}

static enum nf_status parse_time(const struct nf_param *param, const char *text,
                                 uint64_t *time_us_p, struct nf_error *err)
{
    uint64_t most = param->max != 0 ? param->max : most_us;
    int64_t time_us;
    double number;
    enum nf_status status = nf_parse_time_us(text, &time_us);

    if (status == NF_OK && (uint64_t)time_us <= most) {
        *time_us_p = (uint64_t)time_us;
        return NF_OK;
    }
    if (text[0] == '-')
        return nf_fail(err, NF_ERR_INVAL, "%s %s: want a time >= 0",
                       param->name, text);
    if (status == NF_OK || status == NF_ERR_RANGE)
        return nf_fail(err, NF_ERR_INVAL, "%s %s: want a time <= %llus",
                       param->name, text, (unsigned long long)most / 1000000);
    if (nf_parse_real(text, -1e300, 1e300, &number) == NF_OK)
        return nf_fail(err, NF_ERR_INVAL,
                       "%s %s: a time needs its unit, as %sms", param->name,
                       text, text);
    return nf_fail(err, NF_ERR_INVAL,
                   "%s %s: want a time, as 100ms (units: us ms s min h)",
                   param->name, text);
}

static enum nf_status parse_element(const struct nf_param *param,
                                    const char *text, uint64_t *element_p,
                                    struct nf_error *err)
{
    if (param->kind == NF_PARAM_TIMES)
        return parse_time(param, text, element_p, err);
    return parse_count(param, text, element_p, err);
}

/* Elements joined by '/'. */
static enum nf_status parse_list(const struct nf_param *param, const char *text,
                                 struct nf_param_value *value_p,
                                 struct nf_error *err)
{
    char element[NF_POLICY_SPEC_BYTES];

    value_p->nlist = 0;
    for (;;) {
        size_t length = strcspn(text, "/");
        enum nf_status status;

        if (value_p->nlist == NF_PARAM_LIST_MAX || length >= sizeof(element))
            return nf_fail(err, NF_ERR_INVAL, "%s: want at most %d elements",
                           param->name, NF_PARAM_LIST_MAX);
        if (length == 0)
            return nf_fail(err, NF_ERR_INVAL,
                           "%s %s: want elements joined by \"/\"", param->name,
                           text);
        memcpy(element, text, length);
        element[length] = '\0';
        status =
            parse_element(param, element, &value_p->list[value_p->nlist], err);
        if (status != NF_OK)
            return status;
        value_p->nlist++;
        text += length;
        if (*text == '\0')
            return NF_OK;
        text++;
        if (*text == '\0')
            return nf_fail(err, NF_ERR_INVAL,
                           "%s: nothing after the last \"/\"", param->name);
    }
}

static enum nf_status parse_choice(const struct nf_param *param,
                                   const char *text, uint64_t *index_p,
                                   struct nf_error *err)
{
    char list[120];
    size_t used = 0;
    uint64_t index = 0;

    for (const char *word = param->choices; *word != '\0'; index++) {
        size_t length = strcspn(word, "|");

        if (strlen(text) == length && strncmp(text, word, length) == 0) {
            *index_p = index;
            return NF_OK;
        }
        word += length + (word[length] == '|');
        /* "ceil, floor or half" */
        used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%.*s",
                                 index == 0      ? ""
                                 : *word == '\0' ? " or "
                                                 : ", ",
                                 (int)length, word - length - (*word != '\0'));
        assert(used < sizeof(list));
    }
    return nf_fail(err, NF_ERR_INVAL, "%s %s: want %s", param->name, text,
                   list);
}

static enum nf_status parse_bool(const struct nf_param *param, const char *text,
                                 uint64_t *value_p, struct nf_error *err)
{
    if (strcmp(text, "0") != 0 && strcmp(text, "1") != 0)
        return nf_fail(err, NF_ERR_INVAL, "%s %s: want 0 or 1", param->name,
                       text);
    *value_p = text[0] == '1';
    return NF_OK;
}

static enum nf_status parse_real(const struct nf_param *param, const char *text,
                                 double *real_p, struct nf_error *err)
{
    if (nf_parse_real(text, 0, most_real, real_p) == NF_OK) {
        if (*real_p > 0 || !param->positive)
            return NF_OK;
        return nf_fail(err, NF_ERR_INVAL, "%s %s: want a number > 0",
                       param->name, text);
    }
    return nf_fail(err, NF_ERR_INVAL, "%s %s: want a plain number from 0 to %g",
                   param->name, text, most_real);
}

enum nf_status nf_param_parse(const struct nf_param *param, const char *text,
                              struct nf_param_value *value_p,
                              struct nf_error *err)
{
    struct nf_param_value value = { .given = true };
    uint64_t time_us = 0;
    enum nf_status status = NF_ERR_INVAL;

    if (text[0] == '\0')
        return nf_fail(err, NF_ERR_INVAL, "%s: empty value", param->name);
    switch (param->kind) {
    case NF_PARAM_COUNT:
        status = parse_count(param, text, &value.count, err);
        break;
    case NF_PARAM_TIME:
        status = parse_time(param, text, &time_us, err);
        value.time_us = (int64_t)time_us;
        break;
    case NF_PARAM_TIMES:
    case NF_PARAM_LIST:
        status = parse_list(param, text, &value, err);
        break;
    case NF_PARAM_REAL:
        status = parse_real(param, text, &value.real, err);
        break;
    case NF_PARAM_BOOL:
        status = parse_bool(param, text, &value.count, err);
        break;
    case NF_PARAM_CHOICE:
        status = parse_choice(param, text, &value.count, err);
        break;
    }
    if (status == NF_OK)
        *value_p = value;
    return status;
}

void nf_param_set_defaults(const struct nf_param *params,
                           struct nf_param_value *values)
{
    for (size_t i = 0; params != NULL && params[i].name != NULL; i++) {
        enum nf_status status = NF_OK;

        assert(i < NF_POLICY_PARAMS_MAX);
        values[i] = (struct nf_param_value){ .given = false };
        if (params[i].default_text[0] != '\0')
            status = nf_param_parse(&params[i], params[i].default_text,
                                    &values[i], NULL);
        assert(status == NF_OK);
        (void)status;
    }
}

int nf_param_find(const struct nf_param *params, const char *name,
                  size_t length)
{
    for (int i = 0; params != NULL && params[i].name != NULL; i++)
        if (strlen(params[i].name) == length &&
            strncmp(params[i].name, name, length) == 0)
            return i;
    return -1;
}
