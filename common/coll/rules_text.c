/* Rules as text, and back.  Whoever reads a file trusts it for nothing: the
 * checksum finds what was cut off or changed, and each number is checked. */
#include "config.h"
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>
#include "common/base/alloc.h"
#include "common/base/error.h"
#include "common/base/units.h"
#include "common/coll/rules.h"

enum { FORMAT = 1, WORDS_MAX = 7, LINE_BYTES = 200 };

static const char *const route_names[] = { "daemon", "direct" };
static const char *const encoding_names[] = { "raw", "xdr" };

/* CRC-32, ISO 3309 */
static uint32_t crc32_of(const char *text, size_t bytes)
{
    return (uint32_t)crc32_z(0, (const unsigned char *)text, bytes);
}

/* ---- writing ---- */

struct writer {
    char *text;
    size_t bytes, capacity;
    bool failed;
};

static void put(struct writer *writer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void put(struct writer *writer, const char *format, ...)
{
    va_list args;

    if (writer->failed)
        return;
    if (writer->capacity - writer->bytes < LINE_BYTES) {
        size_t capacity = 2 * writer->capacity + 2 * LINE_BYTES;
        char *grown = nf_realloc(writer->text, capacity);

        writer->failed = grown == NULL;
        if (writer->failed)
            return;
        writer->text = grown;
        writer->capacity = capacity;
    }
    va_start(args, format);
    vsnprintf(writer->text + writer->bytes, LINE_BYTES, format, args);
    va_end(args);
    writer->bytes += strlen(writer->text + writer->bytes);
}

/* Whole lines, as they were. */
static void put_lines(struct writer *writer, const char *text, size_t bytes)
{
    char *grown;

    if (writer->failed || bytes == 0)
        return;
    grown = nf_realloc(writer->text, writer->capacity + bytes);
    writer->failed = grown == NULL;
    if (writer->failed)
        return;
    writer->text = grown;
    writer->capacity += bytes;
    memcpy(writer->text + writer->bytes, text, bytes);
    writer->bytes += bytes;
}

/* Names from elsewhere must be one word. */
static bool is_word(const char *text)
{
    if (text[0] == '\0')
        return false;
    for (; *text != '\0'; text++)
        if (*text <= ' ' || *text > '~')
            return false;
    return true;
}

static void put_pieces(struct writer *writer, const char *word,
                       const struct nf_model_piece *pieces, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        put(writer, "%s %.9g %.9g %.9g\n", word, pieces[i].from_bytes,
            pieces[i].start_us, pieces[i].byte_us);
}

static void put_model(struct writer *writer, const struct nf_model *model)
{
    put(writer, "hosts %08" PRIx32 "\n", model->hosts_hash);
    put(writer, "route %s\n", route_names[model->route]);
    put(writer, "encoding %s\n", encoding_names[model->encoding]);
    if (is_word(model->date))
        put(writer, "date %s\n", model->date);
    put(writer, "delta %.9g\n", model->delta);
    put(writer, "occupancy_us %.9g\n", model->occupancy_us);
    if (model->share_us > 0)
        put(writer, "share_us %.9g\n", model->share_us);
    if (model->share_us > 0 && model->share_part > 0)
        put(writer, "share_part %.9g\n", model->share_part);
    put_pieces(writer, "piece", model->pieces, model->npieces);
    put_pieces(writer, "near", model->near, model->nnear);
    for (uint32_t i = 0; i < model->ncombines; i++)
        if (is_word(model->combines[i].type) &&
            is_word(model->combines[i].operation))
            put(writer, "combine %s %s %.9g\n", model->combines[i].type,
                model->combines[i].operation, model->combines[i].byte_us);
}

static void put_rule(struct writer *writer, const struct nf_coll_rule *rule)
{
    put(writer, "rule %s %s %" PRIu32 " ", nf_coll_op_names[rule->op],
        nf_coll_class_names[rule->operators], rule->ranks);
    if (rule->max_bytes == UINT64_MAX)
        put(writer, "max %s ", rule->algorithm->name);
    else
        put(writer, "%" PRIu64 " %s ", rule->max_bytes, rule->algorithm->name);
    if (rule->k_rule == NF_K_MODEL)
        put(writer, "model\n");
    else
        put(writer, "%" PRIu64 "%s\n", rule->value,
            rule->k_rule == NF_K_SEGMENT ? "B" : "");
}

enum nf_status nf_coll_rules_write(struct nf_coll_rules *rules, char **text_p,
                                   size_t *bytes_p, struct nf_error *err)
{
    struct writer writer = { .bytes = 0 };
    uint32_t id;

    if (rules->model.npieces < 1 || rules->model.npieces > NF_MODEL_PIECES_MAX)
        return nf_fail(err, NF_ERR_INVAL, "a table of rules without a model");
    put(&writer, NF_COLL_RULES_MAGIC " %d\n", FORMAT);
    put(&writer, "library %s\n",
        is_word(rules->library) ? rules->library : nf_version());
    put_model(&writer, &rules->model);
    for (size_t i = 0; i < rules->count; i++)
        put_rule(&writer, &rules->rules[i]);
    put_lines(&writer, rules->unknown, rules->unknown_bytes);
    id = writer.failed ? 0 : crc32_of(writer.text, writer.bytes);
    put(&writer, "end %08" PRIx32 "\n", id);
    if (writer.failed) {
        nf_free(writer.text);
        return nf_fail(err, NF_ERR_NOMEM, "out of memory");
    }
    rules->id = id;
    *text_p = writer.text;
    *bytes_p = writer.bytes;
    return NF_OK;
}

/* ---- reading ---- */

struct reader {
    struct nf_coll_rules rules;
    struct nf_error *warning;
    unsigned ignored;
    unsigned line;
    bool has_delta, failed_memory;
};

static bool find_name(const char *const *names, size_t count, const char *word,
                      uint32_t *index_p)
{
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(names[i], word) == 0) {
            *index_p = i;
            return true;
        }
    return false;
}

