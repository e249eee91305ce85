#ifndef NF_APPS_LAB_LAB_UP_H
#define NF_APPS_LAB_LAB_UP_H
/** @file lab_up.h  Switching labs on and off, and what this system can do. */
#include "apps/lab/lab_config.h"

/** Switch a lab on; all or nothing.
 *  @param program  path of this program, for rsh; lab-net is beside it
 *  @retval NF_ERR_INVAL         it is up already
 *  @retval NF_ERR_UNREACHABLE   kernel or privileges lack something
 *  @retval NF_ERR_INTERRUPTED   by a signal; nothing is left */
enum nf_status lab_up(const struct lab *lab, const struct lab_config *config,
                      const char *program, struct nf_error *err);

/** Kill all that runs in the lab and remove what is left of it, also of one
 *  that broke off in the middle.
 *  @param was_up_p  whether there was anything
 *  @retval NF_ERR_INVAL  called in the lab itself   @retval NF_ERR_IO */
enum nf_status lab_down(const struct lab *lab, bool *was_up_p,
                        struct nf_error *err);

/** Try out what labs need, in namespaces that vanish again: lab-net's lines
 *  "KEY yes" or "KEY no REASON" are appended to text[0..bytes).
 *  @retval NF_ERR_UNREACHABLE  there can be no namespaces */
enum nf_status lab_probe(const char *program, char *text_p, size_t bytes,
                         struct nf_error *err);
#endif
