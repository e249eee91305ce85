/* Reading parameters of hosts and links, strictly. */
#include "config.h"
#include "common/model/params_file.h"
#include "common/base/error.h"
#include "common/base/text.h"

static const double PART_MOST = 1e12; /* us, us per byte */

struct params {
    struct nf_json_reader reader;
    const json_t *object;
    struct nf_hetero hetero;
    int64_t root;
};

/* Which part of a cost is read. */
enum part { FIXED, BYTE };

static void set_part(struct nf_cost *cost, enum part part, double value)
{
    if (part == FIXED)
        cost->fixed_us = value;
    else
        cost->byte_us = value;
}

static enum nf_status leave(struct nf_json_reader *reader,
                            enum nf_status status)
{
    if (status == NF_OK)
        nf_reader_leave(reader);
    return status == NF_ERR_RANGE ? NF_ERR_INVAL : status;
}

/* The value of @p key, with the reader inside; NULL: there is none, and that
 * has been said. */
static const json_t *enter(struct params *params, const char *key)
{
    const json_t *value = json_object_get(params->object, key);

    if (value == NULL)
        (void)nf_reader_fail(&params->reader, NF_ERR_INVAL,
                             "there is no \"%s\"", key);
    else
        nf_reader_enter(&params->reader, key);
    return value;
}

static enum nf_status check_length(struct params *params, const json_t *list,
                                   const char *whose)
{
    if (json_is_array(list) && json_array_size(list) == params->hetero.hosts)
        return NF_OK;
    return nf_reader_fail(&params->reader, NF_ERR_INVAL,
                          "want a list of %u, one for each %s",
                          params->hetero.hosts, whose);
}

static enum nf_status read_item(struct params *params, const json_t *list,
                                size_t index, double *real_p)
{
    struct nf_json_reader *reader = &params->reader;

    nf_reader_enter_item(reader, index);
    return leave(reader, nf_reader_real(reader, json_array_get(list, index), 0,
                                        PART_MOST, real_p));
}

/* ---- hosts ---- */

static enum nf_status read_hosts(struct params *params, const char *key,
                                 enum part part, struct nf_cost *costs)
{
    const json_t *list = enter(params, key);
    enum nf_status status =
        list != NULL ? check_length(params, list, "host") : NF_ERR_INVAL;

    for (uint32_t i = 0; i < params->hetero.hosts && status == NF_OK; i++) {
        double value = 0;

        status = read_item(params, list, i, &value);
        set_part(&costs[i], part, value);
    }
    return leave(&params->reader, status);
}

/* ---- links ---- */

/* Nobody sends to itself: what stands there is 0 or null, and anything else is
 * a row that has slipped, or a file of something else. */
static enum nf_status check_itself(struct params *params, const json_t *row,
                                   uint32_t i)
{
    struct nf_json_reader *reader = &params->reader;
    const json_t *value = json_array_get(row, i);

    if (json_is_null(value) ||
        (json_is_number(value) && !(json_number_value(value) > 0) &&
         !(json_number_value(value) < 0)))
        return NF_OK;
    nf_reader_enter_item(reader, i);
    return nf_reader_fail(reader, NF_ERR_INVAL,
                          "want 0 here, nobody sends to itself");
}

static enum nf_status read_row(struct params *params, const json_t *row,
                               uint32_t i, enum part part)
{
    struct nf_hetero *hetero = &params->hetero;
    enum nf_status status = check_length(params, row, "receiver");

    for (uint32_t j = 0; j < hetero->hosts && status == NF_OK; j++) {
        double value = 0;

        if (i == j) {
            status = check_itself(params, row, i);
            continue;
        }
        status = read_item(params, row, j, &value);
        set_part(&hetero->wire[(size_t)i * hetero->hosts + j], part, value);
    }
    return status;
}

static enum nf_status read_links(struct params *params, const char *key,
                                 enum part part)
{
    struct nf_json_reader *reader = &params->reader;
    struct nf_hetero *hetero = &params->hetero;
    size_t wires =
        hetero->is_matrix ? (size_t)hetero->hosts * hetero->hosts : 1;
    const json_t *value = enter(params, key);
    enum nf_status status = NF_OK;
    double all = 0;

