/* Model files as text: a line for each host and each pair, so that people can
 * read and compare them. */
#include "config.h"
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/alloc.h"
#include "common/model/network_file.h"

struct text {
    char *data;
    size_t bytes, room;
    bool failed; /* out of memory */
};

static void put(struct text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void put(struct text *text, const char *format, ...)
{
    va_list args, again;
    int length;

    va_start(args, format);
    va_copy(again, args);
    length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (!text->failed && text->bytes + (size_t)length >= text->room) {
        size_t room = 2 * text->room + (size_t)length + 4096;
        char *more = nf_realloc(text->data, room);

        text->failed = more == NULL;
        if (more != NULL) {
            text->data = more;
            text->room = room;
        }
    }
    if (!text->failed)
        text->bytes += (size_t)vsnprintf(
            text->data + text->bytes, text->room - text->bytes, format, again);
    va_end(again);
}

static void put_name(struct text *text, const char *key, const char *name)
{
    json_t *string = json_string(name);
    char *quoted = json_dumps(string, JSON_ENCODE_ANY);

    if (quoted != NULL)
        put(text, "\"%s\": %s", key, quoted);
    text->failed |= quoted == NULL;
    free(quoted);
    json_decref(string);
}

/* With no more digits than it takes to read the same number. */
static void put_short(struct text *text, double value)
{
    char digits[32];

    snprintf(digits, sizeof(digits), "%.15g", value);
    if (strtod(digits, NULL) < value || strtod(digits, NULL) > value)
        snprintf(digits, sizeof(digits), "%.17g", value);
    put(text, ", %s", digits);
}

static void put_curve(struct text *text, const char *key,
                      const struct nf_curve *curve)
{
    put(text, ", \"%s\": {\"us\": %.17g, \"us_per_byte\": %.17g", key,
        curve->line.fixed_us, curve->line.byte_us);
    for (uint32_t i = 0; i < curve->npoints; i++) {
        put(text, "%s[%.17g, %.17g", i == 0 ? ", \"points\": [" : ", ",
            curve->points[i].bytes, curve->points[i].us);
        if (curve->has_low)
            put_short(text, curve->low_us[i]);
        put(text, "]");
    }
    put(text, curve->npoints > 0 ? "]}" : "}");
}

static void put_model(struct text *text, const struct nf_model *model)
{
    put(text, " \"hosts_hash\": %u,\n \"collective\": {\"pieces\": [",
        model->hosts_hash);
    for (uint32_t i = 0; i < model->npieces; i++)
        put(text, "%s[%.17g, %.17g, %.17g]", i > 0 ? ", " : "",
            model->pieces[i].from_bytes, model->pieces[i].start_us,
            model->pieces[i].byte_us);
    put(text, "],\n  \"delta\": %.17g, \"o_s_us\": %.17g", model->delta,
        model->occupancy_us);
    if (model->share_us > 0)
        put(text, ", \"share_us\": %.17g", model->share_us);
    if (model->share_us > 0 && model->share_part > 0)
        put(text, ", \"share_part\": %.17g", model->share_part);
    put(text, ", \"t_op\": [");
    for (uint32_t i = 0; i < model->ncombines; i++)
        put(text, "%s\n   [\"%s\", \"%s\", %.17g]", i > 0 ? "," : "",
            model->combines[i].type, model->combines[i].operation,
            model->combines[i].byte_us);
    put(text, "]},\n");
}

enum nf_status nf_network_write(const struct nf_network *network, char **text_p,
                                size_t *bytes_p)
{
    const struct nf_model *model = &network->model;
    struct text text = { .data = NULL };
    uint32_t n = network->nhosts, written = 0;

    put(&text, "{\"nowfarm_network\": %d,\n \"date\": \"%s\",\n",
        NF_NETWORK_VERSION, model->date);
    put(&text,
        " \"medium\": \"%s\", \"route\": \"%s\", \"encoding\": \"%s\",\n",
        network->shared ? "shared" : "switch",
        model->route == NF_MODEL_ROUTE_DIRECT ? "direct" : "daemon",
        model->encoding == NF_MODEL_ENCODING_RAW ? "raw" : "xdr");
    if (network->call_us > 0)
        put(&text, " \"call_us\": %.17g,\n", network->call_us);
    if (network->wake_us > 0)
        put(&text, " \"wake_us\": %.17g,\n", network->wake_us);
    put_model(&text, model);
    for (uint32_t i = 0; i < n; i++) {
        const struct nf_network_host *host = &network->hosts[i];

        put(&text, i == 0 ? " \"hosts\": [\n  {" : ",\n  {");
        put_name(&text, "name", host->name);
        put_curve(&text, "send", &host->send);
        put_curve(&text, "recv", &host->recv);
        put_curve(&text, "hold", &host->hold);
        if (host->runtime_us > 0)
            put(&text, ", \"runtime_us\": %.17g", host->runtime_us);
        put(&text, "}");
    }
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j < n; j++) {
            if (i == j)
                continue;
            put(&text, written++ == 0 ? "],\n \"wires\": [\n  {" : ",\n  {");
            put_name(&text, "from", network->hosts[i].name);
            put(&text, ", ");
            put_name(&text, "to", network->hosts[j].name);
            put_curve(&text, "wire", nf_network_wire(network, i, j));
            put(&text, "}");
        }
    put(&text, "]}\n");
    if (text.failed) {
        nf_free(text.data);
        return NF_ERR_NOMEM;
    }
    *text_p = text.data;
    *bytes_p = text.bytes;
    return NF_OK;
}
