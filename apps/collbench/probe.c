/* Messages of the probe, and what is done about each. */
#include "config.h"
#include "apps/collbench/probe.h"
#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/endian.h"
#include "common/base/error.h"
#include "common/group/head.h"

enum {
    MAGIC = 0x6e665001, /* "nfP", version 1 */
    HEAD_BYTES = NF_HEAD_BYTES,
    HEED_STOP_US = 100000,
    BYTES_MOST = 1 << 26,
};

struct word {
    enum probe_word kind;
    uint32_t bytes; /* of the payload; ASK: that are asked for */
    struct probe_act act;
};

static void encode(const struct word *word, uint8_t to[HEAD_BYTES])
{
    const uint32_t fields[HEAD_BYTES / 4] = {
        MAGIC,
        (uint32_t)word->kind,
        word->bytes,
        (uint32_t)word->act.kind,
        word->act.partner,
        word->act.bytes,
        word->act.count,
        word->act.warm,
        word->act.delay_us,
        word->act.run,
    };

    for (size_t i = 0; i < HEAD_BYTES / 4; i++)
        nf_store_le32(to + 4 * i, fields[i]);
}

/* Of another program of the user, or of another version: not ours to believe.
 */
static bool decode(const struct nf_mesh_message *message, uint32_t ranks,
                   struct word *word)
{
    uint32_t fields[HEAD_BYTES / 4];

    if (message->head_bytes != HEAD_BYTES)
        return false;
    for (size_t i = 0; i < HEAD_BYTES / 4; i++)
        fields[i] = nf_load_le32(message->head + 4 * i);
    *word = (struct word){
        .kind = (enum probe_word)fields[1],
        .bytes = fields[2],
        .act = { .kind = (enum probe_kind)fields[3],
                 .partner = fields[4],
                 .bytes = fields[5],
                 .count = fields[6],
                 .warm = fields[7],
                 .delay_us = fields[8],
                 .run = fields[9] },
    };
    return fields[0] == MAGIC && fields[1] < PROBE_WORDS &&
           fields[3] < PROBE_KINDS && word->act.partner < ranks &&
           word->bytes <= BYTES_MOST && word->act.bytes <= BYTES_MOST &&
           word->act.count <= PROBE_SAMPLES_MAX &&
           word->act.warm <= PROBE_SAMPLES_MAX &&
           (word->kind == PROBE_ASK ||
            (message->payload != NULL ? message->payload->bytes : 0) ==
                word->bytes);
}

static enum nf_status send_word(struct probe *probe, uint32_t member,
                                const struct word *word,
                                struct nf_blob *payload)
{
    uint8_t head[HEAD_BYTES];
    const struct nf_mesh_message message = { .head = head,
                                             .head_bytes = sizeof(head),
                                             .payload = payload };
    enum nf_status status;

    encode(word, head);
    status = nf_mesh_send(probe->mesh, member, &message);
    return status == NF_OK
               ? NF_OK
               : nf_fail(probe->err, status, "cannot send to rank %u: %s",
                         member, nf_strerror(status));
}

/* Payloads of one size are sent many times. */
struct nf_blob *probe_payload(struct probe *probe, uint32_t bytes)
{
    if (bytes == 0)
        return NULL;
    if (probe->payload == NULL || probe->payload->bytes != bytes) {
        nf_blob_unref(probe->payload);
        probe->payload = nf_blob_create(bytes, NF_BYTES);
        if (probe->payload != NULL)
            memset(probe->payload->data, 'p', bytes);
    }
    return probe->payload;
}

enum nf_status probe_send(struct probe *probe, uint32_t member,
                          enum probe_word kind, uint32_t bytes,
                          const struct probe_act *what)
{
    struct word word = { .kind = kind, .bytes = bytes };
    struct nf_blob *payload =
        kind == PROBE_ASK ? NULL : probe_payload(probe, bytes);

    if (what != NULL)
        word.act = *what;
    if (payload == NULL && bytes > 0 && kind != PROBE_ASK)
        return nf_fail(probe->err, NF_ERR_NOMEM, "out of memory");
    return send_word(probe, member, &word, payload);
}

/* ---- what is done about a message ---- */

/* What is sent at once to several shares the wire of its sender, and all of it
 * comes late; in turn, the first can already pass it on.  That a child has it
 * it says in answer to a question behind it. */
enum nf_status probe_pass(struct probe *probe, const struct probe_act *act,
                          struct nf_blob *payload)
{
    const struct word word = { .kind = PROBE_PASS,
                               .bytes = payload != NULL
                                            ? (uint32_t)payload->bytes
                                            : 0,
                               .act = *act };
    enum nf_status status = NF_OK;