    if (value == NULL)
        return NF_ERR_INVAL;
    if (!json_is_array(value)) {
        status = nf_reader_real(reader, value, 0, PART_MOST, &all);
        for (size_t k = 0; k < wires && status == NF_OK; k++)
            set_part(&hetero->wire[k], part, all);
        return leave(reader, status);
    }
    status = check_length(params, value, "sender");
    for (uint32_t i = 0; i < hetero->hosts && status == NF_OK; i++) {
        nf_reader_enter_item(reader, i);
        status =
            leave(reader, read_row(params, json_array_get(value, i), i, part));
    }
    return leave(reader, status);
}

/* ---- all of it ---- */

/* How many hosts there are, and room for them. */
static enum nf_status read_count(struct params *params)
{
    struct nf_json_reader *reader = &params->reader;
    const json_t *list = enter(params, "S_c");
    bool is_matrix = json_is_array(json_object_get(params->object, "X_c")) ||
                     json_is_array(json_object_get(params->object, "X_m"));
    int64_t count;
    enum nf_status status;

    if (list == NULL)
        return NF_ERR_INVAL;
    count = (int64_t)json_array_size(list);
    if (!json_is_array(list) || count < 1 || count > NF_PARAMS_HOSTS_MAX)
        return nf_reader_fail(reader, NF_ERR_INVAL,
                              "want a list of 1 to %d numbers",
                              NF_PARAMS_HOSTS_MAX);
    nf_reader_leave(reader);
    status =
        nf_reader_int_key(reader, params->object, "n", count, count, &count);
    if (status == NF_OK)
        status = nf_reader_int_key(reader, params->object, "root", 0, count - 1,
                                   &params->root);
    if (status != NF_OK)
        return status;
    if (nf_hetero_init(&params->hetero, (uint32_t)count, is_matrix) != NF_OK)
        return nf_reader_fail(reader, NF_ERR_NOMEM, "out of memory");
    return NF_OK;
}

static enum nf_status read_ports(struct params *params)
{
    const json_t *ports = json_object_get(params->object, "ports");

    if (ports == NULL)
        return NF_OK;
    nf_reader_enter(&params->reader, "ports");
    if (!json_is_boolean(ports))
        return nf_reader_fail(&params->reader, NF_ERR_INVAL,
                              "want true or false");
    params->hetero.has_ports = json_is_true(ports);
    return leave(&params->reader, NF_OK);
}

static enum nf_status read_params(struct params *params)
{
    static const char *const keys[] = { "root", "n",   "S_c", "S_m",   "R_c",
                                        "R_m",  "X_c", "X_m", "ports", NULL };
    enum nf_status status =
        nf_reader_keys(&params->reader, params->object, keys);

    if (status == NF_OK)
        status = read_count(params);
    if (status == NF_OK)
        status = read_ports(params);
    if (status == NF_OK)
        status = read_hosts(params, "S_c", FIXED, params->hetero.send);
    if (status == NF_OK)
        status = read_hosts(params, "S_m", BYTE, params->hetero.send);
    if (status == NF_OK)
        status = read_hosts(params, "R_c", FIXED, params->hetero.recv);
    if (status == NF_OK)
        status = read_hosts(params, "R_m", BYTE, params->hetero.recv);
    if (status == NF_OK)
        status = read_links(params, "X_c", FIXED);
    if (status == NF_OK)
        status = read_links(params, "X_m", BYTE);
    return status == NF_ERR_RANGE ? NF_ERR_INVAL : status;
}

bool nf_params_are(const struct nf_json_document *document)
{
    static const char *const keys[] = {
        "S_c", "S_m", "R_c", "R_m", "X_c", "X_m"
    };
    bool are = false;

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        are = are || json_object_get(document->root, keys[i]) != NULL;
    return are && json_object_get(document->root, "nowfarm_network") == NULL;
}

enum nf_status nf_params_read(const struct nf_json_document *document,
                              struct nf_hetero *hetero_p, uint32_t *root_p,
                              struct nf_error *err)
{
    struct nf_error what = { NF_OK, "" };
    struct params params = { .reader.err = &what, .object = document->root };
    enum nf_status status = read_params(&params);

    if (status == NF_OK) {
        *hetero_p = params.hetero;
        *root_p = (uint32_t)params.root;
        return NF_OK;
    }
    nf_json_place(document, &params.reader);
    nf_hetero_fini(&params.hetero);
    nf_text_make_line(what.text); /* it may quote the file */
    return nf_fail(err, status, "%s", what.text);
}
