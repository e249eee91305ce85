/* The specification of a policy, "SIZER[:k=v,...][+PACER[:k=v,...]]", to what
 * it stands for.  Errors name the word that is wrong and what would be right.
 */
#include "config.h"
#include "common/policy/policy.h"
#include <assert.h>
#include <stdio.h>
#include <string.h>
#include "common/base/error.h"
#include "common/base/guess.h"
#include "common/policy/param.h"

/* One half of a specification: a name and its parameters, in a copy of the text
 * that is cut up in place. */
struct half {
    const char *name;
    char *params; /* "k=v,..."; NULL: no ':' */
};

/* The policy in the making; whichever of sizer and pacer is NULL takes no
 * parameters of the half at hand. */
struct target {
    struct nf_policy *policy;
    const struct nf_sizer_ops *sizer;
    const struct nf_pacer_ops *pacer;
    const char *pacer_default;           /* "k=v" of an alias, or NULL */
    bool given[2][NF_POLICY_PARAMS_MAX]; /* written by the user */
};

/* ---- did you mean ...? ---- */

static enum nf_status fail_name(struct nf_error *err, const char *text,
                                const char *what, bool sizers, bool pacers)
{
    struct nf_guess guess = nf_guess_start(text);

    for (size_t i = 0; sizers && nf_sizer_table[i] != NULL; i++)
        nf_guess_consider(&guess, nf_sizer_table[i]->name);
    for (size_t i = 0; pacers && nf_pacer_table[i] != NULL; i++)
        nf_guess_consider(&guess, nf_pacer_table[i]->name);
    for (size_t i = 0;
         sizers && pacers && nf_policy_alias_table[i].name != NULL; i++)
        nf_guess_consider(&guess, nf_policy_alias_table[i].name);
    if (guess.name != NULL)
        return nf_fail(err, NF_ERR_INVAL,
                       "no such %s (did you mean \"%s\"? see: nowfarm "
                       "policies)",
                       what, guess.name);
    return nf_fail(err, NF_ERR_INVAL, "no such %s (see: nowfarm policies)",
                   what);
}

static void list_params(const struct nf_param *params, char *text, size_t bytes)
{
    for (size_t i = 0; params != NULL && params[i].name != NULL; i++) {
        size_t used = strlen(text);

        snprintf(text + used, bytes - used, "%s%s", used == 0 ? "" : ", ",
                 params[i].name);
    }
}

static enum nf_status fail_param(struct nf_error *err, const struct half *half,
                                 const struct target *target, const char *name)
{
    char known[160] = "";

    if (target->sizer != NULL)
        list_params(target->sizer->params, known, sizeof(known));
    if (target->pacer != NULL)
        list_params(target->pacer->params, known, sizeof(known));
    if (known[0] == '\0')
        return nf_fail(err, NF_ERR_INVAL, "%s: %s takes no parameters", name,
                       half->name);
    return nf_fail(err, NF_ERR_INVAL, "%s: no such parameter of %s (want %s)",
                   name, half->name, known);
}

/* ---- parameters ---- */

static enum nf_status set_param(struct target *target, const struct half *half,
                                const char *name, const char *text,
                                struct nf_error *err)
{
    const struct nf_param *params;
    struct nf_param_value *values;
    int side = 0, i;

    params = target->sizer != NULL ? target->sizer->params : NULL;
    values = target->policy->sizer_values;
    i = nf_param_find(params, name, strlen(name));
    if (i < 0) {
        side = 1;
        params = target->pacer != NULL ? target->pacer->params : NULL;
        values = target->policy->pacer_values;
        i = nf_param_find(params, name, strlen(name));
    }
    if (i < 0)
        return fail_param(err, half, target, name);
    if (target->given[side][i])
        return nf_fail(err, NF_ERR_INVAL, "%s: given twice", name);
    target->given[side][i] = true;
    return nf_param_parse(&params[i], text, &values[i], err);
}

static enum nf_status set_params(struct target *target, const struct half *half,
                                 struct nf_error *err)
{
    char *text = half->params;

