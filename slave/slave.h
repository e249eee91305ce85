#ifndef NF_SLAVE_SLAVE_H
#define NF_SLAVE_SLAVE_H
/** @file slave.h  The slave: compute threads ("slots") and the one role of
 *  communicating, which moves between threads but is held by one at a time.
 *  The same code runs in nowfarm-slave, in a user's own program spawned as a
 *  slave, and as threads of the local transport. */
#include "common/net/net.h"

struct nf_slave_config {
    const struct nf_app *const *apps; /**< what it can compute; ends with NULL */
    /** A thread of the master's process (local transport): must not end the
     *  process, nor count on being alone. */
    bool in_process;
    const char *version;     /**< NULL: nf_version(); tests say otherwise */
};

/** Serve the master at @p port until it says STOP, is gone, or is silent for
 *  too long.  Takes over @p port and closes it.
 *
 *  On STOP, a lost master or a unit over its time limit a slave process ends
 *  by _exit() even if kernels still run (0 after STOP, 1 otherwise: then this
 *  does not return); an in-process slave waits for its running kernels.
 *  @retval NF_OK               stopped by the master
 *  @retval NF_ERR_UNREACHABLE  the master is gone
 *  @retval NF_ERR_INVAL        refused: no such app */
enum nf_status nf_slave_serve(struct nf_port *port,
                              const struct nf_slave_config *config);
#endif
