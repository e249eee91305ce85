/* Ducts: two tasks in one process, by the real sockets of either kind. */
#include "config.h"
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include "common/base/alloc.h"
#include "common/base/endian.h"
#include "common/net/duct.h"
#include "tests/unit/nf_unit.h"

enum { LISTENER = 7, CALLER = 9, STRANGER = 11, PATIENCE_MS = 5000 };

/* What one side has heard. */
struct ear {
    uint32_t npackets, nbad, nended;
    int last_tid;
    size_t bytes;
};

struct side {
    struct nf_ducts *ducts;
    struct ear ear;
};

/* The bytes of packet number @p number, which has that many of them. */
static uint8_t byte_of(uint32_t number, size_t i)
{
    return (uint8_t)(number * 31 + i * 7 + (i >> 8));
}

static void come(void *self, int tid, const uint8_t *packet, size_t bytes)
{
    struct ear *ear = self;
    bool right = bytes >= 4;

    for (size_t i = 4; i < bytes && right; i++)
        right = packet[i] == byte_of(ear->npackets, i);
    right = right && nf_load_le32(packet) == ear->npackets;
    ear->nbad += !right;
    ear->npackets++;
    ear->bytes += bytes;
    ear->last_tid = tid;
}

static void ended(void *self, int tid)
{
    struct ear *ear = self;

    ear->nended++;
    ear->last_tid = tid;
}

static void open_side(struct side *side, int tid)
{
    const struct nf_ducts_user user = { &side->ear, come, ended };

    memset(&side->ear, 0, sizeof(side->ear));
    CU_ASSERT_EQUAL_FATAL(nf_ducts_create(tid, &user, &side->ducts), NF_OK);
}

/* @return whether anything was ready in that time */
static bool serve(struct side *side, int timeout_ms)
{
    struct pollfd watch[64];
    size_t count = nf_ducts_count(side->ducts);

    CU_ASSERT_FATAL(count <= 64);
    nf_ducts_watch(side->ducts, watch);
    return poll(watch, (nfds_t)count, timeout_ms) > 0 &&
           nf_ducts_serve(side->ducts, watch, count);
}

static enum nf_status send_number(struct side *side, int to, uint32_t number,
                                  size_t bytes)
{
    static uint8_t packet[NF_DUCT_PACKET_MOST_BYTES];
    const struct iovec parts[] = { { packet, 4 },
                                   { packet + 4, (bytes - 4) / 2 },
                                   { packet + 4 + (bytes - 4) / 2,
                                     bytes - 4 - (bytes - 4) / 2 } };

    nf_store_le32(packet, number);
    for (size_t i = 4; i < bytes; i++)
        packet[i] = byte_of(number, i);
    return nf_ducts_send(side->ducts, to, parts, 3);
}

static void await_packets(struct side *side, uint32_t count)
{
    while (side->ear.npackets < count && serve(side, PATIENCE_MS))
        continue;
    CU_ASSERT_EQUAL(side->ear.npackets, count);
}

static void connect_sides(struct side *listener, struct side *caller,
                          const char *host)
{
    uint8_t address[NF_DUCT_ADDRESS_BYTES];

    open_side(listener, LISTENER);
    open_side(caller, CALLER);
    CU_ASSERT_EQUAL(nf_ducts_address(listener->ducts, address), NF_OK);
    CU_ASSERT(nf_ducts_fd(caller->ducts, LISTENER) < 0);
    CU_ASSERT_EQUAL(nf_ducts_connect(caller->ducts, LISTENER, host, address),
                    NF_OK);
    CU_ASSERT(nf_ducts_fd(caller->ducts, LISTENER) >= 0);
}

static void close_sides(struct side *listener, struct side *caller)
{
    nf_ducts_destroy(listener->ducts);
    nf_ducts_destroy(caller->ducts);
}

