/* Heads of messages: data 40 bytes, or 20 of all but a call's first to a member;
 * control 32 and 4 for each rank named or a bit for each member. */
#include "config.h"
#include "common/group/head.h"
#include <string.h>
#include "common/base/endian.h"

enum {
    CONTROL_MAGIC = NF_GROUP_MAGIC ^ 0x20000000,
    BRIEF_MAGIC = NF_GROUP_MAGIC ^ 0x40000000,
    CONTROL_BYTES = 32
};

/* FNV-1a, a word at a time. */
uint32_t nf_head_digest(const struct nf_head *head)
{
    const uint32_t words[] = { (uint32_t)head->op << 24 |
                                   (uint32_t)head->algorithm << 16 |
                                   head->flags,
                               head->table, head->root, head->code };
    uint32_t digest = 2166136261u;

    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
        digest = (digest ^ words[i]) * 16777619u;
    return digest;
}

static size_t encode_brief(const struct nf_head *head, uint8_t *to)
{
    nf_store_be32(to, BRIEF_MAGIC);
    nf_store_be32(to + 4, head->epoch);
    nf_store_be32(to + 8, head->step);
    nf_store_be32(to + 12, head->segment);
    nf_store_be32(to + 16, head->digest);
    return NF_HEAD_BRIEF_BYTES;
}

static void decode_brief(const uint8_t *from, struct nf_head *head)
{
    *head = (struct nf_head){
        .brief = true,
        .epoch = nf_load_be32(from + 4),
        .step = nf_load_be32(from + 8),
        .segment = nf_load_be32(from + 12),
        .digest = nf_load_be32(from + 16),
    };
}

size_t nf_head_encode(const struct nf_head *head, uint8_t to[NF_HEAD_BYTES])
{
    if (head->brief)
        return encode_brief(head, to);
    nf_store_be32(to, NF_GROUP_MAGIC);
    to[4] = head->op;
    to[5] = head->algorithm;
    nf_store_be16(to + 6, head->flags);
    nf_store_be32(to + 8, head->epoch);
    nf_store_be32(to + 12, head->table);
    nf_store_be32(to + 16, head->root);
    nf_store_be32(to + 20, head->step);
    nf_store_be32(to + 24, head->segment);
    nf_store_be32(to + 28, head->code);
    nf_store_be64(to + 32, head->bytes);
    return NF_HEAD_BYTES;
}

static void decode_head(const uint8_t *from, struct nf_head *head)
{
    head->brief = false;
    head->op = from[4];
    head->algorithm = from[5];
    head->flags = nf_load_be16(from + 6);
    head->epoch = nf_load_be32(from + 8);
    head->table = nf_load_be32(from + 12);
    head->root = nf_load_be32(from + 16);
    head->step = nf_load_be32(from + 20);
    head->segment = nf_load_be32(from + 24);
    head->code = nf_load_be32(from + 28);
    head->bytes = nf_load_be64(from + 32);
}

/* What follows the numbers. */
static size_t tail_bytes(const struct nf_control *control)
{
    return nf_control_has_bits(control->kind) ? (control->nranks + 7) / 8
                                              : 4 * (size_t)control->nranks;
}

size_t nf_control_encode(const struct nf_control *control,
                         uint8_t to[NF_CONTROL_BYTES_MAX])
{
    size_t tail = tail_bytes(control);

    nf_store_be32(to, CONTROL_MAGIC);
    to[4] = (uint8_t)control->kind;
    to[5] = (uint8_t)control->state;
    nf_store_be16(to + 6, 0);
    nf_store_be32(to + 8, control->nonce);
    nf_store_be32(to + 12, control->epoch);
    nf_store_be32(to + 16, control->awaits);
    nf_store_be32(to + 20, (uint32_t)-control->reason);
    nf_store_be32(to + 24, control->nranks);
    nf_store_be32(to + 28, control->progress);
    if (nf_control_has_bits(control->kind))
        memcpy(to + CONTROL_BYTES, control->bits, tail);
    else
        for (uint32_t i = 0; i < control->nranks; i++)
            nf_store_be32(to + CONTROL_BYTES + 4 * i, control->ranks[i]);
    return CONTROL_BYTES + tail;
}

static enum nf_status decode_control(const uint8_t *from, size_t bytes,
                                     struct nf_control *control)
{
    uint32_t reason = nf_load_be32(from + 20);
    bool has_bits;

    if (from[4] >= NF_CONTROL_KINDS || from[5] >= NF_CONTROL_STATES ||
        reason > -NF_ERR_REVOKED)
        return NF_ERR_PROTOCOL;
    *control = (struct nf_control){
        .kind = (enum nf_control_kind)from[4],
        .nonce = nf_load_be32(from + 8),
        .epoch = nf_load_be32(from + 12),
        .state = (enum nf_control_state)from[5],
        .awaits = nf_load_be32(from + 16),
        .reason = (enum nf_status) - (int)reason,
        .nranks = nf_load_be32(from + 24),
        .progress = nf_load_be32(from + 28),
    };
    has_bits = nf_control_has_bits(control->kind);
    if (control->nranks >
            (has_bits ? NF_CONTROL_BITS_MAX : NF_CONTROL_RANKS_MAX) ||
        bytes != CONTROL_BYTES + tail_bytes(control))
        return NF_ERR_PROTOCOL;
    if (has_bits)
        control->bits = from + CONTROL_BYTES;
    for (uint32_t i = 0; i < control->nranks && !has_bits; i++)
        control->ranks[i] = nf_load_be32(from + CONTROL_BYTES + 4 * i);
    return NF_OK;
}

enum nf_status nf_head_decode(const uint8_t *from, size_t bytes,
                              bool *is_control_p, struct nf_head *head_p,
                              struct nf_control *control_p)
{
    if (bytes >= CONTROL_BYTES && nf_load_be32(from) == CONTROL_MAGIC) {
        *is_control_p = true;
        return decode_control(from, bytes, control_p);
    }
    *is_control_p = false;
    if (bytes == NF_HEAD_BRIEF_BYTES && nf_load_be32(from) == BRIEF_MAGIC) {
        decode_brief(from, head_p);
        return NF_OK;
    }
    if (bytes != NF_HEAD_BYTES || nf_load_be32(from) != NF_GROUP_MAGIC)
        return NF_ERR_PROTOCOL;
    decode_head(from, head_p);
    return NF_OK;
}
