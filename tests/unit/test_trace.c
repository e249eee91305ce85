/* Traces: what is written is read again; what is cut off, too; what can't be
 * true is refused with its line. */
#include "config.h"
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include "common/base/alloc.h"
#include "common/trace/history.h"
#include "common/trace/trace.h"
#include "tests/unit/nf_tmpdir.h"
#include "tests/unit/nf_unit.h"

static const struct nf_trace_header header = {
    .app = "synth",
    .policy = "fixed:g=2+\"odd\"",
    .transport = "pvm",
    .emulate = "unit=33ms,send=0.9ms",
    .units = 100,
    .seed = 7,
    .slaves = 2,
};

static struct nf_trace *create(const char *path, bool virtual_time)
{
    struct nf_trace_header mine = header;
    struct nf_trace *trace = NULL;
    struct nf_error err = { .text = "" };

    mine.virtual_time = virtual_time;
    mine.emulate = virtual_time ? NULL : header.emulate;
    if (nf_trace_create(path, &mine, 1000, &trace, &err) != NF_OK)
        fprintf(stderr, "%s\n", err.text);
    CU_ASSERT_PTR_NOT_NULL(trace);
    return trace;
}

static void send(struct nf_trace *trace, int64_t now_us, uint64_t lease,
                 uint32_t slave)
{
    nf_trace_sent(trace, now_us,
                  &(struct nf_trace_sent){ .lease = lease,
                                           .slave = slave,
                                           .first = 2 * lease,
                                           .count = 2,
                                           .bytes = 16,
                                           .master_us = 3 });
}

static void answer(struct nf_trace *trace, int64_t now_us, uint64_t lease)
{
    nf_trace_result(trace, now_us,
                    &(struct nf_trace_result){ .lease = lease,
                                               .units = 2,
                                               .bytes = 32,
                                               .last = true,
                                               .compute_us = 50,
                                               .wait_us = 5,
                                               .idle_us = 7,
                                               .elapsed_us = 100,
                                               .mean_unit_us = 25.25,
                                               .m2_unit_us2 = 9 });
}

/* Two slaves; the second dies, comes back, and answers late. */
static void write_story(struct nf_trace *trace)
{
    static const struct nf_report report = {
        .done_units = 6,
        .slots = 2,
        .lost_slaves = 1,
        .makespan_s = 0.0005,
        .compute_s = 0.00015,
    };

    nf_trace_phase(
        trace, 1010,
        &(struct nf_trace_phase){
            .slave = 0, .name = "shared", .host = "h\n1", .bytes = 99 });
    nf_trace_phase(
        trace, 1020,
        &(struct nf_trace_phase){ .slave = 0, .name = "shared", .ends = true });
    nf_trace_begin(trace, 1020, 2);
    nf_trace_join(trace, 1020, 0, "h\n1", 1);
    nf_trace_join(trace, 1020, 5, "two", 1);
    send(trace, 1100, 1, 0);
    send(trace, 1103, 2, 5);
    answer(trace, 1200, 1);
    send(trace, 1210, 3, 0);
    nf_trace_result(trace, 1220,
                    &(struct nf_trace_result){ .lease = 3, .units = 1 });
    nf_trace_lost(trace, 1230, 5, "silent");
    nf_trace_join(trace, 1300, 5, "two", 1);
    answer(trace, 1310, 2);
    nf_trace_failed(trace, 1320,
                    &(struct nf_trace_failed){
                        .lease = 3, .unit = 7, .last = true, .reason = "no" });
    nf_trace_given_up(trace, 1320, 7, 1, "no");
    send(trace, 1330, 4, 5);
    nf_trace_cancelled(trace, 1340, 4);
    nf_trace_end(trace, 1500, NF_OK, &report);
}