static bool read_hex(const char *word, uint32_t *value_p)
{
    uint32_t value = 0;

    for (int i = 0; i < 8; i++) {
        static const char digits[] = "0123456789abcdef";
        const char *digit = word[i] != '\0' ? strchr(digits, word[i]) : NULL;

        if (digit == NULL)
            return false;
        value = value << 4 | (uint32_t)(digit - digits);
    }
    *value_p = value;
    return word[8] == '\0';
}

static bool read_real(const char *word, double low, double *value_p)
{
    return nf_parse_real(word, low, 1e15, value_p) == NF_OK;
}

static bool copy_word(char *to, size_t bytes, const char *word)
{
    size_t length = strlen(word);

    if (length >= bytes)
        return false;
    memcpy(to, word, length + 1);
    return true;
}

static bool read_piece(struct nf_model_piece *pieces, uint32_t *count,
                       char **words)
{
    struct nf_model_piece piece;
    uint32_t n = *count;

    if (n == NF_MODEL_PIECES_MAX ||
        !read_real(words[1], 0, &piece.from_bytes) ||
        !read_real(words[2], -1e15, &piece.start_us) ||
        !read_real(words[3], 0, &piece.byte_us))
        return false;
    if (n == 0 ? piece.from_bytes > 0 || piece.start_us < 0
               : piece.from_bytes <= pieces[n - 1].from_bytes)
        return false;
    /* a message takes time, whatever its size */
    if (!(piece.start_us + piece.byte_us * piece.from_bytes > 0))
        return false;
    pieces[(*count)++] = piece;
    return true;
}

static bool read_combine(struct nf_model *model, char **words)
{
    double byte_us;

    return strlen(words[1]) < NF_MODEL_NAME_BYTES &&
           strlen(words[2]) < NF_MODEL_NAME_BYTES &&
           read_real(words[3], 0, &byte_us) &&
           nf_model_set_combine(model, words[1], words[2], byte_us) == NF_OK;
}

static bool read_k(const char *word, struct nf_coll_rule *rule)
{
    char number[24];
    size_t length = strlen(word);

    rule->k_rule = NF_K_MODEL;
    if (strcmp(word, "model") == 0)
        return true;
    rule->k_rule = NF_K_FIXED;
    if (length >= sizeof(number))
        return false;
    memcpy(number, word, length + 1);
    if (length > 1 && number[length - 1] == 'B') {
        rule->k_rule = NF_K_SEGMENT;
        number[length - 1] = '\0';
    }
    return nf_parse_count(number, 1,
                          rule->k_rule == NF_K_FIXED ? NF_COLL_SEGMENTS_MAX
                                                     : UINT64_MAX,
                          &rule->value) == NF_OK;
}

/* Not gone by, but kept: it may be of a later version.
 *  @param what, why  what stands before and behind @p word
 *  @return false: out of memory */
