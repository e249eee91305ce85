#ifndef NF_MODEL_PARAMS_FILE_H
#define NF_MODEL_PARAMS_FILE_H
/** @file params_file.h  Hosts and links that differ, written down by hand or by
 *  a program: the parameters of struct nf_hetero as JSON.
 *
 *      {"root": 0, "S_c": [400, 115, 236], "S_m": [0.001, 0.008, 0.006],
 *       "R_c": [211, 187, 182], "R_m": [0.003, 0.008, 0.005],
 *       "X_c": 0, "X_m": [[0, 0.1, 0.2], [0.1, 0, 0.3], [0.2, 0.3, 0]],
 *       "ports": false}
 *
 *  S_i = S_c[i] + S_m[i] * bytes, and so on: us, and us per byte, all from 0
 *  up.  Of X each part is one number for all pairs, or a list for each sender
 *  with a number for each receiver; from a host to itself that is 0, or null.
 *  "root", "ports" and "n", how many hosts there are, may be missing; 0 and
 *  false then.  No other keys, so that a slip of the pen is noticed. */
#include "common/json/reader.h"
#include "common/model/hetero.h"

enum { NF_PARAMS_HOSTS_MAX = 4096 };

/** Is it such a file rather than a model file (network_file.h)? */
bool nf_params_are(const struct nf_json_document *document);

/** Read parameters; errors are "NAME:LINE: PLACE: what".
 *  @param hetero_p  free with nf_hetero_fini()
 *  @param root_p    below hetero_p->hosts
 *  @retval NF_ERR_INVAL  it is not such a file: err says where
 *  @retval NF_ERR_NOMEM */
enum nf_status nf_params_read(const struct nf_json_document *document,
                              struct nf_hetero *hetero_p, uint32_t *root_p,
                              struct nf_error *err);
#endif
