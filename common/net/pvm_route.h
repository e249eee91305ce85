#ifndef NF_NET_PVM_ROUTE_H
#define NF_NET_PVM_ROUTE_H
/** @file pvm_route.h  What is on the way to each task.
 *
 *  Links have windows, but the socket between two tasks has one buffer, which
 *  all links of theirs share: of several meshes, and the farm's.  So what flies
 *  on all of them together is bounded too, by the window of one.
 *
 *  Each frame says how much its sender has sent to this task in all, this frame
 *  included, and what it was told of in that way by the other one.  Frames of
 *  one task stay in order, so any that is read speaks for all before it.  Who
 *  has read much says so by any link that there is.  Only of what lies in
 *  contexts that nobody looks at any more, since a mesh was closed, nothing is
 *  said: then who finds no room sends an empty frame over the window, which is
 *  read and speaks for that too.
 *
 *  Counts are of 32 bits and go round. */
#include "common/wire/link.h"

/** As nf_link_next(), of what there is room for on the way to task @p tid; or
 * an empty frame, see above.
 *  @retval NF_WAIT  nothing, or no room */
enum nf_status nf_route_next(int tid, struct nf_link *link,
                             struct nf_link_out *out_p);
/** Is there room on the way to task @p tid for @p out_p, of @p link?  It may
 *  become an empty frame, to be sent in its place.
 *  @retval NF_WAIT  no: whoever is called when there is (nf_route_on_room) is */
enum nf_status nf_route_admit(int tid, struct nf_link *link,
                              struct nf_link_out *out_p);
/** Has anybody found no room, and none was made since? */
bool nf_route_is_full(int tid);
/** Is there room for a goodbye (NF_MSG_STOP)?  Some is kept free for them. */
bool nf_route_takes_goodbye(int tid, const struct nf_link *link);
/** What a frame says of the route goes behind its header, but for HELLO, which
 *  other versions are to understand. */
enum { NF_ROUTE_STAMP_BYTES = 8 };
/** @p frame goes to @p tid: count it.
 *  @return how many bytes of @p stamp_p go with it: all, or none */
size_t nf_route_sends(int tid, const struct nf_frame *frame,
                      uint8_t stamp_p[NF_ROUTE_STAMP_BYTES]);
/** How many bytes of a stamp come with @p frame? */
size_t nf_route_stamp_bytes(const struct nf_frame *frame);
/** A frame of @p tid with that stamp was read. */
void nf_route_read(int tid, const struct nf_frame *frame,
                   const uint8_t stamp[NF_ROUTE_STAMP_BYTES]);
/** Was so much read from @p tid that it is time to tell? */
bool nf_route_owes(int tid);
/** Has any route come to owe since nf_route_all_told()? */
bool nf_route_some_owe(void);
void nf_route_all_told(void);
/** What we send to @p tid goes directly from now on, or not any more. */
void nf_route_opened(int tid);
void nf_route_closed(int tid);
/** Does it?  Who has asked for a route knows; who was asked may be told so too
 *  early. */
bool nf_route_is_direct(int tid);
/** Believe that it does if nothing is known.
 *  @return whether it is so: then ask for word of its end, which comes at once
 *  if there is no route */
bool nf_route_presume(int tid);
/** Does it, and is this asked for the first time?  Then it is time to ask for
 *  word of its end. */
bool nf_route_is_to_watch(int tid);
/** A link to @p tid ends: what it has on the way may never be confirmed. */
void nf_route_doubt(int tid);
/** Forget all about a task that has ended. */
void nf_route_end(int tid);
/** This process is task @p self (< 0: none): if it was another one before, all
 *  that was counted is nothing. */
void nf_route_begin(int self);
/** Call @p freed when there is room again for somebody who found none. */
void nf_route_on_room(void (*freed)(int tid));
#endif
