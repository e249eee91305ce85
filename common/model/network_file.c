/* Reading model files, strictly: a plan made of half a model would be worse
 * than none.  Groups read them too, so this goes into libnfcore. */
#include "config.h"
#include "common/model/network_file.h"
#include <math.h>
#include <string.h>
#include "common/base/alloc.h"
#include "common/base/error.h"
#include "common/base/text.h"

static const double TIME_MOST_US = 1e12, BYTES_MOST = 1e12;

struct file {
    struct nf_json_reader reader;
    const json_t *object;
    json_t *places; /* of hosts so far, by their names */
    struct nf_network network;
};

/* ---- pieces of it ---- */

/* The value of @p key, with the reader inside; NULL: there is none, and that
 * has been said. */
static const json_t *enter(struct nf_json_reader *reader, const json_t *object,
                           const char *key)
{
    const json_t *value = json_object_get(object, key);

    if (value == NULL)
        (void)nf_reader_fail(reader, NF_ERR_INVAL, "there is no \"%s\"", key);
    else
        nf_reader_enter(reader, key);
    return value;
}

static enum nf_status leave(struct nf_json_reader *reader,
                            enum nf_status status)
{
    if (status == NF_OK)
        nf_reader_leave(reader);
    return status == NF_ERR_RANGE ? NF_ERR_INVAL : status;
}

static enum nf_status read_real(struct nf_json_reader *reader,
                                const json_t *object, const char *key,
                                double least, double most, double *real_p)
{
    const json_t *value = enter(reader, object, key);

    if (value == NULL)
        return NF_ERR_INVAL;
    return leave(reader, nf_reader_real(reader, value, least, most, real_p));
}

static enum nf_status read_item(struct nf_json_reader *reader,
                                const json_t *list, size_t index, double least,
                                double most, double *real_p)
{
    nf_reader_enter_item(reader, index);
    return leave(reader, nf_reader_real(reader, json_array_get(list, index),
                                        least, most, real_p));
}

/* Text of 1 to room - 1 characters, none of which is a control character. */
static enum nf_status read_text(struct nf_json_reader *reader,
                                const json_t *object, const char *key,
                                char *text, size_t room)
{
    const json_t *value = enter(reader, object, key);
    const char *string = json_string_value(value);

    if (value == NULL)
        return NF_ERR_INVAL;
    if (string == NULL || string[0] == '\0' || strlen(string) >= room ||
        strlen(string) != json_string_length(value))
        return nf_reader_fail(reader, NF_ERR_INVAL,
                              "want a text of 1 to %zu characters", room - 1);
    for (const char *c = string; *c != '\0'; c++)
        if ((unsigned char)*c < ' ' || *c == 127 || *c == '"' || *c == '\\')
            return nf_reader_fail(reader, NF_ERR_INVAL,
                                  "want a text of plain characters");
    strcpy(text, string);
    return leave(reader, NF_OK);
}

/* One of two words. */
static enum nf_status read_choice(struct nf_json_reader *reader,
                                  const json_t *object, const char *key,
                                  const char *const words[2], bool *second_p)
{
    const json_t *value = enter(reader, object, key);
    const char *string = json_string_value(value);

    if (value == NULL)
        return NF_ERR_INVAL;
    if (string == NULL ||
        (strcmp(string, words[0]) != 0 && strcmp(string, words[1]) != 0))
        return nf_reader_fail(reader, NF_ERR_INVAL, "want \"%s\" or \"%s\"",
                              words[0], words[1]);
    *second_p = strcmp(string, words[1]) == 0;
    return leave(reader, NF_OK);
}

/* A list, or NULL when that has been said. */
static const json_t *enter_list(struct nf_json_reader *reader,
                                const json_t *object, const char *key,
                                size_t least, size_t most)
{
    const json_t *list = enter(reader, object, key);

    if (list == NULL ||
        (json_is_array(list) && json_array_size(list) >= least &&
         json_array_size(list) <= most))
        return list;
    if (most == SIZE_MAX)
        (void)nf_reader_fail(reader, NF_ERR_INVAL, "want a list");
    else
        (void)nf_reader_fail(reader, NF_ERR_INVAL, "want a list of %zu to %zu",
                             least, most);
    return NULL;
}

/* ---- curves ---- */