    while (text != NULL) {
        char *comma = strchr(text, ',');
        char *value;
        enum nf_status status;

        if (comma != NULL)
            *comma = '\0';
        if (text[0] == '\0')
            return nf_fail(err, NF_ERR_INVAL,
                           "%s: empty parameter (want NAME=VALUE)", half->name);
        value = strchr(text, '=');
        if (value == NULL || value == text)
            return nf_fail(err, NF_ERR_INVAL, "%s: want NAME=VALUE", text);
        *value = '\0';
        status = set_param(target, half, text, value + 1, err);
        if (status != NF_OK)
            return status;
        text = comma != NULL ? comma + 1 : NULL;
    }
    return NF_OK;
}

/* Take `word` out of "k=v,word,...".  @return whether it was there */
static bool take_word(struct half *half, const char *word)
{
    size_t length = strlen(word);

    for (char *text = half->params; text != NULL;) {
        size_t here = strcspn(text, ",");

        if (here == length && strncmp(text, word, length) == 0) {
            if (text[here] == ',')
                memmove(text, text + here + 1, strlen(text + here + 1) + 1);
            else if (text == half->params)
                half->params = NULL;
            else
                text[-1] = '\0';
            return true;
        }
        text = text[here] == ',' ? text + here + 1 : NULL;
    }
    return false;
}

/* ---- names ---- */

static const struct nf_policy_alias *find_alias(const char *name)
{
    for (size_t i = 0; nf_policy_alias_table[i].name != NULL; i++)
        if (strcmp(nf_policy_alias_table[i].name, name) == 0)
            return &nf_policy_alias_table[i];
    return NULL;
}

/* One name: an alias, a sizer (with pull) or a pacer (with fixed). */
static enum nf_status resolve_one(struct half *half, struct target *target,
                                  struct nf_error *err)
{
    const struct nf_policy_alias *alias = find_alias(half->name);

    target->sizer = nf_sizer_find(half->name);
    target->pacer = nf_pacer_find(half->name);
    if (alias != NULL) {
        target->sizer = alias->sizer;
        target->pacer = alias->pacer;
        target->pacer_default = alias->pacer_default;
        if (alias->other_word != NULL && take_word(half, alias->other_word))
            target->pacer = alias->other_pacer;
    } else if (target->sizer != NULL) {
        target->pacer = &nf_pacer_pull;
    } else if (target->pacer != NULL) {
        target->sizer = &nf_sizer_fixed;
    } else {
        return fail_name(err, half->name, "policy", true, true);
    }
    return NF_OK;
}

static enum nf_status resolve_two(const struct half halves[2],
                                  struct target *target, struct nf_error *err)
{
    const char *first = halves[0].name, *second = halves[1].name;

    target->sizer = nf_sizer_find(first);
    target->pacer = nf_pacer_find(second);
    if (target->sizer == NULL) {
        if (find_alias(first) != NULL || nf_pacer_find(first) != NULL)
            return nf_fail(err, NF_ERR_INVAL,
                           "%s: want a sizer before \"+\" (it is a policy by "
                           "itself)",
                           first);
        fail_name(err, first, "sizer", true, false);
        return nf_fail_prefix(err, "%s", first);
    }
    if (target->pacer == NULL) {
        if (find_alias(second) != NULL || nf_sizer_find(second) != NULL)
            return nf_fail(err, NF_ERR_INVAL,
                           "%s: want a pacer after \"+\" (pull, timer, ...; "
                           "see: nowfarm policies)",
                           second);
        fail_name(err, second, "pacer", false, true);
        return nf_fail_prefix(err, "%s", second);
    }
    return NF_OK;
}

/* ---- the whole ---- */

/* Cut "NAME[:PARAMS]" in two. */
static enum nf_status cut_half(char *text, struct half *half_p,
                               struct nf_error *err)
{
    char *colon = strchr(text, ':');

    if (colon != NULL)
        *colon = '\0';
    if (text[0] == '\0')
        return nf_fail(err, NF_ERR_INVAL,
                       "empty name (want SIZER[:k=v,...][+PACER[:k=v,...]])");
    half_p->name = text;
    half_p->params = colon != NULL ? colon + 1 : NULL;
    return NF_OK;
}