    for (uint32_t i = 0; i < probe->nchildren && status == NF_OK; i++) {
        status = send_word(probe, probe->children[i], &word, payload);
        if (status == NF_OK && act->kind == PROBE_TURNS &&
            i + 1 < probe->nchildren)
            status = probe_call(probe, probe->children[i]);
    }
    return status;
}

static enum nf_status pass_on(struct probe *probe, const struct probe_act *act,
                              struct nf_blob *payload)
{
    enum nf_status status = probe_pass(probe, act, payload);

    if (status == NF_OK && act->partner == probe->mesh->rank)
        status = probe_send(probe, 0, PROBE_ARRIVED, 0, NULL);
    if (status == NF_OK && ++probe->passed == probe->owed_at) {
        probe->owed_at = 0;
        status = probe_send(probe, 0, PROBE_ANSWER, 0, NULL);
    }
    return status;
}

static enum nf_status take_children(struct probe *probe,
                                    const struct nf_blob *payload)
{
    uint32_t count = payload != NULL ? (uint32_t)(payload->bytes / 4) : 0;
    const uint8_t *data = payload != NULL ? payload->data : NULL;

    nf_free(probe->children);
    probe->nchildren = probe->passed = probe->owed_at = 0;
    probe->children = nf_calloc(count + 1, sizeof(*probe->children));
    if (probe->children == NULL)
        return nf_fail(probe->err, NF_ERR_NOMEM, "out of memory");
    for (uint32_t i = 0; i < count; i++) {
        uint32_t child = nf_load_le32(data + 4 * i);

        if (child >= probe->mesh->ranks || child == probe->mesh->rank)
            return nf_fail(probe->err, NF_ERR_PROTOCOL, "not such a child");
        probe->children[i] = child;
    }
    probe->nchildren = count;
    return NF_OK;
}

static void take_result(struct probe *probe, uint32_t member,
                        const struct nf_blob *payload)
{
    struct probe_result *result = &probe->results[member];
    const double *data = payload->data;

    result->count = (uint32_t)(payload->bytes / (2 * sizeof(double)));
    if (result->count > PROBE_SAMPLES_MAX)
        result->count = PROBE_SAMPLES_MAX;
    for (uint32_t i = 0; i < result->count; i++) {
        result->us[i] = data[2 * i];
        result->send_us[i] = data[2 * i + 1];
    }
    probe->has_result[member] = true;
}

static enum nf_status give_result(struct probe *probe,
                                  const struct probe_act *act)
{
    struct probe_result result = { .count = 0 };
    struct word word = { .kind = PROBE_RESULT };
    struct nf_blob *blob;
    enum nf_status status = probe_carry_out(probe, act, &result);
    double *data;

    if (status != NF_OK)
        return status;
    word.bytes = result.count * 2 * (uint32_t)sizeof(double);
    blob = nf_blob_create(word.bytes, NF_FLOAT64);
    if (blob == NULL)
        return nf_fail(probe->err, NF_ERR_NOMEM, "out of memory");
    data = blob->data;
    for (uint32_t i = 0; i < result.count; i++) {
        data[2 * i] = result.us[i];
        data[2 * i + 1] = result.send_us[i];
    }
    status = send_word(probe, 0, &word, blob);
    nf_blob_unref(blob);
    return status;
}

static enum nf_status handle(struct probe *probe, uint32_t from,
                             const struct word *word, struct nf_blob *payload)
{
    switch (word->kind) {
    case PROBE_ASK:
        return probe_send(probe, from, PROBE_DATA, word->bytes, NULL);
    case PROBE_CALL:
        if (word->act.run <= probe->passed)
            return probe_send(probe, from, PROBE_ANSWER, 0, NULL);
        probe->owed_at = word->act.run;
        return NF_OK;
    case PROBE_PASS:
        return pass_on(probe, &word->act, payload);
    case PROBE_PLANT:
        return take_children(probe, payload);
    case PROBE_RESULT:
        if (probe->results != NULL && payload != NULL)
            take_result(probe, from, payload);
        return NF_OK;
    case PROBE_ARRIVED:
        probe->arrived_us = bench_now_us();
        return NF_OK;
    case PROBE_DATA:
    case PROBE_ANSWER:
        return NF_OK;
    case PROBE_ACT:
    case PROBE_END:
    case PROBE_WORDS:
        break;
    }
    return nf_fail(probe->err, NF_ERR_PROTOCOL,
                   "a message that does not belong here");
}

/* ---- waiting ---- */

