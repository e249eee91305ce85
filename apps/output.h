#ifndef NF_APPS_OUTPUT_H
#define NF_APPS_OUTPUT_H
/** @file output.h  A result file that is written completely or not at all: a
 *  temporary file in the same directory, synced to disk and renamed into place.
 *
 *  Life: nf_output_check() before the job starts, so that a bad path costs no
 *  computation; nf_output_open(), nf_output_write() ..., nf_output_commit() at
 *  its end.  A process that ends in between by exit(), or by a signal whose
 *  handler calls nf_output_cleanup(), leaves nothing behind. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include "nowfarm.h"

struct nf_output;

/** Can @p path be written?  Creates nothing.  A path is refused if it is not a
 *  regular file or new, if its directory is missing or not writable, or if it
 *  is an existing file that is write-protected.
 *  @retval NF_ERR_INVAL  no; err: "out/C.npy: there is no directory 'out'" */
enum nf_status nf_output_check(const char *path, struct nf_error *err);

/** Do both names mean one file, by whatever way?  Either may not exist. */
bool nf_output_is_same(const char *path, const char *other);

/** Begin writing @p path (a symbolic link is followed).  An existing file keeps
 *  its contents until commit, and its permissions for good.
 *  @param output_p  set on NF_OK; ends with commit or abort
 *  @retval NF_ERR_INVAL  as nf_output_check()
 *  @retval NF_ERR_IO, NF_ERR_NOMEM */
enum nf_status nf_output_open(const char *path, struct nf_output **output_p,
                              struct nf_error *err);

/** Append data[0..bytes).  Unbuffered: give it large pieces.
 *  @retval NF_ERR_IO  err: "C.npy: cannot write: No space left on device" */
enum nf_status nf_output_write(struct nf_output *output, const void *data,
                               size_t bytes, struct nf_error *err);

/** Write data[0..bytes) at @p offset, in any order; what is never written
 *  reads as zeros.  Does not mix with nf_output_write().
 *  @retval NF_ERR_IO  as nf_output_write() */
enum nf_status nf_output_write_at(struct nf_output *output, uint64_t offset,
                                  const void *data, size_t bytes,
                                  struct nf_error *err);

/** Read back what was written, all of data[0..bytes).
 *  @retval NF_ERR_IO  also if there is less */
enum nf_status nf_output_read_at(struct nf_output *output, uint64_t offset,
                                 void *data, size_t bytes,
                                 struct nf_error *err);

/** Make the file appear under its name and free @p output, also on failure:
 *  then the old file, if any, is as before and the temporary one is gone.
 *  @retval NF_ERR_IO */
enum nf_status nf_output_commit(struct nf_output *output, struct nf_error *err);

/** Forget what was written and free @p output; NULL is fine. */
void nf_output_abort(struct nf_output *output);

/** All of the above at once: data[0..bytes) is the whole file.
 *  @retval NF_ERR_INVAL, NF_ERR_IO, NF_ERR_NOMEM  as above */
enum nf_status nf_output_write_whole(const char *path, const void *data,
                                     size_t bytes, struct nf_error *err);

/** A file that is made in memory, line by line. */
struct nf_output_text {
    FILE *to;
    char *text;
    size_t bytes;
};
/** @param text_p  write to text_p->to; nf_output_text_close() it if NF_OK
 *  @retval NF_ERR_NOMEM */
enum nf_status nf_output_text_open(struct nf_output_text *text_p,
                                   struct nf_error *err);
/** Write it as a whole, if all that was to be in it is.
 *  @param status  of making it; all that goes wrong there is memory
 *  @retval NF_ERR_INVAL, NF_ERR_IO, NF_ERR_NOMEM  as above */
enum nf_status nf_output_text_close(struct nf_output_text *text,
                                    enum nf_status status, const char *path,
                                    struct nf_error *err);

/** Remove the temporary files of all outputs of this process that are open.
 *  Runs at exit by itself.  Async-signal-safe; the outputs must not be
 *  committed any more. */
void nf_output_cleanup(void);
#endif
