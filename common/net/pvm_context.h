#ifndef NF_NET_PVM_CONTEXT_H
#define NF_NET_PVM_CONTEXT_H
/** @file pvm_context.h  Messages in contexts of their own, in a process that
 * may use libpvm for other things too.
 *
 *  All that arrives in a watched context is given to a handler, whoever makes
 *  libpvm read its sockets: so no message for one user of PVM lies in libpvm,
 *  announced by no socket, because another user has read it.  PVM sends its
 *  notices in the context in which they were asked for. */
#include "common/net/pvm.h"

/** What the process had set before we came, to be put back when we go. */
struct nf_pvm_guard {
    int context, route, fragment, complain, send_buffer, receive_buffer;
};
/** Enter @p context, with our own options and no buffers; direct routes are
 *  used where there are any, and asked for only if @p ask. */
void nf_pvm_enter(int context, bool ask, struct nf_pvm_guard *guard_p);
/** Put everything back.  */
void nf_pvm_return(const struct nf_pvm_guard *guard);

/** As nf_pvm_enroll(), but leaves the options of PVM as they were. */
enum nf_status nf_pvm_enroll_quietly(int *tid_p);

/** @return the tid of this process, < 0 if it is not enrolled (any more);
 *  unlike pvm_mytid() this does not enrol it */
int nf_pvm_self(void);

/** A context that no other task of the virtual machine has.
 *  @return it, or < 0 */
int nf_pvm_context_create(void);
void nf_pvm_context_free(int context);

/** Called with each message of a watched context, from within any call into
 *  PVM, also one that sends: it may take a frame's bytes, and nothing else of
 *  PVM. */
typedef void nf_pvm_handler(int context, const struct nf_pvm_message *message);
/** Watch @p context, and handle what has come already.
 *  @param watch_p  to nf_pvm_unwatch()
 *  @retval NF_ERR_NOMEM
 *  @retval NF_ERR_INVAL  the program has a handler for messages of all kinds */
enum nf_status nf_pvm_watch(int context, nf_pvm_handler *handler, int *watch_p);
/** To be called before the process leaves PVM, or not at all.
 *  @param context  what was watched, if it will never be again: frames that
 *  still come in it are thrown away, else they would lie in libpvm for ever;
 *  or < 0 */
void nf_pvm_unwatch(int watch, int context);
/** In a watched context: ask for NF_PVM_EXIT of these tasks, or for
 *  NF_PVM_HOST_LOST of these hosts.
 *  @param tids  of tasks, or of pvmds
 *  @param back  take back what was asked for: what has not been said is said
 *  now, see nf_pvm_await_pvmd() */
void nf_pvm_notify_tasks(const int *tids, size_t count, bool back);
void nf_pvm_notify_hosts_lost(const int *tids, size_t count, bool back);
/** In the context of meetings: ask for word of the ends of these tasks, or take
 *  that back. */
void nf_pvm_notify_ends(const int *tids, size_t count, bool back);
/** Has such word come?  @param tid_p  of whom */
bool nf_pvm_hear_end(int *tid_p);
/** Ask to be told, in that context, as soon as the direct route to task @p tid
 *  has been read to its end: at once if there is none. */
enum { NF_PVM_ROUTES_CONTEXT = 0x24e48 };
void nf_pvm_notify_route_end(int tid);
/** Ask to be told, in that context, of each direct route that is opened.
 *  @return whether there are any already */
bool nf_pvm_notify_routes(void);
/** Read what the local pvmd has said to this process before now. */
void nf_pvm_await_pvmd(void);
/** In a watched context: read sockets, without waiting.
 *  @retval NF_OK    something was handled
 *  @retval NF_WAIT  nothing
 *  @retval NF_ERR_UNREACHABLE  the pvmd is gone */
enum nf_status nf_pvm_pump(void);
/** Has libpvm messages in the base context, and does anybody here take them by
 *  nf_pvm_receive()? */
bool nf_pvm_holds_more(void);

/** A few words to and from tasks that nothing is known of yet.  They go in a
 *  context that is only for this, so that no pvm_recv(-1, -1) of a program
 *  finds them. */
enum { NF_PVM_WORDS = 8, NF_PVM_MEETING_CONTEXT = 0x24e46 };
/** In that context.  @p tag >= 0 */
enum nf_status nf_pvm_say(int tid, int tag, const uint64_t words[NF_PVM_WORDS]);
/** Wait for words with @p tag for at most @p timeout_us.
 *  @retval NF_WAIT  none came   @retval NF_ERR_UNREACHABLE  the pvmd is gone */
enum nf_status nf_pvm_hear(int tag, int64_t timeout_us, int *tid_p,
                           uint64_t words_p[NF_PVM_WORDS]);
#endif
