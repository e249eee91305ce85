/* Models: what they say, and what two links have in common. */
#include "config.h"
#include "common/model/model.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

double nf_model_send_us(const struct nf_model *model, double bytes)
{
    uint32_t i = model->npieces - 1;

    while (i > 0 && bytes < model->pieces[i].from_bytes)
        i--;
    return model->pieces[i].start_us + model->pieces[i].byte_us * bytes;
}

double nf_model_delta(const struct nf_model *model,
                      const struct nf_model_sample *exchanges, size_t count)
{
    double delta = 1;

    for (size_t i = 0; i < count; i++)
        delta = fmax(delta, exchanges[i].time_us /
                                nf_model_send_us(model, exchanges[i].bytes));
    return fmin(delta, 2);
}

/* ---- combining ---- */

static bool is_name(const char *stored, const char *name)
{
    return strncmp(stored, name, NF_MODEL_NAME_BYTES - 1) == 0;
}

double nf_model_combine_byte_us(const struct nf_model *model, const char *type,
                                const char *operation)
{
    double of_type = -1, of_all = 0;

    for (uint32_t i = 0; i < model->ncombines; i++) {
        const struct nf_model_combine *combine = &model->combines[i];

        of_all = fmax(of_all, combine->byte_us);
        if (!is_name(combine->type, type))
            continue;
        if (is_name(combine->operation, operation))
            return combine->byte_us;
        of_type = fmax(of_type, combine->byte_us);
    }
    return of_type >= 0 ? of_type : of_all;
}

enum nf_status nf_model_set_combine(struct nf_model *model, const char *type,
                                    const char *operation, double byte_us)
{
    uint32_t i = 0;

    while (i < model->ncombines &&
           !(is_name(model->combines[i].type, type) &&
             is_name(model->combines[i].operation, operation)))
        i++;
    if (i == NF_MODEL_COMBINES_MAX)
        return NF_ERR_RANGE;
    snprintf(model->combines[i].type, NF_MODEL_NAME_BYTES, "%s", type);
    snprintf(model->combines[i].operation, NF_MODEL_NAME_BYTES, "%s",
             operation);
    model->combines[i].byte_us = byte_us;
    if (i == model->ncombines)
        model->ncombines++;
    return NF_OK;
}

/* ---- hosts ---- */

static bool is_first(const char *names, size_t stride, size_t i)
{
    for (size_t j = 0; j < i; j++)
        if (strcmp(names + j * stride, names + i * stride) == 0)
            return false;
    return true;
}

uint32_t nf_model_hosts_hash(const char *names, size_t stride, size_t count)
{
    uint32_t sum = 0;

    for (size_t i = 0; i < count; i++) {
        uint32_t hash = 2166136261u; /* FNV-1a */

        for (const char *c = names + i * stride; *c != '\0'; c++)
            hash = (hash ^ (uint8_t)*c) * 16777619u;
        if (is_first(names, stride, i))
            sum += hash;
    }
    return sum != 0 ? sum : 1;
}

/* ---- the worse of two links ---- */

/* Starts and bytes of the piece that is in force at @p bytes. */
static const struct nf_model_piece *piece_at(const struct nf_model *model,
                                             double bytes)
{
    uint32_t i = model->npieces - 1;

    while (i > 0 && bytes < model->pieces[i].from_bytes)
        i--;
    return &model->pieces[i];
}

/* At least as slow as both, from the beginning of the lower. */
static struct nf_model_piece slower(const struct nf_model_piece *a,
                                    const struct nf_model_piece *b)
{
    return (struct nf_model_piece){
        .from_bytes = fmin(a->from_bytes, b->from_bytes),
        .start_us = fmax(a->start_us, b->start_us),
        .byte_us = fmax(a->byte_us, b->byte_us),
    };
}

static double unlike(double a, double b)
{
    return fabs(a - b) / fmax(fmax(fabs(a), fabs(b)), 1e-9);
}

/* Join the two neighbours that are most alike. */
static uint32_t join_two(struct nf_model_piece *pieces, uint32_t count)
{
    uint32_t best = 0;
    double least = INFINITY;

    for (uint32_t i = 0; i + 1 < count; i++) {
        double difference = unlike(pieces[i].start_us, pieces[i + 1].start_us) +
                            unlike(pieces[i].byte_us, pieces[i + 1].byte_us);

        if (difference < least) {
            least = difference;
            best = i;
        }
    }
    pieces[best] = slower(&pieces[best], &pieces[best + 1]);
    memmove(&pieces[best + 1], &pieces[best + 2],
            (count - best - 2) * sizeof(*pieces));
    return count - 1;
}

void nf_model_worse(const struct nf_model *a, const struct nf_model *b,
                    struct nf_model *worse)
{
    struct nf_model_piece pieces[2 * NF_MODEL_PIECES_MAX] = { { 0, 0, 0 } };
    struct nf_model result = *a;
    uint32_t count = 0, i = 0, j = 0;

    while (i < a->npieces || j < b->npieces) {
        double next_a = i < a->npieces ? a->pieces[i].from_bytes : INFINITY;
        double next_b = j < b->npieces ? b->pieces[j].from_bytes : INFINITY;
        double from = fmin(next_a, next_b);

        pieces[count] = slower(piece_at(a, from), piece_at(b, from));
        pieces[count++].from_bytes = from;
        i += next_a <= from;
        j += next_b <= from;
    }
    while (count > NF_MODEL_PIECES_MAX)
        count = join_two(pieces, count);
    result.npieces = count;
    memcpy(result.pieces, pieces, count * sizeof(*pieces));
    result.delta = fmax(a->delta, b->delta);
    result.occupancy_us = fmax(a->occupancy_us, b->occupancy_us);
    result.share_us = fmax(a->share_us, b->share_us);
    result.share_part =
        a->share_us >= b->share_us ? a->share_part : b->share_part;
    *worse = result;
}

static uint32_t count_rounds(uint32_t members)
{
    uint32_t rounds = 0;

    while (rounds < 32 && UINT64_C(1) << rounds < members)
        rounds++;
    return rounds;
}

double nf_model_share_us(const struct nf_model *model, uint32_t members,
                         double barrier_us)
{
    uint32_t rounds = count_rounds(members);
    double us = barrier_us - (members - 2.0) * model->occupancy_us;

    if (us <= 1.5 * rounds * nf_model_send_us(model, 0))
        return 0;
    return us / rounds / members;
}

double nf_model_share_on(const struct nf_model *model, double part)
{
    if (model->share_part <= 0)
        return model->share_us;
    return model->share_us * (part / model->share_part);
}

uint32_t nf_model_fullest(const uint32_t *hosts, uint32_t members)
{
    uint32_t most = 1;

    for (uint32_t i = 0; hosts != NULL && i < members; i++) {
        uint32_t count = 0;

        for (uint32_t j = i; j < members; j++)
            count += hosts[j] == hosts[i];
        if (count > most)
            most = count;
    }
    return most;
}

uint32_t nf_model_least_full(const uint32_t *hosts, uint32_t members)
{
    uint32_t least = hosts != NULL ? members : 1;

    for (uint32_t i = 0; hosts != NULL && i < members; i++) {
        uint32_t count = 0;

        for (uint32_t j = 0; j < members; j++)
            count += hosts[j] == hosts[i];
        if (count < least)
            least = count;
    }
    return least;
}

double nf_model_fullest_part(const uint32_t *hosts, uint32_t members)
{
    return (double)nf_model_fullest(hosts, members) / members;
}
