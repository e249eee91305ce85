/* The messages: round trips, truncations, and noise. */
#include "config.h"
#include "common/wire/wire.h"
#include <stdio.h>
#include <string.h>
#include "common/base/alloc.h"
#include "common/base/endian.h"
#include "tests/unit/nf_unit.h"

/* One of each message, encoded, with its decoder behind one signature. */
enum { SAMPLES = 16 };

struct sample {
    const char *name;
    struct nf_body body;
    enum nf_status (*decode)(const uint8_t *data, size_t bytes);
};

static const uint64_t ragged[3] = { 5, 0, UINT64_C(0x123456789abcdef) };
static const uint64_t equal[3] = { 7, 7, 7 };

static const struct nf_hello hello = { NF_WIRE_VERSION, "1.2.3", 4, 5, 6,
                                       "host.example" };
static const struct nf_job_msg job = { "matmul", 3,         2,     1000000,
                                       6000000,  250000000, true,  true,
                                       true,     33000,     250000,
                                       12,       3 };
static const struct nf_lease_msg lease = { 11, UINT64_C(1) << 60,        3, 2,
                                           1,  { NF_LAYOUT_TABLE, NULL } };
static const struct nf_result_msg result = {
    11, 12, 3, true, 13, -1, 15, 1.5, 2.25, { NF_LAYOUT_TABLE, NULL }
};
static const uint64_t ranges[] = { 0, 3, 4, 1, UINT64_C(1) << 40, 9 };
static const int tids[] = { 0x40001, 0x80002, 0xc0003 };
static const struct nf_gather_msg gather = { .round = 5, .nranges = 3 };
static const struct nf_holding_msg holding = {
    .round = 5, .count = 3, .bytes = 77, .layout = { NF_LAYOUT_TABLE, NULL }
};
static const uint8_t tree[] = { 1, 0, 0, 0, 0, 0, 0, 0, 1, 0,
                                0, 0, 2, 0, 0, 0, 1, 0, 0, 0 };
static const struct nf_group_msg group = { .purpose = NF_GROUP_SHARED,
                                           .id = 6,
                                           .round = 7,
                                           .bytes = 8,
                                           .timeout_us = 9,
                                           .cookie = 10,
                                           .context = 11,
                                           .rank = 2,
                                           .count = 3,
                                           .tree = tree };
static const uint32_t holders[] = { 1, 0, 1 };
static const uint32_t homes[] = { 0, NF_GROUP_NOBODY, 1 };
static const struct nf_exchange_msg exchange = {
    .round = 3,
    .phase = 2,
    .rank = 1,
    .count = 2,
    .algorithms = "alltoall.mixed:radices=2x3<77,alltoall.burst",
    .units = 3
};
static const struct nf_exchanged_msg exchanged = { 3, 4, 5, 6, 7 };
static const struct nf_group_end_msg group_end = { 6, 7, "alone" };
static const struct nf_unit_failed_msg failed = { 11,   12,    -13,
                                                  true, false, "no licence" };

/* Decode into memory of exactly `bytes` bytes, so that sanitizers see the
 * first byte read too much. */
#define DECODER(noun, type)                                                    \
    static enum nf_status decode_##noun(const uint8_t *data, size_t bytes)     \
    {                                                                          \
        uint8_t *copy = nf_malloc(bytes);                                      \
        struct type m;                                                         \
        enum nf_status status;                                                 \
                                                                               \
        memcpy(copy, data, bytes);                                             \
        status = nf_get_##noun(copy, bytes, &m);                               \
        nf_free(copy);                                                         \
        return status;                                                         \
    }
DECODER(hello, nf_hello)
DECODER(job, nf_job_msg)
DECODER(ready, nf_ready_msg)
DECODER(text, nf_text_msg)
DECODER(unit_failed, nf_unit_failed_msg)
DECODER(cancel, nf_cancel_msg)
DECODER(group_end, nf_group_end_msg)
DECODER(exchanged, nf_exchanged_msg)

/* These two also read every size that they have been promised. */
#define LAYOUT_DECODER(noun, type)                                             \
    static enum nf_status decode_##noun(const uint8_t *data, size_t bytes)     \
    {                                                                          \
        uint8_t *copy = nf_malloc(bytes);                                      \
        struct type m;                                                         \
        enum nf_status status;                                                 \
                                                                               \
        memcpy(copy, data, bytes);                                             \
        status = nf_get_##noun(copy, bytes, &m);                               \
        if (status == NF_OK)                                                   \
            (void)nf_layout_fits(&m.layout, m.count, UINT64_MAX);              \
        nf_free(copy);                                                         \
        return status;                                                         \
    }
