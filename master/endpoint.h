#ifndef NF_MASTER_ENDPOINT_H
#define NF_MASTER_ENDPOINT_H
/** @file endpoint.h  Where nowfarmd and its clients meet, and what both must
 *  agree on: a Unix stream socket of one user, on which a client writes
 *  requests and reads as many replies, each one JSON object on one line.
 *
 *  Request: {"v": 1, "op": "submit|status|wait|result|cancel", ...}.
 *  Reply:   {"v": 1, "ok": true, ...} or
 *           {"v": 1, "ok": false, "exit": STATUS, "error": "one line"}. */
#include <stdbool.h>
#include "nowfarm.h"

#define NF_PROTOCOL_VERSION 1
/** Longest request, its newline not included. */
#define NF_REQUEST_BYTES ((size_t)256 * 1024)
/** Longest reply a client accepts. */
#define NF_REPLY_BYTES ((size_t)16 * 1024 * 1024)
/** A path that fits a socket address, its NUL included. */
#define NF_ENDPOINT_BYTES 108

/** Choose the socket's path: the first of @p option (--socket), the variable
 *  NOWFARM_SOCKET, @p configured (each may be NULL or empty),
 *  $XDG_RUNTIME_DIR/nowfarm/nowfarmd.sock and /tmp/nowfarm-UID/nowfarmd.sock.
 *  @retval NF_ERR_INVAL  not absolute, or too long for a socket */
enum nf_status nf_endpoint_path(const char *option, const char *configured,
                                char path_p[NF_ENDPOINT_BYTES],
                                struct nf_error *err);

/** Take the socket at @p path: make its directory (0700) if it is missing,
 *  lock "PATH.lock" for the life of this process, replace the socket of a dead
 *  daemon, bind with mode 0600 and listen.  Both descriptors are close-on-exec,
 *  the socket does not block.
 *  @param lock_fd_p    close it last; the lock file stays
 *  @retval NF_ERR_INVAL  the directory is not safe, the path is taken by
 *                        something else, or a nowfarmd already runs there
 *  @retval NF_ERR_IO     a system call failed */
enum nf_status nf_endpoint_listen(const char *path, int *lock_fd_p,
                                  int *listen_fd_p, struct nf_error *err);

/** Connect to the daemon at @p path and check that it is of this user (or
 *  root).  The descriptor does not block and is close-on-exec.
 *  @retval NF_ERR_UNREACHABLE  no daemon there; err says how to start one */
enum nf_status nf_endpoint_connect(const char *path, int *fd_p,
                                   struct nf_error *err);

/** @return whether the peer of @p fd is this user or root; false also if that
 *          cannot be found out. */
bool nf_endpoint_peer_is_ours(int fd);

/** Which variables of the submitter's environment a job gets: PATH, HOME,
 *  PVM_*, NOWFARM_* and OPENBLAS_*, except those that name the virtual machine
 *  (PVM_TMP, PVM_VMID) or the daemon and job (NOWFARM_SOCKET, NOWFARM_JOB),
 *  which are the daemon's.  @p name need not end where its name ends: it may be
 *  "NAME=value". */
bool nf_endpoint_env_travels(const char *name);
#endif
