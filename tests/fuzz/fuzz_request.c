/* Fuzzing what clients send to nowfarmd: framing and JSON (control.h), and what
 * they submit (job.h).  Each line is answered, in order, by one line that is a
 * JSON object with "v" and "ok", a refusal also with "exit" and "error", until
 * a line is no request; then the daemon hangs up.
 *
 * The input goes through a real socket, in one thread: a loop that waited for
 * the client would be a hang.  With libFuzzer: see tests/fuzz/local.am.
 * Without: `fuzz_request FILE...` replays inputs, and `fuzz_request` alone
 * makes its own from fixed seeds. */
#include "config.h"
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include "common/base/log.h"
#include "master/control.h"
#include "master/job.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

enum { LINE_BYTES = 2048, REPLY_BYTES = 1 << 22, TURNS = 10000 };

static struct event_base *base;
static struct nf_control *control;
static struct sockaddr_un address;
static socklen_t address_bytes;
static size_t nrequests;
static const uint8_t *sent_data;
static size_t sent_bytes;

static void must(int condition, const char *what)
{
    if (!condition) {
        fprintf(stderr, "fuzz_request: %s\n", what);
        abort();
    }
}

static void check_job(struct nf_job *job, uint64_t client)
{
    json_t *reply;

    must(job->name[0] != '\0' && nf_job_app(job) != NULL, "a job's name");
    must(job->entry.priority >= -NF_JOB_PRIORITY_MAX &&
             job->entry.priority <= NF_JOB_PRIORITY_MAX,
         "a job's priority");
    nf_job_has_option(job, "--policy");
    nf_job_take_progress(job, (const char *)sent_data, sent_bytes);
    reply = nf_job_describe(job, 1000000);
    must(reply != NULL, "a job cannot be described");
    nf_control_reply(control, client, json_pack("{s:o}", "job", reply));
}

static void on_request(void *user, uint64_t client, const char *op,
                       const json_t *request)
{
    struct nf_error err = { .text = "" };
    struct nf_job *job;

    (void)user;
    must(op != NULL && json_is_object(request), "no request");
    nrequests++;
    if (nf_job_create(request, &job, &err) == NF_OK) {
        check_job(job, client);
        nf_job_destroy(job);
    } else {
        must(err.status == NF_ERR_INVAL && err.text[0] != '\0', "no reason");
        nf_control_refuse(control, client, nf_exit_status(err.status), "%s",
                          err.text);
    }
}

static bool on_hangup(void *user, uint64_t client)
{
    (void)user;
    (void)client;
    return false;
}

/* An unnamed address of the kernel's choice: nothing is left behind. */
static void set_up(void)
{
    const struct nf_control_limits limits = { 4, LINE_BYTES, 3600000000 };
    const struct nf_control_hooks hooks = { on_request, on_hangup, NULL };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    nf_log_set_level(NF_LOG_ERROR);
    address.sun_family = AF_UNIX;
    address_bytes = sizeof(address);
    base = event_base_new();
    must(fd >= 0 && base != NULL && event_base_priority_init(base, 2) == 0 &&
             bind(fd, (struct sockaddr *)&address, sizeof(sa_family_t)) == 0 &&
             listen(fd, 8) == 0 &&
             getsockname(fd, (struct sockaddr *)&address, &address_bytes) == 0,
         "no socket");
    control = nf_control_create(base, fd, &limits, &hooks);
    must(control != NULL, "no control");
}

/* @return whether there is more to come */
static bool receive(int fd, char *replies, size_t *fill_p)
{
    for (;;) {
        ssize_t got =
            recv(fd, replies + *fill_p, REPLY_BYTES - *fill_p, MSG_DONTWAIT);

        if (got <= 0)
            return got < 0;
        *fill_p += (size_t)got;
        must(*fill_p < REPLY_BYTES, "replies without end");
    }
}

/* @return how many replies there are */
static size_t check_replies(const char *replies, size_t bytes)
{
    size_t count = 0;

    for (const char *line = replies, *end; bytes > 0; line = end + 1) {
        json_t *reply;
        const json_t *ok;

        end = memchr(line, '\n', bytes);
        must(end != NULL, "the last reply is cut off");
        reply = json_loadb(line, (size_t)(end - line), JSON_REJECT_DUPLICATES,
                           NULL);
        ok = json_object_get(reply, "ok");
        must(json_integer_value(json_object_get(reply, "v")) == 1 &&
                 json_is_boolean(ok),
             "a reply is none");
        must(json_is_true(ok) ||
                 (json_integer_value(json_object_get(reply, "exit")) > 0 &&
                  json_string_length(json_object_get(reply, "error")) > 0),
             "a refusal without reason");
        json_decref(reply);
        bytes -= (size_t)(end - line) + 1;
        count++;
    }
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static char replies[REPLY_BYTES];
    size_t sent = 0, fill = 0, nreplies;
    bool more = true;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (control == NULL)
        set_up();
    sent_data = data;
    sent_bytes = bytes;
    nrequests = 0;
    must(fd >= 0 &&
             connect(fd, (struct sockaddr *)&address, address_bytes) == 0,
         "cannot connect");
    for (int turn = 0; more; turn++) {
        must(turn < TURNS, "the daemon neither answers nor hangs up");
        if (sent < bytes) {
            ssize_t now = send(fd, data + sent, bytes - sent,
                               MSG_DONTWAIT | MSG_NOSIGNAL);

            sent = now > 0 ? sent + (size_t)now : sent;
            if (now < 0 && errno != EAGAIN)
                sent = bytes; /* it has hung up */
        } else {
            shutdown(fd, SHUT_WR);
        }
        event_base_loop(base, EVLOOP_NONBLOCK);
        more = receive(fd, replies, &fill);
    }
    close(fd);
    event_base_loop(base, EVLOOP_NONBLOCK);
    must(nf_control_clients(control) == 0, "a client is kept");
    nreplies = check_replies(replies, fill);
    /* and one for the line that was no request */
    must(nreplies == nrequests || nreplies == nrequests + 1, "replies");
    if (bytes > 0 && bytes < LINE_BYTES && memchr(data, '\n', bytes) != NULL)
        must(nreplies > 0, "a line was not answered");
    return 0;
}

#ifndef NF_LIBFUZZER
#define FUZZ_TEXT_ROUNDS 10000
#include "tests/fuzz/fuzz_text.h"

static const char *const texts[] = {
    "{\"v\":1,\"op\":\"submit\",\"argv\":[\"synth\",\"--units\",\"9\"],"
    "\"cwd\":\"/\",\"umask\":18,\"env\":{\"PVM_ROOT\":\"/x\",\"NAME\":"
    "\"y\"},\"name\":\"a name\",\"priority\":-3}\n",
    "{\"v\":1,\"op\":\"status\"}\n{\"v\":1,\"op\":\"wait\",\"job\":7}\n",
    "{\"v\":2,\"op\":\"status\"}\n",
    "{\"v\":1,\"op\":\"submit\",\"argv\":[\"\xc3\xa9\\u00e9\"],\"cwd\":\"/\","
    "\"umask\":511,\"units\":5,\"done\":3,\"phase\":\"running\"}\n",
    "[]\n{}\n",
};

int main(int argc, char **argv)
{
    return fuzz_text_main(argc, argv, texts, sizeof(texts) / sizeof(texts[0]));
}
#endif
