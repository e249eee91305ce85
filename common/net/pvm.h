#ifndef NF_NET_PVM_H
#define NF_NET_PVM_H
/** @file pvm.h  The calls into libpvm, and nothing else: of the library, only
 *  pvm.c, pvm_message.c and pvm_context.c see pvm3.h, and map PVM's error numbers to status codes and
 *  texts.
 *
 *  libpvm keeps one connection per process and is not thread-safe: one thread
 *  at a time.  Calls marked (slow) wait for an answer of some pvmd, for up to
 *  160 s if its host is dead; only processes that may hang make them (see
 *  keeper.h). */
#include "common/wire/link.h"

/** Message tags, for these files only. */
enum nf_pvm_tag {
    NF_PVM_TAG_FRAME = 0x4e4601,
    NF_PVM_TAG_EXIT,
    NF_PVM_TAG_HOST_ADDED,
    NF_PVM_TAG_HOST_LOST,
    NF_PVM_TAG_OUTPUT,
    NF_PVM_TAG_ROUTE_ENDED,
    NF_PVM_TAG_ROUTE_OPENED,
};

/** Does anything listen at the address in PVM's file?  Answers at once. */
bool nf_pvm_answers(void);
/** Connect this process to the local pvmd.
 *  @retval NF_ERR_UNREACHABLE  no pvmd answers; nothing was printed */
enum nf_status nf_pvm_enroll(int *tid_p);
/** libpvm complains on standard error when there is no pvmd, or when a task that
 *  it writes to has ended, whatever PvmAutoErr says.  Between these two nothing
 *  that this thread writes to the stream stderr is seen; other threads and
 *  programs keep theirs. */
void nf_pvm_hush(void);
void nf_pvm_unhush(void);
/** Disconnect.  Harmless when not connected. */
void nf_pvm_leave(void);
/** The file by which tasks find the local pvmd, "/tmp/pvmd.1000". */
void nf_pvm_socket_file(char *path_p, size_t bytes);
/** The folder of that file. */
const char *nf_pvm_folder(void);
/** May this user run PVM?  If not, libpvm would print a page and exit, so ask
 *  before nf_pvm_enroll() and nf_pvm_start().
 *  @retval NF_ERR_UNREACHABLE  root, and PVM_ALLOW_ROOT is not set */
enum nf_status nf_pvm_is_allowed(struct nf_error *err);
/** Start a pvmd on this host and connect to it.
 *  @retval NF_ERR_UNREACHABLE  err says why, as far as PVM tells */
enum nf_status nf_pvm_start(struct nf_error *err);
/** Send route of this process: ask for direct sockets (slaves), or only accept
 *  them (the master, which must never wait for a slave to answer). */
void nf_pvm_ask_direct_routes(bool ask);
/** Are direct routes to be used at all?  Not if NOWFARM_ROUTE is "daemon". */
bool nf_pvm_wants_direct_routes(void);

struct nf_pvm_host {
    char name[64], arch[16];
    int tid;    /**< of its pvmd */
    int format; /**< data signature: equal means raw is right */
};
/** The virtual machine as the local pvmd knows it; answers at once.
 *  @param hosts_p  to nf_free() */
enum nf_status nf_pvm_hosts(struct nf_pvm_host **hosts_p, size_t *count_p);
/** Do the data formats of two hosts differ?  Yes if one is not among @p hosts: to
 *  convert is right for any.
 *  @param one, other  tids of their pvmds */
bool nf_pvm_formats_differ(const struct nf_pvm_host *hosts, size_t count, int one,
                           int other);
/** Tid of the pvmd of the host that task @p tid is on. */
int nf_pvm_host_of(int tid);

/** Add a host (slow).  @p line: "ws1 ep=/opt/bin", a line of a PVM hostfile. */
enum nf_status nf_pvm_add_host(const char *line, struct nf_error *err);
/** Remove a host (slow).
 *  @retval NF_ERR_INVAL  the host that started the virtual machine */
