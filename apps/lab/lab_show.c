/* nowfarm lab status, list, hosts, pids, check. */
#include "config.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "apps/lab/lab_cgroup.h"
#include "apps/lab/lab_exec.h"
#include "apps/lab/lab_up.h"
#include "apps/lab/lab_verbs.h"
#include "apps/nowfarm/cli.h"
#include "common/base/units.h"

/* --- status, list ------------------------------------------------------- */

static void append_pid(pid_t pid, void *arg)
{
    json_array_append_new(arg, json_integer(pid));
}

static void count_process(pid_t pid, void *arg)
{
    (void)pid;
    ++*(int *)arg;
}

static int status_as_json(const struct lab *lab,
                          const struct lab_config *config)
{
    json_t *object = json_pack("{s:s}", "lab", lab->name);
    json_t *parts = lab_config_to_json(config);
    json_t *host;
    size_t i;

    json_object_update(object, parts);
    json_decref(parts);
    json_array_foreach(json_object_get(object, "hosts"), i, host)
    {
        json_t *pids = json_array();
        char name[LAB_HOST_BYTES];

        lab_host_name((unsigned)i, name);
        lab_each_process(lab, name, append_pid, pids);
        json_object_set_new(host, "alive",
                            json_boolean(lab_holder(lab, name) != 0));
        json_object_set_new(host, "pids", pids);
    }
    return nf_print_json(object);
}

static const char *limit_text(bool is_limited, const char *text)
{
    return is_limited ? text : "-";
}

static void print_host(const struct lab *lab, const struct lab_host *host,
                       unsigned index)
{
    char name[LAB_HOST_BYTES], address[LAB_ADDRESS_BYTES];
    char rate[32], latency[32], cpu[32];
    int processes = 0;

    lab_host_name(index, name);
    lab_host_address(index, address);
    nf_format_rate_bps(host->rate_bps, rate, sizeof(rate));
    nf_format_time_us(host->latency_us, latency, sizeof(latency));
    snprintf(cpu, sizeof(cpu), "%g %%", host->cpu_percent);
    lab_each_process(lab, name, count_process, &processes);
    printf("%-6s %-12s %-10s %-8s %-6s %-6s %9d%s\n", name, address,
           limit_text(host->rate_bps > 0, rate),
           limit_text(host->latency_us > 0, latency), host->cut ? "cut" : "in",
           limit_text(host->cpu_percent > 0, cpu), processes,
           lab_holder(lab, name) != 0 ? "" : "  (killed)");
}

int lab_verb_status(const struct lab_request *r)
{
    struct lab_config config;
    struct nf_error err;
    char rate[32];

    if (lab_config_load(&r->lab, &config, &err) != NF_OK)
        return nf_failure(&err);
    if (r->json)
        return status_as_json(&r->lab, &config);
    nf_format_rate_bps(config.medium_bps, rate, sizeof(rate));
    printf("lab %s: %u hosts on a %s%s\n", r->lab.name, config.nhosts,
           config.hub ? "hub of " : "switch", config.hub ? rate : "");
    printf("%-6s %-12s %-10s %-8s %-6s %-6s %9s\n", "host", "address", "rate",
           "latency", "cable", "cpu", "processes");
    for (unsigned i = 0; i < config.nhosts; i++)
        print_host(&r->lab, &config.hosts[i], i);
    return nf_finish_output();
}

static int append_lab(const struct lab *lab, void *arg)
{
    if (lab_holder(lab, "lab") != 0)
        json_array_append_new(arg, json_string(lab->name));
    return 0;
}

int lab_verb_list(const struct lab_request *r)
{
    json_t *labs = json_array();
    json_t *name;
    size_t i;

    lab_each(append_lab, labs);
    if (r->json)
        return nf_print_json(json_pack("{s:o}", "labs", labs));
    json_array_foreach(labs, i, name)
    {
        puts(json_string_value(name));
    }
    json_decref(labs);
    return nf_finish_output();
}

/* --- hosts, pids -------------------------------------------------------- */

