/* Sockets of our own between tasks.  See duct.h.
 *
 *     HELLO (32 bytes): magic, tid, key        once, of who connects
 *     packet: length (4 bytes), bytes          any number, both ways */
#include "config.h"
#include "common/net/duct.h"
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/endian.h"
#include "common/net/congestion.h"
#include "common/net/duct_parts.h"

enum {
    SOCKET_BUFFER_BYTES = 1 << 20, /* the most that anybody may have */
    WINDOW_LEAST_BYTES = 64 * 1024,
    CONNECT_US = 500000,
};

enum nf_status nf_ducts_create(int tid, const struct nf_ducts_user *user,
                               struct nf_ducts **ducts_p)
{
    struct nf_ducts *ducts = nf_malloc(sizeof(*ducts));

    if (ducts == NULL)
        return NF_ERR_NOMEM;
    memset(ducts, 0, offsetof(struct nf_ducts, piece));
    ducts->tid = tid;
    ducts->user = *user;
    ducts->local = ducts->tcp = -1;
    *ducts_p = ducts;
    return NF_OK;
}

void nf_duct_close(struct duct *duct)
{
    if (duct->fd >= 0)
        close(duct->fd);
    duct->fd = -1;
    nf_free(duct->held);
    duct->held = NULL;
    duct->held_bytes = 0;
}

void nf_ducts_forget_ended(struct nf_ducts *ducts)
{
    size_t kept = 0;

    for (size_t i = 0; i < ducts->count; i++)
        if (ducts->list[i].fd >= 0)
            ducts->list[kept++] = ducts->list[i];
    ducts->count = kept;
}

static void stop_listening(struct nf_ducts *ducts)
{
    if (ducts->local >= 0)
        close(ducts->local);
    if (ducts->tcp >= 0)
        close(ducts->tcp);
    ducts->local = ducts->tcp = -1;
}

void nf_ducts_destroy(struct nf_ducts *ducts)
{
    if (ducts == NULL)
        return;
    for (size_t i = 0; i < ducts->count; i++)
        nf_duct_close(&ducts->list[i]);
    nf_ducts_settle(ducts);
    nf_free(ducts->kept_fds);
    nf_free(ducts->list);
    nf_free(ducts);
}

int nf_ducts_fd(const struct nf_ducts *ducts, int tid)
{
    for (size_t i = 0; i < ducts->count; i++)
        if (ducts->list[i].tid == tid && ducts->list[i].fd >= 0)
            return ducts->list[i].fd;
    return -1;
}

uint32_t nf_ducts_window_bytes(const struct nf_ducts *ducts)
{
    return ducts->window_bytes;
}

/* ------------------------------------------------------------- listening */

/* Nothing is left behind in a file system. */
static socklen_t local_name(const uint8_t *address, struct sockaddr_un *name_p)
{
    int bytes;

    *name_p = (struct sockaddr_un){ .sun_family = AF_UNIX };
    bytes = snprintf(name_p->sun_path + 1, sizeof(name_p->sun_path) - 1,
                     "nowfarm-%016llx",
                     (unsigned long long)nf_load_le64(address + 2));
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
                       (size_t)bytes);
}