enum nf_status nf_pvm_remove_host(const char *name, struct nf_error *err);
/** Start @p count tasks of @p program on @p host (slow).  Environment names in
 *  @p exported ("A:B") go with them.  Their output comes to this process.
 *  @param tids_p  [count]; the first *started_p are set
 *  @return NF_OK if all started; else *err says why the others did not */
enum nf_status nf_pvm_spawn(const char *program, const char *host,
                            uint32_t count, const char *exported, int *tids_p,
                            uint32_t *started_p, struct nf_error *err);
/** Kill tasks (slow if their host is dead). */
void nf_pvm_kill(const int *tids, size_t count);
/** Who has tasks on the local host besides this process? */
enum nf_pvm_company {
    NF_PVM_ALONE,   /**< nobody */
    NF_PVM_OURS,    /**< our process group, or what it spawned */
    NF_PVM_ORPHANS, /**< tasks whose parent is gone: slaves end soon after */
    NF_PVM_OTHERS,  /**< other programs */
};
/** The highest of these that holds. (slow) */
enum nf_pvm_company nf_pvm_company(void);
/** Kill what our process group spawned, on this host or on all (slow). */
void nf_pvm_kill_ours(bool everywhere);
/** Halt the whole virtual machine.  The caller may get SIGTERM. */
void nf_pvm_halt(void);

/** Ask for NF_PVM_EXIT of a task, and for HOST_ADDED / HOST_LOST. */
void nf_pvm_notify_exit(int tid);
void nf_pvm_notify_hosts(void);

enum nf_pvm_kind {
    NF_PVM_FRAME,        /**< tid, frame; take its bytes by nf_pvm_take */
    NF_PVM_EXIT,         /**< tid */
    NF_PVM_HOST_ADDED,   /**< */
    NF_PVM_HOST_LOST,    /**< tid (of its pvmd) */
    NF_PVM_ROUTE_OPENED, /**< tid: what we send to it goes directly */
    NF_PVM_ROUTE_ENDED,  /**< tid: all that it sent directly was read */
    NF_PVM_OUTPUT,       /**< tid, text, text_bytes; 0 bytes: it has ended */
    NF_PVM_OTHER,        /**< not for us: ignored */
};
struct nf_pvm_message {
    enum nf_pvm_kind kind;
    int tid;
    struct nf_frame frame;
    const uint8_t *bytes; /**< of a frame that has come by a duct: body, then
                               payload; NULL: nf_pvm_take() has them */
    const char *text;
    size_t text_bytes;
};
/** The next message, waiting for one at most @p linger_us (< 0: for ever).
 *  Messages that libpvm already has cost no system call.  A malformed frame is
 *  NF_PVM_OTHER.
 *  @retval NF_WAIT  none came   @retval NF_ERR_UNREACHABLE  the pvmd is gone */
enum nf_status nf_pvm_receive(int64_t linger_us,
                              struct nf_pvm_message *message_p);
/** Would it find one without waiting?  Reads sockets, but takes nothing. */
bool nf_pvm_has_more(void);
/** What is in a buffer of libpvm that has just been received? */
enum nf_status nf_pvm_classify(int buffer, struct nf_pvm_message *message_p);
/** Has nf_pvm_receive() ever been called? */
bool nf_pvm_somebody_receives(void);
/** Unpack the bytes of the frame just received into place. */
enum nf_status nf_pvm_take(const struct nf_link_in *in);
/** Send one frame.  @p convert: pack the payload element by element in XDR. */
enum nf_status nf_pvm_send(int tid, const struct nf_link_out *out,
                           bool convert);
/** The window that the sockets of this process are good for, so that no send
 *  blocks; to be asked once a route is there. */
uint32_t nf_pvm_window_bytes(void);
/** Sockets to watch; valid until the next call into PVM. */
size_t nf_pvm_fds(const int **fds_p);
#endif
