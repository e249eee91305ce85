#ifndef NF_NET_MESH_LOOKOUT_H
#define NF_NET_MESH_LOOKOUT_H
/** @file mesh_lookout.h  Who is told by the transport that members have ended,
 *  and who tells the others.  Pure.
 *
 *  If everybody asked for word of everybody, there would be P^2 of them.  So in
 *  a mesh of more than NF_LOOKOUT_ALONE_MOST members only the first, the lowest
 *  rank that is there, asks for all, and tells the others.  Those ask for word of
 *  the first two, and whenever one of these goes, for that of the next: whoever
 *  asks of one that has ended is told so at once, so that no end falls between
 *  two first members.  Each knows by itself who is the first; two may both hold
 *  themselves for it for a moment, and what they say is true of either.
 *
 *  What is told is always all that is known: to be told twice does no harm, and
 *  who is told late is told once.  A first member that computes tells nobody: so
 *  whoever waits for long for a member asks for word of that one, too. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    /** Up to so many members everybody asks for all. */
    NF_LOOKOUT_ALONE_MOST = 128,
    /** So many of the first that are there are watched by all the others. */
    NF_LOOKOUT_FIRSTS = 2,
};

struct nf_lookout {
    uint32_t rank, ranks;
    uint32_t nended; /**< members whose end is known: grows */
    /** The lowest that are there, but for this one; ranks: there is none. */
    uint32_t firsts[NF_LOOKOUT_FIRSTS];
    uint8_t *ended;     /**< a bit a member: what is told */
    uint8_t *gone;      /**< ended, or has closed its mesh */
    uint8_t *suspected; /**< somebody here waits for it for long */
};

/** @return false: out of memory */
bool nf_lookout_init(struct nf_lookout *lookout, uint32_t rank, uint32_t ranks);
void nf_lookout_fini(struct nf_lookout *lookout);
/** Bytes of what is told. */
size_t nf_lookout_bytes(uint32_t ranks);

/** @p member has ended, or, if not @p ended, closed its mesh.
 *  @return whether there are others to watch, or to be told, since */
bool nf_lookout_note(struct nf_lookout *lookout, uint32_t member, bool ended);
/** Somebody here waits for @p member.
 *  @return whether word of it is to be asked for since */
bool nf_lookout_suspect(struct nf_lookout *lookout, uint32_t member);
/** Do others tell this one of some ends? */
bool nf_lookout_is_partial(const struct nf_lookout *lookout);
/** Is this one to tell the others? */
bool nf_lookout_tells(const struct nf_lookout *lookout);
/** Is word of @p member to be asked for? */
bool nf_lookout_asks(const struct nf_lookout *lookout, uint32_t member);
/** Does @p said, nf_lookout_bytes() of somebody, say that @p member has
 *  ended? */
bool nf_lookout_says(const uint8_t *said, uint32_t member);
#endif