static bool ignore(struct reader *reader, const char *what, const char *word,
                   const char *why, char **words)
{
    struct nf_coll_rules *rules = &reader->rules;
    size_t bytes = rules->unknown_bytes;
    char *grown;

    if (reader->ignored++ == 0)
        nf_fail(reader->warning, NF_ERR_INVAL,
                "line %u: rule ignored: %s \"%.40s\" %s", reader->line, what,
                word, why);
    for (int i = 0; i < WORDS_MAX; i++)
        bytes += strlen(words[i]) + 1;
    grown = nf_realloc(rules->unknown, bytes + 1);
    reader->failed_memory = grown == NULL;
    if (grown == NULL)
        return false;
    rules->unknown = grown;
    for (int i = 0; i < WORDS_MAX; i++)
        rules->unknown_bytes +=
            (size_t)snprintf(rules->unknown + rules->unknown_bytes,
                             bytes + 1 - rules->unknown_bytes, "%s%c", words[i],
                             i + 1 < WORDS_MAX ? ' ' : '\n');
    return true;
}

/* No call is of such a class, no group of P to 2 P members (as many go by the rule)
 * can go by it, or it has another order than ranks. */
static bool never_serves(const struct nf_coll_rule *rule)
{
    struct nf_coll_query query = { .op = rule->op,
                                   .commutative =
                                       rule->operators != NF_CLASS_ORDERED };

    if (nf_coll_class_of(&query) != rule->operators ||
        (rule->operators == NF_CLASS_ORDERED &&
         rule->algorithm->order == NF_ORDER_COMMUTATIVE))
        return true;
    for (uint32_t p = rule->ranks;
         p <= 2 * rule->ranks && p <= NF_COLL_RANKS_MAX; p++) {
        const struct nf_coll_args args = { .ranks = p, .segments = 1 };

        if (nf_coll_fits(rule->algorithm, &args, NULL) == NF_OK)
            return false;
    }
    return true;
}

static bool read_rule(struct reader *reader, char **words)
{
    struct nf_coll_rule rule = { .op = 0 };
    uint32_t op, operators;
    uint64_t ranks;

    if (!find_name(nf_coll_class_names, NF_COLL_CLASSES, words[2], &operators) ||
        nf_parse_count(words[3], 2, NF_COLL_RANKS_MAX, &ranks) != NF_OK ||
        !read_k(words[6], &rule))
        return false;
    rule.max_bytes = UINT64_MAX;
    if (strcmp(words[4], "max") != 0 &&
        nf_parse_count(words[4], 0, UINT64_MAX, &rule.max_bytes) != NF_OK)
        return false;
    if (!find_name(nf_coll_op_names, NF_COLL_OPS, words[1], &op)) {
        return ignore(reader, "operation", words[1], "is not known", words);
    }
    rule.op = (enum nf_coll_op)op;
    rule.operators = (enum nf_coll_class)operators;
    rule.ranks = (uint32_t)ranks;
    rule.algorithm = nf_coll_find(words[5]);
    if (rule.algorithm == NULL || rule.algorithm->op != rule.op) {
        return ignore(reader, "algorithm", words[5], "is not known", words);
    }
    if (never_serves(&rule))
        return ignore(reader, "algorithm", words[5], "never serves such a call",
                      words);
    reader->failed_memory = nf_coll_rules_add(&reader->rules, &rule) != NF_OK;
    return !reader->failed_memory;
}

static bool read_line(struct reader *reader, char **words, size_t count)
{
    struct nf_model *model = &reader->rules.model;
    uint32_t index;

    if (count == 7 && strcmp(words[0], "rule") == 0)
        return read_rule(reader, words);
    if (count == 4 && strcmp(words[0], "piece") == 0)
        return read_piece(model->pieces, &model->npieces, words);
    if (count == 4 && strcmp(words[0], "near") == 0)
        return read_piece(model->near, &model->nnear, words);
    if (count == 4 && strcmp(words[0], "combine") == 0)
        return read_combine(model, words);
    if (count != 2)
        return false;
    if (strcmp(words[0], "library") == 0)
        return copy_word(reader->rules.library, sizeof(reader->rules.library),
                         words[1]);
    if (strcmp(words[0], "hosts") == 0)
        return read_hex(words[1], &model->hosts_hash);
    if (strcmp(words[0], "date") == 0)
        return copy_word(model->date, sizeof(model->date), words[1]);
    if (strcmp(words[0], "occupancy_us") == 0)
        return read_real(words[1], 0, &model->occupancy_us);
    if (strcmp(words[0], "share_us") == 0)
        return read_real(words[1], 0, &model->share_us);
    if (strcmp(words[0], "share_part") == 0)
        return nf_parse_real(words[1], 0, 1, &model->share_part) == NF_OK;
    if (strcmp(words[0], "delta") == 0) {
        reader->has_delta = true;
        return nf_parse_real(words[1], 1, 2, &model->delta) == NF_OK;
    }
    if (strcmp(words[0], "route") == 0 &&
        find_name(route_names, 2, words[1], &index)) {
        model->route = (enum nf_model_route)index;
        return true;
    }
    if (strcmp(words[0], "encoding") == 0 &&
        find_name(encoding_names, 2, words[1], &index)) {
        model->encoding = (enum nf_model_encoding)index;
        return true;
    }
    return false;
}

