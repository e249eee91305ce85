/* Messages of the probe, and what is done about each. */
#include "config.h"
#include "apps/collbench/probe.h"
#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/endian.h"
#include "common/base/error.h"

enum {
    HEED_STOP_US = 100000,
    FAREWELL_US = 1000000, /* for the news that a member gives up to leave */
    LIFE_PARTS = 4,        /* so many signs of life in a time-out */
};

/* ---- sending ---- */

static enum nf_status send_word(struct probe *probe, uint32_t member,
                                const struct probe_word *word,
                                struct nf_blob *payload, bool urgent)
{
    uint8_t head[PROBE_HEAD_BYTES];
    const struct nf_mesh_message message = { .head = head,
                                             .head_bytes = sizeof(head),
                                             .payload = payload,
                                             .urgent = urgent };
    enum nf_status status;

    probe_word_encode(word, head);
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
                          enum probe_word_kind kind, uint32_t number,
                          uint32_t bytes, const struct probe_act *what)
{
    struct probe_word word = { .kind = kind, .number = number, .bytes = bytes };
    bool has_payload = bytes > 0 && kind != PROBE_ASK;
    struct nf_blob *payload = has_payload ? probe_payload(probe, bytes) : NULL;

    if (what != NULL)
        word.act = *what;
    if (payload == NULL && has_payload)
        return nf_fail(probe->err, NF_ERR_NOMEM, "out of memory");
    return send_word(probe, member, &word, payload, false);
}

enum nf_status probe_ask(struct probe *probe, uint32_t member,
                         enum probe_word_kind kind, uint32_t bytes,
                         const struct probe_act *what, uint32_t *number_p)
{
    uint32_t number = ++probe->asked;

    if (number_p != NULL)
        *number_p = number;
    return probe_send(probe, member, kind, number, bytes, what);
}

enum nf_status probe_pass(struct probe *probe, uint32_t number, bool is_last,
                          struct nf_blob *payload)
{
    const struct probe_word word = {
        .kind = PROBE_PASS,
        .number = number,
        .bytes = payload != NULL ? (uint32_t)payload->bytes : 0,
        .act.run = is_last,
    };
    enum nf_status status = NF_OK;

    for (uint32_t i = 0; i < probe->nchildren && status == NF_OK; i++)
        status = send_word(probe, probe->children[i], &word, payload, false);
    return status;
}

/* ---- what is done about a message: nothing here waits ---- */

static enum nf_status misplaced(struct probe *probe)
{
    return nf_fail(probe->err, NF_ERR_PROTOCOL,
                   "a message that does not belong here");
}

static void note_reply(struct probe *probe, uint32_t from, uint32_t number)
{
    struct probe_peer *peer = &probe->peers[from];

    if (number > peer->answered) {
        peer->answered = number;
        peer->answered_us = bench_now_us();
    }
}

static enum nf_status answer(struct probe *probe, uint32_t member,
                             uint32_t number)
{
    return probe_send(probe, member, PROBE_ANSWER, number, 0, NULL);
}

static enum nf_status take_ask(struct probe *probe, uint32_t member,
                               const struct probe_word *word)
{
    uint32_t run = word->act.run > 0 ? word->act.run : 1;
    enum nf_status status = NF_OK;

    if (run > PROBE_SAMPLES_MAX)
        return misplaced(probe);
    for (uint32_t r = 0; r < run && status == NF_OK; r++) {
        uint32_t number = r == 0         ? word->number
                          : r == run - 1 ? word->number + 1
                                         : 0;

        status = probe_send(probe, member, PROBE_DATA, number, word->bytes, NULL);
    }
    return status;
}

static enum nf_status take_pass(struct probe *probe,
                                const struct probe_word *word,
                                struct nf_blob *payload)
{
    bool is_last = word->act.run != 0;

    if (probe->nchildren == 0)
        return is_last ? answer(probe, 0, word->number) : NF_OK;
    return probe_pass(probe, word->number, is_last, payload);
}

