/* How a member waits until something may have happened. */
#include "config.h"
#include "common/group/group.h"

/* How long it may take to see that the user has said stop. */
enum { HEED_STOP_US = 100000 };

bool nf_group_settles(const struct nf_group *group)
{
    const struct nf_request *only = group->requests;

    return only != NULL && only->next == NULL && nf_exec_settles(&only->exec);
}

/* Not between hosts, nor in calls in which all send: there what comes next is often of
 * one that is ready to run here, and 8 bytes took up to 1.3 of the time. */
bool nf_group_waits_for_root(const struct nf_group *group)
{
    enum nf_coll_op op;

    if (group->requests == NULL || group->nhosts > 1)
        return false;
    op = group->requests->exec.plan->algorithm->op;
    return op == NF_COLL_BCAST || op == NF_COLL_SCATTER;
}

bool nf_group_is_stopped(const struct nf_group *group)
{
    return group->stop != NULL && *group->stop;
}

void nf_group_sleep(struct nf_group *group, int64_t timeout_us)
{
    if (group->stop != NULL && (timeout_us < 0 || timeout_us > HEED_STOP_US))
        timeout_us = HEED_STOP_US;
    group->mesh->settles = nf_group_settles(group);
    group->mesh->sleeps = nf_group_waits_for_root(group);
    (void)nf_mesh_wait(group->mesh, timeout_us);
    group->mesh->settles = group->mesh->sleeps = false;
}
