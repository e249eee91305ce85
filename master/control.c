/* Framing and limits of the control socket, on libevent's bufferevents. */
#include "config.h"
#include "master/control.h"
#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/listener.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/text.h"
#include "master/endpoint.h"

enum { HIGH_PRIORITY = 0, TICKS_A_PATIENCE = 10 };

const struct nf_control_limits nf_control_default_limits = {
    .max_clients = 128,
    .request_bytes = NF_REQUEST_BYTES,
    .patience_us = 10000000,
};

struct client {
    uint64_t id;
    struct nf_control *control;
    struct bufferevent *stream;
    int64_t deadline_us; /* INT64_MAX while we owe it a reply */
    bool owed;           /* a request was read and not yet replied to */
    bool at_end;         /* it will send nothing more */
    bool closing;        /* close when its output is written */
};

struct nf_control {
    struct event_base *base;
    struct evconnlistener *listener;
    struct event *tick;
    struct nf_control_limits limits;
    struct nf_control_hooks hooks;
    struct client **clients; /* limits.max_clients places, the first used */
    size_t count;
    uint64_t last_id;
    bool paused; /* accept() failed: wait for the next tick */
};

static struct client *find(struct nf_control *control, uint64_t id)
{
    for (size_t i = 0; i < control->count; i++)
        if (control->clients[i]->id == id)
            return control->clients[i];
    return NULL;
}

static void drop(struct client *client)
{
    struct nf_control *control = client->control;
    bool owed = client->owed;
    uint64_t id = client->id;

    for (size_t i = 0; i < control->count; i++)
        if (control->clients[i] == client) {
            control->clients[i] = control->clients[--control->count];
            break;
        }
    bufferevent_free(client->stream);
    nf_free(client);
    if (owed)
        control->hooks.hangup(control->hooks.user, id);
}

static size_t unwritten_bytes(struct client *client)
{
    return evbuffer_get_length(bufferevent_get_output(client->stream));
}

/* Queue one line.  The client has our patience again, from now on. */
static void send_line(struct client *client, json_t *reply)
{
    char *line = reply == NULL ? NULL : json_dumps(reply, JSON_COMPACT);
    int failed = -1;

    if (line != NULL)
        failed = bufferevent_write(client->stream, line, strlen(line)) |
                 bufferevent_write(client->stream, "\n", 1);
    free(line); /* jansson's, by malloc */
    json_decref(reply);
    client->owed = false;
    client->closing = client->closing || failed != 0; /* it must not wait */
    client->deadline_us = nf_now_us() + client->control->limits.patience_us;
}

static void send_refusal(struct client *client, int exit_status,
                         const char *text)
{
    char whole[NF_ERROR_TEXT_BYTES];

    /* what it quotes may have been cut within a character, which is no JSON */
    snprintf(whole, sizeof(whole), "%s", text);
    nf_text_make_utf8(whole, strlen(whole));
    send_line(client,
              json_pack("{s:i, s:b, s:i, s:s}", "v", NF_PROTOCOL_VERSION, "ok",
                        0, "exit", exit_status, "error", whole));
}

static void refuse_and_close(struct client *client, const char *text)
{
    client->closing = true;
    bufferevent_disable(client->stream, EV_READ);
    send_refusal(client, nf_exit_status(NF_ERR_INVAL), text);
}

static void handle_line(struct client *client, const char *line, size_t bytes)
{
    struct nf_control *control = client->control;
    json_error_t why;
    json_t *request = json_loadb(line, bytes, JSON_REJECT_DUPLICATES, &why);
    const char *op = json_string_value(json_object_get(request, "op"));
    const json_t *version = json_object_get(request, "v");
    char text[160];

    if (!json_is_object(request)) {
        snprintf(text, sizeof(text), "request: want one JSON object%s%.80s",
                 request == NULL ? ": " : "", request == NULL ? why.text : "");
        refuse_and_close(client, text);
    } else if (!json_is_integer(version) ||
               json_integer_value(version) != NF_PROTOCOL_VERSION) {
        snprintf(text, sizeof(text),
                 "request: this nowfarmd (%s) speaks version %d only",
                 nf_version(), NF_PROTOCOL_VERSION);
        refuse_and_close(client, text);
    } else if (op == NULL) {
        refuse_and_close(client, "request: op: want a string");
    } else {
        client->owed = true;
        client->deadline_us = INT64_MAX;
        control->hooks.request(control->hooks.user, client->id, op, request);
    }
    json_decref(request);
}

