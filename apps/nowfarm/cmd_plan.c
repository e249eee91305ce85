/* nowfarm plan: the messages of a collective operation, one a line, and whether
 * they are right. */
#include "config.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "apps/nowfarm/cli.h"
#include "apps/nowfarm/commands_coll.h"
#include "apps/nowfarm/plan_exchange.h"
#include "apps/nowfarm/plan_network.h"
#include "common/base/alloc.h"
#include "common/base/error.h"
#include "common/coll/check.h"
#include "common/coll/prune.h"
#include "common/coll/wish.h"

static const char *const action_names[] = { "copy", "left", "right" };

struct request {
    const struct nf_coll_algorithm *algorithm;
    struct nf_coll_args args;
    uint64_t count; /* elements; UINT64_MAX: nothing is empty */
    struct nf_coll_wish wish;    /* the algorithm and what came with its name */
    struct nf_torus_load load;   /* of an all-to-all that was checked */
    struct plan_network network; /* of a broadcast; no hosts: not given */
    int check, json;
};

static bool is_exchange(const struct request *request)
{
    return request->algorithm->op == NF_COLL_ALLTOALL;
}

/* ---- output ---- */

/* How many parts the data are in, as the column "k" has it. */
static uint32_t column_k(const struct request *request)
{
    switch (request->algorithm->items) {
    case NF_ITEMS_SEGMENTS:
        return request->args.segments;
    case NF_ITEMS_SUBCUBE:
        return UINT32_C(1) << nf_coll_floor_log2(request->args.ranks);
    case NF_ITEMS_BLOCKS:
        return request->args.ranks;
    default:
        return 1;
    }
}

static void print_items(const struct nf_schedule *schedule,
                        const struct nf_coll_message *message)
{
    const char *comma = "";

    if (message->nspans == 0)
        putchar('0');
    for (uint32_t i = 0; i < message->nspans; i++) {
        struct nf_coll_span span = schedule->spans[message->first_span + i];

        for (uint32_t j = 0; j < span.count; j++, comma = ",")
            printf("%s%u", comma, span.first + j);
    }
}

static int print_text(const struct request *request,
                      const struct nf_schedule *schedule)
{
    uint32_t k = column_k(request);

    if (is_exchange(request)) {
        nf_print_exchange(request->args.ranks, schedule);
        if (request->check)
            nf_print_load(request->algorithm, &request->load);
        return nf_finish_output();
    }
    for (size_t i = 0; i < schedule->count; i++) {
        const struct nf_coll_message *m = &schedule->messages[i];

        printf("%s\t%u\t%u\t%u\t%u\t%u\t%u\t", request->algorithm->name,
               request->args.ranks, request->args.root, k, m->round, m->src,
               m->dst);
        print_items(schedule, m);
        printf("\t%s%s%s\n", action_names[m->action],
               m->keep ? "+copy:car" : "", m->from_car ? ",from:car" : "");
    }
    return nf_finish_output();
}

static json_t *message_json(const struct nf_schedule *schedule,
                            const struct nf_coll_message *message,
                            int first_step)
{
    json_t *items = json_array();

    if (message->nspans == 0)
        json_array_append_new(items, json_integer(0));
    for (uint32_t i = 0; i < message->nspans; i++) {
        struct nf_coll_span span = schedule->spans[message->first_span + i];

        for (uint32_t j = 0; j < span.count; j++)
            json_array_append_new(items,
                                  json_integer((json_int_t)span.first + j));
    }
    return json_pack(
        "{s:I, s:I, s:I, s:o, s:s, s:b, s:b, s:o?}", "step",
        (json_int_t)message->round + first_step, "src",
        (json_int_t)message->src, "dst", (json_int_t)message->dst, "items",
        items, "action", action_names[message->action], "keep", message->keep,
        "from_car", message->from_car, "route",
        message->hops != 0
            ? json_pack("{s:I, s:I}", "side", (json_int_t)message->side, "hops",
                        (json_int_t)message->hops)
            : NULL);
}

