/* nowfarm lab exec, rsh, rate, cpu, cut, mend: in a lab that is up. */
#include "config.h"
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "apps/lab/lab_cgroup.h"
#include "apps/lab/lab_exec.h"
#include "apps/lab/lab_init.h"
#include "apps/lab/lab_up.h"
#include "apps/lab/lab_verbs.h"
#include "apps/nowfarm/cli.h"
#include "common/base/error.h"
#include "common/base/units.h"

/* --- commands ----------------------------------------------------------- */

static int run_on(const struct lab_request *r, const char *host,
                  const char *const *argv, bool from_home)
{
    struct lab_config config;
    struct nf_error err;
    unsigned index;

    if (lab_config_load(&r->lab, &config, &err) != NF_OK ||
        lab_host_index(&r->lab, &config, host, &index, &err) != NF_OK)
        return nf_failure(&err);
    return lab_run(&(struct lab_command){ .lab = &r->lab,
                                          .where = host,
                                          .argv = argv,
                                          .from_home = from_home,
                                          .private_tmp = config.private_tmp });
}

int lab_verb_exec(const struct lab_request *r)
{
    return run_on(r, r->args[0], r->args + 1, false);
}

/* Join words with spaces, as rsh does, for the shell over there.
 * @return a text to free(), or NULL */
static char *join(const char *const *words)
{
    size_t bytes = 1;
    char *text, *end;

    for (int i = 0; words[i] != NULL; i++)
        bytes += strlen(words[i]) + 1;
    text = end = malloc(bytes);
    if (text == NULL)
        return NULL;
    *end = '\0';
    for (int i = 0; words[i] != NULL; i++)
        end += sprintf(end, "%s%s", i > 0 ? " " : "", words[i]);
    return text;
}

/* As rsh(1): [-l USER] [-n] HOST [-l USER] [-n] COMMAND...  Everybody in a lab
 * is the same user. */
int lab_verb_rsh(const struct lab_request *r)
{
    const char *host = NULL;
    const char *const *arg = r->args;
    char *line;
    int status;

    for (; *arg != NULL && (host == NULL || **arg == '-'); arg++) {
        if (**arg != '-')
            host = *arg;
        else if (strcmp(*arg, "-l") == 0 && arg[1] != NULL)
            arg++;
        else if (strcmp(*arg, "-n") == 0)
            dup2(open("/dev/null", O_RDONLY), STDIN_FILENO);
        else
            return nf_usage_error("lab rsh: no option %s (-l USER, -n)", *arg);
    }
    if (host == NULL || *arg == NULL)
        return nf_usage_error("lab rsh: want [-l USER] [-n] WS COMMAND...");
    line = join(arg);
    if (line == NULL)
        return nf_memory_error();
    status = run_on(r, host,
                    (const char *const[]){ "/bin/sh", "-c", line, NULL }, true);
    free(line);
    return status;
}

/* --- changes ------------------------------------------------------------ */

/* A change that is under way: the lab is locked. */
struct change {
    struct lab_config config;
    unsigned index;
    int lock;
};

static int begin_change(const struct lab_request *r, struct change *c_p)
{
    struct nf_error err;
    enum nf_status status;

    if (lab_is_inside(&r->lab)) {
        nf_usage_error("lab: not from inside the lab itself");
        return NF_EXIT_USAGE;
    }
    /* once before: a lab that is not up needs no directory for the lock */
    status = lab_config_load(&r->lab, &c_p->config, &err);
    if (status == NF_OK)
        status = lab_lock(&r->lab, &c_p->lock, &err);
    if (status != NF_OK)
        return nf_failure(&err);
    status = lab_config_load(&r->lab, &c_p->config, &err);
    if (status == NF_OK)
        status = lab_host_index(&r->lab, &c_p->config, r->args[0], &c_p->index,
                                &err);
    if (status == NF_OK)
        return NF_EXIT_OK;
    lab_unlock(&r->lab, c_p->lock);
    return nf_failure(&err);
}

