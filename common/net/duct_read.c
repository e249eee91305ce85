/* What comes by ducts: pieces of a stream of packets, each with its length before it.
 * A packet that is not all there yet is held, and its rest is read to where it belongs.
 */
#include "config.h"
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "common/base/alloc.h"
#include "common/base/endian.h"
#include "common/net/duct_parts.h"

/* Two system calls, to wait for so many bytes and again for any, pay from about as
 * many bytes on as six frames of the wire have. */
enum { WAITED_FOR_LEAST_BYTES = 8 * 1024 };

size_t nf_ducts_count(const struct nf_ducts *ducts)
{
    return (ducts->local >= 0) + (ducts->tcp >= 0) + ducts->count;
}

void nf_ducts_watch(const struct nf_ducts *ducts, struct pollfd *watch_p)
{
    for (size_t i = 0; i < ducts->count; i++)
        *watch_p++ =
            (struct pollfd){ .fd = ducts->list[i].fd, .events = POLLIN };
    if (ducts->local >= 0)
        *watch_p++ = (struct pollfd){ .fd = ducts->local, .events = POLLIN };
    if (ducts->tcp >= 0)
        *watch_p++ = (struct pollfd){ .fd = ducts->tcp, .events = POLLIN };
}

/* @return whether it is one of ours: then it has a name from now on */
static bool take_hello(const struct nf_ducts *ducts, struct duct *duct,
                       const uint8_t *hello)
{
    int tid = (int)nf_load_le32(hello + 8);

    if (nf_load_le64(hello) != DUCT_HELLO_MAGIC || tid <= 0 ||
        memcmp(hello + 16, nf_duct_key(ducts->address), NF_DUCT_KEY_BYTES) != 0)
        return false;
    duct->tid = tid;
    return true;
}

/* The bytes of what begins at @p from; 0: they are not known yet. */
static size_t bytes_of(const struct duct *duct, const uint8_t *from,
                       size_t bytes)
{
    if (duct->tid == DUCT_UNMET)
        return DUCT_HELLO_BYTES;
    return bytes < DUCT_LENGTH_BYTES
               ? 0
               : DUCT_LENGTH_BYTES + (size_t)nf_load_le32(from);
}

/* @param from  a whole packet, or the hello, of duct @p i: the list may move when
 *  a packet is handed over
 * @return false: it says what nobody says */
static bool take(struct nf_ducts *ducts, size_t i, const uint8_t *from,
                 size_t bytes)
{
    struct duct *duct = &ducts->list[i];

    if (duct->tid == DUCT_UNMET)
        return take_hello(ducts, duct, from);
    ducts->user.come(ducts->user.self, duct->tid, from + DUCT_LENGTH_BYTES,
                     bytes - DUCT_LENGTH_BYTES);
    return true;
}

/* All that are whole of @p bytes in the piece.
 * @return how many bytes were taken, or SIZE_MAX: it says what nobody says */
static size_t take_packets(struct nf_ducts *ducts, size_t i, size_t bytes)
{
    size_t at = 0;

    while (ducts->list[i].fd >= 0) {
        const uint8_t *from = ducts->piece + at;
        size_t whole = bytes_of(&ducts->list[i], from, bytes - at);

        if (whole > DUCT_LENGTH_BYTES + NF_DUCT_PACKET_MOST_BYTES)
            return SIZE_MAX;
        if (whole == 0 || whole > bytes - at)
            break;
        if (!take(ducts, i, from, whole))
            return SIZE_MAX;
        at += whole;
    }
    return at;
}

/* The packet that was held is whole.  Its memory is kept for the next one. */
static bool take_held(struct nf_ducts *ducts, size_t i)
{
    uint8_t *packet = ducts->list[i].held;
    size_t bytes = ducts->list[i].held_bytes;
    bool right;

    ducts->list[i].held = NULL;
    ducts->list[i].held_bytes = 0;
    right = take(ducts, i, packet, bytes);
    if (ducts->list[i].fd >= 0)
        ducts->list[i].held = packet;
    else
        nf_free(packet);
    return right;
}

