/* nowfarm hosts, add, remove: the virtual machine. */
#include "config.h"
#include <jansson.h>
#include <popt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "apps/nowfarm/commands.h"
#include "common/base/error.h"
#include "common/base/units.h"
#include "common/net/vm.h"

struct request {
    int json, all;
    char *limit;
    const char *host;        /**< the argument, or NULL */
    char line[256];          /**< all arguments: name and PVM's options */
};

static int fail(const struct nf_error *err)
{
    fprintf(stderr, "nowfarm: %s\n", err->text);
    return nf_exit_status(err->status);
}

static int usage(const char *command, const char *text)
{
    fprintf(stderr, "nowfarm: %s: %s (see: nowfarm %s --help)\n", command, text,
            command);
    return 2;
}

/* -1: go on; else the exit status. */
static int parse(int argc, const char **argv, const struct poptOption *table,
                 const char *arguments, struct request *r)
{
    char name[64];
    poptContext context;
    const char *word;
    int option, status = -1;

    snprintf(name, sizeof(name), "nowfarm %s", argv[0]);
    context = poptGetContext(name, argc, argv, table, 0);
    poptSetOtherOptionHelp(context, arguments);
    option = poptGetNextOpt(context);
    if (option < -1) {
        char text[256];

        snprintf(text, sizeof(text), "%s: %s",
                 poptBadOption(context, POPT_BADOPTION_NOALIAS),
                 poptStrerror(option));
        status = usage(argv[0], text);
    }
    while (status == -1 && (word = poptGetArg(context)) != NULL) {
        size_t used = strlen(r->line);

        if (strlen(word) + used + 2 > sizeof(r->line) ||
            strpbrk(word, " \t\n") != NULL || word[0] == '\0')
            status = usage(argv[0], "bad host name");
        else
            snprintf(r->line + used, sizeof(r->line) - used, "%s%s",
                     used > 0 ? " " : "", word);
    }
    if (r->line[0] != '\0')
        r->host = r->line;
    poptFreeContext(context);
    return status;
}

static int print_hosts(bool json)
{
    struct nf_vm_host *hosts;
    size_t count;
    struct nf_error err;
    json_t *list = json_array();

    if (nf_vm_hosts(&hosts, &count, &err) != NF_OK) {
        json_decref(list);
        return fail(&err);
    }
    for (size_t i = 0; i < count; i++) {
        if (json)
            json_array_append_new(
                list, json_pack("{s:s, s:s, s:b}", "host", hosts[i].name,
                                "arch", hosts[i].arch, "here", hosts[i].here));
        else
            printf("%-24s %-10s%s\n", hosts[i].name, hosts[i].arch,
                   hosts[i].here ? " (here)" : "");
    }
    if (json) {
        json_t *o = json_pack("{s:o}", "hosts", list);

        json_dumpf(o, stdout, JSON_INDENT(2));
        putchar('\n');
        json_decref(o);
    } else {
        json_decref(list);
    }
    free(hosts);
    return 0;
}

int nf_cmd_hosts(int argc, const char **argv)
{
    struct request r = { 0 };
    const struct poptOption table[] = {
        { "json", '\0', POPT_ARG_NONE, &r.json, 0, "print JSON", NULL },
        POPT_AUTOHELP POPT_TABLEEND
    };
    int status = parse(argc, argv, table, "\n\nList the hosts of the virtual "
                                          "machine.", &r);

    if (status == -1 && r.host != NULL)
        status = usage("hosts", "takes no argument");
    return status != -1 ? status : print_hosts(r.json);
}

static int change(const char *command, struct request *r,
                  enum nf_status (*act)(const char *, int64_t,
                                        struct nf_error *))
{
    struct nf_error err;
    int64_t limit_us = 30 * 1000000LL;

    if (r->limit != NULL && nf_parse_time_us(r->limit, &limit_us) != NF_OK)
        return usage(command, "--timeout wants a time with its unit, as 10s");
    if (r->host == NULL)
        return usage(command, "which host?");
    return act(r->host, limit_us, &err) == NF_OK ? 0 : fail(&err);
}

int nf_cmd_add(int argc, const char **argv)
{
    struct request r = { 0 };
    const struct poptOption table[] = {
        { "timeout", '\0', POPT_ARG_STRING, &r.limit, 0,
          "give up waiting after; default 30s", "TIME" },
        POPT_AUTOHELP POPT_TABLEEND
    };
    int status = parse(argc, argv, table,
                       "HOST [ep=PATH...]\n\nAdd a host to the virtual machine, "
                       "starting it if none runs.  It then stays until\n"
                       "'nowfarm remove --all'.",
                       &r);

    if (status == -1)
        status = change("add", &r, nf_vm_add);
    free(r.limit);
    return status;
}

int nf_cmd_remove(int argc, const char **argv)
{
    struct request r = { 0 };
    struct nf_error err;
    const struct poptOption table[] = {
        { "all", '\0', POPT_ARG_NONE, &r.all, 0,
          "halt the whole virtual machine", NULL },
        { "timeout", '\0', POPT_ARG_STRING, &r.limit, 0,
          "give up waiting after; default 30s", "TIME" },
        POPT_AUTOHELP POPT_TABLEEND
    };
    int status = parse(argc, argv, table,
                       "HOST | --all\n\nRemove a host from the virtual machine.",
                       &r);

    if (status == -1 && r.all)
        status = r.host != NULL ? usage("remove", "either HOST or --all")
                 : nf_vm_halt(&err) == NF_OK ? 0
                                             : fail(&err);
    else if (status == -1)
        status = change("remove", &r, nf_vm_remove);
    free(r.limit);
    return status;
}
