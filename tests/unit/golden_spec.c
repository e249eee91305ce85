/* From the goldens' words to a specification. */
#include "config.h"
#include "tests/unit/golden_spec.h"
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static void append(char *text, size_t bytes, const char *piece)
{
    size_t used = strlen(text);

    snprintf(text + used, bytes - used, "%s", piece);
}

/* "awf" with "variant": "B" is awf-b. */
static const char *find_name(const char *name, const json_t *params)
{
    static const char *const variants[] = { "awf-b", "awf-c", "awf-d",
                                            "awf-e" };
    const char *variant = json_string_value(json_object_get(params, "variant"));

    return variant != NULL ? variants[variant[0] - 'B'] : name;
}

static void append_param(char *text, size_t bytes, const char *key,
                         const json_t *value)
{
    char piece[200] = "";
    const char *unit = "";
    bool first = strchr(text, ':') == NULL;

    if (strcmp(key, "tD") == 0 || strcmp(key, "d") == 0) {
        key = "td";
        unit = "us";
    } else if (strcmp(key, "win") == 0) {
        key = "w";
    } else if (strcmp(key, "policy") == 0 || strcmp(key, "variant") == 0 ||
               strcmp(key, "kind") == 0) {
        return;
    }
    append(text, bytes, first ? ":" : ",");
    append(text, bytes, key);
    append(text, bytes, "=");
    if (json_is_string(value)) {
        append(text, bytes, json_string_value(value));
    } else if (json_is_array(value)) {
        size_t i;
        const json_t *element;

        json_array_foreach((json_t *)(uintptr_t)value, i, element)
        {
            snprintf(piece, sizeof(piece), "%s%" PRId64 "%s", i == 0 ? "" : "/",
                     (int64_t)json_integer_value(element), unit);
            append(text, bytes, piece);
        }
    } else if (json_is_boolean(value)) {
        append(text, bytes, json_is_true(value) ? "1" : "0");
    } else if (json_is_real(value)) {
        snprintf(piece, sizeof(piece), "%.17g", json_real_value(value));
        append(text, bytes, piece);
    } else {
        snprintf(piece, sizeof(piece), "%" PRId64 "%s",
                 (int64_t)json_integer_value(value), unit);
        append(text, bytes, piece);
    }
}

void golden_spec(const char *name, const json_t *params,
                 char spec[NF_POLICY_SPEC_BYTES])
{
    const char *key;
    json_t *value;

    spec[0] = '\0';
    append(spec, NF_POLICY_SPEC_BYTES, find_name(name, params));
    json_object_foreach((json_t *)(uintptr_t)params, key, value)
        append_param(spec, NF_POLICY_SPEC_BYTES, key, value);
}