int lab_verb_hosts(const struct lab_request *r)
{
    struct lab_config config;
    struct nf_error err;
    char name[LAB_HOST_BYTES];

    if (lab_config_load(&r->lab, &config, &err) != NF_OK)
        return nf_failure(&err);
    printf("# lab %s, for nowfarm run --hosts on ws0\n", r->lab.name);
    for (unsigned i = r->all ? 0 : 1; i < config.nhosts; i++) {
        lab_host_name(i, name);
        puts(name);
    }
    return nf_finish_output();
}

static void print_pid(pid_t pid, void *arg)
{
    (void)arg;
    printf("%ld\n", (long)pid);
}

int lab_verb_pids(const struct lab_request *r)
{
    struct lab_config config;
    struct nf_error err;
    unsigned index;

    if (lab_config_load(&r->lab, &config, &err) != NF_OK ||
        lab_host_index(&r->lab, &config, r->args[0], &index, &err) != NF_OK)
        return nf_failure(&err);
    lab_each_process(&r->lab, r->args[0], print_pid, NULL);
    return nf_finish_output();
}

/* --- check -------------------------------------------------------------- */

static const struct {
    const char *key, *what;
} features[] = {
    { "network", "hosts on a switch" },
    { "rates", "link rates" },
    { "hub", "a shared hub" },
    { "latency", "latencies" },
    { "cpu", "slow hosts" },
    { "cubic", "TCP by CUBIC" },
};

/* The line of probe's text that begins with @p key, without the key; "" if
 * there is none. */
static void find_line(const char *text, const char *key, char *rest_p,
                      size_t bytes)
{
    size_t length = strlen(key);

    rest_p[0] = '\0';
    for (; text != NULL && *text != '\0'; text = strchr(text, '\n')) {
        text += *text == '\n';
        if (strncmp(text, key, length) == 0 && text[length] == ' ') {
            snprintf(rest_p, bytes, "%.*s",
                     (int)strcspn(text + length + 1, "\n"), text + length + 1);
            return;
        }
    }
}

/* Whether quotas can be set: by making a group, and removing it. */
static void probe_cpu(const struct lab *lab, char *text, size_t bytes)
{
    struct lab_cgroup cgroup;
    struct nf_error err;
    size_t used = strlen(text);
    struct lab own = *lab;
    enum nf_status status;

    snprintf(own.name, sizeof(own.name), "check-%ld", (long)getpid());
    status = lab_cgroup_find_here(&cgroup, &err);
    if (status == NF_OK)
        status = lab_cgroup_make(&cgroup, &own, 1, &err);
    if (status == NF_OK) {
        status = lab_cgroup_limit(&cgroup, &own, "ws0", 50, &err);
        lab_cgroup_remove(&cgroup, &own, NULL);
    }
    snprintf(text + used, bytes - used, "cpu %s%s\n",
             status == NF_OK ? "yes" : "no ", status == NF_OK ? "" : err.text);
}

static int print_check(const char *text, bool as_json)
{
    json_t *list = json_object(), *reasons = json_object();
    char said[512];
    bool can = false;

    for (size_t i = 0; i < sizeof(features) / sizeof(features[0]); i++) {
        bool yes;
        const char *why;

        find_line(text, features[i].key, said, sizeof(said));
        yes = strcmp(said, "yes") == 0;
        why = said[0] == '\0' ? "without a network" : said + (yes ? 3 : 2);
        if (i == 0)
            can = yes;
        why += strspn(why, " ");
        json_object_set_new(list, features[i].key, json_boolean(yes));
        if (!yes)
            json_object_set_new(reasons, features[i].key, json_string(why));
        if (!as_json)
            printf("%-18s %-3s%s%s\n", features[i].what, yes ? "yes" : "no",
                   yes ? "" : "  ", yes ? "" : why);
    }
    if (as_json)
        nf_print_json(json_pack("{s:b, s:s, s:O, s:O}", "possible", (int)can,
                                "as", geteuid() == 0 ? "root" : "user",
                                "features", list, "reasons", reasons));
    json_decref(list);
    json_decref(reasons);
    return can ? nf_finish_output() : NF_EXIT_UNREACHABLE;
}

int lab_verb_check(const struct lab_request *r)
{
    char text[4096];
    struct nf_error err;

    if (lab_probe(r->program, text, sizeof(text) - 1024, &err) != NF_OK)
        return nf_failure(&err);
    probe_cpu(&r->lab, text, sizeof(text));
    return print_check(text, r->json);
}
