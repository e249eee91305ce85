/* Messages by libpvm: what comes in, and frames out. */
#include "config.h"
#include <pvm3.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include "common/net/congestion.h"
#include "common/net/pipe_signal.h"
#include "common/net/pvm.h"
#include "common/net/pvm_route.h"

/* Frames up to this size are copied into one piece: cheaper than several. */
enum { SMALL_BYTES = 2048 };

/* Room in the sockets of direct routes for a window and more.  libpvm waits for
 * a socket to be writable before it sends, and the kernel calls a local socket
 * writable only while no more than a quarter of its buffer is in use: with the
 * usual 208 KiB, a send to a slave that does not read would block before the
 * window is full.  This asks for the most that anybody may have.
 *
 * And room to receive as much: the kernel lets a receiver that is slow be sent
 * more small packets than it has room for, drops what does not fit, and gets it
 * again only after 200 ms. */
enum { SOCKET_BUFFER_BYTES = 1 << 20 };

static int tuned_fds[1024];
static int ntuned_fds = -1;
static uint32_t window_bytes = NF_LINK_WINDOW_BYTES;

/* Called before every send: the set of sockets changes in any call of PVM.
 * libpvm also has a socket's close() wait until all has been read; pvm_exit()
 * hangs in that for minutes if the other host is lost.  The kernel goes on
 * sending without it. */
