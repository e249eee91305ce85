/* nowfarm trees: every multicast tree, from the table itself. */
#include "config.h"
#include <stdio.h>
#include "apps/nowfarm/cli.h"
#include "apps/nowfarm/commands_tree.h"
#include "common/tree/hnow_table.h"
#include "common/tree/uniform.h"

static void print_one(const char *name, const char *summary, const char *cost,
                      const char *source)
{
    printf("%s: %s\n    cost: %s\n    source: %s\n", name, summary, cost,
           source);
}

static void print_text(void)
{
    puts("See one by `nowfarm tree NAME --nodes K --hold H --end E`.  k nodes, "
         "the root\nincluded; h between two sends of a node, e from the start "
         "of "
         "a send to the\nmessage's receipt.\n");
    for (size_t i = 0; nf_uniform_table[i] != NULL; i++) {
        const struct nf_uniform_algorithm *a = nf_uniform_table[i];

        print_one(a->name, a->summary, a->cost, a->source);
    }
    puts("\nFor hosts that differ, as measured: `nowfarm tree NAME --network "
         "MODEL --size BYTES`\n(which takes those above as well).  T(i,j) = "
         "S(i) + X(i,j) + R(j): sender, way, receiver.\n");
    for (size_t i = 0; nf_hnow_table[i] != NULL; i++) {
        const struct nf_hnow_algorithm *a = nf_hnow_table[i];

        print_one(a->name, a->summary, a->cost, a->source);
    }
}

static json_t *all_json(void)
{
    json_t *list = json_array(), *differ = json_array();

    for (size_t i = 0; nf_uniform_table[i] != NULL; i++) {
        const struct nf_uniform_algorithm *a = nf_uniform_table[i];

        json_array_append_new(
            list, json_pack("{s:s, s:s, s:s, s:s, s:b}", "name", a->name,
                            "summary", a->summary, "cost", a->cost, "source",
                            a->source, "on_chain", a->on_chain));
    }
    for (size_t i = 0; nf_hnow_table[i] != NULL; i++) {
        const struct nf_hnow_algorithm *a = nf_hnow_table[i];

        json_array_append_new(differ,
                              json_pack("{s:s, s:s, s:s, s:s}", "name", a->name,
                                        "summary", a->summary, "cost", a->cost,
                                        "source", a->source));
    }
    return json_pack("{s:o, s:o}", "trees", list, "network_trees", differ);
}

int nf_cmd_trees(int argc, const char **argv)
{
    int json = 0, rc;
    const struct poptOption options[] = { { "json", '\0', POPT_ARG_NONE, &json,
                                            0, "print one JSON object", NULL },
                                          POPT_AUTOHELP POPT_TABLEEND };
    poptContext context = poptGetContext(NULL, argc, argv, options, 0);

    rc = nf_read_options(context);
    if (rc == NF_EXIT_OK && poptPeekArg(context) != NULL)
        rc = nf_usage_error("trees: unexpected argument \"%s\"",
                            poptPeekArg(context));
    if (rc == NF_EXIT_OK && json)
        rc = nf_print_json(all_json());
    else if (rc == NF_EXIT_OK) {
        print_text();
        rc = nf_finish_output();
    }
    poptFreeContext(context);
    return rc;
}