static void exchange(const char *host)
{
    static const size_t sizes[] = {
        4, 5, 68, 4096, 4097, 60000, 65535, NF_DUCT_PACKET_MOST_BYTES
    };
    enum { SIZES = sizeof(sizes) / sizeof(*sizes), ROUNDS = 20 };
    struct side listener, caller;
    uint32_t sent = 0;

    connect_sides(&listener, &caller, host);
    for (uint32_t round = 0; round < ROUNDS; round++)
        for (uint32_t i = 0; i < SIZES; i++, sent++) {
            CU_ASSERT_EQUAL(send_number(&caller, LISTENER, sent, sizes[i]),
                            NF_OK);
            if (i % 3 == 2) /* now and then several at once */
                await_packets(&listener, sent + 1);
        }
    await_packets(&listener, sent);
    CU_ASSERT_EQUAL(listener.ear.last_tid, CALLER);
    CU_ASSERT_EQUAL(send_number(&listener, CALLER, 0, 100), NF_OK);
    await_packets(&caller, 1);
    CU_ASSERT_EQUAL(caller.ear.last_tid, LISTENER);
    CU_ASSERT_EQUAL(listener.ear.nbad + caller.ear.nbad, 0);
    close_sides(&listener, &caller);
}

static void test_local(void)
{
    exchange(NULL);
}

static void test_tcp(void)
{
    exchange("localhost");
}

/* Who does not read stops nobody who keeps to the window: a stuck send would
 * hang the test. */
static void test_window(void)
{
    static const char *const hosts[] = { NULL, "localhost" };
    static const size_t sizes[] = { 200, 60000 };

    for (int k = 0; k < 4; k++) {
        struct side listener, caller;
        size_t bytes = sizes[k / 2];
        /* as nf_frame_cost_bytes() counts the small ones */
        size_t cost_bytes = bytes < 768 ? 768 : bytes;
        uint32_t count = 0;

        connect_sides(&listener, &caller, hosts[k % 2]);
        CU_ASSERT(nf_ducts_window_bytes(caller.ducts) >= 64 * 1024);
        while ((count + 1) * cost_bytes <= nf_ducts_window_bytes(caller.ducts))
            CU_ASSERT_EQUAL(send_number(&caller, LISTENER, count++, bytes),
                            NF_OK);
        await_packets(&listener, count);
        CU_ASSERT_EQUAL(listener.ear.nbad, 0);
        close_sides(&listener, &caller);
    }
}

/* The end comes behind what was said, and once; then nothing is sent. */
static void test_end(void)
{
    struct side listener, caller;

    connect_sides(&listener, &caller, NULL);
    for (uint32_t i = 0; i < 5; i++)
        CU_ASSERT_EQUAL(send_number(&caller, LISTENER, i, 1000), NF_OK);
    nf_ducts_destroy(caller.ducts);
    caller.ducts = NULL;
    while (listener.ear.nended == 0 && serve(&listener, PATIENCE_MS))
        continue;
    CU_ASSERT_EQUAL(listener.ear.npackets, 5);
    CU_ASSERT_EQUAL(listener.ear.nended, 1);
    CU_ASSERT_EQUAL(listener.ear.last_tid, CALLER);
    CU_ASSERT(nf_ducts_fd(listener.ducts, CALLER) < 0);
    CU_ASSERT_EQUAL(send_number(&listener, CALLER, 0, 8), NF_ERR_UNREACHABLE);
    CU_ASSERT_FALSE(serve(&listener, 0));
    close_sides(&listener, &caller);
}

