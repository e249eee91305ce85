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

/* Whoever is in an earlier call goes on without it, and its sender is in that call or has
 * begun it (early.c).  Who is in no call may be waited for by who goes on when it is read,
 * so it is; and so are sizes, which come before what they are of. */
bool nf_group_is_later(void *self, const uint8_t *head, size_t head_bytes)
{
    const struct nf_group *group = self;
    struct nf_control control;
    struct nf_head decoded;
    bool is_control;

    return nf_head_decode(head, head_bytes, &is_control, &decoded, &control) ==
               NF_OK &&
           !is_control && (decoded.segment & NF_HEAD_SIZES) == 0 &&
           !nf_group_ends(group, decoded.epoch) &&
           (group->requests != NULL || group->starting) &&
           nf_group_is_ahead(group, decoded.epoch);
}
