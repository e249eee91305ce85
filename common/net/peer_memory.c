/* Reading the memory of other processes.  See peer_memory.h. */
#include "config.h"
#include "common/net/peer_memory.h"
#include <errno.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

void nf_memory_open(void)
{
#ifdef PR_SET_PTRACER
    /* Yama lets parents only; without it this is an error, and not needed */
    (void)prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
#endif
}

#ifdef HAVE_PROCESS_VM_READV
/* Parts in one call, and the mark. */
enum { TOGETHER = 256 };

static struct iovec remote(uint64_t at, uint64_t bytes)
{
    return (struct iovec){ (void *)(uintptr_t)at, (size_t)bytes };
}

/* @param from  [count] and room for one more */
static enum nf_status read_once(const struct nf_memory_mark *mark,
                                struct iovec *from, size_t count, void *to,
                                size_t bytes)
{
    uint64_t seen = 0;
    const struct iovec into[2] = { { to, bytes }, { &seen, sizeof(seen) } };
    const size_t skip = bytes == 0;
    ssize_t got;

    from[count] = remote(mark->at, sizeof(seen));
    got = process_vm_readv((pid_t)mark->pid, into + skip, 2 - skip, from,
                           count + 1, 0);
    if (got == (ssize_t)(bytes + sizeof(seen)))
        return seen == mark->value ? NF_OK : NF_ERR_REVOKED;
    if (bytes == 0 || (got < 0 && errno != EFAULT))
        return NF_ERR_UNREACHABLE;
    /* not all of it is there any more: then the mark should be another */
    return read_once(mark, from, 0, NULL, 0) == NF_ERR_REVOKED
               ? NF_ERR_REVOKED
               : NF_ERR_UNREACHABLE;
}

bool nf_memory_may_read(const void *data, size_t bytes)
{
    const uintptr_t at = (uintptr_t)data;
    const struct iovec from[2] = { remote(at, 1), remote(at + bytes - 1, 1) };
    char ends[2];
    const struct iovec to = { ends, sizeof(ends) };

    return process_vm_readv(getpid(), &to, 1, from, 2, 0) == sizeof(ends);
}

enum nf_status nf_memory_read(const struct nf_memory_lent *lent, uint64_t from,
                              void *to, size_t bytes)
{
    struct iovec parts[TOGETHER + 1];
    enum nf_status status = NF_OK;
    uint8_t *at = to;
    uint32_t i = 0;

    if (bytes == 0)
        return read_once(&lent->mark, parts, 0, NULL, 0);
    for (; i < lent->nparts && from >= lent->parts[i].bytes; i++)
        from -= lent->parts[i].bytes;
    while (bytes > 0 && status == NF_OK) {
        size_t count = 0, some = 0;

        for (; count < TOGETHER && some < bytes && i < lent->nparts; count++) {
            uint64_t left = lent->parts[i].bytes - from;
            uint64_t part = left < bytes - some ? left : bytes - some;

            parts[count] = remote(lent->parts[i].at + from, part);
            some += (size_t)part;
            from = part < left ? from + part : 0;
            i += part == left;
        }
        if (some == 0)
            return NF_ERR_UNREACHABLE; /* there are no more bytes */
        status = read_once(&lent->mark, parts, count, at, some);
        at += some;
        bytes -= some;
    }
    return status;
}
#else
bool nf_memory_may_read(const void *data, size_t bytes)
{
    (void)data, (void)bytes;
    return false;
}

enum nf_status nf_memory_read(const struct nf_memory_lent *lent, uint64_t from,
                              void *to, size_t bytes)
{
    (void)lent, (void)from, (void)to, (void)bytes;
    return NF_ERR_UNREACHABLE;
}
#endif
