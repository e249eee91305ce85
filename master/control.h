#ifndef NF_MASTER_CONTROL_H
#define NF_MASTER_CONTROL_H
/** @file control.h  The daemon's side of the control socket: accepting clients,
 *  framing, limits.  What requests mean is the business of the handler.
 *
 *  A client can cost the loop no more than its share: one request at a time is
 *  read from it, the next when the reply to the last has been written; a line
 *  has a longest length; a client that neither completes a request nor takes
 * its reply within the patience is dropped; and when there are too many, the
 * one that has been silent for longest makes room. */
#include <event2/event.h>
#include <jansson.h>
#include <stdbool.h>
#include "nowfarm.h"

struct nf_control_limits {
    size_t max_clients;
    size_t request_bytes; /**< longest request line */
    int64_t patience_us;  /**< for a whole request, and for taking a reply */
};

/** { 128, NF_REQUEST_BYTES, 10 s }. */
extern const struct nf_control_limits nf_control_default_limits;

/** The handler.  @p client numbers never repeat, so one that is gone can be
 *  replied to without harm. */
struct nf_control_hooks {
    /** A request has come: an object of our protocol version.  It must be
     *  replied to once, now or later. */
    void (*request)(void *user, uint64_t client, const char *op,
                    const json_t *request);
    /** The client of a request not yet replied to will send nothing more.
     *  @return whether to forget it; else it still gets its reply, as a client
     *          that only closed its writing side would want */
    bool (*hangup)(void *user, uint64_t client);
    void *user;
};

struct nf_control;

/** @param listen_fd  a listening, non-blocking socket; taken, also on failure
 *  @param limits     copied
 *  @return NULL if out of memory */
struct nf_control *nf_control_create(struct event_base *base, int listen_fd,
                                     const struct nf_control_limits *limits,
                                     const struct nf_control_hooks *hooks);
/** Closes all connections; hooks are not called.  NULL is fine. */
void nf_control_destroy(struct nf_control *control);

/** Reply to the request of @p client: {"v": 1, "ok": true} and the members of
 *  @p reply, which is taken (NULL: out of memory). */
void nf_control_reply(struct nf_control *control, uint64_t client,
                      json_t *reply);
/** Reply that it failed.  @param exit_status  what the client shall exit with
 */
void nf_control_refuse(struct nf_control *control, uint64_t client,
                       int exit_status, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/** Write out replies that are waiting, as far as sockets take them now; for the
 *  moment before exit. */
void nf_control_flush(struct nf_control *control);
/** @return connections there are. */
size_t nf_control_clients(const struct nf_control *control);
#endif