static enum nf_status take_children(struct probe *probe,
                                    const struct nf_blob *payload)
{
    uint32_t count = payload != NULL ? (uint32_t)(payload->bytes / 4) : 0;
    const uint8_t *data = payload != NULL ? payload->data : NULL;

    nf_free(probe->children);
    probe->nchildren = 0;
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

static enum nf_status take_result(struct probe *probe, uint32_t member,
                                  const struct probe_word *word,
                                  const struct nf_blob *payload)
{
    struct probe_result *result;
    const double *data = payload != NULL ? payload->data : NULL;
    size_t count = payload != NULL ? payload->bytes / (2 * sizeof(double)) : 0;

    if (probe->results == NULL || word->number != probe->acts[member] ||
        count > PROBE_SAMPLES_MAX)
        return misplaced(probe);
    result = &probe->results[member];
    result->count = (uint32_t)count;
    for (size_t i = 0; i < count; i++) {
        result->us[i] = data[2 * i];
        result->send_us[i] = data[2 * i + 1];
    }
    note_reply(probe, member, word->number);
    return NF_OK;
}

/* Whoever gives up says for whom, before it leaves. */
static enum nf_status take_failure(struct probe *probe, uint32_t from,
                                   const struct probe_word *word)
{
    enum nf_status status = (enum nf_status) - (int)(word->act.run % 64);

    probe->guilty = word->act.partner;
    if (probe->guilty == 0) {
        probe->guilty = from;
        return nf_fail(probe->err, NF_ERR_TIMEDOUT,
                       "has given up waiting for this host");
    }
    if (status == NF_ERR_DEAD)
        return nf_fail(probe->err, NF_ERR_DEAD, "has ended");
    if (status == NF_ERR_TIMEDOUT)
        return nf_fail(probe->err, NF_ERR_TIMEDOUT, "is silent");
    return nf_fail(probe->err, NF_ERR_FAILED, "%s", nf_strerror(status));
}

static enum nf_status take_order(struct probe *probe, uint32_t from,
                                 const struct probe_word *word)
{
    if (from != 0 || probe->acting || probe->order.kind != PROBE_WORDS)
        return misplaced(probe);
    probe->order = *word;
    return NF_OK;
}

static enum nf_status handle(struct probe *probe, uint32_t from,
                             const struct probe_word *word,
                             struct nf_blob *payload)
{
    switch (word->kind) {
    case PROBE_ASK:
        return take_ask(probe, from, word);
    case PROBE_CALL:
        return answer(probe, from, word->number);
    case PROBE_PASS:
        return take_pass(probe, word, payload);
    case PROBE_PLANT:
        return take_children(probe, payload);
    case PROBE_RESULT:
        return take_result(probe, from, word, payload);
    case PROBE_DATA:
    case PROBE_ANSWER:
        note_reply(probe, from, word->number);
        return NF_OK;
    case PROBE_ALIVE:
        return NF_OK;
    case PROBE_FAILED:
        return take_failure(probe, from, word);
    case PROBE_ACT:
    case PROBE_END:
        return take_order(probe, from, word);
    case PROBE_WORDS:
        break;
    }
    return misplaced(probe);
}

/* ---- taking messages ---- */

/* All members are needed: rank 0 ends all when one has left. */
static enum nf_status take_leave(struct probe *probe, uint32_t member)
{
    probe->peers[member].left = true;
    if (probe->closing || (probe->mesh->rank != 0 && member != 0))
        return NF_OK;
    probe->guilty = member;
    return nf_fail(probe->err, NF_ERR_DEAD, "has ended");
}

/* The next thing that happened, and what is to be done about it.
 *  @retval NF_WAIT  nothing has */
static enum nf_status take_next(struct probe *probe)
{
    struct nf_mesh_event event;
    struct probe_word word;
    enum nf_status status = nf_mesh_next(probe->mesh, &event);

    if (status == NF_WAIT)
        return NF_WAIT;
    if (status != NF_OK)
        return nf_fail(probe->err, status, "PVM: %s", nf_strerror(status));
    if (event.kind == NF_MESH_LEFT)
        return take_leave(probe, event.member);
    probe->peers[event.member].heard_us = nf_now_us();
    if (probe_word_decode(&event.message, probe->mesh->ranks, &word))
        status = handle(probe, event.member, &word, event.message.payload);
    else
        status = nf_fail(probe->err, NF_ERR_PROTOCOL,
                         "a message that does not decode");
    nf_blob_unref(event.message.payload);
    return status;
}

/* Sleep until something may have happened. */
static enum nf_status doze(struct probe *probe, int64_t left_us)
{
    if (probe->stop != NULL && *probe->stop)
        return nf_fail(probe->err, NF_ERR_INTERRUPTED, "interrupted");
    (void)nf_mesh_wait(probe->mesh,
                       left_us < HEED_STOP_US ? left_us : HEED_STOP_US);
    return NF_OK;
}

/* ---- waiting for one member ---- */

enum { HANDED_OVER = 0 }; /* instead of the number of a question */

static bool has_come(const struct probe *probe, uint32_t member,
                     uint32_t number)
{
    if (number == HANDED_OVER)
        return nf_mesh_backlog_bytes(probe->mesh, member) == 0;
    return probe->peers[member].answered >= number;
}

static enum nf_status wait_for(struct probe *probe, uint32_t member,
                               uint32_t number)
{
    const struct probe_peer *peer = &probe->peers[member];
    int64_t since_us = nf_now_us();
    enum nf_status status = NF_OK;

    while (!has_come(probe, member, number)) {
        int64_t left_us = HEED_STOP_US;

        status = take_next(probe);
        if (status == NF_OK)
            continue;
        if (status != NF_WAIT)
            return status;
        if (peer->left) {
            probe->guilty = member;
            return nf_fail(probe->err, NF_ERR_DEAD, "has ended");
        }
        if (peer->heard_us > since_us)
            since_us = peer->heard_us;
        if (probe->timeout_us >= 0)
            left_us = since_us + probe->timeout_us - nf_now_us();
        if (left_us <= 0) {
            probe->guilty = member;
            return nf_fail(probe->err, NF_ERR_TIMEDOUT, "is silent");
        }
        status = probe_show_life(probe);
        if (status == NF_OK)
            status = doze(probe, left_us);
        if (status != NF_OK)
            return status;
    }
    return NF_OK;
}

enum nf_status probe_flush(struct probe *probe, uint32_t member)
{
    return wait_for(probe, member, HANDED_OVER);
}

enum nf_status probe_await(struct probe *probe, uint32_t member,
                           uint32_t number)
{
    return wait_for(probe, member, number);
}

enum nf_status probe_call(struct probe *probe, uint32_t member)
{
    uint32_t number;
    enum nf_status status =
        probe_ask(probe, member, PROBE_CALL, 0, NULL, &number);

    return status == NF_OK ? probe_await(probe, member, number) : status;
}

enum nf_status probe_show_life(struct probe *probe)
{
    const struct probe_word word = { .kind = PROBE_ALIVE };
    int64_t now_us = nf_now_us();

    if (!probe->acting || probe->timeout_us < 0 ||
        now_us - probe->shown_us < probe->timeout_us / LIFE_PARTS)
        return NF_OK;
    probe->shown_us = now_us;
    return send_word(probe, 0, &word, NULL, true);
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
                             .order.kind = PROBE_WORDS };
    team->next_id++;
    probe->peers = nf_calloc(ranks, sizeof(*probe->peers));
    if (members == NULL || probe->peers == NULL) {
        nf_free(members);
        return nf_fail(team->err, NF_ERR_NOMEM, "out of memory");
    }
    for (uint32_t i = 0; i < ranks; i++)
        members[i] = i;
    status = nf_mesh_subset(team->all->mesh, members, ranks, id, &probe->mesh,
                            team->err);
    nf_free(members);
    return status;
}