LAYOUT_DECODER(lease, nf_lease_msg)
LAYOUT_DECODER(result, nf_result_msg)
LAYOUT_DECODER(holding, nf_holding_msg)

static enum nf_status decode_gather(const uint8_t *data, size_t bytes)
{
    uint8_t *copy = nf_malloc(bytes);
    struct nf_gather_msg m;
    uint64_t first, count;
    enum nf_status status;

    memcpy(copy, data, bytes);
    status = nf_get_gather(copy, bytes, &m);
    for (uint64_t i = 0; status == NF_OK && i < m.nranges; i++)
        nf_gather_range(&m, i, &first, &count);
    nf_free(copy);
    return status;
}

static enum nf_status decode_exchange(const uint8_t *data, size_t bytes)
{
    uint8_t *copy = nf_malloc(bytes);
    struct nf_exchange_msg m;
    enum nf_status status;

    memcpy(copy, data, bytes);
    status = nf_get_exchange(copy, bytes, &m);
    for (uint64_t i = 0; status == NF_OK && i < m.units; i++)
        (void)nf_exchange_rank(m.homes, i);
    nf_free(copy);
    return status;
}

static enum nf_status decode_group(const uint8_t *data, size_t bytes)
{
    uint8_t *copy = nf_malloc(bytes);
    struct nf_group_msg m;
    enum nf_status status;

    memcpy(copy, data, bytes);
    status = nf_get_group(copy, bytes, &m);
    for (uint32_t i = 0; status == NF_OK && i < m.count; i++)
        (void)nf_group_tid(&m, i);
    for (size_t i = 0; status == NF_OK && m.tree != NULL &&
                       i < nf_group_tree_words(m.count);
         i++)
        (void)nf_load_le32(m.tree + 4 * i);
    nf_free(copy);
    return status;
}

static void make_samples(struct sample *samples)
{
    struct nf_ready_msg ready = { 9 };
    struct nf_cancel_msg cancel = { UINT64_C(0x123456789abcdef0) };
    struct sample *s = samples;

    memset(samples, 0, SAMPLES * sizeof(*samples));
    *s++ = (struct sample){ "hello", { 0 }, decode_hello };
    *s++ = (struct sample){ "job", { 0 }, decode_job };
    *s++ = (struct sample){ "ready", { 0 }, decode_ready };
    *s++ = (struct sample){ "text", { 0 }, decode_text };
    *s++ = (struct sample){ "lease", { 0 }, decode_lease };
    *s++ = (struct sample){ "lease, equal", { 0 }, decode_lease };
    *s++ = (struct sample){ "result", { 0 }, decode_result };
    *s++ = (struct sample){ "result, equal", { 0 }, decode_result };
    *s++ = (struct sample){ "unit failed", { 0 }, decode_unit_failed };
    *s++ = (struct sample){ "cancel", { 0 }, decode_cancel };
    *s++ = (struct sample){ "gather", { 0 }, decode_gather };
    *s++ = (struct sample){ "holding", { 0 }, decode_holding };
    *s++ = (struct sample){ "group", { 0 }, decode_group };
    *s++ = (struct sample){ "group end", { 0 }, decode_group_end };
    *s++ = (struct sample){ "exchange", { 0 }, decode_exchange };
    *s++ = (struct sample){ "exchanged", { 0 }, decode_exchanged };
    CU_ASSERT_EQUAL(nf_put_hello(&samples[0].body, &hello), NF_OK);
    CU_ASSERT_EQUAL(nf_put_job(&samples[1].body, &job), NF_OK);
    CU_ASSERT_EQUAL(nf_put_ready(&samples[2].body, &ready), NF_OK);
    CU_ASSERT_EQUAL(nf_put_text(&samples[3].body, "no such app"), NF_OK);
    CU_ASSERT_EQUAL(nf_put_lease(&samples[4].body, &lease, ragged), NF_OK);
    CU_ASSERT_EQUAL(nf_put_lease(&samples[5].body, &lease, equal), NF_OK);
    CU_ASSERT_EQUAL(nf_put_result(&samples[6].body, &result, ragged), NF_OK);
    CU_ASSERT_EQUAL(nf_put_result(&samples[7].body, &result, equal), NF_OK);
    CU_ASSERT_EQUAL(nf_put_unit_failed(&samples[8].body, &failed), NF_OK);
    CU_ASSERT_EQUAL(nf_put_cancel(&samples[9].body, &cancel), NF_OK);
    CU_ASSERT_EQUAL(nf_put_gather(&samples[10].body, &gather, ranges), NF_OK);
    CU_ASSERT_EQUAL(nf_put_holding(&samples[11].body, &holding, ragged), NF_OK);
    CU_ASSERT_EQUAL(nf_put_group(&samples[12].body, &group, tids), NF_OK);
    CU_ASSERT_EQUAL(nf_put_group_end(&samples[13].body, &group_end), NF_OK);
    CU_ASSERT_EQUAL(
        nf_put_exchange(&samples[14].body, &exchange, holders, homes), NF_OK);
    CU_ASSERT_EQUAL(nf_put_exchanged(&samples[15].body, &exchanged), NF_OK);
}

