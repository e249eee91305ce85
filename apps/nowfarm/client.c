/* One request to nowfarmd and its reply.  The socket does not block, so that a
 * daemon that hangs is noticed as one that is gone is. */
#include "config.h"
#include "apps/nowfarm/client.h"
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "apps/nowfarm/cli.h"
#include "common/base/blob.h"
#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/units.h"
#include "master/endpoint.h"

int nf_client_fail(const struct nf_client *client, int exit_status,
                   const char *format, ...)
{
    va_list args;

    va_start(args, format);
    nf_print_error(client->name, format, args);
    va_end(args);
    return exit_status;
}

bool nf_client_init(struct nf_client *client, int argc, const char **argv,
                    const struct poptOption *options, const char *usage,
                    unsigned flags)
{
    int result;

    client->name = argv[0];
    client->context = poptGetContext(argv[0], argc, argv, options, flags);
    poptSetOtherOptionHelp(client->context, usage);
    result = poptGetNextOpt(client->context);
    if (result >= -1)
        return true;
    nf_client_fail(client, NF_EXIT_USAGE, "%s: %s",
                   poptBadOption(client->context, POPT_BADOPTION_NOALIAS),
                   poptStrerror(result));
    return false;
}

bool nf_client_take_job(struct nf_client *client, enum nf_client_job which)
{
    const char *text =
        which == NF_CLIENT_NO_JOB ? NULL : poptGetArg(client->context);
    const char *rest = poptPeekArg(client->context);

    if (text == NULL && which == NF_CLIENT_MUST_JOB)
        nf_client_fail(client, NF_EXIT_USAGE, "want the number of a job");
    else if (text != NULL &&
             nf_parse_count(text, 1, INT64_MAX, &client->job) != NF_OK)
        nf_client_fail(client, NF_EXIT_USAGE,
                       "%s: want the number of a job, 1 or more", text);
    else if (rest != NULL)
        nf_client_fail(client, NF_EXIT_USAGE, "%s: one argument too many",
                       rest);
    else
        return true;
    return false;
}

void nf_client_fini(struct nf_client *client)
{
    poptFreeContext(client->context);
    free(client->socket);
}

/* Wait until the socket is ready.  @return 0, or -1 when the time is over. */
static int wait_ready(int fd, short events, int64_t deadline_us)
{
    struct pollfd poll_fd = { .fd = fd, .events = events };

    for (;;) {
        int64_t left_us =
            deadline_us == INT64_MAX ? INT64_MAX : deadline_us - nf_now_us();
        int left_ms = left_us > 1000000000 ? 1000000
                      : left_us > 0        ? (int)((left_us + 999) / 1000)
                                           : 0;
        int ready = poll(&poll_fd, 1, left_ms);

        if (ready > 0)
            return 0;
        if (left_us <= 0)
            return -1;
    }
}

/* @return 0, 3 if it went away, or the status of a timeout.  A daemon that
 * closes early may still have said why: then reading will tell. */
static int send_all(int fd, const char *data, size_t bytes, int64_t deadline_us)
{
    while (bytes > 0) {
        ssize_t sent = send(fd, data, bytes, MSG_NOSIGNAL);

        if (sent >= 0) {
            data += sent;
            bytes -= (size_t)sent;
        } else if (errno == EPIPE || errno == ECONNRESET) {
            return 0;
        } else if (errno != EAGAIN && errno != EINTR) {
            return NF_EXIT_UNREACHABLE;
        } else if (wait_ready(fd, POLLOUT, deadline_us) != 0) {
            return NF_CLIENT_EXIT_TIMEOUT;
        }
    }
    return 0;
}

/* Read up to the first newline.  @return as send_all() */
static int receive_line(int fd, int64_t deadline_us, struct nf_buf *line)
{
    while (line->bytes < NF_REPLY_BYTES) {
        char data[65536];
        ssize_t got = recv(fd, data, sizeof(data), 0);
        const char *newline = got > 0 ? memchr(data, '\n', (size_t)got) : NULL;

        if (got > 0) {
            size_t bytes =
                newline == NULL ? (size_t)got : (size_t)(newline - data);

            if (nf_buf_append(line, data, bytes) != NF_OK)
                return NF_EXIT_UNREACHABLE;
            if (newline != NULL)
                return 0;
        } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
            return NF_EXIT_UNREACHABLE;
        } else if (wait_ready(fd, POLLIN, deadline_us) != 0) {
            return NF_CLIENT_EXIT_TIMEOUT;
        }
    }
    return NF_EXIT_UNREACHABLE;
}