/* Somebody who leaves is rank 0's business, and that of who waits for it. */
static bool matters(const struct probe *probe, uint32_t member)
{
    return probe->mesh->rank == 0 || member == 0 || member == probe->awaited;
}

/* The next message.  @retval NF_WAIT  none now */
static enum nf_status next(struct probe *probe, uint32_t *from_p,
                           struct word *word, struct nf_blob **payload_p)
{
    struct nf_mesh_event event;
    enum nf_status status;

    do {
        status = nf_mesh_next(probe->mesh, &event);
    } while (status == NF_OK && event.kind == NF_MESH_LEFT &&
             !matters(probe, event.member));
    if (status == NF_WAIT)
        return NF_WAIT;
    if (status != NF_OK)
        return nf_fail(probe->err, status, "PVM: %s", nf_strerror(status));
    if (event.kind == NF_MESH_LEFT) {
        probe->guilty = event.member;
        return nf_fail(probe->err, NF_ERR_DEAD, "has ended");
    }
    if (!decode(&event.message, probe->mesh->ranks, word)) {
        nf_blob_unref(event.message.payload);
        return nf_fail(probe->err, NF_ERR_PROTOCOL,
                       "a message that does not decode");
    }
    *from_p = event.member;
    *payload_p = event.message.payload;
    return NF_OK;
}

/* Sleep a while, but not beyond @p until_us (< 0: no limit). */
static enum nf_status doze(struct probe *probe, uint32_t member,
                           int64_t until_us)
{
    int64_t left_us = until_us < 0 ? HEED_STOP_US : until_us - nf_now_us();

    if (probe->stop != NULL && *probe->stop)
        return nf_fail(probe->err, NF_ERR_INTERRUPTED, "interrupted");
    if (left_us <= 0) {
        probe->guilty = member;
        return nf_fail(probe->err, NF_ERR_TIMEDOUT, "is silent");
    }
    (void)nf_mesh_wait(probe->mesh,
                       left_us < HEED_STOP_US ? left_us : HEED_STOP_US);
    return NF_OK;
}

static int64_t limit(const struct probe *probe)
{
    return probe->timeout_us < 0 ? -1 : nf_now_us() + probe->timeout_us;
}

enum nf_status probe_flush(struct probe *probe, uint32_t member)
{
    int64_t until_us = -1;
    enum nf_status status = NF_OK;

    while (status >= NF_OK && nf_mesh_backlog_bytes(probe->mesh, member) > 0) {
        struct nf_blob *payload = NULL;
        struct word word;
        uint32_t from;

        if (until_us < 0)
            until_us = limit(probe);
        status = next(probe, &from, &word, &payload);
        if (status == NF_OK)
            status = handle(probe, from, &word, payload);
        else if (status == NF_WAIT)
            status = doze(probe, member, until_us);
        nf_blob_unref(payload);
    }
    return status;
}

enum nf_status probe_await(struct probe *probe, uint32_t member,
                           enum probe_word word)
{
    int64_t until_us = limit(probe);
    uint32_t before = probe->awaited;
    enum nf_status status = NF_OK;
    bool came = false;

    probe->awaited = member;
    while (status == NF_OK && !came) {
        struct nf_blob *payload = NULL;
        struct word got = { .kind = PROBE_WORDS };
        uint32_t from = UINT32_MAX;

        status = next(probe, &from, &got, &payload);
        if (status == NF_OK)
            status = handle(probe, from, &got, payload);
        else if (status == NF_WAIT)
            status = doze(probe, member, until_us);
        nf_blob_unref(payload);
        came = got.kind == word && from == member;
    }
    probe->awaited = before;
    return status;
}

enum nf_status probe_call(struct probe *probe, uint32_t member)
{
    enum nf_status status = probe_send(probe, member, PROBE_CALL, 0, NULL);

    return status == NF_OK ? probe_await(probe, member, PROBE_ANSWER) : status;
}

/* ---- members ---- */

static enum nf_status open_mesh(struct bench_team *team, struct probe *probe)
{
    uint32_t ranks = nf_group_size(team->all);
    uint64_t id = team->next_id;
    uint32_t *members = nf_calloc(ranks, sizeof(*members));
    enum nf_status status;

    *probe = (struct probe){ .stop = team->stop,
                             .timeout_us = team->timeout_us,
                             .err = team->err,
                             .guilty = UINT32_MAX,
                             .awaited = UINT32_MAX };
    team->next_id += 2;
    if (members == NULL)
        return nf_fail(team->err, NF_ERR_NOMEM, "out of memory");
    for (uint32_t i = 0; i < ranks; i++)
        members[i] = i;
    status = bench_subset(team, members, ranks, id, &probe->mesh);
    nf_free(members);
    return status;
}

