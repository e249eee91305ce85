/* Reading JSON, and saying where it is wrong. */
#include "config.h"
#include "common/json/reader.h"
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "common/base/alloc.h"
#include "common/base/error.h"
#include "common/base/guess.h"
#include "common/base/text.h"

/* ---- where we are ---- */

static void enter(struct nf_json_reader *reader, struct nf_json_step step)
{
    assert(reader->depth < NF_JSON_DEPTH);
    reader->path[reader->depth++] = step;
}

void nf_reader_enter(struct nf_json_reader *reader, const char *key)
{
    enter(reader, (struct nf_json_step){ .key = key });
}

void nf_reader_enter_item(struct nf_json_reader *reader, size_t index)
{
    enter(reader, (struct nf_json_step){ .index = index });
}

void nf_reader_leave(struct nf_json_reader *reader)
{
    assert(reader->depth > 0);
    reader->depth--;
}

/* "slow.3[0][1]" */
static void print_path(const struct nf_json_reader *reader, char *text,
                       size_t bytes)
{
    size_t used = 0;

    text[0] = '\0';
    for (unsigned i = 0; i < reader->depth && used < bytes; i++) {
        const struct nf_json_step *step = &reader->path[i];
        int n;

        if (step->key)
            n = snprintf(text + used, bytes - used, "%s%.40s", i > 0 ? "." : "",
                         step->key);
        else
            n = snprintf(text + used, bytes - used, "[%zu]", step->index);
        used += n > 0 ? (size_t)n : 0;
    }
}

enum nf_status nf_reader_fail(struct nf_json_reader *reader,
                              enum nf_status status, const char *format, ...)
{
    char path[256], text[512];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    print_path(reader, path, sizeof(path));
    return nf_fail(reader->err, status, "%s%s%s", path,
                   reader->depth > 0 ? ": " : "", text);
}

/* ---- values ---- */

static const char *type_name(const json_t *value)
{
    static const char *const names[] = {
        [JSON_OBJECT] = "an object", [JSON_ARRAY] = "a list",
        [JSON_STRING] = "a string",  [JSON_INTEGER] = "an integer",
        [JSON_REAL] = "a fraction",  [JSON_TRUE] = "true",
        [JSON_FALSE] = "false",      [JSON_NULL] = "null",
    };

    return value ? names[json_typeof(value)] : "nothing";
}

enum nf_status nf_reader_int(struct nf_json_reader *reader, const json_t *value,
                             int64_t lo, int64_t hi, int64_t *number_p)
{
    json_int_t number = json_integer_value(value);

    if (!json_is_integer(value))
        return nf_reader_fail(reader, NF_ERR_INVAL,
                              "%s: want an integer from %" PRId64
                              " to %" PRId64,
                              type_name(value), lo, hi);
    if (number < lo || number > hi)
        return nf_reader_fail(reader, NF_ERR_RANGE,
                              "%" JSON_INTEGER_FORMAT
                              ": want an integer from %" PRId64 " to %" PRId64,
                              number, lo, hi);
    *number_p = number;
    return NF_OK;
}

enum nf_status nf_reader_real(struct nf_json_reader *reader,
                              const json_t *value, double lo, double hi,
                              double *number_p)
{
    double number = json_number_value(value);

    if (!json_is_number(value))
        return nf_reader_fail(reader, NF_ERR_INVAL,
                              "%s: want a number from %g to %g",
                              type_name(value), lo, hi);
    if (!(number >= lo && number <= hi))
        return nf_reader_fail(reader, NF_ERR_RANGE,
                              "%g: want a number from %g to %g", number, lo,
                              hi);
    *number_p = number;
    return NF_OK;
}

enum nf_status nf_reader_keys(struct nf_json_reader *reader,
                              const json_t *object, const char *const *keys)
{
    const char *key;
    json_t *value;

    if (!json_is_object(object))
        return nf_reader_fail(reader, NF_ERR_INVAL, "%s: want an object {...}",
                              type_name(object));
    json_object_foreach((json_t *)object, key, value)
    {
        struct nf_guess guess = nf_guess_start(key);
        bool known = false;

        for (size_t i = 0; keys[i] && !known; i++) {
            known = strcmp(key, keys[i]) == 0;
            nf_guess_consider(&guess, keys[i]);
        }
        if (known)
            continue;
        nf_reader_enter(reader, key);
        if (guess.name)
            return nf_reader_fail(reader, NF_ERR_INVAL,
                                  "no such key (did you mean \"%s\"?)",
                                  guess.name);
        return nf_reader_fail(reader, NF_ERR_INVAL, "no such key");
    }
    return NF_OK;
}

enum nf_status nf_reader_int_key(struct nf_json_reader *reader,
                                 const json_t *object, const char *key,
                                 int64_t lo, int64_t hi, int64_t *number_p)
{
    const json_t *value = json_object_get(object, key);
    enum nf_status status;

    if (!value)
        return NF_OK;
    nf_reader_enter(reader, key);
    status = nf_reader_int(reader, value, lo, hi, number_p);
    if (!status)
        nf_reader_leave(reader);
    return status;
}

/* ---- lines ---- */

