/* The jobs on disk.  SQLite in WAL mode with synchronous=FULL: the number that
 * `submit` prints is a promise, so it is printed only when a loss of power
 * cannot take the job back.  The price, one fsync a change, is paid in the
 * journal's thread.  locking_mode=EXCLUSIVE keeps a second daemon off. */
#include "config.h"
#include "master/store.h"
#include <sqlite3.h>
#include <string.h>
#include "common/base/alloc.h"
#include "common/base/error.h"

enum {
    LAYOUT = 1,                  /* PRAGMA user_version */
    APPLICATION_ID = 0x6e666a31, /* "nfj1" */
};

enum statement { INSERT, UPDATE, FINISH, DELETE, FETCH, NSTATEMENTS };

struct nf_store {
    sqlite3 *db;
    sqlite3_stmt *statements[NSTATEMENTS];
};

static const char schema[] =
    "CREATE TABLE job ("
    " id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL,"
    " priority INTEGER NOT NULL, state TEXT NOT NULL,"
    " attempts INTEGER NOT NULL, exit_status INTEGER NOT NULL,"
    " note TEXT NOT NULL, pid INTEGER NOT NULL, spec TEXT NOT NULL,"
    " submitted_us INTEGER NOT NULL, started_us INTEGER NOT NULL,"
    " finished_us INTEGER NOT NULL, progress TEXT NOT NULL,"
    " report BLOB, report_dropped INTEGER NOT NULL DEFAULT 0,"
    " log BLOB, log_dropped INTEGER NOT NULL DEFAULT 0)";

/* ?1 to ?9 are what bind_state() binds. */
#define STATE_COLUMNS                                                          \
    "state = ?2, attempts = ?3, exit_status = ?4, note = ?5, pid = ?6,"        \
    " started_us = ?7, finished_us = ?8, progress = ?9"

static const char *const texts[NSTATEMENTS] = {
    [INSERT] = ("INSERT INTO job (id, state, attempts, exit_status, note, pid,"
                " started_us, finished_us, progress, name, priority, spec,"
                " submitted_us) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9,"
                " ?10, ?11, ?12, ?13)"),
    [UPDATE] = "UPDATE job SET " STATE_COLUMNS " WHERE id = ?1",
    [FINISH] = ("UPDATE job SET " STATE_COLUMNS ", report = ?10,"
                " report_dropped = ?11, log = ?12, log_dropped = ?13"
                " WHERE id = ?1"),
    [DELETE] = "DELETE FROM job WHERE id = ?1",
    [FETCH] = ("SELECT report, report_dropped, log, log_dropped FROM job"
               " WHERE id = ?1"),
};

static enum nf_status fail(struct nf_store *store, const char *what,
                           struct nf_error *err)
{
    return nf_fail(err, NF_ERR_IO, "job database: %s: %s", what,
                   sqlite3_errmsg(store->db));
}

static int run(struct nf_store *store, const char *sql)
{
    return sqlite3_exec(store->db, sql, NULL, NULL, NULL);
}

