/* libpvm, wrapped.  Everything else in the tree is free of pvm3.h. */
#include "config.h"
#include "common/net/pvm.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pvm3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>
#include "common/base/alloc.h"
#include "common/base/error.h"
#include "common/net/pipe_signal.h"

enum {
    TAG_FRAME = 0x4e4601,
    TAG_EXIT,
    TAG_HOST_ADDED,
    TAG_HOST_LOST,
    TAG_OUTPUT,
};

/* Frames up to this size are copied into one piece: cheaper than several. */
enum { SMALL_BYTES = 2048 };
/* Big enough for a whole frame, so that PVM does not cut it again. */
enum { FRAGMENT_BYTES = 64 * 1024 };

/* Room in the sockets of direct routes for a window and more.  libpvm waits for
 * a socket to be writable before it sends, and the kernel calls a local socket
 * writable only while no more than a quarter of its buffer is in use: with the
 * usual 208 KiB, a send to a slave that does not read would block before the
 * window is full.  This asks for the most that anybody may have. */
enum { SOCKET_BUFFER_BYTES = 1 << 20 };

static int tuned_fds[1024];
static int ntuned_fds = -1;
static uint32_t window_bytes = NF_LINK_WINDOW_BYTES;

/* Called before every send: the set of sockets changes in any call of PVM. */
static void tune_sockets(void)
{
    const int bytes = SOCKET_BUFFER_BYTES;
    int *fds, count = pvm_getfds(&fds);
    size_t known = (size_t)(count < 1024 ? count : 1024) * sizeof(*fds);

    if (count < 0 ||
        (count == ntuned_fds && memcmp(fds, tuned_fds, known) == 0))
        return;
    window_bytes = NF_LINK_WINDOW_MAX_BYTES;
    for (int i = 0; i < count; i++) {
        int got = 0;
        socklen_t size = sizeof(got);

        (void)setsockopt(fds[i], SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
        if (getsockopt(fds[i], SOL_SOCKET, SO_SNDBUF, &got, &size) == 0 &&
            (uint32_t)got / 8 < window_bytes)
            window_bytes = (uint32_t)got / 8;
    }
    memcpy(tuned_fds, fds, known);
    ntuned_fds = count;
}

uint32_t nf_pvm_window_bytes(void)
{
    tune_sockets();
    return window_bytes;
}

static const char *pvm_text(int code)
{
    switch (code) {
    case PvmNoFile:
        return "no such program there";
    case PvmNoHost:
        return "no such host in the virtual machine";
    case PvmSysErr:
        return "no pvmd answers";
    case PvmDSysErr:
        return "its pvmd failed in a system call";
    case PvmDenied:
        return "denied";
    case PvmNoMem:
        return "out of memory there";
    case PvmOutOfRes:
        return "out of resources there";
    case PvmDupHost:
        return "is in the virtual machine already";
    case PvmCantStart:
        return "its pvmd can't be started";
    case PvmAlready:
        return "is being added already";
    case PvmBadVersion:
        return "its PVM is of another version";
    case PvmHostFail:
        return "the host failed";
    case PvmIPLoopback:
        return "this host's own name means a loopback address";
    default:
        return "PVM refused";
    }
}

/* libpvm complains on standard error when there is no pvmd, whatever
 * PvmAutoErr says: take standard error away from it. */
static int mute(void)
{
    int saved = dup(STDERR_FILENO), null = open("/dev/null", O_WRONLY);

    if (null >= 0) {
        dup2(null, STDERR_FILENO);
        close(null);
    }
    return saved;
}

static void unmute(int saved)
{
    if (saved >= 0) {
        dup2(saved, STDERR_FILENO);
        close(saved);
    }
}

enum nf_status nf_pvm_enroll(int *tid_p)
{
    int tid, saved;

    if (!nf_pvm_answers()) /* with a stale file libpvm would try for 12 s */
        return NF_ERR_UNREACHABLE;
    saved = mute();
    pvm_setopt(PvmAutoErr, 0);
    tid = pvm_mytid();
    unmute(saved);
    if (tid < 0)
        return NF_ERR_UNREACHABLE;
    pvm_setopt(PvmFragSize, FRAGMENT_BYTES);
    nf_pipe_signal_block();
    *tid_p = tid;
    return NF_OK;
}

void nf_pvm_leave(void)
{
    int saved = mute();

    pvm_exit();
    unmute(saved);
    nf_pipe_signal_unblock();
}

enum nf_status nf_pvm_is_allowed(struct nf_error *err)
{
    if (getuid() != 0 || getenv("PVM_ALLOW_ROOT") != NULL)
        return NF_OK;
    return nf_fail(err, NF_ERR_UNREACHABLE,
                   "PVM does not start for root unless PVM_ALLOW_ROOT=1 is "
                   "set");
}

enum nf_status nf_pvm_start(struct nf_error *err)
{
    int saved, code, tid;

    saved = mute();
    pvm_setopt(PvmAutoErr, 0);
    code = pvm_start_pvmd(0, NULL, 1);
    unmute(saved);
    if (code < 0 && code != PvmDupHost)
        return nf_fail(err, NF_ERR_UNREACHABLE,
                       "no pvmd can be started here (%s): is PVM installed, "
                       "and its folder %s writable?",
                       pvm_text(code), nf_pvm_folder());
    if (nf_pvm_enroll(&tid) != NF_OK)
        return nf_fail(err, NF_ERR_UNREACHABLE,
                       "pvmd was started but does not answer; its log is "
                       "%s/pvml.%ld",
                       nf_pvm_folder(), (long)getuid());
    return NF_OK;
}

void nf_pvm_ask_direct_routes(bool ask)
{
    pvm_setopt(PvmRoute, ask ? PvmRouteDirect : PvmAllowDirect);
}

enum nf_status nf_pvm_hosts(struct nf_pvm_host **hosts_p, size_t *count_p)
{
    struct pvmhostinfo *info;
    struct nf_pvm_host *hosts;
    int count, narch;

    if (pvm_config(&count, &narch, &info) < 0 || count < 1)
        return NF_ERR_UNREACHABLE;
    hosts = nf_calloc((size_t)count, sizeof(*hosts));
    if (hosts == NULL)
        return NF_ERR_NOMEM;
    for (int i = 0; i < count; i++) {
        snprintf(hosts[i].name, sizeof(hosts[i].name), "%s", info[i].hi_name);
        snprintf(hosts[i].arch, sizeof(hosts[i].arch), "%s", info[i].hi_arch);
        hosts[i].tid = info[i].hi_tid;
        hosts[i].format = info[i].hi_dsig;
    }
    *hosts_p = hosts;
    *count_p = (size_t)count;
    return NF_OK;
}

int nf_pvm_host_of(int tid)
{
    return pvm_tidtohost(tid);
}

enum nf_status nf_pvm_add_host(const char *line, struct nf_error *err)
{
    char copy[512], *list[1] = { copy };
    int answer = 0, code;

    snprintf(copy, sizeof(copy), "%s", line);
    /* a pvmd adds one host at a time */
    for (int i = 0; i < 600; i++) {
        code = pvm_addhosts(list, 1, &answer);
        if (code != PvmAlready && !(code >= 0 && answer == PvmAlready))
            break;
        usleep(100000);
    }
    if (code == 1 && (answer >= 0 || answer == PvmDupHost))
        return NF_OK;
    if (code < 0)
        answer = code;
    if (answer == PvmDupHost)
        return NF_OK;
    return nf_fail(err, NF_ERR_UNREACHABLE, "%s (PVM error %d)",
                   pvm_text(answer), answer);
}

enum nf_status nf_pvm_remove_host(const char *name, struct nf_error *err)
{
    char copy[128], *list[1] = { copy };
    int answer = 0, code;

    snprintf(copy, sizeof(copy), "%s", name);
    code = pvm_delhosts(list, 1, &answer);
    if (code == 1 && answer >= 0)
        return NF_OK;
    if (code < 0)
        answer = code;
    return nf_fail(err, NF_ERR_UNREACHABLE, "%s (PVM error %d)",
                   pvm_text(answer), answer);
}

enum nf_status nf_pvm_spawn(const char *program, const char *host,
                            uint32_t count, const char *exported, int *tids_p,
                            uint32_t *started_p, struct nf_error *err)
{
    char program_copy[PATH_MAX], host_copy[128];
    int code, failed = PvmSysErr, tid;
    uint32_t started = 0;

    if (nf_pvm_enroll(&tid) != NF_OK)
        return nf_fail(err, NF_ERR_UNREACHABLE, "no pvmd answers");
    setenv("PVM_EXPORT", exported, 1);
    pvm_setopt(PvmOutputTid, tid);
    pvm_setopt(PvmOutputCode, TAG_OUTPUT);
    snprintf(program_copy, sizeof(program_copy), "%s", program);
    snprintf(host_copy, sizeof(host_copy), "%s", host);
    code = pvm_spawn(program_copy, NULL, PvmTaskHost, host_copy, (int)count,
                     tids_p);
    for (uint32_t i = 0; i < count && code >= 0; i++) {
        if (tids_p[i] > 0)
            tids_p[started++] = tids_p[i];
        else
            failed = tids_p[i];
    }
    *started_p = started;
    if (code < 0)
        failed = code;
    if (started == count)
        return NF_OK;
    if (failed == PvmNoFile)
        return nf_fail(err, NF_ERR_UNREACHABLE,
                       "no program %s there (install nowfarm at the same path "
                       "on every host)",
                       program);
    return nf_fail(err, NF_ERR_UNREACHABLE, "%s (PVM error %d)",
                   pvm_text(failed), failed);
}

void nf_pvm_kill(const int *tids, size_t count)
{
    for (size_t i = 0; i < count; i++)
        pvm_sendsig(tids[i], 9);
}

bool nf_pvm_others_here(const int *tids, size_t count)
{
    struct pvmtaskinfo *info;
    int n = 0, me = pvm_mytid();

    if (pvm_tasks(pvm_tidtohost(me), &n, &info) < 0)
        return false;
    for (int i = 0; i < n; i++) {
        bool ours = info[i].ti_tid == me;

        for (size_t k = 0; k < count && !ours; k++)
            ours = info[i].ti_tid == tids[k];
        if (!ours)
            return true;
    }
    return false;
}

void nf_pvm_halt(void)
{
    int saved = mute();

    pvm_halt();
    unmute(saved);
}

void nf_pvm_notify_exit(int tid)
{
    pvm_notify(PvmTaskExit, TAG_EXIT, 1, &tid);
}

void nf_pvm_notify_hosts(void)
{
    struct pvmhostinfo *info;
    int count, narch;

    pvm_notify(PvmHostAdd, TAG_HOST_ADDED, -1, NULL);
    if (pvm_config(&count, &narch, &info) < 0)
        return;
    for (int i = 0; i < count; i++)
        pvm_notify(PvmHostDelete, TAG_HOST_LOST, 1, &info[i].hi_tid);
}

/* ------------------------------------------------------------- receive */

static enum nf_status read_output(struct nf_pvm_message *m)
{
    static char text[8192];
    int tid, bytes;

    m->kind = NF_PVM_OTHER;
    if (pvm_upkint(&tid, 1, 1) < 0 || pvm_upkint(&bytes, 1, 1) < 0)
        return NF_OK;
    if (bytes < 0)
        return NF_OK; /* "a task of mine spawned something": no news */
    if (bytes > (int)sizeof(text))
        bytes = (int)sizeof(text);
    if (bytes > 0 && pvm_upkbyte(text, bytes, 1) < 0)
        return NF_OK;
    m->kind = NF_PVM_OUTPUT;
    m->tid = tid;
    m->text = text;
    m->text_bytes = bytes > 0 ? (size_t)bytes : 0;
    return NF_OK;
}

static void read_frame(int bytes, struct nf_pvm_message *m)
{
    uint8_t header[NF_FRAME_HEADER_BYTES];

    m->kind = NF_PVM_OTHER;
    if (bytes < NF_FRAME_HEADER_BYTES ||
        pvm_upkbyte((char *)header, sizeof(header), 1) < 0 ||
        nf_frame_decode(header, &m->frame) != NF_OK)
        return;
    /* XDR pads to four bytes and more; raw frames must fit exactly */
    if (!m->frame.converted &&
        (uint64_t)bytes != NF_FRAME_HEADER_BYTES +
                               (uint64_t)m->frame.body_bytes +
                               m->frame.payload_bytes)
        return;
    m->kind = NF_PVM_FRAME;
}

/* The sign bit of a tid is TIDPVMD; tasks never have it. */
static bool is_pvmd(int tid)
{
    return tid < 0;
}

static enum nf_status classify(int buffer, struct nf_pvm_message *m)
{
    int bytes, tag;

    m->kind = NF_PVM_OTHER;
    m->tid = 0;
    if (pvm_bufinfo(buffer, &bytes, &tag, &m->tid) < 0)
        return NF_OK;
    /* any task may send any tag, but only a pvmd knows who is gone */
    if (tag != TAG_FRAME && !is_pvmd(m->tid))
        return NF_OK;
    switch (tag) {
    case TAG_FRAME:
        read_frame(bytes, m);
        return NF_OK;
    case TAG_EXIT:
    case TAG_HOST_LOST:
        ntuned_fds = -1; /* a route closed; its number may be used again */
        if (pvm_upkint(&m->tid, 1, 1) >= 0)
            m->kind = tag == TAG_EXIT ? NF_PVM_EXIT : NF_PVM_HOST_LOST;
        return NF_OK;
    case TAG_HOST_ADDED:
        m->kind = NF_PVM_HOST_ADDED;
        return NF_OK;
    case TAG_OUTPUT:
        return read_output(m);
    default:
        return NF_OK;
    }
}

enum nf_status nf_pvm_receive(int64_t linger_us,
                              struct nf_pvm_message *message_p)
{
    struct timeval limit = { .tv_sec = (time_t)(linger_us / 1000000),
                             .tv_usec = (suseconds_t)(linger_us % 1000000) };
    /* pvm_nrecv would ask the sockets first, even with messages waiting */
    int buffer = pvm_trecv(-1, -1, linger_us < 0 ? NULL : &limit);

    if (buffer == 0)
        return NF_WAIT;
    if (buffer < 0)
        return NF_ERR_UNREACHABLE;
    return classify(buffer, message_p);
}

static int unpack_typed(enum nf_type type, void *to, size_t bytes)
{
    int elements = (int)(bytes / nf_type_bytes(type));

    switch (type) {
    case NF_INT32:
        return pvm_upkint(to, elements, 1);
    case NF_FLOAT32:
        return pvm_upkfloat(to, elements, 1);
    case NF_FLOAT64:
        return pvm_upkdouble(to, elements, 1);
    case NF_BYTES:
    case NF_INT64:
        break;
    }
    return pvm_upkbyte(to, (int)bytes, 1);
}

static uint64_t big_endian(uint64_t value)
{
    const union {
        uint16_t number;
        uint8_t bytes[2];
    } probe = { .number = 1 };

    return probe.bytes[0] == 1 ? __builtin_bswap64(value) : value;
}

static void swap_int64(void *data, size_t bytes)
{
    for (size_t i = 0; i + 8 <= bytes; i += 8) {
        uint64_t value;

        memcpy(&value, (char *)data + i, 8);
        value = big_endian(value);
        memcpy((char *)data + i, &value, 8);
    }
}

enum nf_status nf_pvm_take(const struct nf_link_in *in)
{
    const struct nf_frame *f = &in->frame;
    int code = 0;

    if (f->body_bytes > 0)
        code = pvm_upkbyte((char *)in->body, (int)f->body_bytes, 1);
    if (code < 0 || f->payload_bytes == 0)
        return code < 0 ? NF_ERR_PROTOCOL : NF_OK;
    if (!f->converted)
        code = pvm_upkbyte((char *)in->payload, (int)f->payload_bytes, 1);
    else
        code = unpack_typed(f->type, in->payload, f->payload_bytes);
    if (f->converted && f->type == NF_INT64)
        swap_int64(in->payload, f->payload_bytes);
    return code < 0 ? NF_ERR_PROTOCOL : NF_OK;
}

/* ---------------------------------------------------------------- send */

static int pack_typed(enum nf_type type, const uint8_t *data, size_t bytes)
{
    static uint64_t swapped[NF_LINK_FRAME_MAX_BYTES / 8 + 1];
    int elements = (int)(bytes / nf_type_bytes(type));

    /* libpvm's prototypes lack const; it only reads */
    switch (type) {
    case NF_INT32:
        return pvm_pkint((int *)(uintptr_t)data, elements, 1);
    case NF_FLOAT32:
        return pvm_pkfloat((float *)(uintptr_t)data, elements, 1);
    case NF_FLOAT64:
        return pvm_pkdouble((double *)(uintptr_t)data, elements, 1);
    case NF_INT64:
        memcpy(swapped, data, bytes);
        swap_int64(swapped, bytes);
        return pvm_pkbyte((char *)swapped, (int)bytes, 1);
    case NF_BYTES:
        break;
    }
    return pvm_pkbyte((char *)(uintptr_t)data, (int)bytes, 1);
}

static int send_converted(int tid, const struct nf_link_out *out)
{
    uint8_t header[NF_FRAME_HEADER_BYTES];
    struct nf_frame frame = out->frame;
    int code;

    frame.converted = true;
    nf_frame_encode(&frame, header);
    code = pvm_initsend(PvmDataDefault);
    if (code >= 0)
        code = pvm_pkbyte((char *)header, sizeof(header), 1);
    if (code >= 0 && frame.body_bytes > 0)
        code =
            pvm_pkbyte((char *)(uintptr_t)out->body, (int)frame.body_bytes, 1);
    if (code >= 0 && frame.payload_bytes > 0)
        code = pack_typed(frame.type, out->payload, frame.payload_bytes);
    return code < 0 ? code : pvm_send(tid, TAG_FRAME);
}

/* Header, body and payload in one piece, copied. */
static int send_small(int tid, const struct nf_link_out *out)
{
    static uint8_t piece[NF_FRAME_HEADER_BYTES + SMALL_BYTES];
    const struct nf_frame *f = &out->frame;
    size_t bytes = NF_FRAME_HEADER_BYTES;
    int code;

    nf_frame_encode(f, piece);
    if (f->body_bytes > 0)
        memcpy(piece + bytes, out->body, f->body_bytes);
    bytes += f->body_bytes;
    if (f->payload_bytes > 0)
        memcpy(piece + bytes, out->payload, f->payload_bytes);
    bytes += f->payload_bytes;
    code = pvm_initsend(PvmDataRaw);
    if (code >= 0)
        code = pvm_pkbyte((char *)piece, (int)bytes, 1);
    return code < 0 ? code : pvm_send(tid, TAG_FRAME);
}

/* In place: what is packed must stay until pvm_send returns, no longer. */
static int send_large(int tid, const struct nf_link_out *out)
{
    static uint8_t header[NF_FRAME_HEADER_BYTES];
    const struct nf_frame *f = &out->frame;
    int code;

    nf_frame_encode(f, header);
    code = pvm_initsend(PvmDataInPlace);
    if (code >= 0)
        code = pvm_pkbyte((char *)header, sizeof(header), 1);
    if (code >= 0 && f->body_bytes > 0)
        code = pvm_pkbyte((char *)(uintptr_t)out->body, (int)f->body_bytes, 1);
    if (code >= 0 && f->payload_bytes > 0)
        code = pvm_pkbyte((char *)(uintptr_t)out->payload,
                          (int)f->payload_bytes, 1);
    return code < 0 ? code : pvm_send(tid, TAG_FRAME);
}

enum nf_status nf_pvm_send(int tid, const struct nf_link_out *out, bool convert)
{
    const struct nf_frame *f = &out->frame;
    int code;

    tune_sockets();
    if (convert && f->payload_bytes > 0)
        code = send_converted(tid, out);
    else if (f->body_bytes + f->payload_bytes <= SMALL_BYTES)
        code = send_small(tid, out);
    else
        code = send_large(tid, out);
    return code < 0 ? NF_ERR_UNREACHABLE : NF_OK;
}

size_t nf_pvm_fds(const int **fds_p)
{
    int *fds, count = pvm_getfds(&fds);

    *fds_p = fds;
    return count < 0 ? 0 : (size_t)count;
}
