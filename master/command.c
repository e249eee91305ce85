/* What is executed for a job.  A runner can be recognised later by the two
 * variables it carries, which a number that was given to another process
 * meanwhile does not. */
#include "config.h"
#include "master/command.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "common/base/alloc.h"
#include "master/endpoint.h"

enum { FIXED_WORDS = 16, FIXED_VARIABLES = 4, ENVIRON_BYTES = 1 << 17 };

#define TEXT_OF_(x) #x
#define TEXT_OF(x)  TEXT_OF_(x)

/* exec() wants char *, and writes to none of them. */
static char *word(const char *text)
{
    return (char *)(uintptr_t)text;
}

static char **build_argv(const struct nf_job *job,
                         const struct nf_command_defaults *defaults)
{
    const json_t *argv = json_object_get(job->spec, "argv");
    size_t count = json_array_size(argv), n = 0;
    char **words = nf_calloc(count + FIXED_WORDS, sizeof(char *));

    if (words == NULL)
        return NULL;
    words[n++] = word(defaults->runner);
    words[n++] = word("run");
    words[n++] = word(nf_job_app(job));
    words[n++] = word("--progress-fd");
    words[n++] = word(TEXT_OF(NF_RUNNER_PROGRESS_FD));
    words[n++] = word("--json");
    words[n++] = word("--quiet");
    if (defaults->policy != NULL && !nf_job_has_option(job, "--policy")) {
        words[n++] = word("--policy");
        words[n++] = word(defaults->policy);
    }
    if (defaults->hosts != NULL && !nf_job_has_option(job, "--hosts")) {
        words[n++] = word("--hosts");
        words[n++] = word(defaults->hosts);
    }
    for (size_t i = 1; i < count; i++)
        words[n++] = word(json_string_value(json_array_get(argv, i)));
    return words;
}

static char *variable(const char *name, const char *value)
{
    size_t bytes = strlen(name) + strlen(value) + 2;
    char *text = nf_malloc(bytes);

    if (text != NULL)
        snprintf(text, bytes, "%s=%s", name, value);
    return text;
}

/* Is `text`, "NAME=value" of the daemon's environment, replaced? */
static bool is_replaced(const char *text, const json_t *env)
{
    char name[256];
    size_t bytes = strcspn(text, "=");

    if (bytes >= sizeof(name))
        return false;
    memcpy(name, text, bytes);
    name[bytes] = '\0';
    return strcmp(name, "NOWFARM_SOCKET") == 0 ||
           strcmp(name, "NOWFARM_JOB") == 0 ||
           json_object_get(env, name) != NULL;
}

/* What the environment says goes before the daemon's file, that there is no
 * network included. */
static const char *network_of(const struct nf_command_defaults *defaults,
                              const json_t *env)
{
    bool is_set = json_object_get(env, "NOWFARM_NETWORK") != NULL ||
                  getenv("NOWFARM_NETWORK") != NULL;

    return is_set ? NULL : defaults->network;
}

/* Every string is allocated, so that one loop frees them. */
static char **build_envp(const struct nf_job *job,
                         const struct nf_command_defaults *defaults)
{
    json_t *env = json_object_get(job->spec, "env");
    size_t count = 0, n = 0;
    char id[32], **all;
    const char *name, *network = network_of(defaults, env);
    json_t *value;
    bool failed = false;

    while (environ[count] != NULL)
        count++;
    all = nf_calloc(count + json_object_size(env) + FIXED_VARIABLES,
                    sizeof(char *));
    if (all == NULL)
        return NULL;
    for (size_t i = 0; i < count && !failed; i++)
        if (!is_replaced(environ[i], env))
            failed = (all[n++] = nf_strdup(environ[i])) == NULL;
    json_object_foreach(env, name, value) failed =
        failed || (all[n++] = variable(name, json_string_value(value))) == NULL;
    snprintf(id, sizeof(id), "%llu", (unsigned long long)job->entry.id);
    failed = failed ||
             (all[n++] = variable("NOWFARM_SOCKET", defaults->socket)) == NULL;
    failed = failed || (all[n++] = variable("NOWFARM_JOB", id)) == NULL;
    if (network != NULL)
        failed =
            failed || (all[n++] = variable("NOWFARM_NETWORK", network)) == NULL;
    if (!failed)
        return all;
    for (size_t i = 0; i < n; i++)
        nf_free(all[i]);
    nf_free(all);
    return NULL;
}

enum nf_status nf_command_init(const struct nf_job *job,
                               const struct nf_command_defaults *defaults,
                               struct nf_runner_command *command_p)
{
    const json_t *mask = json_object_get(job->spec, "umask");
    struct nf_runner_command command = {
        .argv = build_argv(job, defaults),
        .envp = build_envp(job, defaults),
        .cwd = json_string_value(json_object_get(job->spec, "cwd")),
        .umask = (mode_t)json_integer_value(mask),
    };

    if (command.argv == NULL || command.envp == NULL) {
        nf_command_fini(&command);
        return NF_ERR_NOMEM;
    }
    *command_p = command;
    return NF_OK;
}

void nf_command_fini(struct nf_runner_command *command)
{
    for (size_t i = 0; command->envp != NULL && command->envp[i] != NULL; i++)
        nf_free(command->envp[i]);
    nf_free((void *)(uintptr_t)command->envp);
    nf_free((void *)(uintptr_t)command->argv);
}

static bool has_variable(const char *block, size_t bytes, const char *wanted)
{
    for (size_t at = 0; at < bytes; at += strlen(block + at) + 1)
        if (strcmp(block + at, wanted) == 0)
            return true;
    return false;
}

bool nf_command_is_runner(pid_t pid, uint64_t id, const char *socket)
{
    char name[64], job[64], at[NF_ENDPOINT_BYTES + 32];
    char *block = nf_malloc(ENVIRON_BYTES);
    size_t bytes = 0;
    FILE *file;
    bool is_ours = false;

    snprintf(name, sizeof(name), "/proc/%ld/environ", (long)pid);
    snprintf(job, sizeof(job), "NOWFARM_JOB=%llu", (unsigned long long)id);
    snprintf(at, sizeof(at), "NOWFARM_SOCKET=%s", socket);
    file = pid > 0 && block != NULL ? fopen(name, "re") : NULL;
    if (file != NULL) {
        bytes = fread(block, 1, ENVIRON_BYTES - 1, file);
        block[bytes] = '\0';
        is_ours =
            has_variable(block, bytes, job) && has_variable(block, bytes, at);
        fclose(file);
    }
    nf_free(block);
    return is_ours;
}
