/* nowfarm submit: give a job to nowfarmd.  The arguments are checked here, so
 * that a wrong one is told to the user and not to a log. */
#include "config.h"
#include "apps/nowfarm/commands_jobs.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "apps/nowfarm/cli.h"
#include "apps/nowfarm/client.h"
#include "common/base/alloc.h"
#include "master/endpoint.h"

static int count_words(const char **words)
{
    int count = 0;

    while (words != NULL && words[count] != NULL)
        count++;
    return count;
}

/* `nowfarm run APP ...` must accept it. */
static int check(const struct nf_client *client, const char **words)
{
    int count = count_words(words), status;
    const char **argv;

    if (count == 0 || words[0][0] == '-')
        return nf_client_fail(client, NF_EXIT_USAGE,
                              "want an application, as for nowfarm run");
    argv = nf_calloc((size_t)count + 2, sizeof(char *));
    if (argv == NULL)
        return nf_client_fail(client, NF_EXIT_FAILED, "out of memory");
    argv[0] = "run";
    memcpy(argv + 1, words, (size_t)count * sizeof(char *));
    status = nf_cmd_run_check(count + 1, argv);
    nf_free((void *)(uintptr_t)argv);
    return status;
}

/* NULL if a text is not UTF-8, which JSON cannot carry. */
static json_t *words_to_json(const char **words)
{
    json_t *array = json_array();

    for (; *words != NULL; words++)
        if (json_array_append_new(array, json_string(*words)) != 0) {
            json_decref(array);
            return NULL;
        }
    return array;
}

/* The variables that travel; one that JSON cannot carry stays at home. */
static json_t *env_to_json(void)
{
    json_t *object = json_object();

    for (char **at = environ; *at != NULL; at++) {
        const char *equals = strchr(*at, '=');
        char name[256];

        if (equals == NULL || equals - *at >= (int)sizeof(name) ||
            !nf_endpoint_env_travels(*at))
            continue;
        memcpy(name, *at, (size_t)(equals - *at));
        name[equals - *at] = '\0';
        json_object_set_new(object, name, json_string(equals + 1));
    }
    return object;
}

static json_t *build_request(const char *cwd, const char **words,
                             const char *name, int priority)
{
    mode_t mask = umask(0);
    json_t *request;

    umask(mask);
    request = json_pack("{s:o, s:s, s:i, s:i, s:o}", "argv",
                        words_to_json(words), "cwd", cwd, "umask", (int)mask,
                        "priority", priority, "env", env_to_json());
    if (request != NULL && name != NULL &&
        json_object_set_new(request, "name", json_string(name)) != 0) {
        json_decref(request);
        return NULL;
    }
    return request;
}

static int submit(const struct nf_client *client, const char *name,
                  int priority)
{
    const char **words = poptGetArgs(client->context);
    json_t *request, *reply;
    char *cwd;
    int status = check(client, words);

    if (status != 0)
        return status;
    cwd = getcwd(NULL, 0);
    if (cwd == NULL)
        return nf_client_fail(client, NF_EXIT_USAGE, "working directory: %s",
                              strerror(errno));
    request = build_request(cwd, words, name, priority);
    free(cwd); /* getcwd()'s, by malloc */
    if (request == NULL)
        return nf_client_fail(client, NF_EXIT_USAGE,
                              "an argument, the name or the working directory "
                              "is not UTF-8 text");
    status = nf_client_call(client, "submit", request, NF_CLIENT_PATIENCE_US,
                            &reply);
    if (status != 0)
        return status;
    if (client->json) {
        json_object_del(reply, "v");
        json_object_del(reply, "ok");
        status = nf_client_print_json(client, reply);
    } else {
        printf("%lld\n",
               (long long)json_integer_value(json_object_get(reply, "job")));
        status = nf_client_flush(client);
    }
    json_decref(reply);
    return status;
}

int nf_cmd_submit(int argc, const char **argv)
{
    struct nf_client client = { 0 };
    char *name = NULL;
    int priority = 0, status = NF_EXIT_USAGE;
    const struct poptOption options[] = {
        NF_CLIENT_OPTIONS(&client),
        { "priority", 'p', POPT_ARG_INT, &priority, 0,
          "-1000 to 1000, higher goes first (default 0)", "N" },
        { "name", 'n', POPT_ARG_STRING, &name, 0,
          "what status shows (default APP)", "TEXT" },
        { "json", '\0', POPT_ARG_NONE, &client.json, 0,
          "print {\"job\": N} instead of N", NULL },
        POPT_AUTOHELP POPT_TABLEEND,
    };

    if (nf_client_init(&client, argc, argv, options,
                       "[OPTION...] APP [options of nowfarm run APP...]",
                       POPT_CONTEXT_POSIXMEHARDER))
        status = submit(&client, name, priority);
    nf_client_fini(&client);
    free(name);
    return status;
}
