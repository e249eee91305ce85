/* nowfarm plans: every algorithm for collective operations, from the table
 * itself. */
#include "config.h"
#include <stdio.h>
#include "apps/nowfarm/cli.h"
#include "apps/nowfarm/commands_coll.h"
#include "common/coll/coll.h"

static const char *ports_name(enum nf_coll_ports ports)
{
    switch (ports) {
    case NF_PORTS_HALF:
        return "half duplex";
    case NF_PORTS_FULL:
        return "full duplex";
    case NF_PORTS_MANY:
        return "any number";
    }
    return "?";
}

/* @return NULL if nothing is combined */
static const char *order_name(const struct nf_coll_algorithm *algorithm)
{
    switch (algorithm->op) {
    case NF_COLL_REDUCE:
    case NF_COLL_ALLREDUCE:
    case NF_COLL_REDUCE_SCATTER:
    case NF_COLL_SCAN:
    case NF_COLL_EXSCAN:
        break;
    default:
        return NULL;
    }
    switch (algorithm->order) {
    case NF_ORDER_RANKS:
        return "ranks";
    case NF_ORDER_ROTATED:
        return "rotated";
    case NF_ORDER_HOSTS:
        return "hosts";
    case NF_ORDER_COMMUTATIVE:
        return "commutative";
    }
    return "?";
}

static const char *operators_text(const char *order)
{
    switch (order[0]) {
    case 'c':
        return "commutative";
    case 'h':
        return "any if the ranks of each host are consecutive, else "
               "commutative";
    default:
        return order[1] == 'a' ? "any"
                               : "any if the root is 0, else "
                                 "commutative";
    }
}

static const char *items_name(enum nf_coll_items items)
{
    switch (items) {
    case NF_ITEMS_NONE:
        return "none";
    case NF_ITEMS_WHOLE:
        return "whole";
    case NF_ITEMS_SEGMENTS:
        return "k segments";
    case NF_ITEMS_SUBCUBE:
        return "H blocks";
    case NF_ITEMS_BLOCKS:
        return "P blocks";
    case NF_ITEMS_PAIRS:
        return "P^2 blocks";
    }
    return "?";
}

static void print_other_names(const struct nf_coll_algorithm *a)
{
    const char *name;

    for (size_t n = 0; (name = nf_coll_other_name(a, n)) != NULL; n++)
        printf("%s%s", n == 0 ? "    also: " : ", ", name);
    if (nf_coll_other_name(a, 0) != NULL)
        putchar('\n');
}

static json_t *other_names_json(const struct nf_coll_algorithm *a)
{
    json_t *list = json_array();
    const char *name;

    for (size_t n = 0; (name = nf_coll_other_name(a, n)) != NULL; n++)
        json_array_append_new(list, json_string(name));
    return list;
}

static void print_text(void)
{
    puts(
        "Each is an operation, a dot, and the algorithm; see it by `nowfarm "
        "plan\nOPERATION ALGORITHM --ranks P`.  P ranks; n = floor(log2 P), "
        "H = 2^n,\nq = ceil(log2 P); k segments; m bytes; a message takes "
        "T(m) = a + b m,\nof which its sender is busy for o_s; combining takes "
        "C(m) = g m; HD, FD: on\nhalf-duplex, full-duplex ports.  What it "
        "keeps is "
        "beyond the user's buffers, in\nthe member that keeps most.\n");
    for (size_t i = 0; nf_coll_table[i] != NULL; i++) {
        const struct nf_coll_algorithm *a = nf_coll_table[i];
        const char *order = order_name(a);

        printf("%s: %s\n", a->name, a->summary);
        print_other_names(a);
        printf("    cost: %s\n", a->cost);
        printf("    data: %s; ports: %s%s%s%s\n", items_name(a->items),
               ports_name(a->ports), order != NULL ? "; operators: " : "",
               order != NULL ? operators_text(order) : "",
               a->power_of_two ? "; P = 2^n only" : "");
        if (a->kept != NULL)
            printf("    keeps: %s\n", a->kept->text);
        printf("    source: %s\n", a->source);
    }
}

static json_t *all_json(void)
{
    json_t *list = json_array();

    for (size_t i = 0; nf_coll_table[i] != NULL; i++) {
        const struct nf_coll_algorithm *a = nf_coll_table[i];
        json_t *one = json_pack(
            "{s:s, s:s, s:s, s:s, s:s, s:s, s:s?, s:b, s:i}", "name", a->name,
            "op", nf_coll_op_names[a->op], "summary", a->summary, "cost",
            a->cost, "items", items_name(a->items), "ports",
            ports_name(a->ports), "order", order_name(a), "power_of_two",
            a->power_of_two, "radix", (int)a->radix);

        json_object_set_new(one, "other_names", other_names_json(a));
        json_object_set_new(one, "source", json_string(a->source));
        json_object_set_new(one, "keeps",
                            a->kept != NULL ? json_string(a->kept->text)
                                            : json_null());
        json_array_append_new(list, one);
    }
    return json_pack("{s:o}", "algorithms", list);
}

int nf_cmd_plans(int argc, const char **argv)
{
    int json = 0, rc;
    const struct poptOption options[] = { { "json", '\0', POPT_ARG_NONE, &json,
                                            0, "print one JSON object", NULL },
                                          POPT_AUTOHELP POPT_TABLEEND };
    poptContext context = poptGetContext(NULL, argc, argv, options, 0);

    rc = nf_read_options(context);
    if (rc == NF_EXIT_OK && poptPeekArg(context) != NULL)
        rc = nf_usage_error("plans: unexpected argument \"%s\"",
                            poptPeekArg(context));
    poptFreeContext(context);
    if (rc != NF_EXIT_OK)
        return rc;
    if (json)
        return nf_print_json(all_json());
    print_text();
    return nf_finish_output();
}