static int print_json(const struct request *request,
                      const struct nf_schedule *schedule)
{
    int first_step = is_exchange(request) ? 1 : 0; /* as in the text */
    json_t *messages, *load = NULL;

    if (request->check && is_exchange(request)) {
        load = nf_load_json(request->algorithm, &request->args, schedule,
                            &request->load);
        if (load == NULL)
            return nf_memory_error();
    }
    messages = json_array();
    for (size_t i = 0; i < schedule->count; i++)
        json_array_append_new(
            messages,
            message_json(schedule, &schedule->messages[i], first_step));
    return nf_print_json(json_pack(
        "{s:s, s:I, s:I, s:I, s:I, s:o?, s:o?, s:o?, s:o}", "algorithm",
        request->algorithm->name, "ranks", (json_int_t)request->args.ranks,
        "root", (json_int_t)request->args.root, "segments",
        (json_int_t)column_k(request), "steps",
        (json_int_t)nf_schedule_rounds(schedule), "checked",
        request->check ? json_true() : json_null(), "load", load, "network",
        request->network.network.nhosts > 0
            ? plan_network_json(&request->network)
            : NULL,
        "messages", messages));
}

/* ---- checking ---- */

/* @param sizes_p  [items] of the claim; NULL: nothing is empty.  nf_free() it
 *  @return false: out of memory */
static bool find_sizes(const struct request *request, uint32_t items,
                       uint64_t **sizes_p)
{
    *sizes_p = NULL;
    if (request->count == UINT64_MAX || items == 0)
        return true;
    *sizes_p = nf_calloc(items, sizeof(**sizes_p));
    for (uint32_t i = 0; i < items && *sizes_p != NULL; i++)
        (*sizes_p)[i] = nf_coll_item_elements(
            request->algorithm, &request->args, request->count, i);
    return *sizes_p != NULL;
}

/* @return the exit status; if not NF_EXIT_OK, every fault told has a line */
static int check(const struct request *request,
                 const struct nf_schedule *schedule)
{
    struct nf_coll_claim claim =
        nf_coll_claim_of(request->algorithm, &request->args);
    struct nf_coll_faults faults;
    struct nf_error err;
    enum nf_status status;
    uint64_t *sizes;

    if (!find_sizes(request, claim.items, &sizes))
        return nf_memory_error();
    claim.sizes = sizes;
    status = nf_coll_check(&claim, schedule, &faults, &err);
    nf_free(sizes);
    if (status == NF_OK)
        return NF_EXIT_OK;
    if (status != NF_ERR_VERIFY)
        return nf_failure(&err);
    for (uint64_t i = 0; i < faults.count && i < NF_FAULTS_MAX; i++)
        nf_usage_error("%s: %s", request->algorithm->name, faults.list[i].text);
    if (faults.count > NF_FAULTS_MAX)
        nf_usage_error("%s: and %llu more faults", request->algorithm->name,
                       (unsigned long long)(faults.count - NF_FAULTS_MAX));
    return NF_EXIT_FAILED;
}

/* What it loads the torus with: what is empty is left out already. */
static int measure(struct request *request, const struct nf_schedule *schedule)
{
    enum nf_status status =
        nf_torus_measure(request->args.shape, request->args.ranks, schedule, 0,
                         &request->load, NULL);

    return status == NF_OK ? NF_EXIT_OK : nf_memory_error();
}

static int run(struct request *request)
{
    struct nf_schedule schedule;
    struct nf_error err;
    int rc = NF_EXIT_OK;

    if (nf_coll_make(request->algorithm, &request->args, NF_ALL_RANKS,
                     &schedule, &err) != NF_OK)
        rc = nf_failure(&err);
    if (rc == NF_EXIT_OK && request->count != UINT64_MAX)
        nf_coll_prune(&schedule, request->algorithm, &request->args,
                      request->count);
    if (rc == NF_EXIT_OK && schedule.failed)
        rc = nf_memory_error();
    if (rc == NF_EXIT_OK && request->check)
        rc = check(request, &schedule);
    if (rc == NF_EXIT_OK && request->check && is_exchange(request))
        rc = measure(request, &schedule);
    if (rc == NF_EXIT_OK)
        rc = request->json ? print_json(request, &schedule)
                           : print_text(request, &schedule);
    nf_schedule_fini(&schedule);
    nf_torus_load_fini(&request->load);
    return rc;
}

