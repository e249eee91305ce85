/* nowfarm hosts, add, remove: the virtual machine. */
#include "config.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "apps/nowfarm/cli.h"
#include "apps/nowfarm/commands.h"
#include "common/base/error.h"
#include "common/base/units.h"
#include "common/net/vm.h"
#include "master/hosts.h"

enum { DEFAULT_LIMIT_US = 30 * 1000000 };

struct request {
    int json, all;
    char *limit;    /* --timeout, popt's by malloc */
    char line[256]; /* all arguments: a host's name and PVM's words */
};

static int append_word(struct request *r, const char *word)
{
    size_t used = strlen(r->line);

    if (strlen(word) + used + 2 > sizeof(r->line))
        return nf_usage_error("%.60s...: too long for a host", word);
    snprintf(r->line + used, sizeof(r->line) - used, "%s%s",
             used > 0 ? " " : "", word);
    return NF_EXIT_OK;
}

static int parse(int argc, const char **argv, const struct poptOption *table,
                 const char *about, struct request *r)
{
    poptContext context = poptGetContext(NULL, argc, argv, table, 0);
    const char *word;
    int status;

    poptSetOtherOptionHelp(context, about);
    status = nf_read_options(context);
    while (status == NF_EXIT_OK && (word = poptGetArg(context)) != NULL)
        status = append_word(r, word);
    poptFreeContext(context);
    return status;
}

static json_t *hosts_to_json(const struct nf_vm_host *hosts, size_t count)
{
    json_t *list = json_array();

    for (size_t i = 0; i < count; i++)
        json_array_append_new(
            list, json_pack("{s:s, s:s, s:b}", "host", hosts[i].name, "arch",
                            hosts[i].arch, "here", (int)hosts[i].here));
    return json_pack("{s:o}", "hosts", list);
}

static int print_hosts(bool json)
{
    struct nf_vm_host *hosts;
    size_t count;
    struct nf_error err;
    int status;

    if (nf_vm_hosts(&hosts, &count, &err) != NF_OK)
        return nf_failure(&err);
    if (json) {
        status = nf_print_json(hosts_to_json(hosts, count));
    } else {
        for (size_t i = 0; i < count; i++)
            printf("%-24s %-10s%s\n", hosts[i].name, hosts[i].arch,
                   hosts[i].here ? " (here)" : "");
        status = nf_finish_output();
    }
    free(hosts);
    return status;
}

int nf_cmd_hosts(int argc, const char **argv)
{
    struct request r = { 0 };
    const struct poptOption table[] = {
        { "json", '\0', POPT_ARG_NONE, &r.json, 0,
          "print {\"hosts\": [{host, arch, here}, ...]}", NULL },
        POPT_AUTOHELP POPT_TABLEEND,
    };
    int status =
        parse(argc, argv, table,
              "[OPTION...]\n\nList the hosts of the virtual machine.", &r);

    if (status != NF_EXIT_OK)
        return status;
    if (r.line[0] != '\0')
        return nf_usage_error("hosts: unexpected argument \"%s\"", r.line);
    return print_hosts(r.json);
}

/* The host and the time limit that the arguments name. */
static int read_change(const struct request *r, struct nf_host *host_p,
                       int64_t *limit_us_p)
{
    struct nf_error err;

    *limit_us_p = DEFAULT_LIMIT_US;
    if (r->limit != NULL && nf_parse_time_us(r->limit, limit_us_p) != NF_OK)
        return nf_usage_error("--timeout %s: want a time with its unit, as 10s",
                              r->limit);
    if (nf_host_parse(r->line, host_p, &err) != NF_OK)
        return nf_failure(&err);
    if (host_p->name[0] == '\0')
        return nf_usage_error("which host? (see --help)");
    if (host_p->slaves != 0 || host_p->slots != 0)
        return nf_usage_error("slaves= and slots= belong in a hosts file, for "
                              "nowfarm run --hosts");
    return NF_EXIT_OK;
}

static int add(const struct request *r)
{
    struct nf_host host;
    struct nf_error err;
    int64_t limit_us;
    int status = read_change(r, &host, &limit_us);

    if (status != NF_EXIT_OK)
        return status;
    return nf_vm_add(host.line, limit_us, &err) == NF_OK ? NF_EXIT_OK
                                                         : nf_failure(&err);
}

int nf_cmd_add(int argc, const char **argv)
{
    struct request r = { 0 };
    const struct poptOption table[] = {
        { "timeout", '\0', POPT_ARG_STRING, &r.limit, 0,
          "give up waiting after; default 30s", "TIME" },
        POPT_AUTOHELP POPT_TABLEEND,
    };
    int status = parse(argc, argv, table,
                       "[OPTION...] HOST [ep=PATH...]\n\nAdd a host to the "
                       "virtual machine, starting it if none runs.  It then "
                       "stays until\n'nowfarm remove --all'.",
                       &r);

    if (status == NF_EXIT_OK)
        status = add(&r);
    free(r.limit);
    return status;
}

static int remove_host(const struct request *r)
{
    struct nf_host host;
    struct nf_error err;
    int64_t limit_us;
    int status;

    if (r->all) {
        if (r->line[0] != '\0')
            return nf_usage_error("remove: want HOST or --all, not both");
        return nf_vm_halt(&err) == NF_OK ? NF_EXIT_OK : nf_failure(&err);
    }
    status = read_change(r, &host, &limit_us);
    if (status != NF_EXIT_OK)
        return status;
    if (strcmp(host.line, host.name) != 0)
        return nf_usage_error("remove: want one host, not \"%s\"", host.line);
    return nf_vm_remove(host.name, limit_us, &err) == NF_OK ? NF_EXIT_OK
                                                            : nf_failure(&err);
}

int nf_cmd_remove(int argc, const char **argv)
{
    struct request r = { 0 };
    const struct poptOption table[] = {
        { "all", '\0', POPT_ARG_NONE, &r.all, 0,
          "halt the whole virtual machine", NULL },
        { "timeout", '\0', POPT_ARG_STRING, &r.limit, 0,
          "give up waiting after; default 30s", "TIME" },
        POPT_AUTOHELP POPT_TABLEEND,
    };
    int status = parse(argc, argv, table,
                       "[OPTION...] HOST | --all\n\nRemove a host from the "
                       "virtual machine.",
                       &r);

    if (status == NF_EXIT_OK)
        status = remove_host(&r);
    free(r.limit);
    return status;
}
