/* jsonget.c - look into a JSON file, for test scripts.
 *
 *   jsonget FILE          succeeds if FILE is exactly one JSON object
 *   jsonget FILE a.b.0    also prints that value (scalars as text, arrays and
 *                         objects as compact JSON)
 *
 * Exit status 1: no such value; 2: not one JSON object (and why). */
#include "config.h"
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const json_t *step(const json_t *value, const char *key)
{
    char *end;
    unsigned long index;

    if (json_is_object(value))
        return json_object_get(value, key);
    index = strtoul(key, &end, 10);
    return *end == '\0' && end != key ? json_array_get(value, index) : NULL;
}

static void print(const json_t *value)
{
    if (json_is_string(value))
        puts(json_string_value(value));
    else if (json_dumpf(value, stdout, JSON_ENCODE_ANY | JSON_COMPACT) == 0)
        putchar('\n');
}

int main(int argc, char **argv)
{
    json_error_t error;
    json_t *root;
    const json_t *value;

    if (argc < 2 || argc > 3) {
        fprintf(stderr, "usage: jsonget FILE [PATH]\n");
        return 2;
    }
    root = json_load_file(argv[1], JSON_REJECT_DUPLICATES, &error);
    if (root == NULL || !json_is_object(root)) {
        fprintf(stderr, "jsonget: %s: %s\n", argv[1],
                root == NULL ? error.text : "not an object");
        json_decref(root);
        return 2;
    }
    value = root;
    for (char *key = argc == 3 ? strtok(argv[2], ".") : NULL; key != NULL;
         key = strtok(NULL, ".")) {
        value = step(value, key);
        if (value == NULL) {
            fprintf(stderr, "jsonget: %s: no %s\n", argv[1], key);
            json_decref(root);
            return 1;
        }
    }
    if (argc == 3)
        print(value);
    json_decref(root);
    return 0;
}
