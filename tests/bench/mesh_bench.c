/* mesh_bench.c - a mesh of PVM tasks against bare PVM between the same two
 * processes: ping-pong and one-way stream.
 *
 *   mesh_bench ROUNDS     prints a line a size: bytes, us one way bare and by
 *                         the mesh, their ratio; medians of ROUNDS turns each,
 *                         taken in turn so that both see the same machine
 *
 * It uses the virtual machine of PVM_TMP and starts one if there is none; what
 * it started it halts. */
#include "config.h"
#include <pvm3.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "common/base/blob.h"
#include "common/net/mesh.h"

enum { TAG = 5, ROUNDS_MOST = 200 };

static struct nf_mesh *mesh;
static int other;
static char *data, *data_in;

static double now_us(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return 1e6 * (double)ts.tv_sec + 1e-3 * (double)ts.tv_nsec;
}

static void fail(const char *text)
{
    fprintf(stderr, "mesh_bench: %s\n", text);
    exit(1);
}

static void bare_send(size_t bytes)
{
    pvm_initsend(bytes > 2048 ? PvmDataInPlace : PvmDataRaw);
    pvm_pkbyte(data, (int)bytes, 1);
    pvm_send(other, TAG);
}

static void bare_receive(size_t bytes)
{
    if (pvm_recv(other, TAG) < 0)
        fail("receiving failed");
    pvm_upkbyte(data_in, (int)bytes, 1);
}

static struct nf_mesh_event early; /* came while we were sending */
static bool is_early;

static void mesh_next(struct nf_mesh_event *event_p)
{
    enum nf_status status;

    while ((status = nf_mesh_next(mesh, event_p)) == NF_WAIT)
        nf_mesh_wait(mesh, -1);
    if (status != NF_OK || event_p->kind != NF_MESH_MESSAGE)
        fail("the mesh broke");
}

static void mesh_send(size_t bytes)
{
    /* short ones travel in the head, as collectives do it */
    struct nf_mesh_message m = {
        .head = (const uint8_t *)data,
        .head_bytes = 8,
    };

    if (bytes > 8)
        m.payload = nf_blob_wrap(data, bytes, NF_BYTES, NULL);
    if (nf_mesh_send(mesh, 1 - mesh->rank, &m) != NF_OK)
        fail("sending failed");
    nf_blob_unref(m.payload);
    while (nf_mesh_backlog_bytes(mesh, 1 - mesh->rank) > 0) {
        enum nf_status status = nf_mesh_next(mesh, &early);

        is_early = status == NF_OK;
        if (status < NF_OK || is_early)
            break; /* it answers what has gone in this call */
        if (nf_mesh_backlog_bytes(mesh, 1 - mesh->rank) > 0)
            nf_mesh_wait(mesh, -1);
    }
}

static void mesh_receive(size_t bytes)
{
    (void)bytes;
    if (!is_early)
        mesh_next(&early);
    is_early = false;
    nf_blob_unref(early.message.payload);
}

struct way {
    void (*send)(size_t bytes), (*receive)(size_t bytes);
};
static const struct way ways[2] = { { bare_send, bare_receive },
                                    { mesh_send, mesh_receive } };

/* @return us of one message, one way */
static double ping_pong(const struct way *way, size_t bytes, int turns)
{
    double start_us = now_us();

    for (int i = 0; i < turns; i++) {
        if (mesh->rank == 0)
            way->send(bytes);
        way->receive(bytes);
        if (mesh->rank == 1)
            way->send(bytes);
    }
    return (now_us() - start_us) / turns / 2;
}