static void free_samples(struct sample *samples)
{
    for (int i = 0; i < SAMPLES; i++)
        nf_body_fini(&samples[i].body);
}

static void test_round_trips(void)
{
    struct sample s[SAMPLES];
    struct nf_hello h;
    struct nf_job_msg j;
    struct nf_ready_msg r;
    struct nf_text_msg t;
    struct nf_unit_failed_msg f;
    struct nf_cancel_msg c;

    make_samples(s);
    CU_ASSERT_EQUAL(nf_get_hello(s[0].body.data, s[0].body.bytes, &h), NF_OK);
    CU_ASSERT_EQUAL(h.wire_version, NF_WIRE_VERSION);
    CU_ASSERT_STRING_EQUAL(h.version, "1.2.3");
    CU_ASSERT_TRUE(h.spawn_id == 4 && h.pid == 5 && h.cores == 6);
    CU_ASSERT_STRING_EQUAL(h.host, "host.example");
    CU_ASSERT_EQUAL(nf_get_job(s[1].body.data, s[1].body.bytes, &j), NF_OK);
    CU_ASSERT_EQUAL(j.emulated_unit_us, 33000);
    CU_ASSERT_EQUAL(j.emulated_speed, 250000);
    CU_ASSERT_STRING_EQUAL(j.app, "matmul");
    CU_ASSERT_TRUE(j.slots == 3 && j.host_slaves == 2 && j.has_shared);
    CU_ASSERT_TRUE(j.hold && j.combine);
    CU_ASSERT_EQUAL(j.heartbeat_us, 1000000);
    CU_ASSERT_EQUAL(j.master_silence_us, 6000000);
    CU_ASSERT_EQUAL(j.unit_timeout_us, 250000000);
    CU_ASSERT_EQUAL(nf_get_ready(s[2].body.data, s[2].body.bytes, &r), NF_OK);
    CU_ASSERT_EQUAL(r.slots, 9);
    CU_ASSERT_EQUAL(nf_get_text(s[3].body.data, s[3].body.bytes, &t), NF_OK);
    CU_ASSERT_STRING_EQUAL(t.text, "no such app");
    CU_ASSERT_EQUAL(nf_get_unit_failed(s[8].body.data, s[8].body.bytes, &f),
                    NF_OK);
    CU_ASSERT_TRUE(f.lease == 11 && f.unit == 12 && f.code == -13);
    CU_ASSERT_TRUE(f.timeout && !f.last);
    CU_ASSERT_STRING_EQUAL(f.reason, "no licence");
    CU_ASSERT_EQUAL(nf_get_cancel(s[9].body.data, s[9].body.bytes, &c), NF_OK);
    CU_ASSERT_EQUAL(c.lease, UINT64_C(0x123456789abcdef0));
    free_samples(s);
}