static void test_none(void)
{
    struct side listener, caller;
    uint8_t address[NF_DUCT_ADDRESS_BYTES];

    connect_sides(&listener, &caller, NULL);
    CU_ASSERT_EQUAL(nf_ducts_address(listener.ducts, address), NF_OK);
    /* a second time it is there already */
    CU_ASSERT_EQUAL(nf_ducts_connect(caller.ducts, LISTENER, NULL, address),
                    NF_OK);
    CU_ASSERT_EQUAL(send_number(&caller, STRANGER, 0, 8), NF_ERR_UNREACHABLE);
    CU_ASSERT_EQUAL(nf_ducts_connect(caller.ducts, STRANGER,
                                     "no-such-host.invalid", address),
                    NF_ERR_UNREACHABLE);
    nf_ducts_destroy(listener.ducts); /* nobody listens there any more */
    listener.ducts = NULL;
    CU_ASSERT_EQUAL(nf_ducts_connect(caller.ducts, STRANGER, NULL, address),
                    NF_ERR_UNREACHABLE);
    CU_ASSERT_EQUAL(
        nf_ducts_connect(caller.ducts, STRANGER, "localhost", address),
        NF_ERR_UNREACHABLE);
    close_sides(&listener, &caller);
}

/* ------------------------------------------------------------ by hand */

/* A socket to the listener at @p address, as nf_ducts_connect() makes it. */
static int connect_by_hand(const uint8_t *address)
{
    struct sockaddr_un name = { .sun_family = AF_UNIX };
    int bytes = snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1,
                         "nowfarm-%016llx",
                         (unsigned long long)nf_load_le64(address + 2));
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    CU_ASSERT_EQUAL(connect(fd, (struct sockaddr *)&name,
                            (socklen_t)(offsetof(struct sockaddr_un, sun_path) +
                                        1 + (size_t)bytes)),
                    0);
    return fd;
}

static void put_hello(const uint8_t *address, int tid, uint8_t hello_p[32])
{
    memset(hello_p, 0, 32);
    memcpy(hello_p, "NFFDUCT1", 8);
    nf_store_le32(hello_p + 8, (uint32_t)tid);
    memcpy(hello_p + 16, address + 2 + NF_DUCT_NAME_BYTES, NF_DUCT_KEY_BYTES);
}

/* What comes byte by byte is put together. */
static void test_pieces(void)
{
    struct side listener;
    uint8_t address[NF_DUCT_ADDRESS_BYTES], stream[32 + 3 * (4 + 20)];
    size_t bytes = 32;
    int fd;

    open_side(&listener, LISTENER);
    CU_ASSERT_EQUAL(nf_ducts_address(listener.ducts, address), NF_OK);
    put_hello(address, CALLER, stream);
    for (uint32_t number = 0; number < 3; number++) {
        nf_store_le32(stream + bytes, 20);
        nf_store_le32(stream + bytes + 4, number);
        for (size_t i = 4; i < 20; i++)
            stream[bytes + 4 + i] = byte_of(number, i);
        bytes += 24;
    }
    fd = connect_by_hand(address);
    CU_ASSERT(serve(&listener, PATIENCE_MS));
    for (size_t i = 0; i < bytes; i++) {
        CU_ASSERT_EQUAL(write(fd, stream + i, 1), 1);
        CU_ASSERT(serve(&listener, PATIENCE_MS));
        CU_ASSERT_EQUAL(listener.ear.npackets, i < 32 ? 0 : (i - 31) / 24);
    }
    CU_ASSERT_EQUAL(listener.ear.nbad, 0);
    CU_ASSERT(nf_ducts_fd(listener.ducts, CALLER) >= 0);
    close(fd);
    nf_ducts_destroy(listener.ducts);
}

/* A stream of @p count packets of @p packet_bytes, with the hello of CALLER before it.
 * @return to free() */
static uint8_t *stream_of(const uint8_t *address, uint32_t count,
                          size_t packet_bytes, size_t *bytes_p)
{
    size_t bytes = 32;
    uint8_t *stream = malloc(bytes + count * (4 + packet_bytes));

    CU_ASSERT_PTR_NOT_NULL_FATAL(stream);
    put_hello(address, CALLER, stream);
    for (uint32_t number = 0; number < count; number++) {
        nf_store_le32(stream + bytes, (uint32_t)packet_bytes);
        nf_store_le32(stream + bytes + 4, number);
        for (size_t i = 4; i < packet_bytes; i++)
            stream[bytes + 4 + i] = byte_of(number, i);
        bytes += 4 + packet_bytes;
    }
    *bytes_p = bytes;
    return stream;
}

