#ifndef NF_MODEL_NETWORK_FILE_H
#define NF_MODEL_NETWORK_FILE_H
/** @file network_file.h  Model files: a measured network as JSON.
 *
 *      {"nowfarm_network": 1, "date": "2026-11-21T23:50:30Z",
 *       "medium": "switch", "route": "direct", "encoding": "raw",
 *       "hosts_hash": 2654435769, "call_us": 80, "wake_us": 9,
 *       "collective": {"pieces": [[0, 176, 0.105]], "delta": 1.1, "o_s_us": 5,
 *                      "t_op": [["double", "sum", 0.0004]]},
 *       "hosts": [{"name": "ws0", "send": CURVE, "recv": CURVE,
 *                  "hold": CURVE, "runtime_us": 2}, ...],
 *       "wires": [{"from": "ws0", "to": "ws1", "wire": CURVE}, ...]}
 *
 *      CURVE  {"us": 12.5, "us_per_byte": 0.08, "points": [[0, 12], ...]}
 *
 *  Two hosts or more with different names, and a wire for each pair both ways;
 *  all times from 0 up.  points may be missing: then the line is all.  All of a
 *  curve's points may have a third number, nf_curve.low_us: nothing goes by it.
 *  call_us, wake_us and runtime_us are 0 if they are missing.
 *  "collective" may have "share_us" too, of members that share processors, and
 *  with it "share_part"; without it each has its own.  No other keys, so that a
 * slip of the pen is noticed; a version that we do not know is refused. */
#include "common/json/reader.h"
#include "common/model/network.h"

enum { NF_NETWORK_VERSION = 1 };

/** Read a model from text[0..bytes).
 *  @param name       of the file, for errors: "NAME:LINE: PLACE: what"
 *  @param network_p  free with nf_network_fini()
 *  @retval NF_ERR_INVAL  it is not such a file: err says where
 *  @retval NF_ERR_NOMEM */
enum nf_status nf_network_parse(const char *text, size_t bytes,
                                const char *name, struct nf_network *network_p,
                                struct nf_error *err);

/** The same of what has been parsed already. */
enum nf_status nf_network_from_json(const struct nf_json_document *document,
                             struct nf_network *network_p,
                             struct nf_error *err);

/** Read the file @p path.  Errors as above, and
 *  @retval NF_ERR_IO  it cannot be read, or is too long */
enum nf_status nf_network_read(const char *path, struct nf_network *network_p,
                               struct nf_error *err);

/** The text of a file that nf_network_parse() reads as the same network.
 *  @param text_p  free with nf_free()
 *  @retval NF_ERR_NOMEM */
enum nf_status nf_network_write(const struct nf_network *network, char **text_p,
                                size_t *bytes_p);
#endif