static void test_groups_round_trip(void)
{
    struct sample s[SAMPLES];
    struct nf_gather_msg g;
    struct nf_holding_msg h;
    struct nf_group_msg m;
    struct nf_group_end_msg e;
    uint64_t first, count;

    make_samples(s);
    CU_ASSERT_EQUAL(nf_get_gather(s[10].body.data, s[10].body.bytes, &g),
                    NF_OK);
    CU_ASSERT_TRUE(g.round == 5 && g.nranges == 3);
    for (uint64_t i = 0; i < 3; i++) {
        nf_gather_range(&g, i, &first, &count);
        CU_ASSERT_TRUE(first == ranges[2 * i] && count == ranges[2 * i + 1]);
    }
    CU_ASSERT_EQUAL(nf_get_holding(s[11].body.data, s[11].body.bytes, &h),
                    NF_OK);
    CU_ASSERT_TRUE(h.round == 5 && h.count == 3 && h.bytes == 77);
    CU_ASSERT_EQUAL(nf_layout_unit_bytes(&h.layout, 2), ragged[2]);
    CU_ASSERT_EQUAL(nf_get_group(s[12].body.data, s[12].body.bytes, &m), NF_OK);
    CU_ASSERT_TRUE(m.purpose == NF_GROUP_SHARED && m.id == 6 && m.round == 7);
    CU_ASSERT_TRUE(m.bytes == 8 && m.timeout_us == 9 && m.cookie == 10);
    CU_ASSERT_TRUE(m.context == 11 && m.rank == 2 && m.count == 3);
    for (uint32_t i = 0; i < 3; i++)
        CU_ASSERT_EQUAL(nf_group_tid(&m, i), tids[i]);
    CU_ASSERT_PTR_NOT_NULL_FATAL(m.tree);
    CU_ASSERT(memcmp(m.tree, tree, sizeof(tree)) == 0);
    CU_ASSERT_EQUAL(nf_get_group_end(s[13].body.data, s[13].body.bytes, &e),
                    NF_OK);
    CU_ASSERT_EQUAL(e.id, 6);
    CU_ASSERT_EQUAL(e.culprit, 7);
    CU_ASSERT_STRING_EQUAL(e.reason, "alone");
    free_samples(s);
}

static void test_exchanges_round_trip(void)
{
    struct sample s[SAMPLES];
    struct nf_exchange_msg x;
    struct nf_exchanged_msg told;

    make_samples(s);
    CU_ASSERT_EQUAL(nf_get_exchange(s[14].body.data, s[14].body.bytes, &x),
                    NF_OK);
    CU_ASSERT_TRUE(x.round == 3 && x.phase == 2 && x.rank == 1 && x.count == 2);
    CU_ASSERT_STRING_EQUAL(x.algorithms, exchange.algorithms);
    CU_ASSERT_EQUAL_FATAL(x.units, 3);
    for (uint64_t i = 0; i < 3; i++) {
        CU_ASSERT_EQUAL(nf_exchange_rank(x.holders, i), holders[i]);
        CU_ASSERT_EQUAL(nf_exchange_rank(x.homes, i), homes[i]);
    }
    CU_ASSERT_EQUAL(nf_get_exchanged(s[15].body.data, s[15].body.bytes, &told),
                    NF_OK);
    CU_ASSERT_TRUE(told.round == 3 && told.bytes == 4);
    CU_ASSERT_TRUE(told.largest_bytes == 5 && told.table_bytes == 6);
    CU_ASSERT_EQUAL(told.moving_us, 7);
    free_samples(s);
}

/* Ranges that overlap, or touch, or are empty; a rank that is none. */
static void test_nonsense_about_groups_is_refused(void)
{
    static const uint64_t bad[][4] = { { 0, 3, 2, 4 },
                                       { 0, 3, 3, 4 },
                                       { 5, 1, 0, 1 },
                                       { 0, 0, 2, 1 },
                                       { UINT64_MAX, 2, 4, 1 } };
    struct nf_gather_msg g = { .round = 1, .nranges = 2 };
    struct nf_group_msg m = group;
    struct nf_body body;

    nf_body_init(&body);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        CU_ASSERT_EQUAL(nf_put_gather(&body, &g, bad[i]), NF_OK);
        CU_ASSERT_EQUAL(nf_get_gather(body.data, body.bytes, &g),
                        NF_ERR_PROTOCOL);
    }
    m.rank = 3;
    CU_ASSERT_EQUAL(nf_put_group(&body, &m, tids), NF_OK);
    CU_ASSERT_EQUAL(nf_get_group(body.data, body.bytes, &m), NF_ERR_PROTOCOL);
    m = group;
    m.timeout_us = 0;
    CU_ASSERT_EQUAL(nf_put_group(&body, &m, tids), NF_OK);
    CU_ASSERT_EQUAL(nf_get_group(body.data, body.bytes, &m), NF_ERR_PROTOCOL);
    m = group; /* the tree is there, or not */
    CU_ASSERT_EQUAL(nf_put_group(&body, &m, tids), NF_OK);
    body.data[body.bytes - sizeof(tree) - 1] = 2;
    CU_ASSERT_EQUAL(nf_get_group(body.data, body.bytes, &m), NF_ERR_PROTOCOL);
    body.data[body.bytes - sizeof(tree) - 1] = 0;
    CU_ASSERT_EQUAL(nf_get_group(body.data, body.bytes, &m), NF_ERR_PROTOCOL);
    body.bytes -= sizeof(tree);
    CU_ASSERT_EQUAL(nf_get_group(body.data, body.bytes, &m), NF_OK);
    CU_ASSERT_PTR_NULL(m.tree);
    nf_body_fini(&body);
}