/* A request is in the input: carry it out.  @return false if there is none. */
static bool serve_line(struct client *client)
{
    struct evbuffer *input = bufferevent_get_input(client->stream);
    size_t limit = client->control->limits.request_bytes, bytes;
    struct evbuffer_ptr end =
        evbuffer_search_eol(input, NULL, NULL, EVBUFFER_EOL_LF);
    char *line;

    if (end.pos > (ev_ssize_t)limit ||
        (end.pos < 0 && evbuffer_get_length(input) > limit)) {
        char text[80];

        snprintf(text, sizeof(text), "request: longer than %zu bytes", limit);
        refuse_and_close(client, text);
        return false;
    }
    if (end.pos < 0)
        return false;
    line = evbuffer_readln(input, &bytes, EVBUFFER_EOL_LF);
    if (line == NULL)
        return false;
    handle_line(client, line, bytes);
    free(line); /* libevent's, by malloc */
    return true;
}

/* Go on with a client as far as possible now; may drop it. */
static void serve(struct client *client)
{
    while (!client->owed && !client->closing && unwritten_bytes(client) == 0)
        if (!serve_line(client))
            break;
    if (client->owed || unwritten_bytes(client) > 0)
        return; /* the reply, or its last byte written, calls us again */
    if (client->closing || client->at_end)
        drop(client);
}

static void on_readable(struct bufferevent *stream, void *arg)
{
    (void)stream;
    serve(arg);
}

static void on_written(struct bufferevent *stream, void *arg)
{
    (void)stream;
    serve(arg);
}

static void on_event(struct bufferevent *stream, short what, void *arg)
{
    struct client *client = arg;
    struct nf_control *control = client->control;

    if ((what & BEV_EVENT_EOF) == 0) {
        drop(client);
        return;
    }
    client->at_end = true;
    bufferevent_disable(stream, EV_READ);
    if (client->owed &&
        control->hooks.hangup(control->hooks.user, client->id)) {
        client->owed = false;
        client->closing = true;
    }
    serve(client);
}

/* Make room: of the clients that wait for nothing of ours, drop the one that
 * would be dropped first.  @return whether there is room now. */
static bool make_room(struct nf_control *control)
{
    struct client *oldest = NULL;

    if (control->count < control->limits.max_clients)
        return true;
    for (size_t i = 0; i < control->count; i++) {
        struct client *client = control->clients[i];

        if (!client->owed &&
            (oldest == NULL || client->deadline_us < oldest->deadline_us))
            oldest = client;
    }
    if (oldest == NULL)
        return false;
    nf_log(NF_LOG_WARN, "too many clients: dropped a silent one");
    drop(oldest);
    return true;
}

static struct client *client_create(struct nf_control *control, int fd)
{
    struct client *client = nf_calloc(1, sizeof(*client));

    if (client == NULL)
        return NULL;
    client->stream =
        bufferevent_socket_new(control->base, fd, BEV_OPT_CLOSE_ON_FREE);
    if (client->stream == NULL) {
        nf_free(client);
        return NULL;
    }
    client->control = control;
    client->id = ++control->last_id;
    client->deadline_us = nf_now_us() + control->limits.patience_us;
    bufferevent_priority_set(client->stream, HIGH_PRIORITY);
    bufferevent_setcb(client->stream, on_readable, on_written, on_event,
                      client);
    /* one byte more than a line shows that the line is too long */
    bufferevent_setwatermark(client->stream, EV_READ, 0,
                             control->limits.request_bytes + 2);
    return client;
}

static void on_accept(struct evconnlistener *listener, evutil_socket_t fd,
                      struct sockaddr *address, int bytes, void *arg)
{
    struct nf_control *control = arg;
    struct client *client;

    (void)listener;
    (void)address;
    (void)bytes;
    if (!make_room(control)) {
        nf_log(NF_LOG_WARN, "too many clients: refused one");
        close(fd);
        return;
    }
    client = client_create(control, fd);
    if (client == NULL) {
        close(fd);
        return;
    }
    control->clients[control->count++] = client;
    bufferevent_enable(client->stream, EV_READ | EV_WRITE);
    if (!nf_endpoint_peer_is_ours(fd)) {
        nf_log(NF_LOG_WARN, "refused a client of another user");
        refuse_and_close(client, "this nowfarmd is another user's");
    }
}