/* Of long packets the rest is read to where the beginning is, and what comes with it
 * is the next ones': wherever they are cut, each is handed over when it is whole. */
static void test_long_pieces(void)
{
    static const size_t cuts[] = { 3, 4, 5, 36, 7001, 20004, 60003, 150000 };

    for (size_t k = 0; k < sizeof(cuts) / sizeof(*cuts); k++) {
        enum { COUNT = 9, PACKET = 20000 };
        struct side listener;
        uint8_t address[NF_DUCT_ADDRESS_BYTES], *stream;
        size_t bytes, step;
        int fd;

        open_side(&listener, LISTENER);
        CU_ASSERT_EQUAL(nf_ducts_address(listener.ducts, address), NF_OK);
        stream = stream_of(address, COUNT, PACKET, &bytes);
        fd = connect_by_hand(address);
        CU_ASSERT(serve(&listener, PATIENCE_MS));
        for (size_t at = 0; at < bytes; at += step) {
            step = cuts[k] < bytes - at ? cuts[k] : bytes - at;
            CU_ASSERT_EQUAL(write(fd, stream + at, step), (ssize_t)step);
            CU_ASSERT(serve(&listener, PATIENCE_MS));
            CU_ASSERT_EQUAL(listener.ear.npackets,
                            at + step < 32 ? 0 : (at + step - 32) / (PACKET + 4));
        }
        CU_ASSERT_EQUAL(listener.ear.npackets, COUNT);
        CU_ASSERT_EQUAL(listener.ear.nbad, 0);
        close(fd);
        free(stream);
        nf_ducts_destroy(listener.ducts);
    }
}

