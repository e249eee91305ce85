#ifndef NF_TRACE_SINK_H
#define NF_TRACE_SINK_H
/** @file sink.h  A file that is replaced as a whole when it is begun and then
 *  grows, written by a thread so that nobody waits for the disk. */
#include <stdbool.h>
#include "nowfarm.h"

struct nf_trace_sink;

/** Begin @p path with head[0..bytes): written under another name beside it and
 *  renamed, so that it never lacks its head.
 *  @param threaded  later pieces are written by a thread
 *  @retval NF_ERR_INVAL  it is not a regular file or new, or not writable
 *  @retval NF_ERR_IO, NF_ERR_NOMEM */
enum nf_status nf_trace_sink_create(const char *path, const char *head,
                                    size_t bytes, bool threaded,
                                    struct nf_trace_sink **sink_p,
                                    struct nf_error *err);
/** Append a copy of data[0..bytes).  After an error, or if the disk is 64 MiB
 *  behind, this and everything later is dropped. */
void nf_trace_sink_write(struct nf_trace_sink *sink, const char *data,
                         size_t bytes);
/** @return why something was dropped, or NULL.  Owned by the sink. */
const char *nf_trace_sink_error(struct nf_trace_sink *sink);
/** Write the rest, close, free.
 *  @retval NF_ERR_IO  something is missing */
enum nf_status nf_trace_sink_close(struct nf_trace_sink *sink,
                                   struct nf_error *err);
#endif
