#ifndef NF_MASTER_JOURNAL_H
#define NF_MASTER_JOURNAL_H
/** @file journal.h  The store behind a thread, so that the loop never waits for
 *  the disk.  Entries are carried out in the order they were posted; what was
 *  posted before a read is seen by it. */
#include <event2/event.h>
#include <stdbool.h>
#include "master/store.h"

enum nf_journal_kind {
    NF_JOURNAL_INSERT,
    NF_JOURNAL_UPDATE,
    NF_JOURNAL_FINISH, /**< with report and log */
    NF_JOURNAL_DELETE, /**< job.id only */
    NF_JOURNAL_FETCH,  /**< job.id only; fills report and log */
};

/** One thing to do.  The texts of @c job need live only until the post. */
struct nf_journal_entry {
    enum nf_journal_kind kind;
    struct nf_store_job job;
    struct nf_store_text report, log; /**< data is the entry's: nf_malloc */
    /** Called in the loop when it is done, with what the store returned; NULL:
     *  nobody cares (a failure is logged in any case). */
    void (*done)(void *user, struct nf_journal_entry *entry,
                 enum nf_status status, const struct nf_error *err);
    void *user;
    void *object;    /**< for done: what it is about */
    uint64_t client; /**< for done: on whose behalf */
    bool flag;       /**< for done */
};

struct nf_journal;

/** Start the thread.  @param store  borrowed until nf_journal_close(); nobody
 *  else may use it until then
 *  @return NULL if out of memory or threads */
struct nf_journal *nf_journal_open(struct event_base *base,
                                   struct nf_store *store);
/** Carry out what is left, end the thread, call `done` of everything that is
 *  done.  NULL is fine. */
void nf_journal_close(struct nf_journal *journal);

/** Hand over an entry; copies *entry and its texts, and owns report and log
 *  from now on, also on failure.
 *  @retval NF_ERR_NOMEM  nothing will happen, done is not called */
enum nf_status nf_journal_post(struct nf_journal *journal,
                               const struct nf_journal_entry *entry);
#endif
