#ifndef NF_MASTER_RECORDS_H
#define NF_MASTER_RECORDS_H
/** @file records.h  Jobs into the journal, and stored jobs back into jobs. */
#include "master/job.h"
#include "master/journal.h"
#include "master/runner.h"

/** Post @p entry about @p job: its member job is filled from @p job, all else
 *  is the caller's.
 *  @retval NF_ERR_NOMEM  logged; entry->done will not be called */
enum nf_status nf_record_post(struct nf_journal *journal,
                              const struct nf_job *job,
                              struct nf_journal_entry *entry);
/** Record how far the job is; a failure is logged. */
void nf_record_state(struct nf_journal *journal, const struct nf_job *job);
/** Record the end of a job, with what its runner wrote (NULL: it had none). */
void nf_record_end(struct nf_journal *journal, const struct nf_job *job,
                   const struct nf_runner *runner);
/** Forget a job. */
void nf_record_delete(struct nf_journal *journal, uint64_t id);

/** Make a job of a record.
 *  @param job_p  free with nf_job_destroy
 *  @retval NF_ERR_INVAL  the record makes no sense
 *  @retval NF_ERR_NOMEM */
enum nf_status nf_record_read(const struct nf_store_job *stored,
                              struct nf_job **job_p);
#endif