static void test_layouts(void)
{
    struct sample s[SAMPLES];
    struct nf_lease_msg l;
    struct nf_result_msg r;

    make_samples(s);
    CU_ASSERT_EQUAL(nf_get_lease(s[4].body.data, s[4].body.bytes, &l), NF_OK);
    CU_ASSERT_TRUE(l.lease == 11 && l.first == UINT64_C(1) << 60);
    CU_ASSERT_TRUE(l.count == 3 && l.slot == 2 && l.attempts == 1);
    CU_ASSERT_EQUAL(l.layout.unit_bytes, NF_LAYOUT_TABLE);
    for (uint64_t i = 0; i < 3; i++)
        CU_ASSERT_EQUAL(nf_layout_unit_bytes(&l.layout, i), ragged[i]);
    CU_ASSERT_TRUE(nf_layout_fits(&l.layout, 3, 5 + ragged[2]));
    CU_ASSERT_FALSE(nf_layout_fits(&l.layout, 3, 4 + ragged[2]));
    CU_ASSERT_FALSE(nf_layout_fits(&l.layout, 3, 6 + ragged[2]));
    CU_ASSERT_EQUAL(nf_get_result(s[6].body.data, s[6].body.bytes, &r), NF_OK);
    CU_ASSERT_TRUE(r.lease == 11 && r.first == 12 && r.count == 3 && r.last);
    CU_ASSERT_TRUE(r.compute_us == 13 && r.wait_us == -1 && r.idle_us == 15);
    CU_ASSERT_TRUE(r.mean_unit_us == 1.5 && r.m2_unit_us2 == 2.25);
    CU_ASSERT_EQUAL(nf_layout_unit_bytes(&r.layout, 2), ragged[2]);
    /* equal sizes need no table */
    CU_ASSERT_EQUAL(s[5].body.bytes, 40);
    CU_ASSERT_EQUAL(nf_get_lease(s[5].body.data, s[5].body.bytes, &l), NF_OK);
    CU_ASSERT_EQUAL(l.layout.unit_bytes, 7);
    CU_ASSERT_EQUAL(nf_get_result(s[7].body.data, s[7].body.bytes, &r), NF_OK);
    CU_ASSERT_EQUAL(nf_layout_unit_bytes(&r.layout, 2), 7);
    CU_ASSERT_TRUE(nf_layout_fits(&r.layout, 3, 21));
    CU_ASSERT_FALSE(nf_layout_fits(&r.layout, 3, 22));
    CU_ASSERT_FALSE(nf_layout_fits(&r.layout, 0, 0));
    free_samples(s);
}

/* Found by fuzz_wire: as one number it would be the mark of a table. */
static void test_sizes_like_the_mark_of_a_table_stay_a_table(void)
{
    const uint64_t sizes[2] = { NF_LAYOUT_TABLE, NF_LAYOUT_TABLE };
    struct nf_lease_msg m = { .lease = 1, .count = 2 }, again;
    struct nf_body body;

    m.layout.unit_bytes = NF_LAYOUT_TABLE;
    nf_body_init(&body);
    CU_ASSERT_EQUAL(nf_put_lease(&body, &m, sizes), NF_OK);
    CU_ASSERT_EQUAL(nf_get_lease(body.data, body.bytes, &again), NF_OK);
    CU_ASSERT_FALSE(nf_layout_fits(&again.layout, 2, UINT64_MAX));
    nf_body_fini(&body);
}