/* ---- arguments ---- */

static bool has_root(enum nf_coll_op op)
{
    return op == NF_COLL_BCAST || op == NF_COLL_REDUCE ||
           op == NF_COLL_GATHER || op == NF_COLL_SCATTER;
}

/* Names of algorithms begin with their operation, which may be left out. */
static const char *without_op(const char *op, const char *name)
{
    size_t length = strlen(op);

    return strncmp(name, op, length) == 0 && name[length] == '.' ? name + length + 1
                                                                 : name;
}

static int read_algorithm(const char *op, const char *name,
                          struct request *request)
{
    char full[160];
    struct nf_error err;
    int known = 0;

    if (op == NULL || name == NULL)
        return nf_usage_error("plan: want an operation and an algorithm (see: "
                              "nowfarm plans)");
    for (size_t i = 0; nf_coll_table[i] != NULL; i++)
        known |= strcmp(nf_coll_op_names[nf_coll_table[i]->op], op) == 0;
    if (!known)
        return nf_usage_error("plan: no operation \"%s\" (see: nowfarm plans)",
                              op);
    name = without_op(op, name);
    snprintf(full, sizeof(full), "%s.%.*s", op, (int)strcspn(name, ":"), name);
    if (nf_coll_find(full) == NULL)
        return nf_usage_error("plan: no algorithm \"%s\" for %s (see: nowfarm "
                              "plans)",
                              name, op);
    snprintf(full, sizeof(full), "%s.%s", op, name);
    if (nf_coll_wish_read(full, &request->wish, &err) != NF_OK)
        return nf_usage_error("plan: %s", err.text);
    request->algorithm = request->wish.algorithm;
    nf_coll_use_params(&request->wish.params, &request->args);
    return NF_EXIT_OK;
}

/* Texts of options; NULL: not given. */
struct numbers {
    char *ranks, *root, *segments, *count, *per_host, *shape, *radix, *radices;
    char *network, *size;
};

/* k: what was asked for or the algorithm's own, and no more than elements. */
static int read_segments(const struct numbers *numbers, struct request *request)
{
    const struct nf_coll_algorithm *algorithm = request->algorithm;
    uint64_t k = request->wish.segments;
    int rc = NF_EXIT_OK;

    if (numbers->segments != NULL)
        rc = nf_read_count("--segments", numbers->segments, 1,
                           NF_COLL_SEGMENTS_MAX, &k);
    else if (k == 0)
        k = algorithm->default_segments != NULL
                ? algorithm->default_segments(request->args.ranks)
                : 1;
    if (rc == NF_EXIT_OK && numbers->count != NULL)
        rc = nf_read_count("--count", numbers->count, 0, UINT64_MAX - 1,
                           &request->count);
    if (algorithm->items != NF_ITEMS_SEGMENTS)
        k = 1;
    request->args.segments = nf_coll_clamp_segments(request->count, k);
    return rc;
}

/* Neighbours share a host, so many of them. */
static int read_hosts(const struct numbers *numbers, struct request *request)
{
    static uint32_t hosts[NF_COLL_RANKS_MAX];
    uint64_t per_host = 1;
    int rc = NF_EXIT_OK;

    if (numbers->per_host != NULL && request->algorithm->levels_us == NULL)
        return nf_usage_error("--per-host: %s is not of two levels",
                              request->algorithm->name);
    if (numbers->per_host != NULL)
        rc = nf_read_count("--per-host", numbers->per_host, 1,
                           NF_COLL_RANKS_MAX, &per_host);
    for (uint32_t r = 0; r < request->args.ranks; r++)
        hosts[r] = r / (uint32_t)per_host;
    request->args.hosts = hosts;
    return rc;
}

