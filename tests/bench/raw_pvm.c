/* raw_pvm.c - the yardstick: a task farm of empty 8-byte units, written
 * straight on PVM as an expert would write it, master and slave in one
 * program.  Direct routes, raw encoding, blocking receives, a fixed number of
 * messages outstanding at each slave, no failure handling, no accounting.
 *
 *   raw_pvm UNITS SLAVES WINDOW     prints units/s as a plain number
 *
 * It uses the virtual machine of PVM_TMP and starts one if there is none; what
 * it started it halts. */
#include "config.h"
#include <inttypes.h>
#include <pvm3.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { TAG_UNIT = 1, TAG_RESULT, TAG_STOP };

#define MAX_SLAVES 256

static double now_s(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

static int send_unit(int tid, int tag, int64_t unit)
{
    pvm_initsend(PvmDataRaw);
    pvm_pkbyte((char *)&unit, sizeof unit, 1);
    return pvm_send(tid, tag);
}

static int be_slave(void)
{
    int parent = pvm_parent(), bufid, bytes, tag, tid;
    int64_t unit;

    pvm_setopt(PvmRoute, PvmRouteDirect);
    pvm_notify(PvmTaskExit, TAG_STOP, 1, &parent);
    send_unit(parent, TAG_RESULT, -1); /* here I am; opens the direct route */
    for (;;) {
        bufid = pvm_recv(-1, -1);
        if (bufid < 0 || pvm_bufinfo(bufid, &bytes, &tag, &tid) < 0 ||
            tag == TAG_STOP)
            break;
        pvm_upkbyte((char *)&unit, sizeof unit, 1);
        send_unit(tid, TAG_RESULT, unit);
    }
    pvm_exit();
    return 0;
}

/* Receive one result; *tid_p says from whom. */
static int64_t receive(int *tid_p)
{
    int64_t unit = -1;
    int bufid = pvm_recv(-1, TAG_RESULT), bytes, tag;

    if (bufid < 0 || pvm_bufinfo(bufid, &bytes, &tag, tid_p) < 0 ||
        bytes != sizeof unit) {
        fprintf(stderr, "raw_pvm: receiving failed\n");
        exit(1);
    }
    pvm_upkbyte((char *)&unit, sizeof unit, 1);
    return unit;
}

static double farm(int64_t units, int slaves, int window, int *tids)
{
    int64_t next = 0, done = 0, sum = 0;
    double start_s;
    int tid;

    for (int i = 0; i < slaves; i++)
        receive(&tid);
    start_s = now_s();
    for (int w = 0; w < window; w++)
        for (int i = 0; i < slaves && next < units; i++)
            send_unit(tids[i], TAG_UNIT, next++);
    for (; done < units; done++) {
        sum += receive(&tid);
        if (next < units)
            send_unit(tid, TAG_UNIT, next++);
    }
    start_s = now_s() - start_s;
    if (sum != units * (units - 1) / 2) {
        fprintf(stderr, "raw_pvm: units are missing\n");
        exit(1);
    }
    return (double)units / start_s;
}

/* @return 1 if this program started the virtual machine, 0 if there was one */
static int enter_pvm(void)
{
    int status;

    pvm_setopt(PvmAutoErr, 0);
    status = pvm_start_pvmd(0, NULL, 1);
    if (pvm_mytid() < 0) {
        fprintf(stderr, "raw_pvm: no pvmd can be started\n");
        exit(3);
    }
    return status != PvmDupHost;
}

int main(int argc, char **argv)
{
    static char slave_arg[] = "--slave";
    char *args[] = { slave_arg, NULL }, self[4096];
    int tids[MAX_SLAVES], slaves, window, ours;
    int64_t units;
    ssize_t length;

    if (argc == 2 && strcmp(argv[1], slave_arg) == 0)
        return be_slave();
    units = argc == 4 ? atoll(argv[1]) : 0;
    slaves = argc == 4 ? atoi(argv[2]) : 0;
    window = argc == 4 ? atoi(argv[3]) : 0;
    length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (units < 1 || slaves < 1 || slaves > MAX_SLAVES || window < 1 ||
        length < 0) {
        fprintf(stderr, "usage: raw_pvm UNITS SLAVES WINDOW\n");
        return 2;
    }
    self[length] = '\0';
    ours = enter_pvm();
    pvm_setopt(PvmRoute, PvmRouteDirect);
    if (pvm_spawn(self, args, PvmTaskDefault, NULL, slaves, tids) != slaves) {
        fprintf(stderr, "raw_pvm: cannot spawn %d slaves\n", slaves);
        return 3;
    }
    printf("%.0f\n", farm(units, slaves, window, tids));
    for (int i = 0; i < slaves; i++)
        send_unit(tids[i], TAG_STOP, 0);
    pvm_exit();
    if (ours) {
        fflush(stdout);
        signal(SIGTERM, SIG_IGN); /* pvm_halt() sends it to its caller */
        pvm_mytid();
        pvm_halt();
    }
    return 0;
}