/* Remember the change if @p status is 0.  @return the exit status */
static int end_change(const struct lab_request *r, struct change *c, int status)
{
    struct nf_error err;

    if (status == NF_EXIT_OK &&
        lab_config_save(&r->lab, &c->config, &err) != NF_OK)
        status = nf_failure(&err);
    lab_unlock(&r->lab, c->lock);
    return status;
}

enum { NET_WORDS = 4 };

/* Run lab-net VERB with up to NET_WORDS words, then NULL, on @p where. */
static int run_net(const struct lab_request *r, const char *where,
                   const char *verb, const char *const *words)
{
    char path[PATH_MAX];
    const char *argv[NET_WORDS + 3] = { path, verb };

    for (int i = 0; i < NET_WORDS && words[i] != NULL; i++)
        argv[2 + i] = words[i];
    lab_net_path(r->program, path, sizeof(path));
    return lab_run(
        &(struct lab_command){ .lab = &r->lab, .where = where, .argv = argv });
}

int lab_verb_rate(const struct lab_request *r)
{
    struct change c;
    struct lab_host *host;
    uint64_t rate_bps = 0;
    char frames[12], port[12], rate[24], latency[24];
    int status;

    if (strcmp(r->args[1], "none") != 0 &&
        nf_parse_rate_bps(r->args[1], &rate_bps) != NF_OK)
        return nf_usage_error("lab: rate %s: want 8kbit to 100gbit, as "
                              "100mbit, or none",
                              r->args[1]);
    status = begin_change(r, &c);
    if (status != NF_EXIT_OK)
        return status;
    host = &c.config.hosts[c.index];
    host->rate_bps = rate_bps;
    if (r->has_latency)
        host->latency_us = r->latency_us;
    snprintf(frames, sizeof(frames), "%u", c.config.frames);
    snprintf(port, sizeof(port), "p%u", c.index);
    snprintf(rate, sizeof(rate), "%llu", (unsigned long long)rate_bps);
    snprintf(latency, sizeof(latency), "%lld", (long long)host->latency_us);
    status = run_net(r, r->args[0], "limit",
                     (const char *const[]){ frames, "eth0", rate, latency, NULL });
    if (status == NF_EXIT_OK)
        status = run_net(r, "lab", "limit",
                         (const char *const[]){ frames, port, rate, NULL });
    return end_change(r, &c, status);
}

static int set_cable(const struct lab_request *r, bool cut)
{
    struct change c;
    char index[12];
    int status = begin_change(r, &c);

    if (status != NF_EXIT_OK)
        return status;
    c.config.hosts[c.index].cut = cut;
    snprintf(index, sizeof(index), "%u", c.index);
    status = run_net(r, "lab", "cable",
                     (const char *const[]){ index, cut ? "down" : "up", NULL });
    return end_change(r, &c, status);
}

int lab_verb_cut(const struct lab_request *r)
{
    return set_cable(r, true);
}

int lab_verb_mend(const struct lab_request *r)
{
    return set_cable(r, false);
}

/* "25", "25%" or "none" (0). */
static enum nf_status read_percent(const char *text, double *percent_p)
{
    char number[32];
    size_t length = strlen(text);

    *percent_p = 0;
    if (strcmp(text, "none") == 0)
        return NF_OK;
    if (length > 1 && text[length - 1] == '%')
        length--;
    if (length >= sizeof(number))
        return NF_ERR_INVAL;
    snprintf(number, sizeof(number), "%.*s", (int)length, text);
    return nf_parse_real(number, 1, 100000, percent_p);
}

int lab_verb_cpu(const struct lab_request *r)
{
    struct change c;
    struct lab_cgroup cgroup;
    struct nf_error err;
    double percent;
    int status;

    if (read_percent(r->args[1], &percent) != NF_OK)
        return nf_usage_error("lab cpu: %s: want percent of one core, 1 or "
                              "more, as 25%%, or none",
                              r->args[1]);
    status = begin_change(r, &c);
    if (status != NF_EXIT_OK)
        return status;
    c.config.hosts[c.index].cpu_percent = percent;
    if (lab_cgroup_find_here(&cgroup, &err) != NF_OK ||
        lab_cgroup_limit(&cgroup, &r->lab, r->args[0], percent, &err) != NF_OK)
        status = nf_failure(&err);
    return end_change(r, &c, status);
}