static void tune_sockets(void)
{
    const int bytes = SOCKET_BUFFER_BYTES;
    const struct linger no_wait = { 0, 0 };
    int *fds, count = pvm_getfds(&fds);
    size_t known = (size_t)(count < 1024 ? count : 1024) * sizeof(*fds);

    if (count < 0 ||
        (count == ntuned_fds && memcmp(fds, tuned_fds, known) == 0))
        return;
    window_bytes = NF_LINK_WINDOW_MAX_BYTES;
    for (int i = 0; i < count; i++) {
        int got = 0;
        socklen_t size = sizeof(got);

        nf_congestion_replace_bbr(fds[i]);
        (void)setsockopt(fds[i], SOL_SOCKET, SO_LINGER, &no_wait,
                         sizeof(no_wait));
        (void)setsockopt(fds[i], SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
        (void)setsockopt(fds[i], SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
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

/* -------------------------------------------------------------- notices */

void nf_pvm_notify_exit(int tid)
{
    pvm_notify(PvmTaskExit, NF_PVM_TAG_EXIT, 1, &tid);
}

void nf_pvm_notify_hosts(void)
{
    struct pvmhostinfo *info;
    int count, narch;

    pvm_notify(PvmHostAdd, NF_PVM_TAG_HOST_ADDED, -1, NULL);
    if (pvm_config(&count, &narch, &info) < 0)
        return;
    for (int i = 0; i < count; i++)
        pvm_notify(PvmHostDelete, NF_PVM_TAG_HOST_LOST, 1, &info[i].hi_tid);
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
    uint8_t header[NF_FRAME_HEADER_BYTES], stamp[NF_ROUTE_STAMP_BYTES];
    size_t stamp_bytes;

    m->kind = NF_PVM_OTHER;
    if (bytes < NF_FRAME_HEADER_BYTES ||
        pvm_upkbyte((char *)header, sizeof(header), 1) < 0 ||
        nf_frame_decode(header, &m->frame) != NF_OK)
        return;
    stamp_bytes = nf_route_stamp_bytes(&m->frame);
    /* XDR pads to four bytes and more; raw frames must fit exactly */
    if (!m->frame.converted &&
        (uint64_t)bytes != NF_FRAME_HEADER_BYTES + stamp_bytes +
                               (uint64_t)m->frame.body_bytes +
                               m->frame.payload_bytes)
        return;
    if (stamp_bytes > 0) {
        if (pvm_upkbyte((char *)stamp, (int)stamp_bytes, 1) < 0)
            return;
        nf_route_read(m->tid, &m->frame, stamp);
    }
    m->kind = NF_PVM_FRAME;
}

/* The sign bit of a tid is TIDPVMD; tasks never have it. */
static bool is_pvmd(int tid)
{
    return tid < 0;
}

enum nf_status nf_pvm_classify(int buffer, struct nf_pvm_message *m)
{
    int bytes, tag;

    m->kind = NF_PVM_OTHER;
    m->tid = 0;
    m->bytes = NULL;
    if (pvm_bufinfo(buffer, &bytes, &tag, &m->tid) < 0)
        return NF_OK;
    /* libpvm says this itself, in our name */
    if ((tag == NF_PVM_TAG_ROUTE_ENDED || tag == NF_PVM_TAG_ROUTE_OPENED) &&
        m->tid == pvm_mytid()) {
        ntuned_fds = -1;
        if (pvm_upkint(&m->tid, 1, 1) >= 0)
            m->kind = tag == NF_PVM_TAG_ROUTE_ENDED ? NF_PVM_ROUTE_ENDED
                                                    : NF_PVM_ROUTE_OPENED;
        return NF_OK;
    }
    /* any task may send any tag, but only a pvmd knows who is gone */
    if (tag != NF_PVM_TAG_FRAME && !is_pvmd(m->tid))
        return NF_OK;
    switch (tag) {
    case NF_PVM_TAG_FRAME:
        read_frame(bytes, m);
        return NF_OK;
    case NF_PVM_TAG_EXIT:
    case NF_PVM_TAG_HOST_LOST:
        ntuned_fds = -1; /* a route closed; its number may be used again */
        if (pvm_upkint(&m->tid, 1, 1) >= 0)
            m->kind = tag == NF_PVM_TAG_EXIT ? NF_PVM_EXIT : NF_PVM_HOST_LOST;
        return NF_OK;
    case NF_PVM_TAG_HOST_ADDED:
        m->kind = NF_PVM_HOST_ADDED;
        return NF_OK;
    case NF_PVM_TAG_OUTPUT:
        return read_output(m);
    default:
        return NF_OK;
    }
}

static bool somebody_receives;

bool nf_pvm_somebody_receives(void)
{
    return somebody_receives;
}

enum nf_status nf_pvm_receive(int64_t linger_us,
                              struct nf_pvm_message *message_p)
{
    struct timeval limit = { .tv_sec = (time_t)(linger_us / 1000000),
                             .tv_usec = (suseconds_t)(linger_us % 1000000) };
    /* pvm_nrecv would ask the sockets first, even with messages waiting */
    int buffer = pvm_trecv(-1, -1, linger_us < 0 ? NULL : &limit);

    somebody_receives = true;
    if (buffer == 0)
        return NF_WAIT;
    if (buffer < 0)
        return NF_ERR_UNREACHABLE;
    return nf_pvm_classify(buffer, message_p);
}

bool nf_pvm_has_more(void)
{
    return pvm_probe(-1, -1) != 0;
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
    case NF_INT16:
    case NF_INT64:
        break;
    }
    return pvm_upkbyte(to, (int)bytes, 1);
}

/* libpvm has no XDR of 64 bits, and makes 16 bits 32: these go as bytes, the
 * highest one first. */
static bool is_swapped(enum nf_type type)
{
    return type == NF_INT64 || type == NF_INT16;
}

/* From this machine's order to the highest byte first, or back. */
static void swap_bytes(enum nf_type type, uint8_t *data, size_t bytes)
{
    const union {
        uint16_t number;
        uint8_t bytes[2];
    } probe = { .number = 1 };
    size_t width = nf_type_bytes(type);

    for (size_t i = 0; i + width <= bytes && probe.bytes[0] == 1; i += width)
        for (size_t b = 0; b < width / 2; b++) {
            uint8_t byte = data[i + b];

            data[i + b] = data[i + width - 1 - b];
            data[i + width - 1 - b] = byte;
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
    if (f->converted && is_swapped(f->type))
        swap_bytes(f->type, in->payload, f->payload_bytes);
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
    case NF_INT16:
    case NF_INT64:
        memcpy(swapped, data, bytes);
        swap_bytes(type, (uint8_t *)swapped, bytes);
        return pvm_pkbyte((char *)swapped, (int)bytes, 1);
    case NF_BYTES:
        break;
    }
    return pvm_pkbyte((char *)(uintptr_t)data, (int)bytes, 1);
}

enum { HEAD_BYTES = NF_FRAME_HEADER_BYTES + NF_ROUTE_STAMP_BYTES };

/* Header and stamp.  @return their bytes */
static size_t encode_head(int tid, const struct nf_frame *frame,
                          uint8_t out_p[HEAD_BYTES])
{
    nf_frame_encode(frame, out_p);
    return NF_FRAME_HEADER_BYTES +
           nf_route_sends(tid, frame, out_p + NF_FRAME_HEADER_BYTES);
}

static int send_converted(int tid, const struct nf_link_out *out)
{
    uint8_t head[HEAD_BYTES];
    struct nf_frame frame = out->frame;
    size_t head_bytes;
    int code;

    frame.converted = true;
    head_bytes = encode_head(tid, &frame, head);
    code = pvm_initsend(PvmDataDefault);
    if (code >= 0)
        code = pvm_pkbyte((char *)head, (int)head_bytes, 1);
    if (code >= 0 && frame.body_bytes > 0)
        code =
            pvm_pkbyte((char *)(uintptr_t)out->body, (int)frame.body_bytes, 1);
    if (code >= 0 && frame.payload_bytes > 0)
        code = pack_typed(frame.type, out->payload, frame.payload_bytes);
    return code < 0 ? code : pvm_send(tid, NF_PVM_TAG_FRAME);
}

/* Head, body and payload in one piece, copied. */
static int send_small(int tid, const struct nf_link_out *out)
{
    static uint8_t piece[HEAD_BYTES + SMALL_BYTES];
    const struct nf_frame *f = &out->frame;
    size_t bytes = encode_head(tid, f, piece);
    int code;

    if (f->body_bytes > 0)
        memcpy(piece + bytes, out->body, f->body_bytes);
    bytes += f->body_bytes;
    if (f->payload_bytes > 0)
        memcpy(piece + bytes, out->payload, f->payload_bytes);
    bytes += f->payload_bytes;
    code = pvm_initsend(PvmDataRaw);
    if (code >= 0)
        code = pvm_pkbyte((char *)piece, (int)bytes, 1);
    return code < 0 ? code : pvm_send(tid, NF_PVM_TAG_FRAME);
}

/* Copied too, but by libpvm, into one fragment.  In place each piece would be a
 * fragment of its own, and every fragment costs both sides two system calls
 * more than these bytes take to copy. */
static int send_large(int tid, const struct nf_link_out *out)
{
    uint8_t head[HEAD_BYTES];
    const struct nf_frame *f = &out->frame;
    size_t head_bytes = encode_head(tid, f, head);
    int code;

    code = pvm_initsend(PvmDataRaw);
    if (code >= 0)
        code = pvm_pkbyte((char *)head, (int)head_bytes, 1);
    if (code >= 0 && f->body_bytes > 0)
        code = pvm_pkbyte((char *)(uintptr_t)out->body, (int)f->body_bytes, 1);
    if (code >= 0 && f->payload_bytes > 0)
        code = pvm_pkbyte((char *)(uintptr_t)out->payload,
                          (int)f->payload_bytes, 1);
    return code < 0 ? code : pvm_send(tid, NF_PVM_TAG_FRAME);
}

enum nf_status nf_pvm_send(int tid, const struct nf_link_out *out, bool convert)
{
    const struct nf_frame *f = &out->frame;
    int code;

    nf_pipe_signal_block(); /* the thread may be another one than before */
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