/* What only an all-to-all has, and what it has not.
 * @param ranks_p  0: the shape says it */
static int read_exchange(const struct numbers *numbers, struct request *request,
                         uint64_t *ranks_p)
{
    const char *given = numbers->shape != NULL     ? "--shape"
                        : numbers->radix != NULL   ? "--radix"
                        : numbers->radices != NULL ? "--radices"
                                                   : NULL;
    struct nf_coll_params *params = &request->wish.params;
    uint64_t radix = 0;
    int rc = NF_EXIT_OK;

    if (given != NULL && !is_exchange(request))
        return nf_usage_error("%s: only for alltoall", given);
    if (numbers->radix != NULL && request->algorithm->radix == 0)
        return nf_usage_error("--radix: %s has none", request->algorithm->name);
    if (numbers->radices != NULL &&
        request->algorithm != &nf_coll_alltoall_mixed)
        return nf_usage_error("--radices: only for alltoall mixed");
    if (numbers->shape != NULL)
        rc = nf_read_sides("--shape", numbers->shape, &params->shape);
    if (rc == NF_EXIT_OK && numbers->ranks == NULL && params->shape.count > 0)
        *ranks_p = nf_coll_sides_product(&params->shape);
    if (rc == NF_EXIT_OK && numbers->radix != NULL) {
        rc = nf_read_count("--radix", numbers->radix, 1, NF_COLL_RANKS_MAX,
                           &radix);
        params->radix = (uint32_t)radix;
    }
    if (rc == NF_EXIT_OK && numbers->radices != NULL)
        rc = nf_read_sides("--radices", numbers->radices, &params->radices);
    nf_coll_use_params(params, &request->args);
    return rc;
}

/* Ranks are the hosts of the model. */
static int read_network(const struct numbers *numbers, struct request *request,
                        uint64_t *ranks_p)
{
    int rc;

    if (numbers->network != NULL && request->algorithm->op != NF_COLL_BCAST)
        return nf_usage_error("--network: only for bcast");
    if (numbers->network != NULL && numbers->count != NULL)
        return nf_usage_error("--count: with --network there is --size");
    rc = plan_network_read(numbers->network, numbers->size, &request->network);
    if (rc == NF_EXIT_OK && request->network.network.nhosts > 0) {
        *ranks_p = request->network.network.nhosts;
        if (numbers->ranks != NULL)
            rc = nf_read_count("--ranks", numbers->ranks, *ranks_p, *ranks_p,
                               ranks_p);
    }
    return rc;
}

/* Of a network that may be a host's name. */
static int read_root(const struct numbers *numbers, struct request *request,
                     uint64_t ranks)
{
    uint64_t root = 0;
    int rc = NF_EXIT_OK;

    if (numbers->root != NULL && numbers->network != NULL)
        return plan_network_host("--root", numbers->root,
                                 &request->network.network, (uint32_t)ranks,
                                 numbers->network, &request->args.root);
    if (numbers->root != NULL)
        rc = nf_read_count("--root", numbers->root, 0, ranks - 1, &root);
    if (rc == NF_EXIT_OK && root != 0 && !has_root(request->algorithm->op))
        rc = nf_usage_error("--root %s: %s has no root", numbers->root,
                            nf_coll_op_names[request->algorithm->op]);
    request->args.root = (uint32_t)root;
    return rc;
}