static void on_accept_error(struct evconnlistener *listener, void *arg)
{
    struct nf_control *control = arg;

    nf_log(NF_LOG_WARN, "accept: %s", strerror(errno));
    evconnlistener_disable(listener); /* or the loop would spin on it */
    control->paused = true;
}

static void on_tick(evutil_socket_t fd, short what, void *arg)
{
    struct nf_control *control = arg;
    int64_t now_us = nf_now_us();

    (void)fd;
    (void)what;
    if (control->paused)
        control->paused = evconnlistener_enable(control->listener) != 0;
    for (size_t i = control->count; i > 0; i--)
        if (control->clients[i - 1]->deadline_us < now_us)
            drop(control->clients[i - 1]);
}

static int start_tick(struct nf_control *control)
{
    int64_t every_us = control->limits.patience_us / TICKS_A_PATIENCE;
    const struct timeval every = { .tv_sec = every_us / 1000000,
                                   .tv_usec = every_us % 1000000 };

    control->tick = event_new(control->base, -1, EV_PERSIST, on_tick, control);
    if (control->tick == NULL)
        return -1;
    event_priority_set(control->tick, HIGH_PRIORITY);
    return event_add(control->tick, &every);
}

struct nf_control *nf_control_create(struct event_base *base, int listen_fd,
                                     const struct nf_control_limits *limits,
                                     const struct nf_control_hooks *hooks)
{
    struct nf_control *control = nf_calloc(1, sizeof(*control));

    if (control == NULL) {
        close(listen_fd);
        return NULL;
    }
    control->base = base;
    control->limits = *limits;
    control->hooks = *hooks;
    control->clients = nf_calloc(limits->max_clients, sizeof(struct client *));
    control->listener = evconnlistener_new(
        base, on_accept, control, LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC,
        0, listen_fd);
    if (control->listener == NULL)
        close(listen_fd);
    else
        evconnlistener_set_error_cb(control->listener, on_accept_error);
    if (control->clients == NULL || control->listener == NULL ||
        start_tick(control) != 0) {
        nf_control_destroy(control);
        return NULL;
    }
    return control;
}

void nf_control_destroy(struct nf_control *control)
{
    if (control == NULL)
        return;
    while (control->clients != NULL && control->count > 0) {
        control->clients[control->count - 1]->owed = false;
        drop(control->clients[control->count - 1]);
    }
    if (control->tick != NULL)
        event_free(control->tick);
    if (control->listener != NULL)
        evconnlistener_free(control->listener);
    nf_free(control->clients);
    nf_free(control);
}

/* What was pipelined behind the request is served when the reply is written:
 * not here, or a handler would be called from within itself. */
void nf_control_reply(struct nf_control *control, uint64_t client_id,
                      json_t *reply)
{
    struct client *client = find(control, client_id);

    if (client == NULL || !client->owed) {
        json_decref(reply);
        return;
    }
    if (reply == NULL) {
        send_refusal(client, nf_exit_status(NF_ERR_NOMEM),
                     "nowfarmd is out of memory");
        return;
    }
    json_object_set_new(reply, "v", json_integer(NF_PROTOCOL_VERSION));
    json_object_set_new(reply, "ok", json_true());
    send_line(client, reply);
}

void nf_control_refuse(struct nf_control *control, uint64_t client_id,
                       int exit_status, const char *format, ...)
{
    struct client *client = find(control, client_id);
    char text[NF_ERROR_TEXT_BYTES];
    va_list args;

    if (client == NULL || !client->owed)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    send_refusal(client, exit_status, text);
}

void nf_control_flush(struct nf_control *control)
{
    for (size_t i = 0; i < control->count; i++) {
        struct bufferevent *stream = control->clients[i]->stream;
        struct evbuffer *output = bufferevent_get_output(stream);

        evbuffer_unfreeze(output, 1); /* a bufferevent keeps it for itself */
        evbuffer_write(output, bufferevent_getfd(stream));
        evbuffer_freeze(output, 1);
    }
}

size_t nf_control_clients(const struct nf_control *control)
{
    return control->count;
}
