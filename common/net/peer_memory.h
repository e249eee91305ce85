#ifndef NF_NET_PEER_MEMORY_H
#define NF_NET_PEER_MEMORY_H
/** @file peer_memory.h  Bytes that another process of this host has, read from where
 *  they are: one copy, by who wants them, while the other one does something else.
 *
 *  A process may end at any moment, and its number be another's next; and it may want
 *  its memory back.  So whatever is read comes with a mark, 8 bytes at a place that is
 *  there as long as the process is: the lender tells what they are, and changes them
 *  before the memory goes.  They are read last, in the same call: if they are right then
 *  so is all before them.
 *
 *  Linux only, where the two have the same user and no security module is against it. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "nowfarm.h"

struct nf_memory_mark {
    uint32_t pid;
    uint64_t at; /**< an address in that process */
    uint64_t value;
};

/** Bytes in that process. */
struct nf_memory_part {
    uint64_t at, bytes;
};

/** What is lent: parts that count as one behind the other. */
struct nf_memory_lent {
    struct nf_memory_mark mark;
    const struct nf_memory_part *parts; /**< [nparts] none is empty */
    uint32_t nparts;
};

/** Let others of this user read what we have, as far as this takes a word. */
void nf_memory_open(void);
/** Read bytes [@p from, @p from + @p bytes) of what is lent to @p to.
 *  @param bytes  at most 1 GiB; may be 0: look whether the mark is there
 *  @retval NF_ERR_REVOKED  the mark is another: it is not lent any more
 *  @retval NF_ERR_UNREACHABLE  the process has gone, or may not be read
 *  On errors what was written to @p to is undefined. */
enum nf_status nf_memory_read(const struct nf_memory_lent *lent, uint64_t from,
                              void *to, size_t bytes);
/** Can others read memory of ours?  Of a device's, say, they can't.  Looks at both ends. */
bool nf_memory_may_read(const void *data, size_t bytes);
#endif