static enum nf_status read_points(struct nf_json_reader *reader,
                                  const json_t *list, struct nf_curve *curve)
{
    curve->has_low = json_array_size(json_array_get(list, 0)) == 3;
    for (uint32_t i = 0; i < curve->npoints; i++) {
        const json_t *item = json_array_get(list, i);
        struct nf_curve_point *point = &curve->points[i];
        enum nf_status status;

        nf_reader_enter_item(reader, i);
        if (!json_is_array(item) ||
            json_array_size(item) != (curve->has_low ? 3 : 2))
            return nf_reader_fail(reader, NF_ERR_INVAL, "want [bytes, us%s]",
                                  curve->has_low ? ", us" : "");
        status = read_item(reader, item, 0, 0, BYTES_MOST, &point->bytes);
        if (status == NF_OK)
            status = read_item(reader, item, 1, 0, TIME_MOST_US, &point->us);
        if (status == NF_OK && curve->has_low)
            status =
                read_item(reader, item, 2, 0, TIME_MOST_US, &curve->low_us[i]);
        if (status != NF_OK)
            return status;
        if (i > 0 && !(point->bytes >= point[-1].bytes + 1))
            return nf_reader_fail(reader, NF_ERR_INVAL,
                                  "want sizes that ascend");
        nf_reader_leave(reader);
    }
    return NF_OK;
}

static enum nf_status read_curve(struct nf_json_reader *reader,
                                 const json_t *object, const char *key,
                                 struct nf_curve *curve)
{
    static const char *const keys[] = { "us", "us_per_byte", "points", NULL };
    const json_t *value = enter(reader, object, key), *list;
    enum nf_status status;

    if (value == NULL)
        return NF_ERR_INVAL;
    status = nf_reader_keys(reader, value, keys);
    if (status == NF_OK)
        status =
            read_real(reader, value, "us", 0, TIME_MOST_US, &curve->line.fixed_us);
    if (status == NF_OK)
        status = read_real(reader, value, "us_per_byte", 0, TIME_MOST_US,
                           &curve->line.byte_us);
    if (status == NF_OK && json_object_get(value, "points") != NULL) {
        list = enter_list(reader, value, "points", 1, NF_CURVE_POINTS_MAX);
        if (list == NULL)
            return NF_ERR_INVAL;
        curve->npoints = (uint32_t)json_array_size(list);
        status = leave(reader, read_points(reader, list, curve));
    }
    nf_curve_judge(curve);
    return leave(reader, status);
}

/* ---- what collective operations go by ---- */

static enum nf_status read_pieces(struct nf_json_reader *reader,
                                  const json_t *object, struct nf_model *model)
{
    const json_t *list =
        enter_list(reader, object, "pieces", 1, NF_MODEL_PIECES_MAX);

    if (list == NULL)
        return NF_ERR_INVAL;
    model->npieces = (uint32_t)json_array_size(list);
    for (uint32_t i = 0; i < model->npieces; i++) {
        struct nf_model_piece *piece = &model->pieces[i];
        const json_t *triple = json_array_get(list, i);
        enum nf_status status;

        nf_reader_enter_item(reader, i);
        if (!json_is_array(triple) || json_array_size(triple) != 3)
            return nf_reader_fail(reader, NF_ERR_INVAL,
                                  "want [bytes, us, us per byte]");
        status =
            read_item(reader, triple, 0, 0, BYTES_MOST, &piece->from_bytes);
        if (status == NF_OK) /* of later pieces the start may be negative */
            status = read_item(reader, triple, 1, i == 0 ? 0 : -TIME_MOST_US,
                               TIME_MOST_US, &piece->start_us);
        if (status == NF_OK)
            status =
                read_item(reader, triple, 2, 0, TIME_MOST_US, &piece->byte_us);
        if (status != NF_OK)
            return status;
        if (i == 0
                ? piece->from_bytes > 0
                : !(piece->from_bytes > piece[-1].from_bytes) ||
                      piece->start_us + piece->byte_us * piece->from_bytes < 0)
            return nf_reader_fail(reader, NF_ERR_INVAL,
                                  "want sizes that ascend from 0, and no "
                                  "negative time");
        nf_reader_leave(reader);
    }
    return leave(reader, NF_OK);
}

