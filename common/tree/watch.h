#ifndef NF_TREE_WATCH_H
#define NF_TREE_WATCH_H
/** @file watch.h  Looking on while times.c prices a tree: what each host and
 *  wire is busy with, and when.  Pure. */
#include <stdint.h>

enum nf_span_kind {
    NF_SPAN_RECV,   /**< dst's hands, with a segment that is there */
    NF_SPAN_SEND,   /**< src's hands */
    NF_SPAN_PORT,   /**< src's port, once it is free */
    NF_SPAN_IN,     /**< dst's link in, if its turns are known: hops.h */
    NF_SPAN_MEDIUM, /**< the medium that all share, hub.h */
    NF_SPAN_KINDS
};

/** Something is busy with a segment that goes from src to dst. */
struct nf_span {
    enum nf_span_kind kind;
    uint32_t src, dst;
    uint64_t segment;      /**< from 0 on */
    double from_us, to_us; /**< may be one time */
};

/** Is told all spans: those of one host's hands, of one host's port, of one
 *  host's link in and of the medium in the order of time, none before the last
 *  one has ended. */
struct nf_watch {
    void (*on_span)(void *user, const struct nf_span *span);
    void *user;
};
#endif