static void fini(struct probe *probe)
{
    nf_mesh_close(probe->mesh);
    nf_blob_unref(probe->payload);
    nf_free(probe->children);
    nf_free(probe->results);
    nf_free(probe->has_result);
    *probe = (struct probe){ .guilty = UINT32_MAX };
}

/* Of what rank 0 says, one after the other. */
static enum nf_status serve(struct probe *probe)
{
    for (;;) {
        struct nf_blob *payload = NULL;
        struct word word = { .kind = PROBE_WORDS };
        uint32_t from = UINT32_MAX;
        enum nf_status status = next(probe, &from, &word, &payload);

        if (status == NF_OK && from == 0 && word.kind == PROBE_END)
            return NF_OK;
        if (status == NF_OK && from == 0 && word.kind == PROBE_ACT)
            status = give_result(probe, &word.act);
        else if (status == NF_OK)
            status = handle(probe, from, &word, payload);
        else if (status == NF_WAIT)
            status = doze(probe, 0, -1);
        nf_blob_unref(payload);
        if (status != NF_OK)
            return status;
    }
}

enum nf_status probe_serve(struct bench_team *team)
{
    struct probe probe;
    enum nf_status status = open_mesh(team, &probe);

    if (status == NF_OK)
        status = serve(&probe);
    fini(&probe);
    return status;
}

enum nf_status probe_open(struct bench_team *team, struct probe *probe_p)
{
    const struct bench_request request = { .kind = BENCH_PROBE };
    uint32_t ranks = nf_group_size(team->all);
    enum nf_status status;

    *probe_p = (struct probe){ .guilty = UINT32_MAX };
    status = bench_direct(team, &request, NULL, NULL);
    if (status == NF_OK)
        status = open_mesh(team, probe_p);
    if (status != NF_OK)
        return status;
    probe_p->results = nf_calloc(ranks, sizeof(*probe_p->results));
    probe_p->has_result = nf_calloc(ranks, sizeof(*probe_p->has_result));
    if (probe_p->results == NULL || probe_p->has_result == NULL)
        return nf_fail(team->err, NF_ERR_NOMEM, "out of memory");
    return NF_OK;
}

void probe_close(struct probe *probe, bool orderly)
{
    for (uint32_t i = 1;
         orderly && probe->mesh != NULL && i < probe->mesh->ranks; i++)
        (void)probe_send(probe, i, PROBE_END, 0, NULL);
    fini(probe);
}

enum nf_status probe_start(struct probe *probe, uint32_t member,
                           const struct probe_act *act)
{
    probe->has_result[member] = false;
    if (member != 0)
        return probe_send(probe, member, PROBE_ACT, 0, act);
    probe->has_result[0] = true;
    return probe_carry_out(probe, act, &probe->results[0]);
}

enum nf_status probe_collect(struct probe *probe, uint32_t member,
                             struct probe_result *result_p)
{
    while (!probe->has_result[member]) {
        enum nf_status status = probe_await(probe, member, PROBE_RESULT);

        if (status != NF_OK)
            return status;
    }
    *result_p = probe->results[member];
    return NF_OK;
}

/* ---- trees ---- */

enum nf_status probe_plant_at(struct probe *probe, uint32_t member,
                              const uint32_t *parent, const uint32_t *order)
{
    uint32_t ranks = probe->mesh->ranks, count = 0;
    struct word word = { .kind = PROBE_PLANT };
    struct nf_blob *blob = nf_blob_create(4 * (size_t)ranks, NF_BYTES);
    enum nf_status status;

    if (blob == NULL)
        return nf_fail(probe->err, NF_ERR_NOMEM, "out of memory");
    for (uint32_t k = 0; k < ranks; k++)
        if (order[k] != member && parent[order[k]] == member)
            nf_store_le32((uint8_t *)blob->data + 4 * count++, order[k]);
    blob->bytes = 4 * (size_t)count;
    word.bytes = 4 * count;
    if (member == 0)
        status = take_children(probe, blob);
    else
        status = send_word(probe, member, &word, count > 0 ? blob : NULL);
    nf_blob_unref(blob);
    return status == NF_OK && member != 0 ? probe_call(probe, member) : status;
}

enum nf_status probe_plant(struct probe *probe, const uint32_t *parent,
                           const uint32_t *order)
{
    enum nf_status status = NF_OK;

    for (uint32_t i = 0; i < probe->mesh->ranks && status == NF_OK; i++)
        status = probe_plant_at(probe, i, parent, order);
    return status;
}