/* 2^63 units of 2 bytes are not 0 bytes. */
static void test_overflow_does_not_fit(void)
{
    struct nf_layout layout = { 2, NULL };
    struct nf_lease_msg m = lease, got;
    struct nf_body body;

    CU_ASSERT_FALSE(nf_layout_fits(&layout, UINT64_C(1) << 63, 0));
    nf_body_init(&body);
    m.first = UINT64_MAX - 2;
    m.layout.unit_bytes = 8;
    CU_ASSERT_EQUAL(nf_put_lease(&body, &m, NULL), NF_OK);
    CU_ASSERT_EQUAL(nf_get_lease(body.data, body.bytes, &got), NF_ERR_PROTOCOL);
    m.first = 0;
    m.count = 0;
    CU_ASSERT_EQUAL(nf_put_lease(&body, &m, NULL), NF_OK);
    CU_ASSERT_EQUAL(nf_get_lease(body.data, body.bytes, &got), NF_ERR_PROTOCOL);
    nf_body_fini(&body);
}

static void test_truncations_are_refused(void)
{
    struct sample s[SAMPLES];

    make_samples(s);
    for (int i = 0; i < SAMPLES; i++) {
        CU_ASSERT_EQUAL(s[i].decode(s[i].body.data, s[i].body.bytes), NF_OK);
        for (size_t bytes = 0; bytes < s[i].body.bytes; bytes++)
            CU_ASSERT_EQUAL(s[i].decode(s[i].body.data, bytes),
                            NF_ERR_PROTOCOL);
    }
    free_samples(s);
}

static void test_only_a_later_hello_may_be_longer(void)
{
    struct sample s[SAMPLES];
    struct nf_hello later = hello, got;
    struct nf_body body;
    uint8_t longer[1024];

    make_samples(s);
    for (int i = 0; i < SAMPLES; i++) {
        memcpy(longer, s[i].body.data, s[i].body.bytes);
        longer[s[i].body.bytes] = 0;
        CU_ASSERT_EQUAL(s[i].decode(longer, s[i].body.bytes + 1),
                        NF_ERR_PROTOCOL);
    }
    free_samples(s);
    nf_body_init(&body);
    later.wire_version = NF_WIRE_VERSION + 1;
    CU_ASSERT_EQUAL(nf_put_hello(&body, &later), NF_OK);
    memcpy(longer, body.data, body.bytes);
    CU_ASSERT_EQUAL(nf_get_hello(longer, body.bytes + 100, &got), NF_OK);
    CU_ASSERT_EQUAL(got.wire_version, NF_WIRE_VERSION + 1);
    nf_body_fini(&body);
}

