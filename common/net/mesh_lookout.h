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
 *  One that closes its mesh is seldom the only one: where members close one after
 *  the other, each would be the first for a moment and ask for all that are left,
 *  P^2 / 2 of them.  So its place is taken a while later, by whoever is the first
 *  then; the place of one that has ended is taken at once.
 *
 *  What another member tells of an end may overtake what that one has sent by the
 *  pvmds.  PVM's own word of it does not, as it goes the same way.  So who is told
 *  asks for that, and only that counts.
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

/** What is known of a member. */
enum nf_lookout_word {
    NF_LOOKOUT_CLOSED, /**< it has closed its mesh, it says */
    NF_LOOKOUT_TOLD,   /**< another member says that it has ended */
    NF_LOOKOUT_ENDED,  /**< PVM says so */
};

/** When is it to be seen who is to be watched, or told, since? */
enum nf_lookout_due {
    NF_LOOKOUT_NOTHING,
    NF_LOOKOUT_SOON, /**< in a while, together with what else happens */
    NF_LOOKOUT_NOW,
};

struct nf_lookout {
    uint32_t rank, ranks;
    uint32_t nended; /**< members whose end is known: grows */
    bool waits;      /**< one that has closed is to be replaced soon */
    /** The lowest that are there, but for this one; ranks: there is none. */
    uint32_t firsts[NF_LOOKOUT_FIRSTS];
    uint8_t *ended;     /**< a bit a member: what is told */
    uint8_t *gone;      /**< ended, or has closed its mesh */
    uint8_t *certain;   /**< PVM has said that it has ended */
    uint8_t *suspected; /**< somebody here waits for it for long, or has told of
                             its end */
};

/** @return false: out of memory */
bool nf_lookout_init(struct nf_lookout *lookout, uint32_t rank, uint32_t ranks);
void nf_lookout_fini(struct nf_lookout *lookout);
/** Bytes of what is told. */
size_t nf_lookout_bytes(uint32_t ranks);

/** That is known of @p member. */
enum nf_lookout_due nf_lookout_note(struct nf_lookout *lookout, uint32_t member,
                                    enum nf_lookout_word word);
/** What was to happen soon is to happen now. */
void nf_lookout_settle(struct nf_lookout *lookout);
/** Somebody here waits for @p member.
 *  @return whether word of it is to be asked for since */
bool nf_lookout_suspect(struct nf_lookout *lookout, uint32_t member);
/** Do others tell this one of some ends? */
bool nf_lookout_is_partial(const struct nf_lookout *lookout);
/** Is this one to tell the others?  Not yet, if it became the first as another one
 *  closed. */
bool nf_lookout_tells(const struct nf_lookout *lookout);
/** Is word of @p member to be asked for?  The first member asks also for those that
 *  have closed their meshes: another one may not have heard of it. */
bool nf_lookout_asks(const struct nf_lookout *lookout, uint32_t member);
/** Does @p said, nf_lookout_bytes() of somebody, say that @p member has
 *  ended? */
bool nf_lookout_says(const uint8_t *said, uint32_t member);
#endif