static bool is_word(const char *text)
{
    return text != NULL && text[0] != '\0' &&
           strlen(text) < NF_MODEL_NAME_BYTES &&
           text[strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_")] == '\0';
}

static bool has_combine(const struct nf_model *model, const char *type,
                        const char *op)
{
    for (uint32_t i = 0; i < model->ncombines; i++)
        if (strcmp(model->combines[i].type, type) == 0 &&
            strcmp(model->combines[i].operation, op) == 0)
            return true;
    return false;
}

static enum nf_status read_combines(struct nf_json_reader *reader,
                                    const json_t *object,
                                    struct nf_model *model)
{
    const json_t *list =
        enter_list(reader, object, "t_op", 0, NF_MODEL_COMBINES_MAX);

    for (size_t i = 0; list != NULL && i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        const char *type = json_string_value(json_array_get(item, 0));
        const char *op = json_string_value(json_array_get(item, 1));
        double byte_us = 0;
        enum nf_status status;

        nf_reader_enter_item(reader, i);
        if (!is_word(type) || !is_word(op) || json_array_size(item) != 3)
            return nf_reader_fail(
                reader, NF_ERR_INVAL,
                "want [\"type\", \"operation\", us per byte]");
        if (has_combine(model, type, op))
            return nf_reader_fail(reader, NF_ERR_INVAL,
                                  "\"%s\" and \"%s\" are there twice", type,
                                  op);
        status = read_item(reader, item, 2, 0, TIME_MOST_US, &byte_us);
        if (status == NF_OK)
            status = nf_model_set_combine(model, type, op, byte_us);
        if (status != NF_OK)
            return status;
        nf_reader_leave(reader);
    }
    return list == NULL ? NF_ERR_INVAL : leave(reader, NF_OK);
}

static enum nf_status read_collective(struct file *file)
{
    static const char *const keys[] = { "pieces",   "delta",      "o_s_us",
                                        "share_us", "share_part", "t_op",
                                        NULL };
    struct nf_json_reader *reader = &file->reader;
    struct nf_model *model = &file->network.model;
    const json_t *object = enter(reader, file->object, "collective");
    enum nf_status status;

    if (object == NULL)
        return NF_ERR_INVAL;
    status = nf_reader_keys(reader, object, keys);
    if (status == NF_OK)
        status = read_pieces(reader, object, model);
    if (status == NF_OK)
        status = read_real(reader, object, "delta", 1, 2, &model->delta);
    if (status == NF_OK)
        status = read_real(reader, object, "o_s_us", 0, TIME_MOST_US,
                           &model->occupancy_us);
    if (status == NF_OK && json_object_get(object, "share_us") != NULL)
        status = read_real(reader, object, "share_us", 0, TIME_MOST_US,
                           &model->share_us);
    if (status == NF_OK && json_object_get(object, "share_part") != NULL)
        status = read_real(reader, object, "share_part", 0, 1, &model->share_part);
    if (status == NF_OK)
        status = read_combines(reader, object, model);
    return leave(reader, status);
}

static enum nf_status read_date(struct file *file)
{
    char *date = file->network.model.date;
    enum nf_status status = read_text(&file->reader, file->object, "date", date,
                                      sizeof(file->network.model.date));

    if (status == NF_OK && nf_network_date_s(date) < 0) {
        nf_reader_enter(&file->reader, "date");
        status = nf_reader_fail(&file->reader, NF_ERR_INVAL,
                                "want a time such as 2026-11-21T23:50:30Z");
    }
    return status;
}

/* How it was measured. */
static enum nf_status read_head(struct file *file)
{
    static const char *const media[] = { "switch", "shared" };
    static const char *const routes[] = { "daemon", "direct" };
    static const char *const encodings[] = { "raw", "xdr" };
    struct nf_json_reader *reader = &file->reader;
    struct nf_model *model = &file->network.model;
    bool direct = false, xdr = false;
    int64_t hash = 0;
    enum nf_status status = read_date(file);

    if (status == NF_OK)
        status = read_choice(reader, file->object, "medium", media,
                             &file->network.shared);
    if (status == NF_OK)
        status = read_choice(reader, file->object, "route", routes, &direct);
    if (status == NF_OK)
        status = read_choice(reader, file->object, "encoding", encodings, &xdr);
    if (status == NF_OK)
        status = nf_reader_int_key(reader, file->object, "hosts_hash", 0,
                                   UINT32_MAX, &hash);
    if (status == NF_OK && json_object_get(file->object, "call_us") != NULL)
        status = read_real(reader, file->object, "call_us", 0, TIME_MOST_US,
                           &file->network.call_us);
    if (status == NF_OK && json_object_get(file->object, "wake_us") != NULL)
        status = read_real(reader, file->object, "wake_us", 0, TIME_MOST_US,
                           &file->network.wake_us);
    model->route = direct ? NF_MODEL_ROUTE_DIRECT : NF_MODEL_ROUTE_DAEMON;
    model->encoding = xdr ? NF_MODEL_ENCODING_XDR : NF_MODEL_ENCODING_RAW;
    model->hosts_hash = (uint32_t)hash;
    return status == NF_OK ? read_collective(file) : status;
}

/* ---- hosts and wires ---- */

static enum nf_status read_host(struct file *file, const json_t *object,
                                uint32_t i)
{
    static const char *const keys[] = { "name", "send",       "recv",
                                        "hold", "runtime_us", NULL };
    struct nf_json_reader *reader = &file->reader;
    struct nf_network_host *host = &file->network.hosts[i];
    enum nf_status status = nf_reader_keys(reader, object, keys);

    if (status == NF_OK)
        status =
            read_text(reader, object, "name", host->name, sizeof(host->name));
    if (status == NF_OK && json_object_get(file->places, host->name) != NULL) {
        nf_reader_enter(reader, "name");
        return nf_reader_fail(reader, NF_ERR_INVAL,
                              "there is a host %s already", host->name);
    }
    if (status == NF_OK &&
        json_object_set_new(file->places, host->name, json_integer(i)) != 0)
        return nf_reader_fail(reader, NF_ERR_NOMEM, "out of memory");
    if (status == NF_OK)
        status = read_curve(reader, object, "send", &host->send);
    if (status == NF_OK)
        status = read_curve(reader, object, "recv", &host->recv);
    if (status == NF_OK)
        status = read_curve(reader, object, "hold", &host->hold);
    if (status == NF_OK && json_object_get(object, "runtime_us") != NULL)
        status = read_real(reader, object, "runtime_us", 0, TIME_MOST_US,
                           &host->runtime_us);
    return status;
}

static enum nf_status read_hosts(struct file *file)
{
    struct nf_json_reader *reader = &file->reader;
    const json_t *list =
        enter_list(reader, file->object, "hosts", 2, NF_NETWORK_HOSTS_MAX);
    struct nf_network network;
    enum nf_status status;

    if (list == NULL)
        return NF_ERR_INVAL;
    status = nf_network_init(&network, (uint32_t)json_array_size(list));
    if (status != NF_OK)
        return nf_reader_fail(reader, status, "out of memory");
    network.model = file->network.model;
    network.shared = file->network.shared;
    network.call_us = file->network.call_us;
    network.wake_us = file->network.wake_us;
    file->network = network;
    for (uint32_t i = 0; i < network.nhosts && status == NF_OK; i++) {
        nf_reader_enter_item(reader, i);
        status = leave(reader, read_host(file, json_array_get(list, i), i));
    }
    return leave(reader, status);
}

static enum nf_status read_end(struct file *file, const json_t *object,
                               const char *key, uint32_t *host_p)
{
    char name[NF_NETWORK_NAME_BYTES];
    const json_t *place;
    enum nf_status status =
        read_text(&file->reader, object, key, name, sizeof(name));

    if (status != NF_OK)
        return status;
    place = json_object_get(file->places, name);
    *host_p = (uint32_t)json_integer_value(place);
    if (place != NULL)
        return NF_OK;
    nf_reader_enter(&file->reader, key);
    return nf_reader_fail(&file->reader, NF_ERR_INVAL,
                          "there is no host %s in \"hosts\"", name);
}

/* @param seen  [nhosts * nhosts] */
static enum nf_status read_wire(struct file *file, const json_t *object,
                                bool *seen)
{
    static const char *const keys[] = { "from", "to", "wire", NULL };
    struct nf_json_reader *reader = &file->reader;
    struct nf_network *network = &file->network;
    uint32_t from = 0, to = 0;
    size_t at;
    enum nf_status status = nf_reader_keys(reader, object, keys);

    if (status == NF_OK)
        status = read_end(file, object, "from", &from);
    if (status == NF_OK)
        status = read_end(file, object, "to", &to);
    if (status != NF_OK)
        return status;
    at = (size_t)from * network->nhosts + to;
    if (from == to || seen[at])
        return nf_reader_fail(reader, NF_ERR_INVAL,
                              from == to
                                  ? "a host has no wire to itself"
                                  : "there is a wire of this pair already");
    seen[at] = true;
    return read_curve(reader, object, "wire",
                      nf_network_wire(network, from, to));
}

static enum nf_status read_all_wires(struct file *file, const json_t *list,
                                     bool *seen)
{
    struct nf_json_reader *reader = &file->reader;
    const struct nf_network *network = &file->network;
    uint32_t n = network->nhosts;
    enum nf_status status = NF_OK;

    for (size_t i = 0; i < json_array_size(list) && status == NF_OK; i++) {
        nf_reader_enter_item(reader, i);
        status = leave(reader, read_wire(file, json_array_get(list, i), seen));
    }
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j < n && status == NF_OK; j++)
            if (i != j && !seen[(size_t)i * n + j])
                status = nf_reader_fail(
                    reader, NF_ERR_INVAL, "there is none from %s to %s",
                    network->hosts[i].name, network->hosts[j].name);
    return leave(reader, status);
}

