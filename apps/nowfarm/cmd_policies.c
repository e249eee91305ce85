/* nowfarm policies: every sizer, pacer and alias, from the tables themselves.
 */
#include "config.h"
#include "apps/nowfarm/commands.h"
#include <stdio.h>
#include <string.h>
#include "apps/nowfarm/cli.h"
#include "common/policy/policy.h"

static const char *kind_name(enum nf_param_kind kind)
{
    switch (kind) {
    case NF_PARAM_COUNT:
        return "count";
    case NF_PARAM_TIME:
        return "time";
    case NF_PARAM_TIMES:
        return "times";
    case NF_PARAM_REAL:
        return "number";
    case NF_PARAM_BOOL:
        return "0|1";
    case NF_PARAM_CHOICE:
        return "choice";
    case NF_PARAM_LIST:
        return "counts";
    }
    return "?";
}

/* ---- text ---- */

static void print_params(const struct nf_param *params)
{
    for (; params != NULL && params->name != NULL; params++) {
        const char *kind = params->kind == NF_PARAM_CHOICE
                               ? params->choices
                               : kind_name(params->kind);

        printf("    %s=%s", params->name, kind);
        if (params->unit != NULL && strcmp(params->unit, kind) != 0)
            printf(" (%s)", params->unit);
        if (params->default_text[0] != '\0')
            printf(", default %s", params->default_text);
        printf(": %s\n", params->help);
    }
}

static void print_entry(const char *name, const char *summary,
                        const char *source, const struct nf_param *params)
{
    printf("  %-14s%s\n", name, summary);
    print_params(params);
    printf("    source: %s\n", source);
}

static void print_text(void)
{
    const struct nf_policy_alias *alias = nf_policy_alias_table;

    puts("A policy is SIZER[:name=value,...][+PACER[:name=value,...]].\n"
         "A sizer alone means SIZER+pull, a pacer alone fixed+PACER; a single\n"
         "name takes the parameters of both.  Times need a unit: 100ms.\n\n"
         "Policies by one name:");
    for (; alias->name != NULL; alias++) {
        printf("  %-14s%s+%s%s%s: %s\n", alias->name, alias->sizer->name,
               alias->pacer->name, alias->pacer_default != NULL ? ":" : "",
               alias->pacer_default != NULL ? alias->pacer_default : "",
               alias->summary);
        if (alias->other_word != NULL)
            printf("  %-14s%s+%s\n", "", alias->sizer->name,
                   alias->other_pacer->name);
    }
    puts("\nSizers: how many units are in the next chunk");
    for (size_t i = 0; nf_sizer_table[i] != NULL; i++)
        print_entry(nf_sizer_table[i]->name, nf_sizer_table[i]->summary,
                    nf_sizer_table[i]->source, nf_sizer_table[i]->params);
    puts("\nPacers: when a chunk is sent, and to which slot");
    for (size_t i = 0; nf_pacer_table[i] != NULL; i++)
        print_entry(nf_pacer_table[i]->name, nf_pacer_table[i]->summary,
                    nf_pacer_table[i]->source, nf_pacer_table[i]->params);
}

/* ---- JSON ---- */

static json_t *params_json(const struct nf_param *params)
{
    json_t *list = json_array();

    for (; params != NULL && params->name != NULL; params++) {
        json_t *param = json_pack(
            "{s:s, s:s, s:s, s:s, s:s}", "name", params->name, "kind",
            kind_name(params->kind), "default", params->default_text, "unit",
            params->unit != NULL ? params->unit : "", "help", params->help);

        if (params->kind == NF_PARAM_CHOICE)
            json_object_set_new(param, "choices", json_string(params->choices));
        json_array_append_new(list, param);
    }
    return list;
}

static json_t *entry_json(const char *name, const char *summary,
                          const char *source, const struct nf_param *params)
{
    return json_pack("{s:s, s:s, s:s, s:o}", "name", name, "summary", summary,
                     "source", source, "params", params_json(params));
}

static json_t *all_json(void)
{
    json_t *sizers = json_array(), *pacers = json_array();
    json_t *aliases = json_array();
    const struct nf_policy_alias *alias = nf_policy_alias_table;

    for (size_t i = 0; nf_sizer_table[i] != NULL; i++)
        json_array_append_new(sizers, entry_json(nf_sizer_table[i]->name,
                                                 nf_sizer_table[i]->summary,
                                                 nf_sizer_table[i]->source,
                                                 nf_sizer_table[i]->params));
    for (size_t i = 0; nf_pacer_table[i] != NULL; i++)
        json_array_append_new(pacers, entry_json(nf_pacer_table[i]->name,
                                                 nf_pacer_table[i]->summary,
                                                 nf_pacer_table[i]->source,
                                                 nf_pacer_table[i]->params));
    for (; alias->name != NULL; alias++)
        json_array_append_new(
            aliases,
            json_pack("{s:s, s:s, s:s, s:s, s:s}", "name", alias->name,
                      "summary", alias->summary, "sizer", alias->sizer->name,
                      "pacer", alias->pacer->name, "pacer_default",
                      alias->pacer_default != NULL ? alias->pacer_default
                                                   : ""));
    return json_pack("{s:o, s:o, s:o}", "sizers", sizers, "pacers", pacers,
                     "aliases", aliases);
}

int nf_cmd_policies(int argc, const char **argv)
{
    int json = 0, rc;
    const struct poptOption options[] = { { "json", '\0', POPT_ARG_NONE, &json,
                                            0, "print one JSON object", NULL },
                                          POPT_AUTOHELP POPT_TABLEEND };
    poptContext context = poptGetContext(NULL, argc, argv, options, 0);

    rc = nf_read_options(context);
    if (rc == NF_EXIT_OK && poptPeekArg(context) != NULL)
        rc = nf_usage_error("policies: unexpected argument \"%s\"",
                            poptPeekArg(context));
    poptFreeContext(context);
    if (rc != NF_EXIT_OK)
        return rc;
    if (json)
        return nf_print_json(all_json());
    print_text();
    return nf_finish_output();
}
