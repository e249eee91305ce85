#ifndef NF_NET_DUCT_PARTS_H
#define NF_NET_DUCT_PARTS_H
/** @file duct_parts.h  What those who open ducts and who reads them share. */
#include "common/net/duct.h"

#define DUCT_HELLO_MAGIC UINT64_C(0x315443554446464e) /* "NFFDUCT1" */
enum {
    DUCT_HELLO_BYTES = 32,
    DUCT_LENGTH_BYTES = 4, /**< before each packet */
    DUCT_PIECE_BYTES = 4 * NF_DUCT_PACKET_MOST_BYTES,
    DUCT_UNMET = 0, /**< as a tid: it has not said who it is */
};

struct duct {
    int fd; /**< < 0: it has ended, and goes at the next chance */
    int tid;
    uint8_t *held; /**< what has come of a packet, or of the hello */
    size_t held_bytes;
    int least_bytes; /**< that wake us: SO_RCVLOWAT; 0: local sockets know no such thing */
};

struct nf_ducts {
    int tid;
    struct nf_ducts_user user;
    int local, tcp; /**< listening, < 0: not */
    uint8_t address[NF_DUCT_ADDRESS_BYTES];
    struct duct *list;
    size_t count, capacity;
    int *kept_fds; /**< in the place of those that are to come */
    size_t nkept, kept_capacity;
    uint32_t window_bytes; /**< 0: nothing is known */
    uint8_t piece[DUCT_HELLO_BYTES + DUCT_PIECE_BYTES];
};

/** Of NF_DUCT_KEY_BYTES. */
static inline const uint8_t *nf_duct_key(const uint8_t *address)
{
    return address + 2 + NF_DUCT_NAME_BYTES;
}

/** Take in who has connected.  @return whether anybody has */
bool nf_ducts_accept(struct nf_ducts *ducts, int listener);
/** Its place stays until nf_ducts_forget_ended(). */
void nf_duct_close(struct duct *duct);
void nf_ducts_forget_ended(struct nf_ducts *ducts);
#endif
