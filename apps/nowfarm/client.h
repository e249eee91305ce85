#ifndef NF_APPS_NOWFARM_CLIENT_H
#define NF_APPS_NOWFARM_CLIENT_H
/** @file client.h  What the clients of nowfarmd share: one request and its
 *  reply, and the parsing of their command lines. */
#include <jansson.h>
#include <popt.h>
#include <stdbool.h>
#include "nowfarm.h"

/** How long a daemon may take for a reply that it owes at once. */
#define NF_CLIENT_PATIENCE_US 10000000
/** Exit status when `wait --timeout` is over, as timeout(1) has it. */
#define NF_CLIENT_EXIT_TIMEOUT 124

/** The options of a client; fill what a command has and give its table with
 *  NF_CLIENT_OPTIONS to nf_client_parse(). */
struct nf_client {
    const char *name; /**< of the command, for messages */
    char *socket;     /**< --socket, or NULL; popt's, by malloc */
    int json;         /**< --json */
    poptContext context;
    uint64_t job; /**< JOB, or 0 */
};

/* clang-format off */
/** The option that every client has. */
#define NF_CLIENT_OPTIONS(client) \
    { "socket", '\0', POPT_ARG_STRING, &(client)->socket, 0, \
      "where nowfarmd listens", "PATH" }
/* clang-format on */

/** Whether a command takes a job's number. */
enum nf_client_job { NF_CLIENT_NO_JOB, NF_CLIENT_MAY_JOB, NF_CLIENT_MUST_JOB };

/** Parse the options.
 *  @param argv   argv[0] is the command's name, "nowfarm wait"; borrowed until nf_client_fini()
 *  @param usage  what follows the name in the first line of --help
 *  @param flags  of poptGetContext(), e.g. POPT_CONTEXT_POSIXMEHARDER
 *  @return whether to go on; else an error was printed (exit status 2) */
bool nf_client_init(struct nf_client *client, int argc, const char **argv,
                    const struct poptOption *options, const char *usage,
                    unsigned flags);
/** Take JOB from what is left of the command line, and check that nothing else
 *  is left.  @return as nf_client_init() */
bool nf_client_take_job(struct nf_client *client, enum nf_client_job which);
void nf_client_fini(struct nf_client *client);

/** Print "nowfarm COMMAND: text" as one line to standard error.  @return @p exit_status */
int nf_client_fail(const struct nf_client *client, int exit_status,
                   const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/** Send {"v", "op"} and the members of @p request, and read the reply.
 *  @param request     taken; NULL: out of memory
 *  @param timeout_us  for the whole exchange; INT64_MAX: none
 *  @param reply_p     set only if 0 is returned; json_decref() it
 *  @return 0; or, after one line on standard error, the exit status: what the
 *          daemon says, 3 if there is no daemon or it went away, or
 *          NF_CLIENT_EXIT_TIMEOUT (without a line) */
int nf_client_call(const struct nf_client *client, const char *op,
                   json_t *request, int64_t timeout_us, json_t **reply_p);

/** Print @p object to standard output as one line.
 *  @return 0, or 1 after a message if it cannot be written */
int nf_client_print_json(const struct nf_client *client, const json_t *object);
/** Flush standard output.  @return as nf_client_print_json() */
int nf_client_flush(const struct nf_client *client);
#endif
