/* CPU quotas by control groups. */
#include "config.h"
#include "apps/lab/lab_cgroup.h"
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "common/base/error.h"

enum { PATH_BYTES = 700, MIN_PERIOD_US = 5000, MIN_QUOTA_US = 1000 };

static const char no_quota_advice[] =
    "; computing can be slowed down without: nowfarm run --emulate";

/* Whether @p words, separated by any of @p between, hold @p word. */
static bool has_word(const char *words, const char *between, const char *word)
{
    size_t length = strlen(word);

    while (*words != '\0') {
        size_t n;

        words += strspn(words, between);
        n = strcspn(words, between);
        if (n == length && strncmp(words, word, n) == 0)
            return true;
        words += n;
    }
    return false;
}

static bool file_has_word(const char *dir, const char *file, const char *word)
{
    char path[PATH_BYTES], text[512];
    FILE *from;
    bool found;

    snprintf(path, sizeof(path), "%s/%s", dir, file);
    from = fopen(path, "re");
    if (from == NULL)
        return false;
    found =
        fgets(text, sizeof(text), from) != NULL && has_word(text, " \n", word);
    fclose(from);
    return found;
}

/* One line of mountinfo, see proc(5): the fifth word is the place; after a lone
 * "-" come type, source and options. */
static int cpu_hierarchy(const char *line, char *place_p, size_t bytes)
{
    char type[32], options[256], place[256];
    const char *rest = strstr(line, " - ");

    if (rest == NULL || sscanf(line, "%*s %*s %*s %*s %255s", place) != 1 ||
        sscanf(rest, " - %31s %*s %255s", type, options) != 2)
        return 0;
    snprintf(place_p, bytes, "%s", place);
    if (strcmp(type, "cgroup") == 0 && has_word(options, ",\n", "cpu"))
        return 1;
    if (strcmp(type, "cgroup2") == 0 &&
        file_has_word(place, "cgroup.controllers", "cpu"))
        return 2;
    return 0;
}

enum nf_status lab_cgroup_find(FILE *mountinfo, struct lab_cgroup *cgroup_p,
                               struct nf_error *err)
{
    char line[4096];

    while (fgets(line, sizeof(line), mountinfo) != NULL) {
        int version =
            cpu_hierarchy(line, cgroup_p->base, sizeof(cgroup_p->base));

        if (version > 0) {
            cgroup_p->version = version;
            return NF_OK;
        }
    }
    return nf_fail(err, NF_ERR_UNREACHABLE,
                   "no CPU quotas: no cgroup hierarchy with the cpu controller "
                   "is mounted%s",
                   no_quota_advice);
}

enum nf_status lab_cgroup_find_here(struct lab_cgroup *cgroup_p,
                                    struct nf_error *err)
{
    FILE *mountinfo = fopen("/proc/self/mountinfo", "re");
    enum nf_status status;

    if (mountinfo == NULL)
        return nf_fail(err, NF_ERR_UNREACHABLE,
                       "no CPU quotas: /proc/self/mountinfo: %s",
                       strerror(errno));
    status = lab_cgroup_find(mountinfo, cgroup_p, err);
    fclose(mountinfo);
    return status;
}

static void group_path(const struct lab_cgroup *cgroup, const struct lab *lab,
                       const char *host, const char *file,
                       char path_p[PATH_BYTES])
{
    snprintf(path_p, PATH_BYTES, "%s/nowfarm-lab.%s.%s%s%s", cgroup->base,
             lab->name, host, file[0] != '\0' ? "/" : "", file);
}

/* Version 2 gives children a controller only when told to. */
static enum nf_status delegate_cpu(const struct lab_cgroup *cgroup,
                                   struct nf_error *err)
{
    char path[PATH_BYTES];

    if (cgroup->version == 1 ||
        file_has_word(cgroup->base, "cgroup.subtree_control", "cpu"))
        return NF_OK;
    snprintf(path, sizeof(path), "%s/cgroup.subtree_control", cgroup->base);
    if (lab_write_file(path, "+cpu", 0) == 0)
        return NF_OK;
    return nf_fail(err, NF_ERR_UNREACHABLE,
                   "no CPU quotas: cannot give the cpu controller to groups in "
                   "%s: %s%s%s",
                   cgroup->base, strerror(errno),
                   geteuid() != 0 ? " (that needs root)" : "", no_quota_advice);
}

enum nf_status lab_cgroup_make(const struct lab_cgroup *cgroup,
                               const struct lab *lab, unsigned nhosts,
                               struct nf_error *err)
{
    char path[PATH_BYTES], host[LAB_HOST_BYTES];
    enum nf_status status = delegate_cpu(cgroup, err);

