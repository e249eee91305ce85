#ifndef NF_APPS_LAB_LAB_CGROUP_H
#define NF_APPS_LAB_LAB_CGROUP_H
/** @file lab_cgroup.h  CPU quotas by control groups, version 1 or 2: one group
 *  a workstation, BASE/nowfarm-lab.NAME.ws3, made at up where that can be done;
 *  without a quota it limits nothing. */
#include <stdio.h>
#include "apps/lab/lab_config.h"

struct lab_cgroup {
    int version;    /**< 1 or 2 */
    char base[256]; /**< directory in which our groups are made */
};

/** Find where CPU quotas can be set.
 *  @param mountinfo  text of /proc/self/mountinfo
 *  @retval NF_ERR_UNREACHABLE  nowhere; err says why, and what would help */
enum nf_status lab_cgroup_find(FILE *mountinfo, struct lab_cgroup *cgroup_p,
                               struct nf_error *err);
/** The same for this system. */
enum nf_status lab_cgroup_find_here(struct lab_cgroup *cgroup_p,
                                    struct nf_error *err);

/** Make the groups of all hosts; either all are there or none.
 *  @retval NF_ERR_UNREACHABLE  that is not possible or not allowed here */
enum nf_status lab_cgroup_make(const struct lab_cgroup *cgroup,
                               const struct lab *lab, unsigned nhosts,
                               struct nf_error *err);
/** Remove whatever groups there are of @p lab; their processes must have
 *  ended.  @retval NF_ERR_IO  one cannot be removed */
enum nf_status lab_cgroup_remove(const struct lab_cgroup *cgroup,
                                 const struct lab *lab, struct nf_error *err);

/** Put this process into the group of a host, if there is one. */
void lab_cgroup_join(const struct lab_cgroup *cgroup, const struct lab *lab,
                     const char *host);
/** Give what runs on @p host @p percent of one core; 0 takes the limit away.
 *  @retval NF_ERR_UNREACHABLE  the host has no group, or the kernel no quotas
 */
enum nf_status lab_cgroup_limit(const struct lab_cgroup *cgroup,
                                const struct lab *lab, const char *host,
                                double percent, struct nf_error *err);

/** The period, and the time in it that @p percent of a core is.  The period is
 *  short, so that also a computation of a few milliseconds feels the quota; but
 *  the kernel takes no quota under 1 ms. */
void lab_cgroup_quota(double percent, long *quota_us_p, long *period_us_p);
#endif
