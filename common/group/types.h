#ifndef NF_GROUP_TYPES_H
#define NF_GROUP_TYPES_H
/** @file types.h  Element types and operators of collective operations: what
 *  may be combined how, and the loops that do it.  Pure. */
#include <stdbool.h>
#include "nowfarm_group.h"

/** User types and operators of a group; codes are NF_ELEM_USER + i and
 *  NF_OPERATOR_USER + i. */
enum { NF_USER_CODES_MAX = 64 };
struct nf_user_codes {
    uint32_t ntypes, noperators;
    struct {
        uint32_t units, unit_bytes;
        struct nf_packing packing; /**< pack NULL: there is none */
    } types[NF_USER_CODES_MAX];
    struct {
        nf_operator_function *function;
        bool commutative;
        void *user;
    } operators[NF_USER_CODES_MAX];
};

/** @return bytes of an element of @p type, 0: no such type */
size_t nf_elem_bytes(const struct nf_user_codes *codes, int type);
/** @return how elements of @p type are packed, NULL: they are not */
const struct nf_packing *nf_elem_packing(const struct nf_user_codes *codes,
                                         int type);
/** @return bytes of an element of @p type that are equal in all members: of
 *  types that are packed the packed ones, as a structure may have other holes
 *  elsewhere */
size_t nf_elem_equal_bytes(const struct nf_user_codes *codes, int type);
/** @return the most bytes that an element takes, packed or not */
size_t nf_elem_most_bytes(const struct nf_user_codes *codes, int type);
/** @return as what its bytes travel between machines of different formats.
 *  All formats are IEEE, so numbers of one size differ in byte order only. */
enum nf_type nf_elem_wire(const struct nf_user_codes *codes, int type);
/** @return the element that travels as @p type, which nf_elem_wire() gives
 *  back: of the data of an application */
enum nf_elem nf_elem_of(enum nf_type type);
/** May elements of @p type be combined by @p op? */
bool nf_operator_fits(const struct nf_user_codes *codes, int type, int op);
/** Does x (+) y = y (+) x hold? */
bool nf_operator_commutes(const struct nf_user_codes *codes, int op);

/** The name of a type or operator in models and tables, "double", "sum"; of those
 *  of the user "user0", "user1", ... in the order in which they were defined.
 *  @param text_p  [NF_CODE_NAME_BYTES] */
enum { NF_CODE_NAME_BYTES = 16 };
void nf_elem_name(int type, char *text_p);
void nf_operator_name(int op, char *text_p);

/** out[i] := left[i] (+) right[i], i < count.  @p out may be @p left or @p
 *  right; otherwise none overlap.
 *  @retval NF_ERR_NOMEM  user operators with out = left only */
enum nf_status nf_combine(const struct nf_user_codes *codes, int type, int op,
                          void *out, const void *left, const void *right,
                          size_t count);
#endif
