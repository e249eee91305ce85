/* The job database: what is written is read back, and what is not a job
 * database is refused with one line. */
#include "config.h"
#include <event2/event.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include "common/base/alloc.h"
#include "master/journal.h"
#include "master/store.h"
#include "tests/unit/nf_tmpdir.h"
#include "tests/unit/nf_unit.h"

static struct nf_store_job sample(uint64_t id)
{
    return (struct nf_store_job){
        .id = id,
        .name = "a 'name'",
        .priority = -7,
        .state = "running",
        .attempts = 3,
        .exit_status = 4,
        .note = "why",
        .pid = 1234567,
        .spec = "{\"argv\":[\"x\"]}",
        .submitted_us = 1000000000000001,
        .started_us = 2,
        .finished_us = 3,
        .progress = "{}",
    };
}

/* Copies of what nf_store_load() showed. */
struct seen {
    int count;
    uint64_t ids[16];
    struct nf_store_job last;
    char name[32], state[32], note[32], spec[64], progress[32];
};

static enum nf_status see(void *user, const struct nf_store_job *job)
{
    struct seen *seen = user;

    seen->ids[seen->count++] = job->id;
    seen->last = *job;
    snprintf(seen->name, sizeof(seen->name), "%s", job->name);
    snprintf(seen->state, sizeof(seen->state), "%s", job->state);
    snprintf(seen->note, sizeof(seen->note), "%s", job->note);
    snprintf(seen->spec, sizeof(seen->spec), "%s", job->spec);
    snprintf(seen->progress, sizeof(seen->progress), "%s", job->progress);
    return NF_OK;
}

static struct nf_store *must_open(const char *path)
{
    struct nf_error err = { .text = "" };
    struct nf_store *store = NULL;

    if (nf_store_open(path, &store, &err) != NF_OK)
        printf("\n    %s", err.text);
    CU_ASSERT_PTR_NOT_NULL(store);
    if (store == NULL)
        exit(1);
    return store;
}

static void a_job_is_read_back_as_it_was_written(void)
{
    struct nf_store *store = must_open(nf_tmp("a.db"));
    struct nf_store_job job = sample(5);
    struct seen seen = { 0 };

    CU_ASSERT_EQUAL(nf_store_insert(store, &job, NULL), NF_OK);
    nf_store_close(store);
    store = must_open(nf_tmp("a.db"));
    CU_ASSERT_EQUAL(nf_store_load(store, see, &seen, NULL), NF_OK);
    CU_ASSERT_EQUAL(seen.count, 1);
    CU_ASSERT_EQUAL(seen.last.id, 5);
    CU_ASSERT_EQUAL(seen.last.priority, -7);
    CU_ASSERT_EQUAL(seen.last.attempts, 3);
    CU_ASSERT_EQUAL(seen.last.exit_status, 4);
    CU_ASSERT_EQUAL(seen.last.pid, 1234567);
    CU_ASSERT_EQUAL(seen.last.submitted_us, 1000000000000001);
    CU_ASSERT_EQUAL(seen.last.started_us, 2);
    CU_ASSERT_EQUAL(seen.last.finished_us, 3);
    CU_ASSERT_STRING_EQUAL(seen.name, "a 'name'");
    CU_ASSERT_STRING_EQUAL(seen.state, "running");
    CU_ASSERT_STRING_EQUAL(seen.note, "why");
    CU_ASSERT_STRING_EQUAL(seen.spec, "{\"argv\":[\"x\"]}");
    CU_ASSERT_STRING_EQUAL(seen.progress, "{}");
    nf_store_close(store);
}

static void report_and_log_keep_every_byte(void)
{
    struct nf_store *store = must_open(nf_tmp("b.db"));
    struct nf_store_job job = sample(1);
    struct nf_store_text report = { (char[]){ "a\0b\n" }, 4, 0 };
    struct nf_store_text log = { (char[]){ "\xff\xfe" }, 2, 77 };
    struct nf_store_text r = { 0 }, l = { 0 };

    nf_store_insert(store, &job, NULL);
    job.state = "done";
    CU_ASSERT_EQUAL(nf_store_finish(store, &job, &report, &log, NULL), NF_OK);
    CU_ASSERT_EQUAL(nf_store_fetch(store, 1, &r, &l, NULL), NF_OK);
    CU_ASSERT_TRUE(r.bytes == 4 && memcmp(r.data, "a\0b\n", 4) == 0);
    CU_ASSERT_TRUE(l.bytes == 2 && memcmp(l.data, "\xff\xfe", 2) == 0);
    CU_ASSERT_EQUAL(l.dropped_bytes, 77);
    nf_free(r.data);
    nf_free(l.data);
    CU_ASSERT_EQUAL(nf_store_fetch(store, 2, &r, &l, NULL), NF_ERR_IO);
    nf_store_close(store);
}