static bool hold(struct duct *duct, const uint8_t *from, size_t bytes)
{
    if (bytes > 0 && duct->held == NULL)
        duct->held = nf_malloc(DUCT_LENGTH_BYTES + NF_DUCT_PACKET_MOST_BYTES);
    if (bytes > 0 && duct->held == NULL)
        return false;
    if (bytes > 0)
        memcpy(duct->held, from, bytes);
    duct->held_bytes = bytes;
    return true;
}

/* What is missing of what is held; 0: nothing is held, or that is not known yet. */
static size_t missing_bytes(const struct duct *duct)
{
    size_t whole;

    if (duct->held_bytes == 0)
        return 0;
    whole = bytes_of(duct, duct->held, duct->held_bytes);
    return whole > 0 ? whole - duct->held_bytes : 0;
}

/* Nobody can use a part of a packet, so the kernel need not wake us for it.  It also
 * answers a sender by TCP at once then, and not when we have read: a gather of 1 MiB
 * from 7 hosts of 100 Mbit/s woke its root 1700 times, and answered after 18 us in
 * place of 2. */
static void wait_for_rest(struct duct *duct)
{
    const size_t missing = missing_bytes(duct);
    const int bytes = missing >= WAITED_FOR_LEAST_BYTES ? (int)missing : 1;

    if (duct->least_bytes == 0 || bytes == duct->least_bytes)
        return;
    (void)setsockopt(duct->fd, SOL_SOCKET, SO_RCVLOWAT, &bytes, sizeof(bytes));
    duct->least_bytes = bytes;
}

/* @param missing  as missing_bytes() said before
 * @param got  so many more bytes have come: what was missing, then the piece behind
 *  what has been there of it
 * @return false: it says what nobody says, or there is no memory */
static bool take_all(struct nf_ducts *ducts, size_t i, size_t missing,
                     size_t got)
{
    struct duct *duct = &ducts->list[i];
    size_t bytes = got, taken;

    if (missing > 0) {
        size_t found = got < missing ? got : missing;

        duct->held_bytes += found;
        bytes -= found;
        if (found == missing && !take_held(ducts, i))
            return false;
    } else {
        bytes += duct->held_bytes;
        duct->held_bytes = 0;
    }
    if (ducts->list[i].held_bytes == 0) {
        taken = take_packets(ducts, i, bytes);
        if (taken == SIZE_MAX)
            return false;
        duct = &ducts->list[i];
        if (duct->fd >= 0 && !hold(duct, ducts->piece + taken, bytes - taken))
            return false;
    }
    if (ducts->list[i].fd >= 0)
        wait_for_rest(&ducts->list[i]);
    return true;
}

static void end(struct nf_ducts *ducts, size_t i)
{
    int tid = ducts->list[i].tid;

    nf_duct_close(&ducts->list[i]);
    if (tid != DUCT_UNMET && nf_ducts_fd(ducts, tid) < 0)
        ducts->user.ended(ducts->user.self, tid);
}

static void read_one(struct nf_ducts *ducts, size_t i)
{
    const struct duct *duct = &ducts->list[i];
    const size_t missing = missing_bytes(duct);
    struct iovec parts[2] = { { .iov_len = missing } };
    ssize_t got;

    if (missing > 0) {
        parts[0].iov_base = duct->held + duct->held_bytes;
        parts[1] = (struct iovec){ ducts->piece, DUCT_PIECE_BYTES };
        got = readv(duct->fd, parts, 2);
    } else {
        if (duct->held_bytes > 0)
            memcpy(ducts->piece, duct->held, duct->held_bytes);
        got = recv(duct->fd, ducts->piece + duct->held_bytes, DUCT_PIECE_BYTES,
                   0);
    }
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got <= 0 || !take_all(ducts, i, missing, (size_t)got))
        end(ducts, i);
}

bool nf_ducts_serve(struct nf_ducts *ducts, const struct pollfd *watch,
                    size_t count)
{
    bool any = false;

    for (size_t i = 0; i < count; i++) {
        int fd = watch[i].fd;

        if (watch[i].revents == 0)
            continue;
        if (fd == ducts->local || fd == ducts->tcp) {
            any = nf_ducts_accept(ducts, fd) || any;
        } else if (i < ducts->count && ducts->list[i].fd == fd) {
            read_one(ducts, i);
            any = true;
        }
    }
    nf_ducts_forget_ended(ducts);
    return any;
}
