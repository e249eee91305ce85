/* What members of `nowfarm probe` say to each other, and how waits end. */
#include "config.h"
#include <string.h>
#include "apps/collbench/probe.h"
#include "common/base/alloc.h"
#include "common/base/error.h"
#include "tests/unit/nf_unit.h"

/* ---- words ---- */

static const struct probe_word some_word = {
    .kind = PROBE_ACT,
    .number = 77,
    .act = { .kind = PROBE_SEQ,
             .partner = 3,
             .bytes = 65536,
             .count = 30,
             .warm = 5,
             .delay_us = 123456,
             .run = 6 },
};

static bool decodes(const uint8_t *head, size_t bytes, uint32_t ranks,
                    struct probe_word *word)
{
    const struct nf_mesh_message message = { .head = head,
                                             .head_bytes = bytes };

    return probe_word_decode(&message, ranks, word);
}

static void test_words(void)
{
    uint8_t head[PROBE_HEAD_BYTES];
    struct probe_word word;

    for (int kind = 0; kind < PROBE_WORDS; kind++) {
        struct probe_word sent = some_word;

        sent.kind = (enum probe_word_kind)kind;
        probe_word_encode(&sent, head);
        CU_ASSERT_FATAL(decodes(head, sizeof(head), 4, &word));
        CU_ASSERT_EQUAL(word.kind, kind);
        CU_ASSERT_EQUAL(word.number, sent.number);
        CU_ASSERT_EQUAL(word.bytes, sent.bytes);
        CU_ASSERT(memcmp(&word.act, &sent.act, sizeof(word.act)) == 0);
    }
    CU_ASSERT(!decodes(head, sizeof(head), 3, &word));
    CU_ASSERT(!decodes(head, sizeof(head) - 4, 4, &word));
    for (size_t i = 0; i < 8; i++) { /* magic and kinds */
        head[i] ^= 0x80;
        CU_ASSERT(!decodes(head, sizeof(head), 4, &word));
        head[i] ^= 0x80;
    }
}

static void refuse_word(const struct probe_word *word)
{
    uint8_t head[PROBE_HEAD_BYTES];
    struct probe_word got;

    probe_word_encode(word, head);
    CU_ASSERT(!decodes(head, sizeof(head), 4, &got));
}

static void test_wrong_words(void)
{
    struct probe_word word = some_word;

    word.act.count = PROBE_SAMPLES_MAX + 1;
    refuse_word(&word);
    word = some_word;
    word.act.warm = UINT32_MAX;
    refuse_word(&word);
    word = some_word;
    word.act.bytes = UINT32_MAX;
    refuse_word(&word);
    word = some_word;
    word.bytes = 8; /* and no payload */
    refuse_word(&word);
}

/* ---- waiting: the others are played by hand, in one thread ---- */

enum { RANKS = 3 };

struct stage {
    struct nf_mesh *meshes[RANKS];
    struct probe_peer peers[RANKS];
    struct probe_result results[RANKS];
    uint32_t acts[RANKS];
    struct nf_error err;
    struct probe probe; /* rank 0 */
};

static void set_stage(struct stage *stage, int64_t timeout_us)
{
    struct nf_error err;

    memset(stage, 0, sizeof(*stage));
    CU_ASSERT_EQUAL_FATAL(nf_mesh_open_local(RANKS, stage->meshes, &err),
                          NF_OK);
    stage->probe = (struct probe){ .mesh = stage->meshes[0],
                                   .timeout_us = timeout_us,
                                   .err = &stage->err,
                                   .guilty = UINT32_MAX,
                                   .peers = stage->peers,
                                   .results = stage->results,
                                   .acts = stage->acts,
                                   .order.kind = PROBE_WORDS };
}

static void clear_stage(struct stage *stage)
{
    for (uint32_t i = 0; i < RANKS; i++)
        nf_mesh_close(stage->meshes[i]);
    nf_blob_unref(stage->probe.payload);
    nf_free(stage->probe.children);
}

static void say(struct stage *stage, uint32_t from, enum probe_word_kind kind,
                uint32_t number, uint32_t partner, uint32_t run)
{
    const struct probe_word word = { .kind = kind,
                                     .number = number,
                                     .act = { .partner = partner,
                                              .run = run } };
    uint8_t head[PROBE_HEAD_BYTES];
    const struct nf_mesh_message message = { .head = head,
                                             .head_bytes = sizeof(head) };

    probe_word_encode(&word, head);
    CU_ASSERT_EQUAL(nf_mesh_send(stage->meshes[from], 0, &message), NF_OK);
}

/* Rank 1 takes one message and answers it; of what is behind that nothing goes
 * on, so the wait for the way to be clear takes the answer off the mesh.  Who
 * waits for the answer then must not wait for another one. */