static void fini(struct probe *probe)
{
    nf_mesh_close(probe->mesh);
    nf_blob_unref(probe->payload);
    nf_free(probe->peers);
    nf_free(probe->children);
    nf_free(probe->results);
    nf_free(probe->acts);
    *probe = (struct probe){ .guilty = UINT32_MAX };
}

static enum nf_status give_result(struct probe *probe, uint32_t number,
                                  const struct probe_act *act)
{
    struct probe_result result = { .count = 0 };
    struct probe_word word = { .kind = PROBE_RESULT, .number = number };
    struct nf_blob *blob;
    enum nf_status status;
    double *data;

    probe->shown_us = nf_now_us();
    probe->acting = true;
    status = probe_carry_out(probe, act, &result);
    probe->acting = false;
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
    status = send_word(probe, 0, &word, word.bytes > 0 ? blob : NULL, false);
    nf_blob_unref(blob);
    return status;
}

/* Of what rank 0 says, one after the other; as long as it is there. */
static enum nf_status serve(struct probe *probe)
{
    enum nf_status status = NF_OK;

    while (status == NF_OK && probe->order.kind != PROBE_END) {
        if (probe->order.kind == PROBE_ACT) {
            const struct probe_word order = probe->order;

            probe->order.kind = PROBE_WORDS;
            status = give_result(probe, order.number, &order.act);
            continue;
        }
        status = take_next(probe);
        if (status == NF_WAIT)
            status = doze(probe, HEED_STOP_US);
    }
    return status;
}