static int connect_by_port(const uint8_t *address)
{
    const struct sockaddr_in name = {
        .sin_family = AF_INET,
        .sin_port = htons(nf_load_be16(address)),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    CU_ASSERT_EQUAL(connect(fd, (const struct sockaddr *)&name, sizeof(name)),
                    0);
    return fd;
}

/* By TCP a part of a long packet wakes nobody, its last byte does, and so does a
 * short one behind it, and an end in the middle. */
static void test_long_rest(void)
{
    enum { PACKET = 60000, FIRST = 32 + 4 + PACKET };
    struct side listener;
    uint8_t address[NF_DUCT_ADDRESS_BYTES], *stream;
    size_t bytes;
    int fd;

    open_side(&listener, LISTENER);
    CU_ASSERT_EQUAL(nf_ducts_address(listener.ducts, address), NF_OK);
    stream = stream_of(address, 3, PACKET, &bytes);
    fd = connect_by_port(address);
    CU_ASSERT(serve(&listener, PATIENCE_MS));
    CU_ASSERT_EQUAL(write(fd, stream, 1000), 1000);
    CU_ASSERT(serve(&listener, PATIENCE_MS));
    CU_ASSERT_EQUAL(write(fd, stream + 1000, 40000), 40000);
    CU_ASSERT_FALSE(serve(&listener, 100));
    CU_ASSERT_EQUAL(write(fd, stream + 41000, FIRST - 41000), FIRST - 41000);
    await_packets(&listener, 1);
    CU_ASSERT_EQUAL(write(fd, stream + FIRST, 10), 10);
    CU_ASSERT(serve(&listener, PATIENCE_MS));
    CU_ASSERT_EQUAL(write(fd, stream + FIRST + 10, PACKET), PACKET);
    await_packets(&listener, 2); /* and six bytes of the next one */
    CU_ASSERT_EQUAL(listener.ear.nbad, 0);
    CU_ASSERT_EQUAL(write(fd, stream + FIRST + 10 + PACKET, 9000), 9000);
    CU_ASSERT_FALSE(serve(&listener, 100));
    close(fd);
    while (listener.ear.nended == 0 && serve(&listener, PATIENCE_MS))
        continue;
    CU_ASSERT_EQUAL(listener.ear.nended, 1);
    CU_ASSERT_EQUAL(listener.ear.npackets, 2);
    free(stream);
    nf_ducts_destroy(listener.ducts);
}

/* Is @p stream, the first words to a listener, the end of that connection, and
 * of no other? */
static void refuse(const uint8_t *stream, size_t bytes, uint32_t nended)
{
    struct side listener, caller;
    uint8_t address[NF_DUCT_ADDRESS_BYTES], hello[32];
    char byte;
    int fd;

    connect_sides(&listener, &caller, NULL);
    CU_ASSERT_EQUAL(send_number(&caller, LISTENER, 0, 8), NF_OK);
    await_packets(&listener, 1);
    CU_ASSERT_EQUAL(nf_ducts_address(listener.ducts, address), NF_OK);
    put_hello(address, STRANGER, hello);
    fd = connect_by_hand(address);
    if (nended > 0)
        CU_ASSERT_EQUAL(write(fd, hello, sizeof(hello)), sizeof(hello));
    CU_ASSERT_EQUAL(write(fd, stream, bytes), (ssize_t)bytes);
    while (serve(&listener, 100))
        continue;
    CU_ASSERT(recv(fd, &byte, 1, MSG_DONTWAIT) <= 0);
    CU_ASSERT(nf_ducts_fd(listener.ducts, STRANGER) < 0);
    CU_ASSERT_EQUAL(listener.ear.nended, nended);
    CU_ASSERT_EQUAL(listener.ear.npackets, 1);
    CU_ASSERT_EQUAL(send_number(&caller, LISTENER, 1, 8), NF_OK);
    await_packets(&listener, 2);
    close(fd);
    close_sides(&listener, &caller);
}

static void test_strangers(void)
{
    uint8_t hello[32], address[NF_DUCT_ADDRESS_BYTES] = { 0 };
    uint8_t length[8];

    put_hello(address, STRANGER, hello); /* another key */
    refuse(hello, sizeof(hello), 0);
    memset(hello, 'x', sizeof(hello));
    refuse(hello, sizeof(hello), 0);
    /* who has been let in, and says that more comes than ever does */
    nf_store_le32(length, NF_DUCT_PACKET_MOST_BYTES + 1);
    refuse(length, 4, 1);
    nf_store_le32(length, UINT32_MAX);
    refuse(length, 4, 1);
}

/* Who was told gets in though no descriptor is left; nobody else does.  (valgrind
 * keeps to limits itself: it accepts, finds that it must not, and closes; so there is
 * no limit under it.) */
static void test_full(void)
{
    bool limited = getenv("NF_VALGRIND") == NULL;
    struct side listener, caller;
    struct rlimit before, tight;
    uint8_t address[NF_DUCT_ADDRESS_BYTES];
    int free_fd, stranger;

    open_side(&listener, LISTENER);
    open_side(&caller, CALLER);
    CU_ASSERT_EQUAL(nf_ducts_address(listener.ducts, address), NF_OK);
    CU_ASSERT_EQUAL(nf_ducts_connect(caller.ducts, LISTENER, NULL, address),
                    NF_OK);
    stranger = connect_by_hand(address);
    free_fd = dup(stranger);
    close(free_fd);
    CU_ASSERT_EQUAL(getrlimit(RLIMIT_NOFILE, &before), 0);
    tight = before;
    if (limited)
        tight.rlim_cur = (rlim_t)free_fd;
    CU_ASSERT_EQUAL(setrlimit(RLIMIT_NOFILE, &tight), 0);
    CU_ASSERT_EQUAL(nf_ducts_address(listener.ducts, address),
                    limited ? NF_ERR_IO : NF_OK);
    while (serve(&listener, 100))
        continue; /* it would never end if a stranger could not be shaken off */
    CU_ASSERT(nf_ducts_fd(listener.ducts, CALLER) >= 0);
    CU_ASSERT_EQUAL(setrlimit(RLIMIT_NOFILE, &before), 0);
    CU_ASSERT_EQUAL(send_number(&caller, LISTENER, 0, 8), NF_OK);
    await_packets(&listener, 1);
    CU_ASSERT_EQUAL(nf_ducts_address(listener.ducts, address), NF_OK);
    CU_ASSERT_EQUAL(nf_ducts_connect(caller.ducts, STRANGER, NULL, address),
                    NF_OK);
    close(stranger);
    close_sides(&listener, &caller);
}

/* A task that says it is nobody, with the right key. */
static void test_nobody(void)
{
    struct side listener;
    uint8_t address[NF_DUCT_ADDRESS_BYTES], hello[32];
    char byte;
    int fd;

    open_side(&listener, LISTENER);
    CU_ASSERT_EQUAL(nf_ducts_address(listener.ducts, address), NF_OK);
    put_hello(address, -5, hello);
    fd = connect_by_hand(address);
    CU_ASSERT_EQUAL(write(fd, hello, sizeof(hello)), sizeof(hello));
    while (serve(&listener, 100))
        continue;
    CU_ASSERT(recv(fd, &byte, 1, MSG_DONTWAIT) <= 0);
    CU_ASSERT_EQUAL(listener.ear.nended, 0);
    close(fd);
    nf_ducts_destroy(listener.ducts);
}

static bool goes_by_bbr(int fd)
{
    char name[32] = "";
    socklen_t size = sizeof(name) - 1;

    return getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &size) == 0 &&
           strcmp(name, "bbr") == 0;
}