static int listen_locally(const uint8_t *address)
{
    struct sockaddr_un name;
    socklen_t bytes = local_name(address, &name);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd >= 0 && (bind(fd, (struct sockaddr *)&name, bytes) != 0 ||
                    listen(fd, SOMAXCONN) != 0)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static int listen_by_tcp(uint16_t *port_p)
{
    struct sockaddr_in name = { .sin_family = AF_INET,
                                .sin_addr.s_addr = htonl(INADDR_ANY) };
    socklen_t bytes = sizeof(name);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    nf_congestion_replace_bbr(fd); /* and so for whoever is accepted */
    if (fd >= 0 && (bind(fd, (struct sockaddr *)&name, bytes) != 0 ||
                    listen(fd, SOMAXCONN) != 0 ||
                    getsockname(fd, (struct sockaddr *)&name, &bytes) != 0)) {
        close(fd);
        fd = -1;
    }
    *port_p = ntohs(name.sin_port);
    return fd;
}

static bool start_listening(struct nf_ducts *ducts)
{
    const size_t random_bytes = NF_DUCT_ADDRESS_BYTES - 2;
    uint16_t port = 0;

    if (ducts->local >= 0)
        return true;
    if (getrandom(ducts->address + 2, random_bytes, 0) !=
        (ssize_t)random_bytes)
        return false;
    ducts->local = listen_locally(ducts->address);
    if (ducts->local < 0)
        return false;
    ducts->tcp = listen_by_tcp(&port);
    nf_store_be16(ducts->address, ducts->tcp < 0 ? 0 : port);
    return true;
}

/* Whoever connects can't be told that there is no descriptor for it. */
static enum nf_status keep_one(struct nf_ducts *ducts)
{
    int fd;

    if (ducts->nkept == ducts->kept_capacity) {
        size_t capacity = 2 * ducts->kept_capacity + 8;
        int *fds = nf_realloc(ducts->kept_fds, capacity * sizeof(*fds));

        if (fds == NULL)
            return NF_ERR_NOMEM;
        ducts->kept_fds = fds;
        ducts->kept_capacity = capacity;
    }
    fd = fcntl(ducts->local, F_DUPFD_CLOEXEC, 0);
    if (fd < 0)
        return NF_ERR_IO;
    ducts->kept_fds[ducts->nkept++] = fd;
    return NF_OK;
}

static void give_up_one(struct nf_ducts *ducts)
{
    if (ducts->nkept > 0)
        close(ducts->kept_fds[--ducts->nkept]);
}

void nf_ducts_settle(struct nf_ducts *ducts)
{
    stop_listening(ducts);
    while (ducts->nkept > 0)
        give_up_one(ducts);
    for (size_t i = 0; i < ducts->count; i++)
        if (ducts->list[i].tid == DUCT_UNMET)
            nf_duct_close(&ducts->list[i]);
    nf_ducts_forget_ended(ducts);
}

enum nf_status nf_ducts_address(struct nf_ducts *ducts,
                                uint8_t address_p[NF_DUCT_ADDRESS_BYTES])
{
    enum nf_status status =
        start_listening(ducts) ? keep_one(ducts) : NF_ERR_IO;

    if (status == NF_OK)
        memcpy(address_p, ducts->address, NF_DUCT_ADDRESS_BYTES);
    return status;
}

static bool is_local(int fd)
{
    int family = AF_UNSPEC;
    socklen_t bytes = sizeof(family);

    return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &bytes) == 0 &&
           family == AF_UNIX;
}

/* A quarter of what a socket holds: the kernel counts more for packets than their
 * bytes, and twice that for small ones.  By TCP half of that, since more than one
 * sends to the same link: what its queue has no room for is lost, and takes a
 * gather of 1 MiB from 4 hosts a fifth longer. */
static void tune(struct nf_ducts *ducts, int fd)
{
    const int bytes = SOCKET_BUFFER_BYTES, yes = 1;
    const uint32_t part = is_local(fd) ? 4 : 8;
    uint32_t window_bytes = WINDOW_LEAST_BYTES;
    int got = 0;
    socklen_t size = sizeof(got);

    nf_congestion_replace_bbr(fd); /* where a route's own has replaced ours */
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
    if (getsockopt(fd, SOL_SOCKET, SO_SNDBUF, &got, &size) == 0 &&
        (uint32_t)got / part > window_bytes)
        window_bytes = (uint32_t)got / part;
    if (ducts->window_bytes == 0 || window_bytes < ducts->window_bytes)
        ducts->window_bytes = window_bytes;
}

static enum nf_status add(struct nf_ducts *ducts, int fd, int tid)
{
    if (ducts->count == ducts->capacity) {
        size_t capacity = 2 * ducts->capacity + 8;
        struct duct *list = nf_realloc(ducts->list, capacity * sizeof(*list));

        if (list == NULL) {
            close(fd);
            return NF_ERR_NOMEM;
        }
        ducts->list = list;
        ducts->capacity = capacity;
    }
    tune(ducts, fd);
    ducts->list[ducts->count++] =
        (struct duct){ .fd = fd, .tid = tid, .least_bytes = !is_local(fd) };
    return NF_OK;
}

static int accept_one(int listener)
{
    return accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
}

/* By TCP there is the key; here the kernel knows, too. */
static bool is_other_user(int fd)
{
    struct ucred who = { .uid = geteuid() };
    socklen_t bytes = sizeof(who);

    return is_local(fd) &&
           (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &bytes) != 0 ||
            who.uid != geteuid());
}

/* Whom nothing was kept for was not told either.  Who can't be let in would be
 * ready for ever. */
bool nf_ducts_accept(struct nf_ducts *ducts, int listener)
{
    for (bool any = false;; any = true) {
        int fd = accept_one(listener);
        bool full = fd < 0 && (errno == EMFILE || errno == ENFILE);

        if (full && ducts->nkept == 0)
            stop_listening(ducts);
        if (fd < 0 && (!full || ducts->nkept == 0))
            return any;
        if (fd >= 0 && is_other_user(fd)) {
            close(fd);
            continue;
        }
        give_up_one(ducts);
        if (full)
            fd = accept_one(listener);
        if (fd >= 0)
            (void)add(ducts, fd, DUCT_UNMET);
    }
}

/* ------------------------------------------------------------ connecting */

