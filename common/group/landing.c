/* Where payloads that are read from another's memory go at once. */
#include "config.h"
#include "common/group/group.h"

uint8_t *nf_group_landing(void *self, uint32_t member, const uint8_t *head,
                          size_t head_bytes, size_t bytes)
{
    const struct nf_group *group = self;
    struct nf_control control;
    struct nf_head decoded;
    bool is_control;

    if (nf_head_decode(head, head_bytes, &is_control, &decoded, &control) !=
            NF_OK ||
        is_control || nf_group_ends(group, decoded.epoch))
        return NULL;
    for (const struct nf_request *r = group->requests; r != NULL; r = r->next)
        if (r->epoch == decoded.epoch)
            return nf_exec_landing(&r->exec, member, &decoded, bytes);
    return NULL;
}

/* Nobody waits in vain for what is not read yet: its sender is in that call, and whoever
 * is in an earlier one goes on without it (early.c). */
bool nf_group_is_later(void *self, const uint8_t *head, size_t head_bytes)
{
    const struct nf_group *group = self;
    struct nf_control control;
    struct nf_head decoded;
    bool is_control;

    return nf_head_decode(head, head_bytes, &is_control, &decoded, &control) ==
               NF_OK &&
           !is_control && !nf_group_ends(group, decoded.epoch) &&
           nf_group_is_ahead(group, decoded.epoch);
}