/* Not who listens, who is accepted, and who connects; nor is anybody paced as BBR has
 * paced it, since nobody had it, but that can't be seen.  Where the system is not set to
 * BBR there is nothing to see. */
static void test_no_bbr(void)
{
    struct side listener, caller;
    struct side *const sides[] = { &listener, &caller };
    struct pollfd watch[8];
    size_t count, seen = 0;

    connect_sides(&listener, &caller, "localhost");
    CU_ASSERT_TRUE(serve(&listener, PATIENCE_MS)); /* accepts */
    for (int i = 0; i < 2; i++) {
        count = nf_ducts_count(sides[i]->ducts);
        CU_ASSERT_FATAL(count > 0 && count <= 8);
        nf_ducts_watch(sides[i]->ducts, watch);
        seen += count;
        while (count-- > 0)
            CU_ASSERT_FALSE(goes_by_bbr(watch[count].fd));
    }
    CU_ASSERT_EQUAL(seen, 4); /* two that listen, and both ends */
    close_sides(&listener, &caller);
}

static CU_TestInfo tests[] = {
    { "packets of all sizes by a local socket", test_local },
    { "and by TCP", test_tcp },
    { "who keeps to the window never waits", test_window },
    { "an end comes behind what was said", test_end },
    { "there is nobody to be reached", test_none },
    { "pieces are put together", test_pieces },
    { "and so are those of long packets", test_long_pieces },
    { "a part of a long packet wakes nobody", test_long_rest },
    { "who has no key, or says nonsense, is refused alone", test_strangers },
    { "nobody is nobody", test_nobody },
    { "a descriptor is kept for who was told", test_full },
    { "no BBR", test_no_bbr },
    CU_TEST_INFO_NULL,
};

int main(void)
{
    CU_SuiteInfo suites[] = { { "ducts", NULL, NULL, NULL, NULL, tests },
                              CU_SUITE_INFO_NULL };

    return nf_unit_main(suites);
}