/* Cut a line into its words, in place.  @return their number; WORDS_MAX + 1:
 * too many */
static size_t cut_words(char *line, char *words[WORDS_MAX])
{
    size_t count = 0;

    for (;;) {
        line += strspn(line, " ");
        if (*line == '\0')
            return count;
        if (count == WORDS_MAX)
            return WORDS_MAX + 1;
        words[count++] = line;
        line += strcspn(line, " ");
        if (*line != '\0')
            *line++ = '\0';
    }
}

static enum nf_status damaged(const struct reader *reader, struct nf_error *err)
{
    if (reader->failed_memory)
        return nf_fail(err, NF_ERR_NOMEM, "out of memory");
    return nf_fail(err, NF_ERR_INVAL, "line %u is damaged", reader->line);
}

/* All lines but the last; text[bytes - 1] is the newline before that. */
static enum nf_status read_lines(struct reader *reader, char *text,
                                 size_t bytes, struct nf_error *err)
{
    char *words[WORDS_MAX];
    uint64_t format;

    for (char *line = text, *end; line < text + bytes; line = end + 1) {
        size_t count;

        reader->line++;
        end = strchr(line, '\n');
        *end = '\0';
        count = cut_words(line, words);
        if (reader->line > 1) {
            if (count > WORDS_MAX || !read_line(reader, words, count))
                return damaged(reader, err);
            continue;
        }
        if (count != 2 || strcmp(words[0], NF_COLL_RULES_MAGIC) != 0 ||
            nf_parse_count(words[1], 0, UINT32_MAX, &format) != NF_OK)
            return nf_fail(err, NF_ERR_INVAL, "no table of collectives");
        if (format != FORMAT)
            return nf_fail(err, NF_ERR_INVAL,
                           "format %" PRIu64 ": want format %d", format,
                           FORMAT);
    }
    if (reader->rules.model.npieces == 0 || !reader->has_delta)
        return nf_fail(err, NF_ERR_INVAL, "there is no model in it");
    return NF_OK;
}

/* @return the bytes before the last line, or 0 if that is not "end" and their
 * checksum */
static size_t check_sum(const char *text, size_t bytes, uint32_t *id_p)
{
    static const char end[] = "end ";
    enum { END_BYTES = sizeof(end) - 1 + 8 + 1 };
    char hex[9];

    if (bytes <= END_BYTES || memchr(text, '\0', bytes) != NULL ||
        text[bytes - 1] != '\n' || text[bytes - END_BYTES - 1] != '\n' ||
        memcmp(text + bytes - END_BYTES, end, sizeof(end) - 1) != 0)
        return 0;
    memcpy(hex, text + bytes - 9, 8);
    hex[8] = '\0';
    if (!read_hex(hex, id_p) || *id_p != crc32_of(text, bytes - END_BYTES))
        return 0;
    return bytes - END_BYTES;
}

enum nf_status nf_coll_rules_read(const char *text, size_t bytes,
                                  struct nf_coll_rules *rules,
                                  struct nf_error *warning,
                                  struct nf_error *err)
{
    struct reader reader = { .warning = warning };
    enum nf_status status;
    char *copy;
    uint32_t id;

    *warning = (struct nf_error){ .status = NF_OK };
    nf_coll_rules_init(&reader.rules);
    bytes = check_sum(text, bytes, &id);
    if (bytes == 0)
        return nf_fail(err, NF_ERR_INVAL,
                       "cut off or changed: the checksum is wrong");
    copy = nf_malloc(bytes + 1);
    if (copy == NULL)
        return nf_fail(err, NF_ERR_NOMEM, "out of memory");
    memcpy(copy, text, bytes);
    copy[bytes] = '\0';
    status = read_lines(&reader, copy, bytes, err);
    nf_free(copy);
    if (status != NF_OK) {
        nf_coll_rules_fini(&reader.rules);
        return status;
    }
    if (reader.ignored > 1) {
        size_t used = strlen(warning->text);

        snprintf(warning->text + used, sizeof(warning->text) - used,
                 " (and %u more)", reader.ignored - 1);
    }
    nf_coll_rules_fini(rules);
    *rules = reader.rules;
    rules->id = id;
    return NF_OK;
}