static void test_reply_taken_elsewhere(void)
{
    struct nf_mesh_event event;
    struct stage stage;
    uint32_t number = 0;

    set_stage(&stage, 2000);
    CU_ASSERT_EQUAL(
        probe_ask(&stage.probe, 1, PROBE_CALL, 300000, NULL, &number), NF_OK);
    CU_ASSERT_EQUAL(probe_send(&stage.probe, 1, PROBE_DATA, 0, 300000, NULL),
                    NF_OK);
    CU_ASSERT_EQUAL_FATAL(nf_mesh_next(stage.meshes[1], &event), NF_OK);
    nf_blob_unref(event.message.payload);
    say(&stage, 1, PROBE_ANSWER, number, 0, 0);
    CU_ASSERT_EQUAL(probe_flush(&stage.probe, 1), NF_ERR_TIMEDOUT);
    CU_ASSERT_EQUAL(probe_await(&stage.probe, 1, number), NF_OK);
    CU_ASSERT(stage.peers[1].answered_us > 0);
    clear_stage(&stage);
}

/* An answer to an earlier question is none to this one. */
static void test_waits_end(void)
{
    struct stage stage;
    volatile int stop = 1;
    uint32_t number = 0;

    set_stage(&stage, 2000);
    CU_ASSERT_EQUAL(probe_ask(&stage.probe, 2, PROBE_CALL, 0, NULL, NULL),
                    NF_OK);
    CU_ASSERT_EQUAL(probe_ask(&stage.probe, 2, PROBE_CALL, 0, NULL, &number),
                    NF_OK);
    say(&stage, 2, PROBE_ANSWER, number - 1, 0, 0);
    CU_ASSERT_EQUAL(probe_await(&stage.probe, 2, number), NF_ERR_TIMEDOUT);
    CU_ASSERT_EQUAL(stage.probe.guilty, 2);
    stage.probe.timeout_us = -1;
    stage.probe.stop = &stop;
    CU_ASSERT_EQUAL(probe_await(&stage.probe, 2, number), NF_ERR_INTERRUPTED);
    stage.probe.stop = NULL;
    nf_mesh_close(stage.meshes[1]); /* all are needed */
    stage.meshes[1] = NULL;
    CU_ASSERT_EQUAL(probe_await(&stage.probe, 2, number), NF_ERR_DEAD);
    CU_ASSERT_EQUAL(stage.probe.guilty, 1);
    clear_stage(&stage);
}

/* Rank 1 has an act, and gives up since rank 2 is silent. */
static void test_blame(void)
{
    static struct probe_result result;
    const struct probe_act act = { .partner = 2, .count = 1 };
    struct stage stage;

    set_stage(&stage, -1);
    CU_ASSERT_EQUAL(probe_start(&stage.probe, 1, &act), NF_OK);
    say(&stage, 1, PROBE_ALIVE, 0, 0, 0);
    say(&stage, 1, PROBE_FAILED, 0, 2, (uint32_t)-NF_ERR_TIMEDOUT);
    CU_ASSERT_EQUAL(probe_collect(&stage.probe, 1, &result), NF_ERR_TIMEDOUT);
    CU_ASSERT_EQUAL(stage.probe.guilty, 2);
    CU_ASSERT_STRING_EQUAL(stage.err.text, "is silent");
    clear_stage(&stage);
}

/* So many messages, of which the first and the last one have numbers. */
static void test_asked_for_more(void)
{
    static const uint32_t numbers[] = { 7, 0, 0, 0, 8 };
    struct nf_mesh_event event;
    struct probe_word word;
    struct stage stage;

    set_stage(&stage, 2000);
    say(&stage, 1, PROBE_ASK, 7, 0, 5);
    say(&stage, 1, PROBE_ANSWER, 1, 0, 0);
    CU_ASSERT_EQUAL(probe_await(&stage.probe, 1, 1), NF_OK);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        CU_ASSERT_EQUAL_FATAL(nf_mesh_next(stage.meshes[1], &event), NF_OK);
        CU_ASSERT_FATAL(probe_word_decode(&event.message, RANKS, &word));
        CU_ASSERT(word.kind == PROBE_DATA && word.number == numbers[i]);
        nf_blob_unref(event.message.payload);
    }
    CU_ASSERT_EQUAL(nf_mesh_next(stage.meshes[1], &event), NF_WAIT);
    clear_stage(&stage);
}

/* What has no place here ends the wait, too. */
static void test_misplaced(void)
{
    static const enum probe_word_kind kinds[] = {
        PROBE_ACT, PROBE_END, PROBE_RESULT, PROBE_ASK /* so often */
    };

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        struct stage stage;

        set_stage(&stage, -1);
        say(&stage, 1, kinds[i], 5, 0, PROBE_SAMPLES_MAX + 1);
        CU_ASSERT_EQUAL(probe_await(&stage.probe, 2, 1), NF_ERR_PROTOCOL);
        clear_stage(&stage);
    }
}

int main(void)
{
    CU_TestInfo words[] = { { "every word is read as it was sent", test_words },
                            { "no others are believed", test_wrong_words },
                            CU_TEST_INFO_NULL };
    CU_TestInfo waits[] = {
        { "a reply counts whoever took it", test_reply_taken_elsewhere },
        { "a wait ends", test_waits_end },
        { "who is silent is named by who waits for it", test_blame },
        { "messages in a row", test_asked_for_more },
        { "what does not belong here", test_misplaced },
        CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = { { .pName = "words", .pTests = words },
                              { .pName = "waits", .pTests = waits },
                              CU_SUITE_INFO_NULL };

    return nf_unit_main(suites);
}