    for (unsigned i = 0; status == NF_OK && i < nhosts; i++) {
        lab_host_name(i, host);
        group_path(cgroup, lab, host, "", path);
        if (mkdir(path, 0755) != 0)
            status = nf_fail(
                err, NF_ERR_UNREACHABLE,
                "no CPU quotas: cannot make %s: %s%s%s", path, strerror(errno),
                geteuid() != 0 ? " (that needs root)" : "", no_quota_advice);
    }
    if (status != NF_OK)
        lab_cgroup_remove(cgroup, lab, NULL);
    return status;
}

/* A group can be busy for a moment after its last process has ended. */
static int remove_group(const char *path)
{
    for (int tries = 0; tries < 100; tries++) {
        if (rmdir(path) == 0 || errno == ENOENT)
            return 0;
        if (errno != EBUSY)
            return -1;
        usleep(20000);
    }
    return -1;
}

enum nf_status lab_cgroup_remove(const struct lab_cgroup *cgroup,
                                 const struct lab *lab, struct nf_error *err)
{
    char prefix[64], path[PATH_BYTES];
    struct dirent *entry;
    enum nf_status status = NF_OK;
    DIR *dir = opendir(cgroup->base);

    if (dir == NULL)
        return NF_OK;
    snprintf(prefix, sizeof(prefix), "nowfarm-lab.%s.", lab->name);
    while ((entry = readdir(dir)) != NULL) {
        if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0)
            continue;
        snprintf(path, sizeof(path), "%s/%s", cgroup->base, entry->d_name);
        if (remove_group(path) != 0)
            status = nf_fail(err, NF_ERR_IO, "cannot remove %s: %s", path,
                             strerror(errno));
    }
    closedir(dir);
    return status;
}

void lab_cgroup_join(const struct lab_cgroup *cgroup, const struct lab *lab,
                     const char *host)
{
    char path[PATH_BYTES];

    group_path(cgroup, lab, host, "cgroup.procs", path);
    (void)lab_write_file(path, "0", 0); /* "0" is the writer */
}

void lab_cgroup_quota(double percent, long *quota_us_p, long *period_us_p)
{
    double period_us = fmax(MIN_PERIOD_US, MIN_QUOTA_US * 100 / percent);

    *period_us_p = lround(period_us);
    *quota_us_p = lround(fmax(MIN_QUOTA_US, period_us * percent / 100));
}

static int set(const struct lab_cgroup *cgroup, const struct lab *lab,
               const char *host, const char *file, const char *text)
{
    char path[PATH_BYTES];

    group_path(cgroup, lab, host, file, path);
    return lab_write_file(path, text, 0);
}

static int set_limit_v1(const struct lab_cgroup *cgroup, const struct lab *lab,
                        const char *host, const long *limit)
{
    char quota[24], period[24];

    /* first no quota: the kernel checks each step against what is there */
    if (set(cgroup, lab, host, "cpu.cfs_quota_us", "-1") != 0)
        return -1;
    if (limit == NULL)
        return 0;
    snprintf(quota, sizeof(quota), "%ld", limit[0]);
    snprintf(period, sizeof(period), "%ld", limit[1]);
    return set(cgroup, lab, host, "cpu.cfs_period_us", period) != 0 ||
                   set(cgroup, lab, host, "cpu.cfs_quota_us", quota) != 0
               ? -1
               : 0;
}

static int set_limit_v2(const struct lab_cgroup *cgroup, const struct lab *lab,
                        const char *host, const long *limit)
{
    char text[64] = "max";

    if (limit != NULL)
        snprintf(text, sizeof(text), "%ld %ld", limit[0], limit[1]);
    return set(cgroup, lab, host, "cpu.max", text);
}

enum nf_status lab_cgroup_limit(const struct lab_cgroup *cgroup,
                                const struct lab *lab, const char *host,
                                double percent, struct nf_error *err)
{
    long limit[2] = { 0 };
    int rc;

    if (percent > 0)
        lab_cgroup_quota(percent, &limit[0], &limit[1]);
    rc = (cgroup->version == 1 ? set_limit_v1 : set_limit_v2)(
        cgroup, lab, host, percent > 0 ? limit : NULL);
    if (rc == 0)
        return NF_OK;
    if (errno == ENOENT)
        return nf_fail(err, NF_ERR_UNREACHABLE,
                       "no CPU quota for %s: its control group could not be "
                       "made at up%s%s",
                       host, geteuid() != 0 ? ", which needs root" : "",
                       no_quota_advice);
    return nf_fail(err, NF_ERR_UNREACHABLE,
                   "no CPU quota for %s: %s/nowfarm-lab.%s.%s: %s%s", host,
                   cgroup->base, lab->name, host, strerror(errno),
                   no_quota_advice);
}