static void check_story(const struct nf_history *h)
{
    CU_ASSERT_STRING_EQUAL(h->app, "synth");
    CU_ASSERT_STRING_EQUAL(h->policy, header.policy);
    CU_ASSERT_EQUAL(h->units, 100);
    CU_ASSERT_EQUAL(h->seed, 7);
    CU_ASSERT_EQUAL(h->end_us, 500);
    CU_ASSERT_EQUAL(h->nslaves, 2);
    CU_ASSERT_EQUAL(h->nslots, 2);
    CU_ASSERT_EQUAL(h->slaves[1].number, 5);
    CU_ASSERT_STRING_EQUAL(h->slaves[0].host, "h?1");
    CU_ASSERT_EQUAL(h->nphases, 1);
    CU_ASSERT_EQUAL(h->phases[0].to_us, 20);
    CU_ASSERT_EQUAL(h->phases[0].bytes, 99);
    CU_ASSERT_EQUAL(h->nstays, 3);
    CU_ASSERT_EQUAL(h->stays[1].to_us, 230);
    CU_ASSERT_STRING_EQUAL(h->stays[1].reason, "silent");
    CU_ASSERT_EQUAL(h->stays[2].to_us, -1);
    CU_ASSERT_EQUAL(h->ngiven_up, 1);
    CU_ASSERT_EQUAL(h->given_up[0].unit, 7);
    CU_ASSERT_TRUE(h->complete);
    CU_ASSERT_STRING_EQUAL(h->end.status, "done");
    CU_ASSERT_EQUAL(h->end.makespan_us, 500);
    CU_ASSERT_EQUAL(h->end.lost_slaves, 1);
    CU_ASSERT_STRING_EQUAL(h->warning, "");
}

static void check_chunks(const struct nf_history *h)
{
    const struct nf_history_chunk *c = h->chunks;

    CU_ASSERT_EQUAL_FATAL(h->nchunks, 4);
    CU_ASSERT_EQUAL(c[0].fate, NF_FATE_ANSWERED);
    CU_ASSERT_TRUE(c[0].measured);
    CU_ASSERT_EQUAL(c[0].sent_us, 100);
    CU_ASSERT_EQUAL(c[0].ended_us, 200);
    CU_ASSERT_EQUAL(c[0].compute_us, 50);
    CU_ASSERT_EQUAL(c[0].wait_us, 5);
    CU_ASSERT_EQUAL(c[0].idle_us, 7);
    CU_ASSERT_EQUAL(c[0].elapsed_us, 100);
    CU_ASSERT_DOUBLE_EQUAL(c[0].mean_unit_us, 25.25, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(c[0].m2_unit_us2, 9, 1e-9);
    CU_ASSERT_EQUAL(c[0].bytes_out, 16);
    CU_ASSERT_EQUAL(c[0].bytes_in, 32);
    CU_ASSERT_EQUAL(c[1].fate, NF_FATE_LOST);
    CU_ASSERT_EQUAL(c[1].ended_us, 230);
    CU_ASSERT_TRUE(c[1].measured); /* late */
    CU_ASSERT_EQUAL(c[2].fate, NF_FATE_ANSWERED);
    CU_ASSERT_FALSE(c[2].measured); /* its last unit failed */
    CU_ASSERT_EQUAL(c[2].answered, 1);
    CU_ASSERT_EQUAL(c[2].failed, 1);
    CU_ASSERT_EQUAL(c[3].fate, NF_FATE_CANCELLED);
    CU_ASSERT_EQUAL(h->slot_heads[0], 0);
    CU_ASSERT_EQUAL(c[0].next_of_slot, 2);
    CU_ASSERT_EQUAL(c[2].next_of_slot, NF_HISTORY_NONE);
}

static void what_is_written_is_read(void)
{
    const char *path = nf_tmp("story");
    struct nf_history h;
    struct nf_error err = { .text = "" };

    for (int virtual_time = 0; virtual_time < 2; virtual_time++) {
        struct nf_trace *trace = create(path, virtual_time);

        write_story(trace);
        CU_ASSERT_PTR_NULL(nf_trace_error(trace));
        CU_ASSERT_EQUAL(nf_trace_close(trace, &err), NF_OK);
        CU_ASSERT_EQUAL_FATAL(nf_history_read(path, &h, &err), NF_OK);
        check_story(&h);
        check_chunks(&h);
        CU_ASSERT_EQUAL(h.virtual_time, virtual_time);
        CU_ASSERT_STRING_EQUAL(h.emulate, virtual_time ? "" : header.emulate);
        CU_ASSERT_EQUAL(h.date[0] == '\0', virtual_time);
        nf_history_fini(&h);
    }
}

static char *contents(const char *path, size_t *bytes_p)
{
    FILE *file = fopen(path, "r");
    char *text = malloc(1 << 20);

    CU_ASSERT_TRUE_FATAL(file != NULL && text != NULL);
    *bytes_p = fread(text, 1, (1 << 20) - 1, file);
    text[*bytes_p] = '\0';
    fclose(file);
    return text;
}

static void virtual_time_gives_the_same_bytes(void)
{
    char *text[2];
    size_t bytes[2];

    for (int i = 0; i < 2; i++) {
        struct nf_trace *trace = create(nf_tmp("virtual"), true);

        write_story(trace);
        nf_trace_close(trace, NULL);
        text[i] = contents(nf_tmp("virtual"), &bytes[i]);
    }
    CU_ASSERT_EQUAL(bytes[0], bytes[1]);
    CU_ASSERT_STRING_EQUAL(text[0], text[1]);
    free(text[0]);
    free(text[1]);
}

/* Cut a trace at every byte: whatever is behind its header is a trace. */
static void a_trace_cut_anywhere_is_read_with_a_warning(void)
{
    struct nf_trace *trace = create(nf_tmp("cut"), false);
    size_t bytes, header_bytes;
    char *text;

    write_story(trace);
    nf_trace_close(trace, NULL);
    text = contents(nf_tmp("cut"), &bytes);
    header_bytes = strcspn(text, "\n");
    for (size_t n = 0; n + 1 < bytes; n++) {
        struct nf_history h;
        struct nf_error err = { .text = "" };
        enum nf_status status = nf_history_parse(text, n, "cut", &h, &err);

        CU_ASSERT_EQUAL(status, n < header_bytes ? NF_ERR_INVAL : NF_OK);
        if (status == NF_OK) {
            CU_ASSERT_EQUAL(strstr(h.warning, "no end") != NULL, !h.complete);
            CU_ASSERT_EQUAL(strstr(h.warning, "half") != NULL,
                            n > header_bytes && text[n - 1] != '\n' &&
                                text[n] != '\n');
            nf_history_fini(&h);
        } else {
            CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "cut: line 1: "));
        }
    }
    free(text);
}