/* Of those that are too many it is said which. */
static enum nf_status read_wires(struct file *file)
{
    size_t pairs = (size_t)file->network.nhosts * file->network.nhosts;
    const json_t *list =
        enter_list(&file->reader, file->object, "wires", 0, SIZE_MAX);
    bool *seen;
    enum nf_status status;

    if (list == NULL)
        return NF_ERR_INVAL;
    seen = nf_calloc(pairs, sizeof(*seen));
    if (seen == NULL)
        return nf_reader_fail(&file->reader, NF_ERR_NOMEM, "out of memory");
    status = read_all_wires(file, list, seen);
    nf_free(seen);
    return status;
}

/* ---- files ---- */

static enum nf_status read_version(struct file *file)
{
    int64_t version = 0;
    const json_t *value = enter(&file->reader, file->object, "nowfarm_network");

    if (value == NULL)
        return NF_ERR_INVAL;
    return leave(&file->reader,
                 nf_reader_int(&file->reader, value, NF_NETWORK_VERSION,
                               NF_NETWORK_VERSION, &version));
}

static enum nf_status read_network(struct file *file)
{
    static const char *const keys[] = {
        "nowfarm_network", "date",       "medium",  "route",
        "encoding",        "hosts_hash", "call_us", "wake_us",
        "collective",      "hosts",      "wires",   NULL
    };
    enum nf_status status;

