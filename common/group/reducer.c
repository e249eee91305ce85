/* Results as vectors of flagged blocks, and the loops that combine them. */
#include "config.h"
#include "common/group/reducer.h"
#include <math.h>
#include <pthread.h>
#include <string.h>
#include "common/base/error.h"

enum {
    HEAD_BYTES = 16, /* the flag; so what follows is aligned for any type */
    BLOCK_BYTES = 8192 - HEAD_BYTES,
    UNITS_MOST = UINT32_MAX / 8, /* of an element: nf_group_define_type() */
};

/* Slaves of one process are threads, and each combines: one at a time calls the
 * application's function.  In turns, since a mutex alone may go to the same
 * thread for so long that the others are taken for dead. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t cond;
    uint64_t came, served;
} queue = { .lock = PTHREAD_MUTEX_INITIALIZER,
            .cond = PTHREAD_COND_INITIALIZER };

static void combine_own(const struct nf_app *app, void *inout, const void *in,
                        size_t bytes)
{
    uint64_t number;

    pthread_mutex_lock(&queue.lock);
    number = queue.came++;
    while (queue.served != number)
        pthread_cond_wait(&queue.cond, &queue.lock);
    pthread_mutex_unlock(&queue.lock);
    app->combine(inout, in, bytes);
    pthread_mutex_lock(&queue.lock);
    queue.served++;
    if (queue.came != queue.served)
        pthread_cond_broadcast(&queue.cond);
    pthread_mutex_unlock(&queue.lock);
}

enum nf_status nf_reducer_check(const struct nf_app *app, struct nf_error *err)
{
    if (app->combine_by == NF_COMBINE_NONE ||
        (app->combine_by == NF_COMBINE_OWN && app->combine == NULL))
        return nf_fail(
            err, NF_ERR_INVAL,
            "gather reduce: %s does not say how results are combined",
            app->name);
    if (app->combine_by != NF_COMBINE_OWN && app->result_type == NF_BYTES)
        return nf_fail(err, NF_ERR_INVAL,
                       "gather reduce: results of %s are bytes, no numbers",
                       app->name);
    return NF_OK;
}

size_t nf_reducer_most_bytes(const struct nf_app *app)
{
    return app->combine_by == NF_COMBINE_OWN
               ? UNITS_MOST * nf_type_bytes(app->result_type) - HEAD_BYTES
               : SIZE_MAX / 4;
}

enum nf_status nf_reducer_init(struct nf_reducer *r, const struct nf_app *app,
                               size_t bytes)
{
    size_t unit_bytes = nf_type_bytes(app->result_type), units;

    if (bytes == 0 || bytes % unit_bytes != 0)
        return NF_ERR_INVAL;
    if (bytes > nf_reducer_most_bytes(app))
        return NF_ERR_RANGE;
    units = bytes / unit_bytes;
    if (app->combine_by != NF_COMBINE_OWN && units > BLOCK_BYTES / unit_bytes)
        units = BLOCK_BYTES / unit_bytes;
    *r = (struct nf_reducer){
        .app = app,
        .bytes = bytes,
        .unit_bytes = unit_bytes,
        .block_bytes = units * unit_bytes,
        .count = (bytes - 1) / (units * unit_bytes) + 1,
    };
    return NF_OK;
}

/* x := x combined with y, for numbers that may be compared and added. */
#define COMBINE(T, S, LESS)                                                    \
    for (size_t i = 0; i < bytes / sizeof(T); i++) {                           \
        T x, y;                                                                \
                                                                               \
        memcpy(&x, (uint8_t *)inout + i * sizeof(T), sizeof(T));               \
        memcpy(&y, (const uint8_t *)in + i * sizeof(T), sizeof(T));            \
        if (by == NF_COMBINE_SUM)                                              \
            x = (T)((S)x + (S)y);                                              \
        else if (by == NF_COMBINE_MIN ? LESS(y, x) : LESS(x, y))               \
            x = y;                                                             \
        memcpy((uint8_t *)inout + i * sizeof(T), &x, sizeof(T));               \
    }
#define LESS(a, b) ((a) < (b))

static void combine_int16(enum nf_combine by, void *inout, const void *in,
                          size_t bytes)
{
    COMBINE(int16_t, uint16_t, LESS)
}

static void combine_int32(enum nf_combine by, void *inout, const void *in,
                          size_t bytes)
{
    COMBINE(int32_t, uint32_t, LESS)
}

static void combine_int64(enum nf_combine by, void *inout, const void *in,
                          size_t bytes)
{
    COMBINE(int64_t, uint64_t, LESS)
}