/* The one integer that `sql` gives, or `otherwise`. */
static int64_t query_integer(struct nf_store *store, const char *sql,
                             int64_t otherwise)
{
    sqlite3_stmt *statement = NULL;
    int64_t value = otherwise;

    if (sqlite3_prepare_v2(store->db, sql, -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW)
        value = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return value;
}

/* SQLite's own check of all pages; the first complaint goes to *err. */
static enum nf_status check_integrity(struct nf_store *store,
                                      struct nf_error *err)
{
    sqlite3_stmt *statement = NULL;
    enum nf_status status = NF_OK;
    const char *text = NULL;

    if (sqlite3_prepare_v2(store->db, "PRAGMA quick_check(1)", -1, &statement,
                           NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW)
        text = (const char *)sqlite3_column_text(statement, 0);
    if (text == NULL)
        status = nf_fail(err, NF_ERR_INVAL, "%s", sqlite3_errmsg(store->db));
    else if (strcmp(text, "ok") != 0) /* it may be several lines */
        status = nf_fail(err, NF_ERR_INVAL, "corrupt: %.*s",
                         (int)strcspn(text, "\n"), text);
    sqlite3_finalize(statement);
    return status;
}

static enum nf_status create_layout(struct nf_store *store,
                                    struct nf_error *err)
{
    char sql[sizeof(schema) + 120];

    sqlite3_snprintf(sizeof(sql), sql,
                     "BEGIN; %s; PRAGMA application_id = %d;"
                     " PRAGMA user_version = %d; COMMIT",
                     schema, APPLICATION_ID, LAYOUT);
    if (run(store, sql) != SQLITE_OK)
        return nf_fail(err, NF_ERR_INVAL, "%s", sqlite3_errmsg(store->db));
    return NF_OK;
}

static enum nf_status check_layout(struct nf_store *store, struct nf_error *err)
{
    int64_t tables = query_integer(
        store, "SELECT count(*) FROM sqlite_master WHERE type = 'table'", -1);
    int64_t application = query_integer(store, "PRAGMA application_id", -1);
    int64_t layout = query_integer(store, "PRAGMA user_version", -1);

    if (tables < 0)
        return nf_fail(err, NF_ERR_INVAL, "%s", sqlite3_errmsg(store->db));
    if (tables == 0 && application == 0 && layout == 0)
        return create_layout(store, err);
    if (application != APPLICATION_ID)
        return nf_fail(err, NF_ERR_INVAL, "not a database of nowfarmd");
    if (layout != LAYOUT)
        return nf_fail(err, NF_ERR_INVAL,
                       "has layout %lld, this nowfarmd knows layout %d",
                       (long long)layout, LAYOUT);
    return check_integrity(store, err);
}

static enum nf_status set_up(struct nf_store *store, struct nf_error *err)
{
    enum nf_status status;

    /* BEGIN IMMEDIATE takes the lock for good and proves that we can write */
    if (run(store, "PRAGMA locking_mode = EXCLUSIVE") != SQLITE_OK ||
        run(store, "PRAGMA journal_mode = WAL") != SQLITE_OK ||
        run(store, "PRAGMA synchronous = FULL") != SQLITE_OK ||
        run(store, "BEGIN IMMEDIATE; COMMIT") != SQLITE_OK)
        return nf_fail(err, NF_ERR_INVAL, "%s",
                       sqlite3_errcode(store->db) == SQLITE_BUSY
                           ? "in use by another process"
                           : sqlite3_errmsg(store->db));
    status = check_layout(store, err);
    if (status != NF_OK)
        return status;
    for (int i = 0; i < NSTATEMENTS; i++)
        if (sqlite3_prepare_v2(store->db, texts[i], -1, &store->statements[i],
                               NULL) != SQLITE_OK)
            return nf_fail(err, NF_ERR_INVAL, "%s", sqlite3_errmsg(store->db));
    return NF_OK;
}

enum nf_status nf_store_open(const char *path, struct nf_store **store_p,
                             struct nf_error *err)
{
    struct nf_store *store = nf_calloc(1, sizeof(*store));
    struct nf_error why = { .status = NF_ERR_NOMEM, .text = "out of memory" };
    enum nf_status status = NF_ERR_NOMEM;

    if (store != NULL) {
        status = NF_ERR_INVAL;
        if (sqlite3_open_v2(path, &store->db,
                            SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE |
                                SQLITE_OPEN_FULLMUTEX,
                            NULL) != SQLITE_OK)
            nf_fail(&why, status, "%s", sqlite3_errmsg(store->db));
        else
            status = set_up(store, &why);
    }
    if (status != NF_OK) {
        nf_store_close(store);
        return nf_fail(err, status, "job database %s: %s", path, why.text);
    }
    *store_p = store;
    return NF_OK;
}

void nf_store_close(struct nf_store *store)
{
    if (store == NULL)
        return;
    for (int i = 0; i < NSTATEMENTS; i++)
        sqlite3_finalize(store->statements[i]);
    sqlite3_close(store->db);
    nf_free(store);
}

static const char *column_text(sqlite3_stmt *row, int column)
{
    const char *text = (const char *)sqlite3_column_text(row, column);

    return text == NULL ? "" : text;
}

static void read_row(sqlite3_stmt *row, struct nf_store_job *job_p)
{
    *job_p = (struct nf_store_job){
        .id = (uint64_t)sqlite3_column_int64(row, 0),
        .name = column_text(row, 1),
        .priority = sqlite3_column_int(row, 2),
        .state = column_text(row, 3),
        .attempts = (uint32_t)sqlite3_column_int(row, 4),
        .exit_status = sqlite3_column_int(row, 5),
        .note = column_text(row, 6),
        .pid = sqlite3_column_int64(row, 7),
        .spec = column_text(row, 8),
        .submitted_us = sqlite3_column_int64(row, 9),
        .started_us = sqlite3_column_int64(row, 10),
        .finished_us = sqlite3_column_int64(row, 11),
        .progress = column_text(row, 12),
    };
}

enum nf_status nf_store_load(
    struct nf_store *store,
    enum nf_status (*take)(void *user, const struct nf_store_job *job),
    void *user, struct nf_error *err)
{
    static const char sql[] =
        "SELECT id, name, priority, state, attempts, exit_status, note, pid,"
        " spec, submitted_us, started_us, finished_us, progress FROM job"
        " ORDER BY id";
    sqlite3_stmt *rows = NULL;
    enum nf_status status = NF_OK;
    int step = sqlite3_prepare_v2(store->db, sql, -1, &rows, NULL);

    if (step == SQLITE_OK)
        step = sqlite3_step(rows);
    for (; step == SQLITE_ROW; step = sqlite3_step(rows)) {
        struct nf_store_job job;

        read_row(rows, &job);
        status = take(user, &job);
        if (status != NF_OK)
            break;
    }
    if (status != NF_OK)
        nf_fail(err, status, "job database: %s", nf_strerror(status));
    else if (step != SQLITE_DONE)
        status = fail(store, "reading", err);
    sqlite3_finalize(rows);
    return status;
}

uint64_t nf_store_last_id(struct nf_store *store)
{
    return (uint64_t)query_integer(
        store, "SELECT seq FROM sqlite_sequence WHERE name = 'job'", 0);
}

static void bind_text(sqlite3_stmt *statement, int at, const char *text)
{
    sqlite3_bind_text(statement, at, text == NULL ? "" : text, -1,
                      SQLITE_STATIC);
}

static void bind_state(sqlite3_stmt *statement, const struct nf_store_job *job)
{
    sqlite3_bind_int64(statement, 1, (sqlite3_int64)job->id);
    bind_text(statement, 2, job->state);
    sqlite3_bind_int64(statement, 3, job->attempts);
    sqlite3_bind_int(statement, 4, job->exit_status);
    bind_text(statement, 5, job->note);
    sqlite3_bind_int64(statement, 6, job->pid);
    sqlite3_bind_int64(statement, 7, job->started_us);
    sqlite3_bind_int64(statement, 8, job->finished_us);
    bind_text(statement, 9, job->progress);
}

/* Bindings are borrowed, so they must not outlive the call. */
static enum nf_status finish_statement(struct nf_store *store,
                                       sqlite3_stmt *statement,
                                       const char *what, struct nf_error *err)
{
    enum nf_status status = NF_OK;

    if (sqlite3_step(statement) != SQLITE_DONE)
        status = fail(store, what, err);
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
    return status;
}

enum nf_status nf_store_insert(struct nf_store *store,
                               const struct nf_store_job *job,
                               struct nf_error *err)
{
    sqlite3_stmt *statement = store->statements[INSERT];

    bind_state(statement, job);
    bind_text(statement, 10, job->name);
    sqlite3_bind_int(statement, 11, job->priority);
    bind_text(statement, 12, job->spec);
    sqlite3_bind_int64(statement, 13, job->submitted_us);
    return finish_statement(store, statement, "writing a new job", err);
}

enum nf_status nf_store_update(struct nf_store *store,
                               const struct nf_store_job *job,
                               struct nf_error *err)
{
    bind_state(store->statements[UPDATE], job);
    return finish_statement(store, store->statements[UPDATE], "writing a job",
                            err);
}

enum nf_status nf_store_finish(struct nf_store *store,
                               const struct nf_store_job *job,
                               const struct nf_store_text *report,
                               const struct nf_store_text *log,
                               struct nf_error *err)
{
    sqlite3_stmt *statement = store->statements[FINISH];

    bind_state(statement, job);
    sqlite3_bind_blob64(statement, 10, report->data, report->bytes,
                        SQLITE_STATIC);
    sqlite3_bind_int64(statement, 11, (sqlite3_int64)report->dropped_bytes);
    sqlite3_bind_blob64(statement, 12, log->data, log->bytes, SQLITE_STATIC);
    sqlite3_bind_int64(statement, 13, (sqlite3_int64)log->dropped_bytes);
    return finish_statement(store, statement, "writing a result", err);
}

enum nf_status nf_store_delete(struct nf_store *store, uint64_t id,
                               struct nf_error *err)
{
    sqlite3_bind_int64(store->statements[DELETE], 1, (sqlite3_int64)id);
    return finish_statement(store, store->statements[DELETE], "deleting a job",
                            err);
}

static enum nf_status copy_column(sqlite3_stmt *row, int column,
                                  struct nf_store_text *text_p)
{
    const void *data = sqlite3_column_blob(row, column);

    text_p->bytes = (size_t)sqlite3_column_bytes(row, column);
    text_p->dropped_bytes = (uint64_t)sqlite3_column_int64(row, column + 1);
    text_p->data = nf_malloc(text_p->bytes);
    if (text_p->data == NULL)
        return NF_ERR_NOMEM;
    if (text_p->bytes > 0)
        memcpy(text_p->data, data, text_p->bytes);
    return NF_OK;
}

enum nf_status nf_store_fetch(struct nf_store *store, uint64_t id,
                              struct nf_store_text *report_p,
                              struct nf_store_text *log_p, struct nf_error *err)
{
    sqlite3_stmt *statement = store->statements[FETCH];
    struct nf_store_text report = { 0 }, log = { 0 };
    enum nf_status status = NF_OK;

    sqlite3_bind_int64(statement, 1, (sqlite3_int64)id);
    switch (sqlite3_step(statement)) {
    case SQLITE_ROW:
        if (copy_column(statement, 0, &report) != NF_OK ||
            copy_column(statement, 2, &log) != NF_OK)
            status = nf_fail(err, NF_ERR_NOMEM, "out of memory");
        break;
    case SQLITE_DONE:
        status = nf_fail(err, NF_ERR_IO, "job database: no job %llu",
                         (unsigned long long)id);
        break;
    default:
        status = fail(store, "reading a result", err);
    }
    sqlite3_reset(statement);
    if (status != NF_OK) {
        nf_free(report.data);
        nf_free(log.data);
        return status;
    }
    *report_p = report;
    *log_p = log;
    return NF_OK;
}