/* ---- what can't be true ---- */

#define HEAD                                                                   \
    "{\"nowfarm_trace\":1,\"version\":\"1\",\"app\":\"a\",\"units\":9,"        \
    "\"policy\":\"send\",\"transport\":\"pvm\",\"clock\":\"monotonic\"}\n"
#define JOIN                                                                   \
    "{\"t\":5,\"ev\":\"join\",\"slave\":0,\"host\":\"h\",\"slots\":1}\n"
#define SENT                                                                   \
    "{\"t\":6,\"ev\":\"sent\",\"lease\":1,\"slave\":0,\"first\":0,\"count\":"  \
    "2}\n"
#define RESULT                                                                 \
    "{\"t\":9,\"ev\":\"result\",\"lease\":1,\"units\":2,\"compute_us\":1,"     \
    "\"idle_us\":0,\"elapsed_us\":3}\n"
#define LOST "{\"t\":9,\"ev\":\"lost\",\"slave\":0,\"reason\":\"exited\"}\n"

static const struct {
    const char *text, *says;
} lies[] = {
    { "", "line 1: not a nowfarm trace" },
    { "hello\n", "line 1: not a nowfarm trace" },
    { "[1]\n", "line 1: want a JSON object" },
    { "{\"app\":\"a\"}\n", "line 1: not a nowfarm trace" },
    { "{\"nowfarm_trace\":2}\n", "line 1: trace version 2 is not known" },
    { "{\"nowfarm_trace\":1}\n", "line 1: \"app\": want a text" },
    { HEAD "{]\n" JOIN, "line 2: no JSON" },
    { HEAD "[]\n", "line 2: want a JSON object" },
    { HEAD JOIN "{\"ev\":\"sent\"}\n", "line 3: \"t\" is missing" },
    { HEAD JOIN "{\"t\":-3,\"ev\":\"x\"}\n", "line 3: \"t\" is negative: -3" },
    { HEAD JOIN "{\"t\":1.5,\"ev\":\"x\"}\n",
      "line 3: \"t\": want an integer" },
    { HEAD JOIN "{\"t\":9007199254740993,\"ev\":\"x\"}\n",
      "line 3: \"t\" is above 2^53" },
    { HEAD JOIN "{\"t\":4,\"ev\":\"x\"}\n",
      "line 3: time goes backwards: 4 us after 5" },
    { HEAD JOIN "{\"t\":6,\"ev\":\"x\"}\n",
      "line 3: event \"x\" is not known" },
    { HEAD JOIN JOIN, "line 3: slave 0 is there already" },
    { HEAD SENT, "line 2: slave 0 never came" },
    { HEAD JOIN SENT LOST SENT, "line 5: time goes backwards" },
    { HEAD JOIN LOST LOST, "line 4: slave 0 is not there" },
    { HEAD JOIN SENT SENT, "line 4: lease 1 was sent before" },
    { HEAD JOIN RESULT, "line 3: lease 1 was never sent" },
    { HEAD JOIN SENT RESULT RESULT, "line 5: lease 1 was answered before" },
    { HEAD JOIN "{\"t\":6,\"ev\":\"sent\",\"lease\":1,\"slave\":0,\"first\":8,"
                "\"count\":2}\n",
      "line 3: units 8 + 2 of 9" },
    { HEAD JOIN "{\"t\":6,\"ev\":\"sent\",\"lease\":1,\"slave\":0,\"first\":8,"
                "\"count\":0}\n",
      "line 3: units 8 + 0 of 9" },
    { HEAD JOIN "{\"t\":6,\"ev\":\"sent\",\"lease\":1,\"slave\":0,\"slot\":1,"
                "\"first\":0,\"count\":1}\n",
      "line 3: slot 1: slave 0 has 1" },
    { HEAD JOIN SENT "{\"t\":9,\"ev\":\"part\",\"lease\":1,\"units\":3}\n",
      "line 4: 3 units (0 duplicates) answered, lease 1 has 2 left" },
    { HEAD JOIN SENT "{\"t\":9,\"ev\":\"failed\",\"lease\":1,\"unit\":2}\n",
      "line 4: unit 2 is not one that lease 1 has left" },
    { HEAD JOIN LOST "{\"t\":9,\"ev\":\"join\",\"slave\":0,\"host\":\"h\","
                     "\"slots\":2}\n",
      "line 4: slave 0 had 1 slots and comes back with 2" },
    { HEAD "{\"t\":5,\"ev\":\"join\",\"slave\":9999999,\"host\":\"h\","
           "\"slots\":1}\n",
      "line 2: slave 9999999: want a number below 1048576" },
    { HEAD "{\"t\":5,\"ev\":\"join\",\"slave\":0,\"host\":\"h\","
           "\"slots\":9999999}\n",
      "line 2: 9999999 slots" },
    { HEAD "{\"t\":5,\"ev\":\"phase_end\",\"slave\":0,\"name\":\"x\"}\n",
      "line 2: slave 0 never came" },
    { HEAD JOIN "{\"t\":5,\"ev\":\"phase_end\",\"slave\":0,\"name\":\"x\"}\n",
      "line 3: phase \"x\" of slave 0 never began" },
};