/* Print what went wrong in a reply that is not "ok". */
static int refused(const struct nf_client *client, const json_t *reply)
{
    const char *text = json_string_value(json_object_get(reply, "error"));
    json_int_t status = json_integer_value(json_object_get(reply, "exit"));

    if (text == NULL || status < 1 || status > 255)
        return nf_client_fail(client, NF_EXIT_UNREACHABLE,
                              "the reply of nowfarmd makes no sense");
    return nf_client_fail(client, (int)status, "%s", text);
}

static int exchange(const struct nf_client *client, int fd, const char *line,
                    int64_t timeout_us, json_t **reply_p)
{
    int64_t deadline_us =
        timeout_us == INT64_MAX ? INT64_MAX : nf_now_us() + timeout_us;
    int status = send_all(fd, line, strlen(line), deadline_us);
    struct nf_buf reply;
    json_t *parsed = NULL;

    nf_buf_init(&reply);
    if (status == 0)
        status = receive_line(fd, deadline_us, &reply);
    if (status == NF_EXIT_UNREACHABLE)
        nf_client_fail(client, status, "nowfarmd went away without an answer");
    if (status == 0) {
        parsed = json_loadb((const char *)reply.data, reply.bytes, 0, NULL);
        if (!json_is_true(json_object_get(parsed, "ok")))
            status = refused(client, parsed);
    }
    nf_buf_fini(&reply);
    if (status == 0)
        *reply_p = parsed;
    else
        json_decref(parsed);
    return status;
}

/* The request as a line, to free(); NULL after a message. */
static char *print_request(const struct nf_client *client, const char *op,
                           json_t *request)
{
    char *line = NULL, *longer = NULL;

    if (json_object_set_new(request, "v", json_integer(NF_PROTOCOL_VERSION)) ==
            0 &&
        json_object_set_new(request, "op", json_string(op)) == 0)
        line = json_dumps(request, JSON_COMPACT);
    json_decref(request);
    if (line != NULL)
        longer = realloc(line, strlen(line) + 2); /* jansson's, by malloc */
    if (longer == NULL) {
        free(line);
        nf_client_fail(client, NF_EXIT_FAILED, "out of memory");
        return NULL;
    }
    return strcat(longer, "\n");
}

int nf_client_call(const struct nf_client *client, const char *op,
                   json_t *request, int64_t timeout_us, json_t **reply_p)
{
    char path[NF_ENDPOINT_BYTES];
    struct nf_error err;
    char *line = print_request(client, op, request);
    int fd, status;

    if (line == NULL)
        return NF_EXIT_FAILED;
    if (strlen(line) > NF_REQUEST_BYTES) {
        free(line);
        return nf_client_fail(client, NF_EXIT_USAGE,
                              "the arguments are longer than %zu bytes",
                              NF_REQUEST_BYTES);
    }
    if (nf_endpoint_path(client->socket, NULL, path, &err) != NF_OK ||
        nf_endpoint_connect(path, &fd, &err) != NF_OK) {
        free(line);
        return nf_client_fail(client, nf_exit_status(err.status), "%s",
                              err.text);
    }
    status = exchange(client, fd, line, timeout_us, reply_p);
    if (status == NF_CLIENT_EXIT_TIMEOUT && timeout_us == NF_CLIENT_PATIENCE_US)
        status = nf_client_fail(client, NF_EXIT_UNREACHABLE,
                                "nowfarmd at %s does not answer", path);
    close(fd);
    free(line);
    return status;
}

int nf_client_flush(const struct nf_client *client)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return 0;
    return nf_client_fail(client, NF_EXIT_FAILED, "standard output: %s",
                          strerror(errno));
}

int nf_client_print_json(const struct nf_client *client, const json_t *object)
{
    if (json_dumpf(object, stdout, JSON_COMPACT) != 0)
        return nf_client_fail(client, NF_EXIT_FAILED, "standard output: %s",
                              strerror(errno));
    putchar('\n');
    return nf_client_flush(client);
}
