#include "config.h"
#include "apps/collbench/probe_word.h"
#include "common/base/endian.h"

enum { MAGIC = 0x6e665003 }; /* "nfP", version 3 */

void probe_word_encode(const struct probe_word *word,
                       uint8_t to[PROBE_HEAD_BYTES])
{
    const struct probe_act *act = &word->act;
    const uint32_t fields[PROBE_HEAD_BYTES / 4] = {
        MAGIC,         (uint32_t)word->kind << 16 | (uint32_t)act->kind,
        word->number,  word->bytes,
        act->partner,  act->bytes,
        act->count,    act->warm,
        act->delay_us, act->run,
    };

    for (size_t i = 0; i < PROBE_HEAD_BYTES / 4; i++)
        nf_store_le32(to + 4 * i, fields[i]);
}

bool probe_word_decode(const struct nf_mesh_message *message, uint32_t ranks,
                       struct probe_word *word_p)
{
    size_t bytes = message->payload != NULL ? message->payload->bytes : 0;
    uint32_t fields[PROBE_HEAD_BYTES / 4];

    if (message->head_bytes != PROBE_HEAD_BYTES)
        return false;
    for (size_t i = 0; i < PROBE_HEAD_BYTES / 4; i++)
        fields[i] = nf_load_le32(message->head + 4 * i);
    if (fields[0] != MAGIC || fields[1] >> 16 >= PROBE_WORDS ||
        (fields[1] & 0xffff) >= PROBE_KINDS)
        return false;
    *word_p = (struct probe_word){
        .kind = (enum probe_word_kind)(fields[1] >> 16),
        .number = fields[2],
        .bytes = fields[3],
        .act = { .kind = (enum probe_kind)(fields[1] & 0xffff),
                 .partner = fields[4],
                 .bytes = fields[5],
                 .count = fields[6],
                 .warm = fields[7],
                 .delay_us = fields[8],
                 .run = fields[9] },
    };
    return word_p->act.partner < ranks && word_p->bytes <= PROBE_BYTES_MOST &&
           word_p->act.bytes <= PROBE_BYTES_MOST &&
           word_p->act.count <= PROBE_SAMPLES_MAX &&
           word_p->act.warm <= PROBE_SAMPLES_MAX &&
           (word_p->kind == PROBE_ASK ? bytes == 0 : bytes == word_p->bytes);
}