static void what_can_not_be_true_is_refused_with_its_line(void)
{
    for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
        struct nf_history h;
        struct nf_error err = { .text = "" };
        enum nf_status status =
            nf_history_parse(lies[i].text, strlen(lies[i].text), "f", &h, &err);

        CU_ASSERT_EQUAL(status, NF_ERR_INVAL);
        CU_ASSERT_EQUAL(err.status, NF_ERR_INVAL);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.text, lies[i].says));
        if (strstr(err.text, lies[i].says) == NULL)
            fprintf(stderr, "%s\n  is not: %s\n", err.text, lies[i].says);
        if (status == NF_OK)
            nf_history_fini(&h);
    }
}

static void nothing_comes_after_the_end(void)
{
    struct nf_trace *trace = create(nf_tmp("after"), false);
    struct nf_history h;
    struct nf_error err = { .text = "" };

    write_story(trace);
    nf_trace_begin(trace, 1501, 2);
    nf_trace_close(trace, NULL);
    CU_ASSERT_EQUAL(nf_history_read(nf_tmp("after"), &h, &err), NF_ERR_INVAL);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "there is an end before it"));
}

static void a_very_long_line_and_a_binary_file_are_refused(void)
{
    size_t bytes = 1 << 20;
    char *text = malloc(bytes + 1);
    struct nf_history h;
    struct nf_error err = { .text = "" };
    FILE *file;

    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    for (int fill = 0; fill <= 'x'; fill += 'x') {
        memset(text, fill, bytes);
        CU_ASSERT_EQUAL(nf_history_parse(text, bytes, "f", &h, &err),
                        NF_ERR_INVAL);
        file = fopen(nf_tmp("long"), "w");
        CU_ASSERT_PTR_NOT_NULL_FATAL(file);
        CU_ASSERT_EQUAL(fwrite(text, 1, bytes, file), bytes);
        fclose(file);
        CU_ASSERT_EQUAL(nf_history_read(nf_tmp("long"), &h, &err),
                        NF_ERR_INVAL);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "line 1: "));
    }
    free(text);
}

