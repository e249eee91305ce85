/* jsonget.c - look into a JSON file, for test scripts.
 *
 *   jsonget FILE          succeeds if FILE is exactly one JSON object
 *   jsonget FILE a.b.0    also prints that value (scalars as text, arrays and
 *                         objects as compact JSON)
 *   jsonget FILE a.*.b    that of each element of an array, a line each, up to the
 *                         first that has no such value
 *
 * Exit status 1: no such value; 2: not one JSON object (and why). */
#include "config.h"
#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
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

static bool print_at(const json_t *value, char *path);

static bool print_each(const json_t *array, const char *path)
{
    const json_t *element;
    size_t i;

    json_array_foreach (array, i, element) {
        char *copy = strdup(path);
        bool found = copy != NULL && print_at(element, copy);

        free(copy);
        if (!found)
            return false;
    }
    return true;
}

/* Prints what the rest of a path names in VALUE, and cuts it up.
 * @return false: there is no such value */
static bool print_at(const json_t *value, char *path)
{
    char *rest = NULL;
    const char *key = strtok_r(path, ".", &rest);

    if (key == NULL) {
        print(value);
        return true;
    }
    if (strcmp(key, "*") == 0 && json_is_array(value))
        return print_each(value, rest);
    value = step(value, key);
    return value != NULL && print_at(value, rest);
}

int main(int argc, char **argv)
{
    json_error_t error;
    json_t *root;

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
    if (argc == 3 && !print_at(root, argv[2])) {
        fprintf(stderr, "jsonget: %s: no such value\n", argv[1]);
        json_decref(root);
        return 1;
    }
    json_decref(root);
    return 0;
}