static bool is_connected(int fd)
{
    int64_t until_us = nf_now_us() + CONNECT_US, left_us = CONNECT_US;
    struct pollfd watch = { .fd = fd, .events = POLLOUT };
    int failed = 0, ready;
    socklen_t size = sizeof(failed);

    do {
        ready = poll(&watch, 1, (int)(left_us / 1000));
        left_us = until_us - nf_now_us();
    } while (ready < 0 && errno == EINTR && left_us > 0);
    return ready == 1 &&
           getsockopt(fd, SOL_SOCKET, SO_ERROR, &failed, &size) == 0 &&
           failed == 0;
}

/* @return a descriptor, or < 0 */
static int connect_to(const struct sockaddr *name, socklen_t bytes)
{
    int fd = socket(name->sa_family,
                    SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0)
        return -1;
    nf_congestion_replace_bbr(fd);
    if (connect(fd, name, bytes) == 0 ||
        (errno == EINPROGRESS && is_connected(fd)))
        return fd;
    close(fd);
    return -1;
}

static int connect_by_tcp(const char *host, uint16_t port)
{
    const struct addrinfo hints = { .ai_family = AF_INET,
                                    .ai_socktype = SOCK_STREAM };
    struct addrinfo *found = NULL;
    char service[8];
    int fd = -1;

    snprintf(service, sizeof(service), "%u", port);
    if (port == 0 || getaddrinfo(host, service, &hints, &found) != 0)
        return -1;
    for (struct addrinfo *at = found; at != NULL && fd < 0; at = at->ai_next)
        fd = connect_to(at->ai_addr, at->ai_addrlen);
    freeaddrinfo(found);
    return fd;
}

static int connect_locally(const uint8_t *address)
{
    struct sockaddr_un name;
    socklen_t bytes = local_name(address, &name);

    return connect_to((struct sockaddr *)&name, bytes);
}

enum nf_status nf_ducts_connect(struct nf_ducts *ducts, int tid,
                                const char *host,
                                const uint8_t address[NF_DUCT_ADDRESS_BYTES])
{
    uint8_t hello[DUCT_HELLO_BYTES] = { 0 };
    int fd;

    if (nf_ducts_fd(ducts, tid) >= 0)
        return NF_OK;
    fd = host == NULL ? connect_locally(address)
                      : connect_by_tcp(host, nf_load_be16(address));
    if (fd < 0)
        return NF_ERR_UNREACHABLE;
    nf_store_le64(hello, DUCT_HELLO_MAGIC);
    nf_store_le32(hello + 8, (uint32_t)ducts->tid);
    memcpy(hello + 16, nf_duct_key(address), NF_DUCT_KEY_BYTES);
    if (send(fd, hello, sizeof(hello), MSG_NOSIGNAL) != sizeof(hello)) {
        close(fd);
        return NF_ERR_UNREACHABLE;
    }
    return add(ducts, fd, tid);
}

/* --------------------------------------------------------------- sending */

/* Without what has gone.  @return whether anything is left */
static bool advance(struct msghdr *message, size_t gone_bytes)
{
    while (message->msg_iovlen > 0 && gone_bytes >= message->msg_iov->iov_len) {
        gone_bytes -= message->msg_iov->iov_len;
        message->msg_iov++;
        message->msg_iovlen--;
    }
    if (message->msg_iovlen == 0)
        return false;
    message->msg_iov->iov_base =
        (uint8_t *)message->msg_iov->iov_base + gone_bytes;
    message->msg_iov->iov_len -= gone_bytes;
    return true;
}

static enum nf_status send_whole(int fd, struct msghdr *message)
{
    for (;;) {
        struct pollfd watch = { .fd = fd, .events = POLLOUT };
        ssize_t gone = sendmsg(fd, message, MSG_NOSIGNAL);

        if (gone >= 0 && !advance(message, (size_t)gone))
            return NF_OK;
        if (gone < 0 && errno != EAGAIN && errno != EINTR)
            return NF_ERR_UNREACHABLE;
        if (gone < 0 && errno == EAGAIN)
            (void)poll(&watch, 1, -1);
    }
}

enum nf_status nf_ducts_send(struct nf_ducts *ducts, int tid,
                             const struct iovec *parts, size_t count)
{
    const int fd = nf_ducts_fd(ducts, tid);
    uint8_t length[DUCT_LENGTH_BYTES];
    struct iovec all[1 + NF_DUCT_PARTS_MOST] = { { .iov_base = length,
                                                   .iov_len = DUCT_LENGTH_BYTES } };
    struct msghdr message = { .msg_iov = all, .msg_iovlen = 1 + count };
    size_t bytes = 0;

    if (fd < 0)
        return NF_ERR_UNREACHABLE;
    for (size_t i = 0; i < count; i++) {
        all[1 + i] = parts[i];
        bytes += parts[i].iov_len;
    }
    nf_store_le32(length, (uint32_t)bytes);
    if (send_whole(fd, &message) == NF_OK)
        return NF_OK;
    /* part of it may have gone, which what follows would complete: so nothing does */
    (void)shutdown(fd, SHUT_RDWR);
    return NF_ERR_UNREACHABLE;
}