static int read_numbers(const struct numbers *numbers, struct request *request)
{
    uint64_t ranks = 0;
    int rc = read_exchange(numbers, request, &ranks);

    if (rc == NF_EXIT_OK)
        rc = read_network(numbers, request, &ranks);
    if (rc == NF_EXIT_OK && ranks == 0)
        rc = nf_read_count("--ranks", numbers->ranks, 1, NF_COLL_RANKS_MAX,
                           &ranks);
    else if (rc == NF_EXIT_OK && ranks > NF_COLL_RANKS_MAX)
        rc = nf_usage_error("--shape %s: want at most %d ranks", numbers->shape,
                            NF_COLL_RANKS_MAX);
    if (rc == NF_EXIT_OK)
        rc = read_root(numbers, request, ranks);
    request->args.ranks = (uint32_t)ranks;
    if (rc == NF_EXIT_OK)
        rc = read_segments(numbers, request);
    if (rc == NF_EXIT_OK)
        rc = read_hosts(numbers, request);
    if (rc == NF_EXIT_OK)
        request->algorithm = nf_coll_for_rings(
            request->algorithm, &request->wish.params.shape,
            request->args.ranks);
    if (rc == NF_EXIT_OK && request->network.network.nhosts > 0)
        rc = plan_network_make(&request->network, request->algorithm,
                               numbers->segments != NULL, &request->args);
    return rc;
}

int nf_cmd_plan(int argc, const char **argv)
{
    struct request request = { .count = UINT64_MAX };
    struct numbers numbers = { .ranks = NULL };
    const struct poptOption options[] = {
        { "ranks", '\0', POPT_ARG_STRING, &numbers.ranks, 0,
          "how many take part", "P" },
        { "root", '\0', POPT_ARG_STRING, &numbers.root, 0,
          "the rank that has or gets the data (0); with --network a host",
          "R" },
        { "segments", '\0', POPT_ARG_STRING, &numbers.segments, 0,
          "segments of the vector, for algorithms that have them", "K" },
        { "count", '\0', POPT_ARG_STRING, &numbers.count, 0,
          "elements of the vector: leave out what is empty", "N" },
        { "per-host", '\0', POPT_ARG_STRING, &numbers.per_host, 0,
          "ranks that share a host, for algorithms of two levels (1)", "N" },
        { "shape", '\0', POPT_ARG_STRING, &numbers.shape, 0,
          "alltoall: the grid that the ranks are, rows x columns or more sides",
          "RxC" },
        { "radix", '\0', POPT_ARG_STRING, &numbers.radix, 0,
          "alltoall: of algorithms that have one", "R" },
        { "radices", '\0', POPT_ARG_STRING, &numbers.radices, 0,
          "alltoall mixed: lowest digit first (fewest steps)", "RxR.." },
        { "network", '\0', POPT_ARG_STRING, &numbers.network, 0,
          "bcast: between the hosts of a measured network, with the tree and "
          "the segments that are best there",
          "MODEL" },
        { "size", '\0', POPT_ARG_STRING, &numbers.size, 0,
          "of the vector, with --network, as 64KiB", "BYTES" },
        { "check", '\0', POPT_ARG_NONE, &request.check, 0,
          "see whether the messages do what they should", NULL },
        { "json", '\0', POPT_ARG_NONE, &request.json, 0,
          "print one JSON object", NULL },
        POPT_AUTOHELP POPT_TABLEEND
    };
    poptContext context = poptGetContext(NULL, argc, argv, options, 0);
    const char *op, *name;
    int rc;

    poptSetOtherOptionHelp(context,
                           "OPERATION ALGORITHM --ranks P | --shape RxC | "
                           "--network MODEL --size BYTES");
    rc = nf_read_options(context);
    op = poptGetArg(context);
    name = poptGetArg(context);
    if (rc == NF_EXIT_OK)
        rc = read_algorithm(op, name, &request);
    if (rc == NF_EXIT_OK && poptPeekArg(context) != NULL)
        rc = nf_usage_error("plan: unexpected argument \"%s\"",
                            poptPeekArg(context));
    if (rc == NF_EXIT_OK)
        rc = read_numbers(&numbers, &request);
    if (rc == NF_EXIT_OK)
        rc = run(&request);
    poptFreeContext(context);
    plan_network_fini(&request.network);
    free(numbers.network);
    free(numbers.size);
    free(numbers.ranks);
    free(numbers.root);
    free(numbers.segments);
    free(numbers.count);
    free(numbers.per_host);
    free(numbers.shape);
    free(numbers.radix);
    free(numbers.radices);
    return rc;
}
