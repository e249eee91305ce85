#ifndef NF_JSON_READER_H
#define NF_JSON_READER_H
/** @file reader.h  Reading JSON values with errors that say where: the reader
 *  knows the path of the value at hand, "slow.3[0][1]", and the text's line of
 *  it is looked up when something is wrong. */
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include "nowfarm.h"

/** One step down: into an object (key set) or a list. */
struct nf_json_step {
    const char *key; /**< borrowed */
    size_t index;
};

enum { NF_JSON_DEPTH = 8, NF_JSON_FILE_BYTES = 256 << 20 };

/** Zeroed but for err before its first use. */
struct nf_json_reader {
    struct nf_json_step path[NF_JSON_DEPTH];
    unsigned depth;
    bool located;         /**< the error says itself which line it is about */
    struct nf_error *err; /**< may be NULL */
};

/** Go down and, if nothing was wrong there, back up. */
void nf_reader_enter(struct nf_json_reader *reader, const char *key);
void nf_reader_enter_item(struct nf_json_reader *reader, size_t index);
void nf_reader_leave(struct nf_json_reader *reader);

/** Set the error to "PATH: text".  @return @p status */
enum nf_status nf_reader_fail(struct nf_json_reader *reader,
                              enum nf_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Values at the place where the reader is.  Outputs are untouched on errors:
 * NF_ERR_INVAL if it is something else, NF_ERR_RANGE if it is too small or too
 * big. */

/** An integer, lo <= *number_p <= hi. */
enum nf_status nf_reader_int(struct nf_json_reader *reader, const json_t *value,
                             int64_t lo, int64_t hi, int64_t *number_p);
/** A number, lo <= *number_p <= hi. */
enum nf_status nf_reader_real(struct nf_json_reader *reader,
                              const json_t *value, double lo, double hi,
                              double *number_p);
/** Refuse what is no object, and keys that are not in @p keys (ends with NULL),
 *  by name and with the nearest one that is. */
enum nf_status nf_reader_keys(struct nf_json_reader *reader,
                              const json_t *object, const char *const *keys);
/** As nf_reader_int() for @p key of @p object, if it has that. */
enum nf_status nf_reader_int_key(struct nf_json_reader *reader,
                                 const json_t *object, const char *key,
                                 int64_t lo, int64_t hi, int64_t *number_p);

/** All of a file of JSON, which may be a pipe.
 *  @param text_p  free with nf_free()
 *  @retval NF_ERR_IO  it cannot be read, or is longer than NF_JSON_FILE_BYTES
 *  @retval NF_ERR_NOMEM */
enum nf_status nf_json_load(const char *path, char **text_p, size_t *bytes_p,
                            struct nf_error *err);

/** A text of JSON that was parsed, with all that is needed to say where in it
 *  something is wrong. */
struct nf_json_document {
    const char *text; /**< borrowed */
    size_t bytes;
    const char *name; /**< of the file, borrowed */
    json_t *root;     /**< what it says; no key is there twice */
};

/** Parse text[0..bytes).
 *  @param document_p    free with nf_json_document_fini()
 *  @retval NF_ERR_INVAL  it is no JSON: "NAME:LINE: what" */
enum nf_status nf_json_parse(const char *text, size_t bytes, const char *name,
                             struct nf_json_document *document_p,
                             struct nf_error *err);
void nf_json_document_fini(struct nf_json_document *document);

/** Put "NAME:LINE: " before the reader's error, of the line of what it is at. */
void nf_json_place(const struct nf_json_document *document,
                   const struct nf_json_reader *reader);

/** @return the line (1, 2, ...) on which the value at @p path begins in
 *  @p text, which is JSON; of a last step into an object, the line of its key.
 *  Where the path leads nowhere, the line where it ended. */
unsigned long nf_json_line(const char *text, size_t bytes,
                           const struct nf_json_step *path, unsigned depth);
#endif
