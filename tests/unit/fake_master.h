#ifndef NF_FAKE_MASTER_H
#define NF_FAKE_MASTER_H
/** @file fake_master.h  A scripted master: one slave, in a thread, over the
 *  local transport.  Whatever it waits for fails the test if it does not come
 *  within a time that only a hang can exceed. */
#include <stdatomic.h>
#include "slave/slave.h"

/** A message of the slave, decoded. */
struct fake_reply {
    enum nf_msg_kind kind; /**< NF_MSG_NONE: the slave's thread has ended */
    struct nf_hello hello;
    struct nf_ready_msg ready;
    struct nf_text_msg refuse;
    struct nf_result_msg result; /**< layout.table points to table */
    struct nf_unit_failed_msg failed;
    uint8_t table[1024];
    struct nf_blob *payload; /**< freed by the next call, or close */
};

struct fake_master {
    struct nf_net *net;
    struct nf_slave_config config;
    struct nf_port_ops port_ops; /**< those of its port, but for
                                      close and send */
    struct nf_body body;
    struct fake_reply reply; /**< the last one */
    uint32_t heartbeats;     /**< skipped so far */
    atomic_bool closed;      /**< the slave has closed its port */
    atomic_bool hold_sends;  /**< set it: the slave's next send waits until it
                                  is cleared, as in a busy network */
    atomic_bool holding;     /**< that send waits */
    bool keeps;              /**< the job has results stay with the slave */
    atomic_int status;       /**< of nf_slave_serve; 99 before that returns */
};

/** Start a slave that knows @p app. */
void fake_open(struct fake_master *fm, const struct nf_app *app,
               bool in_process);
/** Close the net; no message needs to have been sent. */
void fake_close(struct fake_master *fm);
/** A job as tests like it: 100 s of patience on both sides. */
struct nf_job_msg fake_job(const struct nf_app *app, uint32_t slots);
/** fake_open, HELLO, JOB, READY. */
void fake_start(struct fake_master *fm, const struct nf_app *app,
                const struct nf_job_msg *job);
/** STOP, wait for the end, fake_close; the slave must say NF_OK. */
void fake_stop(struct fake_master *fm);

/** Send a message; takes @p payload. */
void fake_send(struct fake_master *fm, enum nf_msg_kind kind,
               const struct nf_body *body, struct nf_blob *payload);
void fake_send_job(struct fake_master *fm, const struct nf_job_msg *job);
/** Send units [first, first + count), the input of unit u being u itself. */
void fake_send_lease(struct fake_master *fm, uint32_t slot, uint64_t lease,
                     uint64_t first, uint64_t count);
/** Wait for the next message but heartbeats.  @return &fm->reply */
const struct fake_reply *fake_next(struct fake_master *fm);
/** The same, and it must be of @p kind. */
const struct fake_reply *fake_expect(struct fake_master *fm,
                                     enum nf_msg_kind kind);
/** Wait until the slave has sent @p count more heartbeats, and nothing else. */
void fake_expect_heartbeats(struct fake_master *fm, uint32_t count);
/** Wait until the slave has taken all we sent. */
void fake_drain(struct fake_master *fm);
/** Result @p i of the last reply, a RESULT of 8-byte numbers. */
uint64_t fake_number(const struct fake_master *fm, uint64_t i);
#endif