/* Rank 0 gets to know for whom this one leaves. */
static void say_farewell(struct probe *probe, enum nf_status why)
{
    struct probe_word word = { .kind = PROBE_FAILED };
    int64_t until_us = nf_now_us() + FAREWELL_US;
    struct nf_error unheard;

    probe->err = &unheard;
    probe->closing = true;
    word.act.partner =
        probe->guilty < probe->mesh->ranks ? probe->guilty : probe->mesh->rank;
    word.act.run = (uint32_t)-why;
    if (send_word(probe, 0, &word, NULL, true) != NF_OK)
        return;
    while (!probe->peers[0].left && nf_mesh_has_urgent(probe->mesh, 0) &&
           nf_now_us() < until_us) {
        enum nf_status status = take_next(probe);

        if (status == NF_WAIT)
            (void)nf_mesh_wait(probe->mesh, HEED_STOP_US);
    }
}

enum nf_status probe_serve(struct bench_team *team)
{
    struct probe probe;
    enum nf_status status = open_mesh(team, &probe);

    if (status == NF_OK) {
        status = serve(&probe);
        if (status != NF_OK)
            say_farewell(&probe, status);
    }
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
    probe_p->acts = nf_calloc(ranks, sizeof(*probe_p->acts));
    if (probe_p->results == NULL || probe_p->acts == NULL)
        return nf_fail(team->err, NF_ERR_NOMEM, "out of memory");
    return NF_OK;
}

/* What is in a queue when a mesh is closed is lost. */
void probe_close(struct probe *probe, bool orderly)
{
    if (probe->mesh == NULL)
        orderly = false;
    probe->closing = true;
    for (uint32_t i = 1; orderly && i < probe->mesh->ranks; i++)
        (void)probe_send(probe, i, PROBE_END, 0, 0, NULL);
    for (uint32_t i = 1; orderly && i < probe->mesh->ranks; i++)
        orderly = probe_flush(probe, i) == NF_OK;
    fini(probe);
}

enum nf_status probe_start(struct probe *probe, uint32_t member,
                           const struct probe_act *act)
{
    probe->acts[member] = 0;
    if (member != 0)
        return probe_ask(probe, member, PROBE_ACT, 0, act,
                         &probe->acts[member]);
    return probe_carry_out(probe, act, &probe->results[0]);
}

enum nf_status probe_collect(struct probe *probe, uint32_t member,
                             struct probe_result *result_p)
{
    enum nf_status status =
        probe->acts[member] != 0
            ? probe_await(probe, member, probe->acts[member])
            : NF_OK;

    if (status == NF_OK)
        *result_p = probe->results[member];
    return status;
}

enum nf_status probe_plant(struct probe *probe, uint32_t member,
                           const uint32_t *children, uint32_t count)
{
    struct probe_word word = { .kind = PROBE_PLANT };
    struct nf_blob *blob = nf_blob_create(4 * (size_t)count, NF_BYTES);
    enum nf_status status;

    if (blob == NULL)
        return nf_fail(probe->err, NF_ERR_NOMEM, "out of memory");
    for (uint32_t k = 0; k < count; k++)
        nf_store_le32((uint8_t *)blob->data + 4 * k, children[k]);
    word.bytes = 4 * count;
    if (member == 0)
        status = take_children(probe, blob);
    else
        status =
            send_word(probe, member, &word, count > 0 ? blob : NULL, false);
    nf_blob_unref(blob);
    return status == NF_OK && member != 0 ? probe_call(probe, member) : status;
}