/* The '+' between the halves; that of a number ("1e+5") is none. */
static char *find_plus(char *text)
{
    for (char *c = strchr(text, '+'); c != NULL; c = strchr(c + 1, '+'))
        if (c[1] < '0' || c[1] > '9')
            return c;
    return NULL;
}

/* What the alias wants instead of the pacer's own default. */
static void set_pacer_default(struct target *target)
{
    const struct nf_param *params = target->pacer->params;
    size_t length = strcspn(target->pacer_default, "=");
    int i = nf_param_find(params, target->pacer_default, length);
    enum nf_status status = NF_ERR_INVAL;

    if (i >= 0)
        status = nf_param_parse(&params[i], target->pacer_default + length + 1,
                                &target->policy->pacer_values[i], NULL);
    assert(status == NF_OK); /* a bug in nf_policy_alias_table */
    (void)status;
}

static enum nf_status parse_halves(char *text, struct target *target,
                                   struct nf_error *err)
{
    struct half halves[2] = { { .name = NULL } };
    char *plus = find_plus(text);
    enum nf_status status;
    const struct nf_sizer_ops *sizer;
    const struct nf_pacer_ops *pacer;

    if (plus != NULL) {
        *plus = '\0';
        if (find_plus(plus + 1) != NULL)
            return nf_fail(err, NF_ERR_INVAL, "want one \"+\" at most");
        status = cut_half(plus + 1, &halves[1], err);
        if (status != NF_OK)
            return status;
    }
    status = cut_half(text, &halves[0], err);
    if (status != NF_OK)
        return status;
    status = plus != NULL ? resolve_two(halves, target, err)
                          : resolve_one(&halves[0], target, err);
    if (status != NF_OK)
        return status;
    sizer = target->policy->sizer = target->sizer;
    pacer = target->policy->pacer = target->pacer;
    assert(sizer != NULL && pacer != NULL);
    nf_param_set_defaults(sizer->params, target->policy->sizer_values);
    nf_param_set_defaults(pacer->params, target->policy->pacer_values);
    if (target->pacer_default != NULL)
        set_pacer_default(target);
    if (plus == NULL)
        return set_params(target, &halves[0], err);
    target->pacer = NULL;
    status = set_params(target, &halves[0], err);
    if (status != NF_OK)
        return status;
    target->sizer = NULL;
    target->pacer = pacer;
    return set_params(target, &halves[1], err);
}

/* Only what a specification is made of: errors quote it, in one line. */
static enum nf_status check_text(const char *spec, struct nf_error *err)
{
    if (strlen(spec) >= NF_POLICY_SPEC_BYTES)
        return nf_fail(err, NF_ERR_INVAL, "policy: longer than %d characters",
                       NF_POLICY_SPEC_BYTES - 1);
    for (const char *c = spec; *c != '\0'; c++)
        if (*c < ' ' || *c > '~')
            return nf_fail(err, NF_ERR_INVAL,
                           "policy: byte 0x%02x is not allowed",
                           (unsigned)(unsigned char)*c);
    if (strchr(spec, ' ') != NULL)
        return nf_fail(err, NF_ERR_INVAL,
                       "policy \"%s\": blanks are not allowed", spec);
    return NF_OK;
}

enum nf_status nf_policy_parse(const char *spec, struct nf_policy *policy_p,
                               struct nf_error *err)
{
    char text[NF_POLICY_SPEC_BYTES];
    struct nf_policy policy = { 0 };
    struct target target = { .policy = &policy };
    struct nf_error reason;
    enum nf_status status = check_text(spec, err);

    if (status != NF_OK)
        return status;
    memcpy(text, spec, strlen(spec) + 1);
    memcpy(policy.spec, spec, strlen(spec) + 1);
    status = parse_halves(text, &target, &reason);
    if (status != NF_OK)
        return nf_fail(err, status, "policy \"%s\": %.120s", spec, reason.text);
    policy.grain_units = 1;
    if (policy.sizer == &nf_sizer_fixed || policy.sizer == &nf_sizer_cyclic)
        policy.grain_units = policy.sizer_values[0].count;
    *policy_p = policy;
    return NF_OK;
}
