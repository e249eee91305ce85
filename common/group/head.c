/* Heads of messages: data 40 bytes, control 32 and 4 for each rank
 * named or a bit for each member. */
#include "config.h"
#include "common/group/head.h"
#include <string.h>

enum { CONTROL_MAGIC = NF_GROUP_MAGIC ^ 0x20000000, CONTROL_BYTES = 32 };

static void put16(uint8_t *to, uint32_t x)
{
    to[0] = (uint8_t)(x >> 8);
    to[1] = (uint8_t)x;
}

static void put32(uint8_t *to, uint32_t x)
{
    put16(to, x >> 16);
    put16(to + 2, x);
}

static uint32_t get16(const uint8_t *from)
{
    return (uint32_t)from[0] << 8 | from[1];
}

static uint32_t get32(const uint8_t *from)
{
    return get16(from) << 16 | get16(from + 2);
}

void nf_head_encode(const struct nf_head *head, uint8_t to[NF_HEAD_BYTES])
{
    put32(to, NF_GROUP_MAGIC);
    to[4] = head->op;
    to[5] = head->algorithm;
    put16(to + 6, head->flags);
    put32(to + 8, head->epoch);
    put32(to + 12, head->table);
    put32(to + 16, head->root);
    put32(to + 20, head->step);
    put32(to + 24, head->segment);
    put32(to + 28, head->code);
    put32(to + 32, (uint32_t)(head->bytes >> 32));
    put32(to + 36, (uint32_t)head->bytes);
}

static void decode_head(const uint8_t *from, struct nf_head *head)
{
    head->op = from[4];
    head->algorithm = from[5];
    head->flags = (uint16_t)get16(from + 6);
    head->epoch = get32(from + 8);
    head->table = get32(from + 12);
    head->root = get32(from + 16);
    head->step = get32(from + 20);
    head->segment = get32(from + 24);
    head->code = get32(from + 28);
    head->bytes = (uint64_t)get32(from + 32) << 32 | get32(from + 36);
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

    put32(to, CONTROL_MAGIC);
    to[4] = (uint8_t)control->kind;
    to[5] = (uint8_t)control->state;
    put16(to + 6, 0);
    put32(to + 8, control->nonce);
    put32(to + 12, control->epoch);
    put32(to + 16, control->awaits);
    put32(to + 20, (uint32_t)-control->reason);
    put32(to + 24, control->nranks);
    put32(to + 28, control->progress);
    if (nf_control_has_bits(control->kind))
        memcpy(to + CONTROL_BYTES, control->bits, tail);
    else
        for (uint32_t i = 0; i < control->nranks; i++)
            put32(to + CONTROL_BYTES + 4 * i, control->ranks[i]);
    return CONTROL_BYTES + tail;
}

static enum nf_status decode_control(const uint8_t *from, size_t bytes,
                                     struct nf_control *control)
{
    uint32_t reason = get32(from + 20);
    bool has_bits;

    if (from[4] >= NF_CONTROL_KINDS || from[5] > NF_STATE_BLOCKED ||
        reason > -NF_ERR_REVOKED)
        return NF_ERR_PROTOCOL;
    *control = (struct nf_control){
        .kind = (enum nf_control_kind)from[4],
        .nonce = get32(from + 8),
        .epoch = get32(from + 12),
        .state = (enum nf_control_state)from[5],
        .awaits = get32(from + 16),
        .reason = (enum nf_status) - (int)reason,
        .nranks = get32(from + 24),
        .progress = get32(from + 28),
    };
    has_bits = nf_control_has_bits(control->kind);
    if (control->nranks >
            (has_bits ? NF_CONTROL_BITS_MAX : NF_CONTROL_RANKS_MAX) ||
        bytes != CONTROL_BYTES + tail_bytes(control))
        return NF_ERR_PROTOCOL;
    if (has_bits)
        control->bits = from + CONTROL_BYTES;
    for (uint32_t i = 0; i < control->nranks && !has_bits; i++)
        control->ranks[i] = get32(from + CONTROL_BYTES + 4 * i);
    return NF_OK;
}

enum nf_status nf_head_decode(const uint8_t *from, size_t bytes,
                              bool *is_control_p, struct nf_head *head_p,
                              struct nf_control *control_p)
{
    if (bytes >= CONTROL_BYTES && get32(from) == CONTROL_MAGIC) {
        *is_control_p = true;
        return decode_control(from, bytes, control_p);
    }
    if (bytes != NF_HEAD_BYTES || get32(from) != NF_GROUP_MAGIC)
        return NF_ERR_PROTOCOL;
    *is_control_p = false;
    decode_head(from, head_p);
    return NF_OK;
}
