#ifndef NF_MASTER_REQUESTS_H
#define NF_MASTER_REQUESTS_H
/** @file requests.h  What clients can ask of the daemon.
 *
 *  submit  {"argv", "cwd", "umask", "env", "name"?, "priority"?} -> {"job": N}
 *  status  {"job": N} -> {"job": {...}};
 *          {} -> {"jobs": [...], "left_out": K, "daemon": {...}}: those that
 * run, the queued ones in their order, the finished ones, latest first wait
 * {"job": N} -> {"job": {...}}, when it has ended result  {"job": N, "log"?:
 * BOOL} -> {"text", "dropped_bytes"} cancel  {"job": N} -> {"job": N, "state":
 * "cancelled" | "cancelling"} */
#include "master/jobs.h"

/** Jobs listed by one status reply, so that it is never slow. */
#define NF_REQUESTS_MOST_LISTED 500

/** Hooks for nf_control_create(), with a struct nf_jobs as user. */
void nf_requests_handle(void *user, uint64_t client, const char *op,
                        const json_t *request);
bool nf_requests_hangup(void *user, uint64_t client);
#endif
