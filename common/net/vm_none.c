/* vm.h in a build without PVM. */
#include "config.h"
#include "common/net/vm.h"
#include "common/base/error.h"

static enum nf_status none(struct nf_error *err)
{
    return nf_fail(err, NF_ERR_UNREACHABLE,
                   "this nowfarm was built without PVM");
}

enum nf_status nf_vm_hold(struct nf_error *err)
{
    return none(err);
}

void nf_vm_release(void)
{
}

enum nf_status nf_vm_hosts(struct nf_vm_host **hosts_p, size_t *count_p,
                           struct nf_error *err)
{
    (void)hosts_p;
    (void)count_p;
    return none(err);
}

enum nf_status nf_vm_add(const char *host_line, int64_t limit_us,
                         struct nf_error *err)
{
    (void)host_line;
    (void)limit_us;
    return none(err);
}

enum nf_status nf_vm_remove(const char *host, int64_t limit_us,
                            struct nf_error *err)
{
    (void)host;
    (void)limit_us;
    return none(err);
}

enum nf_status nf_vm_halt(struct nf_error *err)
{
    return none(err);
}
