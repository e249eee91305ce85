/* The tables of all policies.  An algorithm joins by its line in the X-lists of
 * policy.h: constructors would silently vanish from a static archive. */
#include "config.h"
#include "common/policy/policy.h"
#include <string.h>

#define NF_SIZER_ENTRY(n) &nf_sizer_##n,
#define NF_PACER_ENTRY(n) &nf_pacer_##n,

const struct nf_sizer_ops *const nf_sizer_table[] = {
    NF_SIZER_LIST(NF_SIZER_ENTRY) NULL,
};

const struct nf_pacer_ops *const nf_pacer_table[] = {
    NF_PACER_LIST(NF_PACER_ENTRY) NULL,
};

const struct nf_policy_alias nf_policy_alias_table[] = {
    {
        .name = "send",
        .summary = "the next chunk after each result",
        .sizer = &nf_sizer_fixed,
        .pacer = &nf_pacer_pull,
    },
    {
        .name = "presend",
        .summary = "a chunk to every slot each td; td=auto: as the slot needs",
        .sizer = &nf_sizer_fixed,
        .pacer = &nf_pacer_timer,
        .other_word = "td=auto",
        .other_pacer = &nf_pacer_auto,
    },
    {
        .name = "presend-round",
        .summary = "the paper's loop: receive all, sleep td, send to all",
        .sizer = &nf_sizer_fixed,
        .pacer = &nf_pacer_round,
    },
    {
        .name = "auto",
        .summary = "adaptive preSend; the same as presend:td=auto",
        .sizer = &nf_sizer_fixed,
        .pacer = &nf_pacer_auto,
    },
    {
        .name = "gss",
        .summary = "guided self-scheduling",
        .sizer = &nf_sizer_gss,
        .pacer = &nf_pacer_pull,
    },
    {
        .name = "cyclic",
        .summary = "blocks dealt in turn, all sent at once",
        .sizer = &nf_sizer_cyclic,
        .pacer = &nf_pacer_window,
        .pacer_default = "w=0",
    },
    { .name = NULL },
};

const struct nf_sizer_ops *nf_sizer_find(const char *name)
{
    for (size_t i = 0; nf_sizer_table[i] != NULL; i++)
        if (strcmp(nf_sizer_table[i]->name, name) == 0)
            return nf_sizer_table[i];
    return NULL;
}

const struct nf_pacer_ops *nf_pacer_find(const char *name)
{
    for (size_t i = 0; nf_pacer_table[i] != NULL; i++)
        if (strcmp(nf_pacer_table[i]->name, name) == 0)
            return nf_pacer_table[i];
    return NULL;
}