    if (!json_is_object(file->object))
        return nf_reader_fail(&file->reader, NF_ERR_INVAL,
                              "want an object {...}");
    status = read_version(file);
    if (status == NF_OK)
        status = nf_reader_keys(&file->reader, file->object, keys);
    if (status == NF_OK)
        status = read_head(file);
    if (status == NF_OK)
        status = read_hosts(file);
    if (status == NF_OK)
        status = read_wires(file);
    return status == NF_ERR_RANGE ? NF_ERR_INVAL : status;
}

/* The text of an error may quote the file. */
static enum nf_status spell(struct nf_error *err, enum nf_status status)
{
    if (err != NULL) {
        err->status = status;
        nf_text_make_line(err->text);
    }
    return status;
}

enum nf_status nf_network_from_json(const struct nf_json_document *document,
                             struct nf_network *network_p, struct nf_error *err)
{
    struct file file = { .reader.err = err,
                         .object = document->root,
                         .places = json_object() };
    enum nf_status status =
        file.places != NULL ? read_network(&file)
                            : nf_fail(err, NF_ERR_NOMEM, "out of memory");

    json_decref(file.places);
    if (status == NF_OK) {
        *network_p = file.network;
        return NF_OK;
    }
    nf_network_fini(&file.network);
    nf_json_place(document, &file.reader);
    return spell(err, status);
}

enum nf_status nf_network_parse(const char *text, size_t bytes,
                                const char *name, struct nf_network *network_p,
                                struct nf_error *err)
{
    struct nf_json_document document;
    enum nf_status status = nf_json_parse(text, bytes, name, &document, err);

    if (status != NF_OK)
        return spell(err, status);
    status = nf_network_from_json(&document, network_p, err);
    nf_json_document_fini(&document);
    return status;
}

enum nf_status nf_network_read(const char *path, struct nf_network *network_p,
                               struct nf_error *err)
{
    char *text = NULL;
    size_t bytes = 0;
    enum nf_status status = nf_json_load(path, &text, &bytes, err);

    if (status == NF_OK)
        status = nf_network_parse(text, bytes, path, network_p, err);
    nf_free(text);
    return status;
}