/* @p count messages, and one back. */
static double stream(const struct way *way, size_t bytes, int count)
{
    double start_us = now_us();

    for (int i = 0; i < count; i++)
        if (mesh->rank == 0)
            way->send(bytes);
        else
            way->receive(bytes);
    if (mesh->rank == 0)
        way->receive(8);
    else
        way->send(8);
    return now_us() - start_us;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void compare(const char *what, size_t bytes, int count, int rounds,
                    double (*run)(const struct way *, size_t, int))
{
    double times[2][ROUNDS_MOST], ratios[ROUNDS_MOST];

    for (int w = 0; w < 2; w++)
        run(&ways[w], bytes, count); /* warm */
    for (int r = 0; r < rounds; r++) {
        for (int w = 0; w < 2; w++)
            times[w][r] = run(&ways[w], bytes, count);
        ratios[r] = times[1][r] / times[0][r];
    }
    for (int w = 0; w < 2; w++)
        qsort(times[w], (size_t)rounds, sizeof(double), ascending);
    qsort(ratios, (size_t)rounds, sizeof(double), ascending);
    if (mesh->rank == 0)
        printf("%-10s %8zu %10.1f %10.1f %8.2f\n", what, bytes,
               times[0][rounds / 2], times[1][rounds / 2], ratios[rounds / 2]);
    fflush(stdout);
}

static void measure(int rounds)
{
    static const size_t sizes[] = { 8, 4096, 16384, 61184, 1 << 20 };
    static const size_t pieces[] = { 4096, 16384, 61184 };

    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
        compare("ping-pong", sizes[i], sizes[i] > 100000 ? 20 : 300, rounds,
                ping_pong);
    for (size_t i = 0; i < sizeof(pieces) / sizeof(*pieces); i++)
        compare("1MiB-in", pieces[i], (1 << 20) / (int)pieces[i], rounds,
                stream);
    for (size_t i = 0; i < sizeof(pieces) / sizeof(*pieces); i++)
        compare("16MiB-in", pieces[i], (16 << 20) / (int)pieces[i], rounds,
                stream);
}

static void enter(int first, int second, uint32_t rank)
{
    const struct nf_mesh_terms terms = { .id = 1, .timeout_us = 10000000 };
    const int tids[2] = { first, second };
    struct nf_error err = { NF_OK, "" };

    other = tids[1 - rank];
    pvm_setopt(PvmRoute, PvmRouteDirect);
    pvm_setopt(PvmFragSize, 64 * 1024);
    if (nf_mesh_open_pvm(tids, 2, &terms, &mesh, &err) != NF_OK)
        fail(err.text);
}

int main(int argc, char **argv)
{
    int rounds = argc >= 2 ? atoi(argv[1]) : 0, ours, me, peer;
    pid_t pid;

    if (rounds < 1 || rounds > ROUNDS_MOST) {
        fprintf(stderr, "usage: mesh_bench ROUNDS (1 to %d)\n", ROUNDS_MOST);
        return 2;
    }
    data = calloc(1, 2 << 20);
    data_in = calloc(1, 2 << 20);
    if (data == NULL || data_in == NULL)
        fail("out of memory");
    pvm_setopt(PvmAutoErr, 0);
    if (argc == 3) { /* the other one: "mesh_bench ROUNDS TID" */
        peer = (int)strtol(argv[2], NULL, 16);
        me = pvm_mytid();
        pvm_initsend(PvmDataRaw);
        pvm_pkint(&me, 1, 1);
        pvm_send(peer, TAG);
        enter(peer, me, 1);
        measure(rounds);
        nf_mesh_close(mesh);
        pvm_exit();
        return 0;
    }
    ours = pvm_start_pvmd(0, NULL, 1) != PvmDupHost;
    me = pvm_mytid();
    if (me < 0) {
        fprintf(stderr, "mesh_bench: no pvmd can be started\n");
        return 3;
    }
    pid = fork();
    if (pid == 0) {
        char text[16];

        snprintf(text, sizeof(text), "%x", (unsigned)me);
        execl("/proc/self/exe", "mesh_bench", argv[1], text, (char *)NULL);
        _exit(127);
    }
    pvm_recv(-1, TAG);
    pvm_upkint(&peer, 1, 1);
    enter(me, peer, 0);
    printf("%-10s %8s %10s %10s %8s\n", "", "bytes", "bare_us", "mesh_us",
           "ratio");
    measure(rounds);
    nf_mesh_close(mesh);
    waitpid(pid, NULL, 0);
    if (ours) {
        signal(SIGTERM, SIG_IGN); /* pvm_halt() sends it to its caller */
        pvm_halt();
    }
    free(data);
    free(data_in);
    return 0;
}