static void numbers_of_deleted_jobs_are_not_used_again(void)
{
    struct nf_store *store = must_open(nf_tmp("c.db"));
    struct nf_store_job job = sample(41);
    struct seen seen = { 0 };

    CU_ASSERT_EQUAL(nf_store_last_id(store), 0);
    nf_store_insert(store, &job, NULL);
    CU_ASSERT_EQUAL(nf_store_delete(store, 41, NULL), NF_OK);
    nf_store_close(store);
    store = must_open(nf_tmp("c.db"));
    CU_ASSERT_EQUAL(nf_store_last_id(store), 41);
    nf_store_load(store, see, &seen, NULL);
    CU_ASSERT_EQUAL(seen.count, 0);
    nf_store_close(store);
}

static void refuse(const char *path, const char *reason)
{
    struct nf_error err = { .text = "" };
    struct nf_store *store = NULL;

    CU_ASSERT_EQUAL(nf_store_open(path, &store, &err), NF_ERR_INVAL);
    CU_ASSERT_PTR_NULL(store);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, reason));
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, path));
    CU_ASSERT_PTR_NULL(strchr(err.text, '\n'));
    if (strstr(err.text, reason) == NULL)
        printf("\n    %s", err.text);
    nf_store_close(store);
}

static void run_sql(const char *path, const char *sql)
{
    sqlite3 *db;

    CU_ASSERT_EQUAL(sqlite3_open(path, &db), SQLITE_OK);
    CU_ASSERT_EQUAL(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

static void what_is_no_job_database_is_refused(void)
{
    char garbage[5000];

    memset(garbage, 'g', sizeof(garbage) - 1);
    garbage[sizeof(garbage) - 1] = '\0';
    refuse(nf_tmp_write("garbage.db", garbage), "not a database");
    refuse(nf_tmp("missing/x.db"), "unable to open");
    run_sql(nf_tmp("other.db"), "CREATE TABLE t (x)");
    refuse(nf_tmp("other.db"), "not a database of nowfarmd");
    nf_store_close(must_open(nf_tmp("newer.db")));
    run_sql(nf_tmp("newer.db"), "PRAGMA user_version = 9");
    refuse(nf_tmp("newer.db"), "has layout 9, this nowfarmd knows layout 1");
}

/* Overwrite the second half of the file, behind the header and the schema. */
static void a_corrupt_database_is_refused(void)
{
    const char *path = nf_tmp("corrupt.db");
    struct nf_store *store = must_open(path);
    FILE *file;
    long bytes;

    for (uint64_t id = 1; id <= 200; id++) {
        struct nf_store_job job = sample(id);

        nf_store_insert(store, &job, NULL);
    }
    nf_store_close(store);
    file = fopen(path, "r+");
    fseek(file, 0, SEEK_END);
    bytes = ftell(file);
    fseek(file, bytes / 2, SEEK_SET);
    for (long i = bytes / 2; i < bytes; i++)
        fputc(0x5a, file);
    fclose(file);
    refuse(path, "corrupt.db");
}

static void a_second_daemon_is_kept_off_the_database(void)
{
    static struct nf_store *volatile store; /* still seen in the child, where
                                               valgrind looks for leaks */
    pid_t child;
    int status = 0;

    store = must_open(nf_tmp("locked.db"));
    child = fork();
    if (child == 0) {
        struct nf_error err = { .text = "" };
        struct nf_store *second = NULL;
        enum nf_status got = nf_store_open(nf_tmp("locked.db"), &second, &err);

        _exit(got == NF_ERR_INVAL && strstr(err.text, "in use") != NULL ? 0
                                                                        : 1);
    }
    CU_ASSERT_EQUAL(waitpid(child, &status, 0), child);
    CU_ASSERT_EQUAL(status, 0);
    nf_store_close(store);
}

/* A process that is killed between two calls loses nothing of what returned. */
static void what_returned_survives_kill_9(void)
{
    pid_t child = fork();
    struct nf_store *store;
    struct seen seen = { 0 };
    int status;

    if (child == 0) {
        struct nf_store_job job = sample(1);

        store = NULL;
        nf_store_open(nf_tmp("killed.db"), &store, NULL);
        nf_store_insert(store, &job, NULL);
        job.id = 2;
        nf_store_insert(store, &job, NULL);
        kill(getpid(), SIGKILL);
    }
    waitpid(child, &status, 0);
    CU_ASSERT_TRUE(WIFSIGNALED(status));
    store = must_open(nf_tmp("killed.db"));
    nf_store_load(store, see, &seen, NULL);
    CU_ASSERT_EQUAL(seen.count, 2);
    nf_store_close(store);
}

struct done {
    struct event_base *base;
    int order[64], count, wanted;
    size_t report_bytes;
    enum nf_status last;
};

static void on_done(void *user, struct nf_journal_entry *entry,
                    enum nf_status status, const struct nf_error *err)
{
    struct done *done = user;

    (void)err;
    done->order[done->count++] = (int)entry->client;
    done->last = status;
    if (entry->kind == NF_JOURNAL_FETCH && status == NF_OK)
        done->report_bytes = entry->report.bytes;
    if (done->count == done->wanted)
        event_base_loopbreak(done->base);
}

static void the_journal_works_in_the_order_of_posts(void)
{
    struct event_base *base = event_base_new();
    struct nf_store *store = must_open(nf_tmp("journal.db"));
    struct nf_journal *journal = nf_journal_open(base, store);
    struct done done = { .base = base, .wanted = 22 };
    struct nf_journal_entry entry = { .done = on_done, .user = &done };

    for (uint64_t id = 1; id <= 20; id++) {
        entry.kind = NF_JOURNAL_INSERT;
        entry.job = sample(id);
        entry.client = id;
        CU_ASSERT_EQUAL(nf_journal_post(journal, &entry), NF_OK);
    }
    entry.kind = NF_JOURNAL_FINISH;
    entry.client = 21;
    entry.report.data = nf_strdup("12345");
    entry.report.bytes = 5;
    CU_ASSERT_EQUAL(nf_journal_post(journal, &entry), NF_OK);
    memset(&entry.report, 0, sizeof(entry.report));
    entry.kind = NF_JOURNAL_FETCH; /* sees what was posted before it */
    entry.client = 22;
    CU_ASSERT_EQUAL(nf_journal_post(journal, &entry), NF_OK);
    event_base_dispatch(base);
    for (int i = 0; i < 22; i++)
        CU_ASSERT_EQUAL(done.order[i], i + 1);
    CU_ASSERT_EQUAL(done.report_bytes, 5);
    nf_journal_close(journal);
    nf_store_close(store);
    event_base_free(base);
}

static void closing_the_journal_finishes_what_was_posted(void)
{
    struct event_base *base = event_base_new();
    struct nf_store *store = must_open(nf_tmp("closing.db"));
    struct nf_journal *journal = nf_journal_open(base, store);
    struct done done = { .base = base, .wanted = 1000 };
    struct nf_journal_entry entry = { .kind = NF_JOURNAL_INSERT,
                                      .done = on_done,
                                      .user = &done };
    struct seen seen = { 0 };

    for (uint64_t id = 1; id <= 10; id++) {
        entry.job = sample(id);
        nf_journal_post(journal, &entry);
    }
    nf_journal_close(journal);
    CU_ASSERT_EQUAL(done.count, 10);
    nf_store_load(store, see, &seen, NULL);
    CU_ASSERT_EQUAL(seen.count, 10);
    nf_store_close(store);
    event_base_free(base);
}

static void a_failure_of_the_store_reaches_who_asked(void)
{
    struct event_base *base = event_base_new();
    struct nf_store *store = must_open(nf_tmp("failing.db"));
    struct nf_journal *journal = nf_journal_open(base, store);
    struct done done = { .base = base, .wanted = 2 };
    struct nf_journal_entry entry = { .kind = NF_JOURNAL_INSERT,
                                      .job = sample(1),
                                      .done = on_done,
                                      .user = &done };

    nf_journal_post(journal, &entry);
    nf_journal_post(journal, &entry); /* the same number again */
    event_base_dispatch(base);
    CU_ASSERT_EQUAL(done.last, NF_ERR_IO);
    nf_journal_close(journal);
    nf_store_close(store);
    event_base_free(base);
}

int main(void)
{
    CU_TestInfo store[] = {
        { "a job is read back as it was written",
          a_job_is_read_back_as_it_was_written },
        { "report and log keep every byte", report_and_log_keep_every_byte },
        { "numbers of deleted jobs are not used again",
          numbers_of_deleted_jobs_are_not_used_again },
        { "what is no job database is refused",
          what_is_no_job_database_is_refused },
        { "a corrupt database is refused", a_corrupt_database_is_refused },
        { "a second daemon is kept off the database",
          a_second_daemon_is_kept_off_the_database },
        { "what returned survives kill -9", what_returned_survives_kill_9 },
        CU_TEST_INFO_NULL,
    };
    CU_TestInfo journal[] = {
        { "the journal works in the order of posts",
          the_journal_works_in_the_order_of_posts },
        { "closing the journal finishes what was posted",
          closing_the_journal_finishes_what_was_posted },
        { "a failure of the store reaches who asked",
          a_failure_of_the_store_reaches_who_asked },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "the store", nf_tmpdir_make, nf_tmpdir_remove, NULL, NULL, store },
        { "the journal", nf_tmpdir_make, nf_tmpdir_remove, NULL, NULL,
          journal },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
