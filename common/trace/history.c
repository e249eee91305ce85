/* A trace, line by line: the file, the JSON of each line, what an end that is
 * missing means. */
#include "config.h"
#include "common/trace/history.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/alloc.h"
#include "common/base/error.h"
#include "common/trace/history_impl.h"

enum {
    LINE_MOST = 64 << 10, /* the writer's are shorter */
    ERROR_TEXT_BYTES = 160,
};

/* Where lines come from: a file, or memory. */
struct source {
    FILE *file;
    const char *text, *end; /* if file is NULL */
    char *line;
    size_t capacity;
};

/* The next line, without its newline.  @return its length, -1 at the end, -2 if
 * it is too long, -3 out of memory; whether it had a newline in *whole_p */
static ptrdiff_t next_line(struct source *s, const char **line_p, bool *whole_p)
{
    const char *newline;
    ptrdiff_t length;

    if (s->file != NULL) {
        /* getline() would keep a file without newlines in memory */
        char *line = fgets(s->line, (int)s->capacity, s->file);

        if (line == NULL)
            return -1;
        length = (ptrdiff_t)strlen(line);
        *whole_p = length > 0 && line[length - 1] == '\n';
        if (!*whole_p && !feof(s->file))
            return -2; /* too long, or it holds a NUL */
        *line_p = line;
        return length - *whole_p;
    }
    if (s->text == s->end)
        return -1;
    newline = memchr(s->text, '\n', (size_t)(s->end - s->text));
    *whole_p = newline != NULL;
    *line_p = s->text;
    length = (newline != NULL ? newline : s->end) - s->text;
    s->text += length + *whole_p;
    return length < LINE_MOST ? length : -2;
}

static enum nf_status take_line(struct nf_history_reader *r, const char *text,
                                size_t bytes, bool first)
{
    json_error_t why;
    json_t *line = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &why);
    enum nf_status status;

    if (line == NULL)
        return first ? nf_fail(r->err, NF_ERR_INVAL,
                               "not a nowfarm trace: no JSON (%.*s)",
                               ERROR_TEXT_BYTES, why.text)
                     : nf_fail(r->err, NF_ERR_INVAL, "no JSON: %.*s",
                               ERROR_TEXT_BYTES, why.text);
    if (!json_is_object(line))
        status = nf_fail(r->err, NF_ERR_INVAL, "want a JSON object");
    else if (first)
        status = nf_history_header(r, line);
    else
        status = nf_history_event(r, line);
    json_decref(line);
    return status;
}

/* Is text[0..bytes) the beginning of something, cut off by a kill? */
static bool is_half(const char *text, size_t bytes)
{
    json_t *line = json_loadb(text, bytes, 0, NULL);

    json_decref(line);
    return line == NULL;
}

static enum nf_status take_lines(struct nf_history_reader *r, struct source *s,
                                 uint64_t *number_p)
{
    enum nf_status status = NF_OK;
    const char *line = "";
    bool whole = true, half = false;
    ptrdiff_t length;

    while (status == NF_OK && (length = next_line(s, &line, &whole)) != -1) {
        ++*number_p;
        if (length < 0)
            status = nf_fail(r->err, NF_ERR_INVAL,
                             "longer than %d bytes, or binary", LINE_MOST);
        else if (!whole && *number_p > 1 && is_half(line, (size_t)length))
            half = true;
        else if (r->h->complete)
            status = nf_fail(r->err, NF_ERR_INVAL, "there is an end before it");
        else
            status = take_line(r, line, (size_t)length, *number_p == 1);
    }
    if (status == NF_OK && s->file != NULL && ferror(s->file)) {
        *number_p = 0; /* it is no line's fault: a directory, say */
        return nf_fail(r->err, NF_ERR_INVAL, "%s", strerror(errno));
    }
    if (status == NF_OK && *number_p == 0) {
        *number_p = 1;
        return nf_fail(r->err, NF_ERR_INVAL, "not a nowfarm trace: empty");
    }
    if (status == NF_OK && !r->h->complete)
        snprintf(r->h->warning, sizeof(r->h->warning),
                 "the trace has no end%s: the job was killed, or still runs",
                 half ? " and its last line is half" : "");
    return status;
}

static enum nf_status read_source(struct source *s, const char *name,
                                  struct nf_history *history_p,
                                  struct nf_error *err)
{
    struct nf_history h = { .units = 0 };
    struct nf_history_reader r = { .h = &h, .err = err };
    uint64_t number = 0;
    enum nf_status status = take_lines(&r, s, &number);

    nf_history_map_fini(&r.slaves);
    nf_history_map_fini(&r.leases);
    nf_free(r.slot_tails);
    nf_free(r.live_next);
    nf_free(r.live_prev);
    if (status == NF_OK) {
        *history_p = h;
        return NF_OK;
    }
    nf_history_fini(&h);
    if (err != NULL && number == 0)
        (void)nf_fail_prefix(err, "%.200s", name);
    else if (err != NULL)
        (void)nf_fail_prefix(err, "%.200s: line %llu", name,
                             (unsigned long long)number);
    return status;
}

enum nf_status nf_history_parse(const char *text, size_t bytes,
                                const char *name, struct nf_history *history_p,
                                struct nf_error *err)
{
    struct source s = { .text = text, .end = text + bytes };

    return read_source(&s, name, history_p, err);
}

enum nf_status nf_history_read(const char *path, struct nf_history *history_p,
                               struct nf_error *err)
{
    struct source s = { .capacity = LINE_MOST };
    enum nf_status status;

    s.line = nf_malloc(s.capacity);
    if (s.line == NULL)
        return nf_fail(err, NF_ERR_NOMEM, "%s: out of memory", path);
    s.file = fopen(path, "re");
    if (s.file == NULL) {
        nf_free(s.line);
        return nf_fail(err, NF_ERR_INVAL, "%s: %s", path, strerror(errno));
    }
    status = read_source(&s, path, history_p, err);
    fclose(s.file);
    nf_free(s.line);
    return status;
}

void nf_history_fini(struct nf_history *h)
{
    nf_free(h->slaves);
    nf_free(h->slot_heads);
    nf_free(h->chunks);
    nf_free(h->stays);
    nf_free(h->phases);
    nf_free(h->given_up);
    memset(h, 0, sizeof(*h));
}

void nf_history_computed(const struct nf_history_chunk *chunk, int64_t free_us,
                         int64_t *from_us_p, int64_t *to_us_p)
{
    int64_t rest_us = chunk->elapsed_us - chunk->compute_us - chunk->wait_us;
    int64_t from_us = chunk->sent_us + rest_us / 2 + chunk->wait_us;
    int64_t latest_us = chunk->ended_us - chunk->compute_us;

    if (from_us < free_us)
        from_us = free_us;
    if (from_us > latest_us)
        from_us = latest_us;
    if (from_us < free_us) /* two clocks: it has less room than it says */
        from_us = free_us < chunk->ended_us ? free_us : chunk->ended_us;
    *from_us_p = from_us;
    *to_us_p = from_us + chunk->compute_us < chunk->ended_us
                   ? from_us + chunk->compute_us
                   : chunk->ended_us;
}
