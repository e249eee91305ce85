/* What test_net_pvm spawns.  As a slave: says hello and echoes every LEASE as a
 * RESULT.  As `pvm_peer stranger ADDRESS VICTIM`: another task of the same
 * user, that sends the master whatever a confused program may send. */
#include "config.h"
#include <pvm3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "common/base/rng.h"
#include "common/net/net.h"
#include "common/wire/link.h"

enum {
    /* the tags of pvm.c, in order */
    TAG_FRAME = 0x4e4601,
    TAG_EXIT,
    TAG_HOST_ADDED,
    TAG_HOST_LOST,
    TAG_OUTPUT,
    GARBAGE = 3000,
};

/* ------------------------------------------------------------ the slave */

static int say_hello(struct nf_port *port, const char *address)
{
    char body[256];
    struct nf_msg msg = { .kind = NF_MSG_HELLO, .body = (uint8_t *)body };

    snprintf(body, sizeof(body), "%d %x %s", (int)getpid(),
             (unsigned)pvm_mytid(), address);
    msg.body_bytes = strlen(body) + 1;
    return nf_port_send(port, &msg);
}

static int echo(const char *address)
{
    struct nf_port *port;
    struct nf_msg msg;
    enum nf_status status = nf_port_open(address, &port, NULL);

    if (status != NF_OK || say_hello(port, address) != NF_OK)
        return 1;
    for (;;) {
        status = nf_port_receive(port, &msg);
        if (status == NF_WAIT) {
            nf_port_wait(port, 1000000);
            continue;
        }
        if (status != NF_OK || msg.kind == NF_MSG_STOP)
            break;
        if (msg.kind == NF_MSG_LEASE) {
            msg.kind = NF_MSG_RESULT;
            nf_port_send(port, &msg);
        }
        nf_blob_unref(msg.payload);
    }
    nf_port_close(port);
    return status == NF_OK ? 0 : 1;
}

/* --------------------------------------------------------- the stranger */

static void send_bytes(int to, int tag, const void *data, int bytes)
{
    pvm_initsend(PvmDataRaw);
    if (bytes > 0)
        pvm_pkbyte((char *)(uintptr_t)data, bytes, 1);
    pvm_send(to, tag);
}

static void send_frame(int to, const struct nf_frame *frame, int more_bytes)
{
    static uint8_t data[NF_FRAME_HEADER_BYTES + 100000];

    nf_frame_encode(frame, data);
    send_bytes(to, TAG_FRAME, data, NF_FRAME_HEADER_BYTES + more_bytes);
}

static void send_garbage(int to, uint64_t cookie)
{
    static uint8_t data[40000];
    struct nf_rng rng = { .state = 7 };

    for (int i = 0; i < GARBAGE; i++) {
        int bytes = (int)nf_rng_below(&rng, i % 100 == 0 ? 40000 : 200);

        for (int k = 0; k < bytes; k++)
            data[k] = (uint8_t)nf_rng_next(&rng);
        if (i % 2 == 0 && bytes >= NF_FRAME_HEADER_BYTES) {
            struct nf_frame f = {
                .kind = (enum nf_msg_kind)(i / 2 % NF_MSG_KINDS),
                .cookie = i % 4 == 0 ? cookie : 1,
                .body_total_bytes = (uint64_t)bytes,
                .body_bytes = (uint32_t)bytes % 1000,
                .converted = i % 3 == 0,
                .payload_total_bytes = i % 5 == 0 ? UINT64_C(1) << 60 : 0,
            };

            /* HELLO with the cookie would make us a peer: that comes last */
            if (f.kind == NF_MSG_HELLO)
                f.cookie = 1;
            nf_frame_encode(&f, data);
        }
        send_bytes(to, i % 7 == 0 ? TAG_FRAME + 100 + i : TAG_FRAME, data,
                   bytes);
    }
}

/* What pvmds say when a task or host is gone, said by one who is none. */
static void forge_notices(int to, int victim)
{
    int host = pvm_tidtohost(victim);
    int output[2] = { victim, -1 };

    send_bytes(to, TAG_EXIT, &victim, sizeof(victim));
    send_bytes(to, TAG_EXIT, "", 0);
    send_bytes(to, TAG_HOST_LOST, &host, sizeof(host));
    send_bytes(to, TAG_HOST_ADDED, &host, sizeof(host));
    send_bytes(to, TAG_OUTPUT, output, sizeof(output));
}

static void say_hello_twice(int to, uint64_t cookie)
{
    struct nf_frame f = {
        .kind = NF_MSG_HELLO,
        .cookie = cookie,
        .payload_total_bytes = UINT64_C(1) << 60,
    };

    send_frame(to, &f, 0); /* refused: too big */
    f.payload_total_bytes = 0;
    f.body_total_bytes = f.body_bytes = 40;
    send_frame(to, &f, 39); /* not all there */
    send_frame(to, &f, 41);
    send_frame(to, &f, 40);
    send_frame(to, &f, 40);
    f.consumed_bytes = UINT64_MAX;
    send_frame(to, &f, 40);
}

static int stranger(const char *address, const char *victim)
{
    unsigned master, spawn_id;
    unsigned long long cookie;

    if (sscanf(address, "pvm:%x:%llx:%u", &master, &cookie, &spawn_id) != 3 ||
        pvm_mytid() < 0)
        return 1;
    send_garbage((int)master, cookie);
    forge_notices((int)master, (int)strtol(victim, NULL, 16));
    say_hello_twice((int)master, cookie);
    pvm_exit();
    return 0;
}

int main(int argc, char **argv)
{
    const char *address = getenv(NF_SLAVE_VARIABLE);

    if (argc == 4 && strcmp(argv[1], "stranger") == 0)
        return stranger(argv[2], argv[3]);
    if (address == NULL)
        return 2;
    return echo(address);
}