/* isnan of the one that would stay: fmin and fmax, so that a NaN loses. */
static void combine_float32(enum nf_combine by, void *inout, const void *in,
                            size_t bytes)
{
#define LESS32(a, b) ((a) < (b) || (by == NF_COMBINE_MIN ? isnan(b) : isnan(a)))
    COMBINE(float, float, LESS32)
}

static void combine_float64(enum nf_combine by, void *inout, const void *in,
                            size_t bytes)
{
    COMBINE(double, double, LESS32)
}

void nf_reducer_combine(const struct nf_app *app, void *inout, const void *in,
                        size_t bytes)
{
    if (app->combine_by == NF_COMBINE_OWN) {
        combine_own(app, inout, in, bytes);
        return;
    }
    switch (app->result_type) {
    case NF_INT16:
        combine_int16(app->combine_by, inout, in, bytes);
        break;
    case NF_INT32:
        combine_int32(app->combine_by, inout, in, bytes);
        break;
    case NF_INT64:
        combine_int64(app->combine_by, inout, in, bytes);
        break;
    case NF_FLOAT32:
        combine_float32(app->combine_by, inout, in, bytes);
        break;
    case NF_FLOAT64:
        combine_float64(app->combine_by, inout, in, bytes);
        break;
    case NF_BYTES:
        break; /* nf_reducer_check() */
    }
}

static size_t elem_bytes(const struct nf_reducer *r)
{
    return HEAD_BYTES + r->block_bytes;
}

size_t nf_reducer_vector_bytes(const struct nf_reducer *r)
{
    return r->count * elem_bytes(r);
}

/* Bytes of the result in block i: the last one may be padded. */
static size_t used_bytes(const struct nf_reducer *r, size_t i)
{
    size_t left = r->bytes - i * r->block_bytes;

    return left < r->block_bytes ? left : r->block_bytes;
}

static bool is_set(const uint8_t *elem)
{
    for (size_t i = 0; i < HEAD_BYTES; i++)
        if (elem[i] != 0)
            return true;
    return false;
}

void nf_reducer_pack(const struct nf_reducer *r, const void *result,
                     uint8_t *vector_p)
{
    memset(vector_p, 0, nf_reducer_vector_bytes(r));
    for (size_t i = 0; i < r->count && result != NULL; i++)
        nf_reducer_add(r, result, i, vector_p);
}

void nf_reducer_add(const struct nf_reducer *r, const void *result, size_t i,
                    uint8_t *vector)
{
    const uint8_t *from = (const uint8_t *)result + i * r->block_bytes;
    uint8_t *elem = vector + i * elem_bytes(r);

    if (is_set(elem))
        nf_reducer_combine(r->app, elem + HEAD_BYTES, from, used_bytes(r, i));
    else
        memcpy(elem + HEAD_BYTES, from, used_bytes(r, i));
    elem[0] = 1; /* wherever that ends up in another byte order */
}

bool nf_reducer_unpack(const struct nf_reducer *r, const uint8_t *vector,
                       uint8_t *result_p)
{
    bool any = true;

    for (size_t i = 0; i < r->count; i++) {
        const uint8_t *elem = vector + i * elem_bytes(r);

        any = any && is_set(elem);
        memcpy(result_p + i * r->block_bytes, elem + HEAD_BYTES,
               used_bytes(r, i));
    }
    return any;
}

/* An operator of the group: in and inout are elements. */
static void combine_elements(const void *in, void *inout, size_t count,
                             int type, void *user)
{
    const struct nf_reducer *r = user;

    (void)type;
    for (size_t i = 0; i < count; i++) {
        const uint8_t *from = (const uint8_t *)in + i * elem_bytes(r);
        uint8_t *to = (uint8_t *)inout + i * elem_bytes(r);

        if (!is_set(from))
            continue;
        if (is_set(to))
            nf_reducer_combine(r->app, to + HEAD_BYTES, from + HEAD_BYTES,
                               r->block_bytes);
        else
            memcpy(to, from, elem_bytes(r));
    }
}

enum nf_status nf_reducer_define(struct nf_reducer *r, struct nf_group *group,
                                 int *type_p, int *op_p)
{
    size_t units = elem_bytes(r) / r->unit_bytes;
    enum nf_status status = nf_group_define_type(
        group, (uint32_t)units, (uint32_t)r->unit_bytes, type_p);

    if (status == NF_OK)
        status = nf_group_define_operator(group, combine_elements, 1, r, op_p);
    return status;
}