/* A second walk over text that jansson has accepted, so that it is known to be
 * well formed; it still never leaves the text. */
struct walk {
    const char *text;
    size_t bytes, at;
};

static char peek(const struct walk *walk)
{
    return walk->at < walk->bytes ? walk->text[walk->at] : '\0';
}

static void skip_space(struct walk *walk)
{
    while (walk->at < walk->bytes && strchr(" \t\r\n", peek(walk)) != NULL)
        walk->at++;
}

static void skip_string(struct walk *walk)
{
    for (walk->at++; walk->at < walk->bytes && peek(walk) != '"'; walk->at++)
        if (peek(walk) == '\\')
            walk->at++;
    walk->at++;
}

static void skip_value(struct walk *walk)
{
    size_t open = 0;

    do {
        char c = peek(walk);

        if (c == '"') {
            skip_string(walk);
        } else {
            open += c == '{' || c == '[';
            open -= open > 0 && (c == '}' || c == ']');
            walk->at++;
        }
        if (open == 0 && strchr(",]} \t\r\n", peek(walk)) != NULL)
            return;
    } while (walk->at < walk->bytes);
}

/* Is the string of text[from, to), quotes included, @p key? */
static bool is_key(const struct walk *walk, size_t from, const char *key)
{
    size_t to = walk->at < walk->bytes ? walk->at : walk->bytes;
    json_t *string =
        json_loadb(walk->text + from, to - from, JSON_DECODE_ANY, NULL);
    bool same = string && json_is_string(string) &&
                strcmp(json_string_value(string), key) == 0;

    json_decref(string);
    return same;
}

/* Go one step down.  @return false: there is no such thing */
static bool step_down(struct walk *walk, const struct nf_json_step *step,
                      size_t *place_p)
{
    if (peek(walk) != (step->key ? '{' : '['))
        return false;
    for (size_t i = 0; walk->at < walk->bytes; i++) {
        bool found = !step->key && i == step->index;
        size_t place;

        walk->at++; /* the bracket, or a comma */
        skip_space(walk);
        place = walk->at;
        if (step->key) {
            if (peek(walk) != '"')
                return false;
            skip_string(walk);
            found = is_key(walk, place, step->key);
            skip_space(walk);
            walk->at++; /* the colon */
            skip_space(walk);
        }
        if (found) {
            *place_p = place;
            return true;
        }
        skip_value(walk);
        skip_space(walk);
        if (peek(walk) != ',')
            return false;
    }
    return false;
}

unsigned long nf_json_line(const char *text, size_t bytes,
                           const struct nf_json_step *path, unsigned depth)
{
    struct walk walk = { text, bytes, 0 };
    unsigned long line = 1;
    size_t place;

    skip_space(&walk);
    place = walk.at;
    for (unsigned i = 0; i < depth; i++)
        if (!step_down(&walk, &path[i], &place))
            break;
    for (size_t i = 0; i < place && i < bytes; i++)
        line += text[i] == '\n';
    return line;
}

/* ---- files ---- */

enum nf_status nf_json_load(const char *path, char **text_p, size_t *bytes_p,
                            struct nf_error *err)
{
    FILE *stream = fopen(path, "rb");
    enum nf_status status = NF_OK;
    size_t bytes = 0, room = 0;
    char *text = NULL;

    if (!stream)
        return nf_fail(err, NF_ERR_IO, "%s: %s", path, strerror(errno));
    while (!status && bytes == room && !feof(stream)) {
        char *more = nf_realloc(text, room ? 2 * room : 1 << 16);

        if (!more) {
            status = nf_fail(err, NF_ERR_NOMEM, "%s: out of memory", path);
            break;
        }
        text = more;
        room = room ? 2 * room : 1 << 16;
        bytes += fread(text + bytes, 1, room - bytes, stream);
        if (ferror(stream))
            status = nf_fail(err, NF_ERR_IO, "%s: %s", path, strerror(errno));
        else if (bytes > NF_JSON_FILE_BYTES)
            status = nf_fail(err, NF_ERR_IO, "%s: larger than %d MiB", path,
                             NF_JSON_FILE_BYTES >> 20);
    }
    fclose(stream);
    if (status)
        nf_free(text);
    *text_p = status ? NULL : text;
    *bytes_p = bytes;
    return status;
}

/* ---- documents ---- */

enum nf_status nf_json_parse(const char *text, size_t bytes, const char *name,
                             struct nf_json_document *document_p,
                             struct nf_error *err)
{
    json_error_t why;
    json_t *root = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &why);

    if (root == NULL) {
        nf_text_make_line(why.text); /* it may quote the text */
        return nf_fail(err, NF_ERR_INVAL, "%s:%d: %s", name,
                       why.line > 0 ? why.line : 1, why.text);
    }
    *document_p = (struct nf_json_document){ text, bytes, name, root };
    return NF_OK;
}

void nf_json_document_fini(struct nf_json_document *document)
{
    json_decref(document->root);
    document->root = NULL;
}

void nf_json_place(const struct nf_json_document *document,
                   const struct nf_json_reader *reader)
{
    nf_fail_prefix(reader->err, "%s:%lu", document->name,
                   nf_json_line(document->text, document->bytes, reader->path,
                                reader->depth));
}