/* ---- the file ---- */

static void times_never_go_back_in_a_trace(void)
{
    struct nf_trace *trace = create(nf_tmp("back"), false);
    struct nf_history h;
    struct nf_error err = { .text = "" };

    nf_trace_join(trace, 2000, 0, "h", 1);
    send(trace, 1999, 1, 0);
    nf_trace_result(trace, 500,
                    &(struct nf_trace_result){ .lease = 1,
                                               .units = 2,
                                               .last = true,
                                               .compute_us = -5,
                                               .wait_us = -1,
                                               .mean_unit_us = -1 });
    nf_trace_close(trace, NULL);
    CU_ASSERT_EQUAL_FATAL(nf_history_read(nf_tmp("back"), &h, &err), NF_OK);
    CU_ASSERT_EQUAL(h.chunks[0].sent_us, 1000);
    CU_ASSERT_EQUAL(h.chunks[0].ended_us, 1000);
    nf_history_fini(&h);
}

static off_t size_of(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0 ? info.st_size : -1;
}

/* Waits for the writing thread, not for a time. */
static bool grows_beyond(const char *path, off_t size)
{
    for (int i = 0; i < 1000 && size_of(path) <= size; i++)
        usleep(10000);
    return size_of(path) > size;
}

static void what_happened_gets_out_each_second_and_at_losses(void)
{
    const char *path = nf_tmp("out");
    struct nf_trace *trace = create(path, false);
    off_t size = size_of(path);

    CU_ASSERT_TRUE(size > 0); /* the header is there at once */
    nf_trace_join(trace, 2000, 0, "h", 1);
    nf_trace_tick(trace, 900000);
    nf_trace_tick(trace, 1001001);
    CU_ASSERT_TRUE(grows_beyond(path, size));
    size = size_of(path);
    nf_trace_lost(trace, 1001002, 0, "exited");
    CU_ASSERT_TRUE(grows_beyond(path, size));
    nf_trace_close(trace, NULL);
}

static void an_old_file_is_replaced_as_a_whole(void)
{
    const char *path = nf_tmp_write("old", "this was here\n");
    FILE *old = fopen(path, "r");
    char line[100] = "";
    struct nf_trace *trace = create(path, false);

    CU_ASSERT_PTR_NOT_NULL_FATAL(old);
    CU_ASSERT_PTR_NOT_NULL(fgets(line, sizeof(line), old));
    CU_ASSERT_STRING_EQUAL(line, "this was here\n"); /* who has it, keeps it */
    fclose(old);
    nf_trace_close(trace, NULL);
    old = fopen(path, "r");
    CU_ASSERT_PTR_NOT_NULL(fgets(line, sizeof(line), old));
    CU_ASSERT_PTR_NOT_NULL(strstr(line, "nowfarm_trace"));
    fclose(old);
}

static void a_path_that_can_not_be_written_is_refused(void)
{
    static const char *const bad[] = { "", "/dev/null", "/tmp",
                                       "/no/such/directory/t" };

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct nf_trace *trace = NULL;
        struct nf_error err = { .text = "" };

        CU_ASSERT_EQUAL(nf_trace_create(bad[i], &header, 0, &trace, &err),
                        NF_ERR_INVAL);
        CU_ASSERT_PTR_NULL(trace);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "trace "));
    }
}

/* A full disk, as far as a process can have one for itself. */
static void a_full_disk_ends_the_trace_and_says_so(void)
{
    const char *path = nf_tmp("full");
    struct rlimit before, small;
    struct nf_trace *trace = create(path, false);
    struct nf_error err = { .text = "" };

    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    small = before;
    small.rlim_cur = 100000;
    CU_ASSERT_EQUAL(setrlimit(RLIMIT_FSIZE, &small), 0);
    nf_trace_join(trace, 2000, 0, "h", 1);
    for (uint64_t i = 0; i < 5000; i++) {
        send(trace, 3000, i, 0);
        answer(trace, 3000, i);
    }
    CU_ASSERT_EQUAL(nf_trace_close(trace, &err), NF_ERR_IO);
    setrlimit(RLIMIT_FSIZE, &before);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "it is not complete"));
    CU_ASSERT_EQUAL(size_of(path), 100000);
}