static uint64_t next_random(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* Whatever is done to a message, every decoder reads only what is there and
 * says yes or no. */
static void test_mutations_never_crash(void)
{
    struct sample s[SAMPLES];
    uint64_t seed = 1, refused = 0, accepted = 0;
    uint8_t data[1024];

    make_samples(s);
    for (int round = 0; round < 100000; round++) {
        const struct sample *from = &s[next_random(&seed) % SAMPLES];
        const struct sample *as = &s[next_random(&seed) % SAMPLES];
        size_t bytes = from->body.bytes;
        enum nf_status status;

        memcpy(data, from->body.data, bytes);
        for (uint64_t n = next_random(&seed) % 4; n > 0; n--)
            data[next_random(&seed) % bytes] = (uint8_t)next_random(&seed);
        if (next_random(&seed) % 4 == 0)
            bytes = next_random(&seed) % (bytes + 1);
        status = as->decode(data, bytes);
        if (status == NF_OK)
            accepted++;
        else
            refused++;
        if (status != NF_OK && status != NF_ERR_PROTOCOL)
            CU_FAIL("a decoder says something else");
    }
    CU_ASSERT_TRUE(accepted > 1000 && refused > 1000);
    free_samples(s);
}

static void test_poison_is_refused(void)
{
    struct nf_result_msg m = result, got;
    struct nf_job_msg j = job, got_job;
    struct nf_body body;

    nf_body_init(&body);
    m.mean_unit_us = -1;
    CU_ASSERT_EQUAL(nf_put_result(&body, &m, ragged), NF_OK);
    CU_ASSERT_EQUAL(nf_get_result(body.data, body.bytes, &got),
                    NF_ERR_PROTOCOL);
    m = result;
    m.m2_unit_us2 = 1e308 * 10;
    CU_ASSERT_EQUAL(nf_put_result(&body, &m, ragged), NF_OK);
    CU_ASSERT_EQUAL(nf_get_result(body.data, body.bytes, &got),
                    NF_ERR_PROTOCOL);
    m = result;
    m.compute_us = -1;
    CU_ASSERT_EQUAL(nf_put_result(&body, &m, ragged), NF_OK);
    CU_ASSERT_EQUAL(nf_get_result(body.data, body.bytes, &got),
                    NF_ERR_PROTOCOL);
    j.heartbeat_us = -1;
    CU_ASSERT_EQUAL(nf_put_job(&body, &j), NF_OK);
    CU_ASSERT_EQUAL(nf_get_job(body.data, body.bytes, &got_job),
                    NF_ERR_PROTOCOL);
    j = job;
    j.emulated_speed = 0; /* a slave divides by it */
    CU_ASSERT_EQUAL(nf_put_job(&body, &j), NF_OK);
    CU_ASSERT_EQUAL(nf_get_job(body.data, body.bytes, &got_job),
                    NF_ERR_PROTOCOL);
    nf_body_fini(&body);
}

static void test_long_texts_are_cut(void)
{
    char text[1000];
    struct nf_text_msg got;
    struct nf_body body;

    memset(text, 'x', sizeof(text));
    text[sizeof(text) - 1] = '\0';
    nf_body_init(&body);
    CU_ASSERT_EQUAL(nf_put_text(&body, text), NF_OK);
    CU_ASSERT_EQUAL(nf_get_text(body.data, body.bytes, &got), NF_OK);
    CU_ASSERT_EQUAL(strlen(got.text), NF_ERROR_TEXT_BYTES - 1);
    nf_body_fini(&body);
}

static void test_out_of_memory_is_said(void)
{
    struct nf_body body;

    nf_body_init(&body);
    nf_alloc_fail_after(0);
    CU_ASSERT_EQUAL(nf_put_job(&body, &job), NF_ERR_NOMEM);
    CU_ASSERT_EQUAL(nf_put_lease(&body, &lease, ragged), NF_ERR_NOMEM);
    nf_alloc_fail_after(-1);
    CU_ASSERT_EQUAL(nf_put_job(&body, &job), NF_OK);
    nf_body_fini(&body);
}

static void test_routes_are_for_what_is_large(void)
{
    struct nf_group_msg m = { .purpose = NF_GROUP_GATHER };

    CU_ASSERT(!nf_group_moves_much(&m)); /* nothing is combined */
    m.bytes = (256 << 10) - 1;
    CU_ASSERT(!nf_group_moves_much(&m));
    m.bytes++;
    CU_ASSERT(nf_group_moves_much(&m));
    m.bytes = 0;
    m.purpose = NF_GROUP_SHARED;
    CU_ASSERT(nf_group_moves_much(&m));
    m.purpose = NF_GROUP_EXCHANGE;
    CU_ASSERT(nf_group_moves_much(&m));
}

static CU_TestInfo tests[] = {
    { "every message survives a round trip", test_round_trips },
    { "messages about groups come back as they were", test_groups_round_trip },
    { "messages about exchanges come back as they were",
      test_exchanges_round_trip },
    { "nonsense about groups is refused",
      test_nonsense_about_groups_is_refused },
    { "routes are for what is large", test_routes_are_for_what_is_large },
    { "sizes travel as one number or as a table", test_layouts },
    { "sizes like the mark of a table stay a table",
      test_sizes_like_the_mark_of_a_table_stay_a_table },
    { "sizes that overflow fit nothing", test_overflow_does_not_fit },
    { "every truncation is refused", test_truncations_are_refused },
    { "only a later hello may be longer",
      test_only_a_later_hello_may_be_longer },
    { "numbers that would poison a policy are refused",
      test_poison_is_refused },
    { "texts that are too long are cut", test_long_texts_are_cut },
    { "running out of memory is said", test_out_of_memory_is_said },
    { "random mutations never crash a decoder", test_mutations_never_crash },
    CU_TEST_INFO_NULL,
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { "wire", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