static void without_a_trace_nothing_happens(void)
{
    write_story(NULL);
    nf_trace_tick(NULL, 5);
    CU_ASSERT_PTR_NULL(nf_trace_error(NULL));
    CU_ASSERT_EQUAL(nf_trace_close(NULL, NULL), NF_OK);
}

static void memory_that_runs_out_is_an_error(void)
{
    struct nf_trace *trace = create(nf_tmp("memory"), true);
    char *text;
    size_t bytes;
    enum nf_status status = NF_ERR_NOMEM;
    long n;

    write_story(trace);
    nf_trace_close(trace, NULL);
    text = contents(nf_tmp("memory"), &bytes);
    for (n = 0; status == NF_ERR_NOMEM && n < 1000; n++) {
        struct nf_history h;

        nf_alloc_fail_after(n);
        status = nf_history_parse(text, bytes, "f", &h, NULL);
        nf_alloc_fail_after(-1);
        if (status == NF_OK)
            nf_history_fini(&h);
    }
    CU_ASSERT_EQUAL(status, NF_OK);
    CU_ASSERT_TRUE(n > 5);
    free(text);
    for (n = 0; n < 3; n++) {
        struct nf_error err;
        enum nf_status created;

        nf_alloc_fail_after(n);
        created = nf_trace_create(nf_tmp("memory"), &header, 0, &trace, &err);
        nf_alloc_fail_after(-1);
        CU_ASSERT_EQUAL(created, n < 2 ? NF_ERR_NOMEM : NF_OK);
        if (created == NF_OK)
            nf_trace_close(trace, NULL);
    }
}

/* ---- when was it computed? ---- */

static void computing_lies_between_sending_and_the_answer(void)
{
    struct nf_history_chunk c = { .sent_us = 100,
                                  .ended_us = 200,
                                  .compute_us = 50,
                                  .wait_us = 10,
                                  .elapsed_us = 100 };
    int64_t from_us, to_us;

    nf_history_computed(&c, 0, &from_us, &to_us);
    CU_ASSERT_EQUAL(from_us, 130); /* 20 there, 10 waiting, 20 back */
    CU_ASSERT_EQUAL(to_us, 180);
    nf_history_computed(&c, 140, &from_us, &to_us);
    CU_ASSERT_EQUAL(from_us, 140);
    CU_ASSERT_EQUAL(to_us, 190);
    nf_history_computed(&c, 170, &from_us, &to_us); /* clocks disagree */
    CU_ASSERT_EQUAL(from_us, 170);
    CU_ASSERT_EQUAL(to_us, 200);
    nf_history_computed(&c, 900, &from_us, &to_us);
    CU_ASSERT_EQUAL(from_us, 200);
    CU_ASSERT_EQUAL(to_us, 200);
}

static CU_TestInfo reading[] = {
    { "what is written is read", what_is_written_is_read },
    { "a trace cut anywhere is read with a warning",
      a_trace_cut_anywhere_is_read_with_a_warning },
    { "what can not be true is refused with its line",
      what_can_not_be_true_is_refused_with_its_line },
    { "nothing comes after the end", nothing_comes_after_the_end },
    { "a very long line and a binary file are refused",
      a_very_long_line_and_a_binary_file_are_refused },
    { "memory that runs out is an error", memory_that_runs_out_is_an_error },
    { "computing lies between sending and the answer",
      computing_lies_between_sending_and_the_answer },
    CU_TEST_INFO_NULL,
};

static CU_TestInfo writing[] = {
    { "virtual time gives the same bytes", virtual_time_gives_the_same_bytes },
    { "times never go back in a trace", times_never_go_back_in_a_trace },
    { "what happened gets out each second and at losses",
      what_happened_gets_out_each_second_and_at_losses },
    { "an old file is replaced as a whole",
      an_old_file_is_replaced_as_a_whole },
    { "a path that can not be written is refused",
      a_path_that_can_not_be_written_is_refused },
    { "a full disk ends the trace and says so",
      a_full_disk_ends_the_trace_and_says_so },
    { "without a trace nothing happens", without_a_trace_nothing_happens },
    CU_TEST_INFO_NULL,
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { .pName = "reading a trace",
          .pInitFunc = nf_tmpdir_make,
          .pCleanupFunc = nf_tmpdir_remove,
          .pTests = reading },
        { .pName = "writing a trace",
          .pInitFunc = nf_tmpdir_make,
          .pCleanupFunc = nf_tmpdir_remove,
          .pTests = writing },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
