/* What a group chooses by: types and operators, tables, what it was told, and
 * `deterministic`. */
#include "config.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "common/base/alloc.h"
#include "common/base/log.h"
#include "common/base/rng.h"
#include "common/group/types.h"
#include "tests/unit/group_sim.h"
#include "tests/unit/nf_unit.h"

enum { RANKS = 6 };

/* ------------------------------------------------------- types and operators
 */

/* A group that goes by a model of a fast network; sums of doubles are fast,
 * products of integers slow, user0 of doubles in between. */
static bool open_with_model(struct group_sim *sim)
{
    struct nf_coll_rules rules;
    struct nf_model *model = &rules.model;
    struct nf_error err;
    char *text = NULL;
    size_t bytes = 0;
    bool ok = sim_open(sim, RANKS, 1, NULL);

    nf_coll_rules_init(&rules);
    model->npieces = 1;
    model->pieces[0].start_us = 50;
    model->pieces[0].byte_us = 0.01;
    model->delta = 1;
    model->route = NF_MODEL_ROUTE_DIRECT;
    nf_model_set_combine(model, "double", "sum", 0.001);
    nf_model_set_combine(model, "double", "user0", 0.01);
    nf_model_set_combine(model, "double", "max", 0.1);
    nf_model_set_combine(model, "int32", "prod", 1);
    ok = nf_coll_rules_write(&rules, &text, &bytes, &err) == NF_OK && ok;
    for (uint32_t r = 0; r < RANKS; r++)
        ok = nf_group_set_rules(sim->groups[r], text, bytes, NULL, &err) ==
                 NF_OK &&
             ok;
    nf_free(text);
    nf_coll_rules_fini(&rules);
    return ok;
}

static double cost_of(struct nf_group *group, int type, int op)
{
    const struct nf_choice_query query = { .coll = { .op = NF_COLL_ALLREDUCE,
                                                     .ranks = RANKS,
                                                     .bytes = 80000,
                                                     .elements = 10000,
                                                     .commutative = true },
                                           .type = type,
                                           .op = op };
    struct nf_coll_choice choice = { .cost_us = -1 };
    struct nf_error err;

    CU_ASSERT_EQUAL(nf_group_choose(group, &query, &choice, &err), NF_OK);
    return choice.cost_us;
}

static const char *name_for(struct nf_group *group, enum nf_coll_op op,
                            bool plain)
{
    const struct nf_choice_query query = { .coll = { .op = op,
                                                     .ranks = RANKS,
                                                     .bytes = 80000,
                                                     .elements = 10000 },
                                           .plain = plain };
    struct nf_coll_choice choice;

    if (nf_group_choose(group, &query, &choice, NULL) != NF_OK)
        return "none";
    return choice.algorithm->name;
}

static const char *name_of(struct nf_group *group, bool plain)
{
    return name_for(group, NF_COLL_BCAST, plain);
}

static void ask_exchange(struct nf_group *group, uint64_t bytes,
                         struct nf_coll_choice *choice_p)
{
    const struct nf_choice_query query = { .coll = { .op = NF_COLL_ALLTOALL,
                                                     .ranks = RANKS,
                                                     .bytes = bytes,
                                                     .elements = bytes,
                                                     .commutative = true } };

    CU_ASSERT_EQUAL(nf_group_choose(group, &query, choice_p, NULL), NF_OK);
}

/* By the whole numbers that rank 0 has sent, not by this member's model. */
static void exchanges_go_by_whole_prices(void)
{
    struct group_sim sim;
    struct nf_coll_choice choice;
    struct nf_error err;

    CU_ASSERT_FATAL(open_with_model(&sim));
    for (uint32_t r = 0; r < RANKS; r++) {
        ask_exchange(sim.groups[r], 8, &choice);
        CU_ASSERT_STRING_EQUAL(choice.algorithm->name, "alltoall.mixed");
        CU_ASSERT(choice.params.radices.count == 2);
        ask_exchange(sim.groups[r], 5001, &choice); /* t_s B is 5000 */
        CU_ASSERT_STRING_EQUAL(choice.algorithm->name,
                               "alltoall.pairwise_shift");
    }
    sim.groups[1]->exchange.start_ns[0] *= 10;
    nf_group_forget_choices(sim.groups[1]);
    ask_exchange(sim.groups[1], 5001, &choice);
    CU_ASSERT_STRING_EQUAL(choice.algorithm->name, "alltoall.mixed");
    CU_ASSERT_EQUAL(
        nf_group_force(sim.groups[1], "alltoall.mixed:radices=6", &err), NF_OK);
    ask_exchange(sim.groups[1], 8, &choice);
    CU_ASSERT_EQUAL(choice.params.radices.count, 1);
    sim_close(&sim);
}

/* What was chosen is told with its radices. */
static void a_call_tells_its_radices(void)
{
    struct group_sim sim;
    static int64_t buffers[RANKS][2][RANKS];

    CU_ASSERT_FATAL(open_with_model(&sim));
    for (uint32_t r = 0; r < RANKS; r++) {
        const struct nf_call call = { .kind = NF_CALL_ALLTOALL,
                                      .send = buffers[r][0],
                                      .recv = buffers[r][1],
                                      .count = 1,
                                      .type = NF_ELEM_INT64 };

        sim_start(&sim, r, &call);
        CU_ASSERT(strncmp(nf_request_algorithm(sim.requests[r]),
                          "alltoall.mixed:radices=", 23) == 0);
    }
    CU_ASSERT(sim_run(&sim));
    sim_close(&sim);
}

/* Whatever is forced or measured, and whichever was asked for first. */
static void plain_calls_go_by_the_built_in_model(void)
{
    struct group_sim sim;
    char before[64];
    struct nf_error err;

    CU_ASSERT_FATAL(sim_open(&sim, RANKS, 1, NULL));
    snprintf(before, sizeof(before), "%s", name_of(sim.groups[0], false));
    CU_ASSERT_EQUAL(nf_group_force(sim.groups[0], "bcast.flat", &err), NF_OK);
    CU_ASSERT_STRING_EQUAL(name_of(sim.groups[0], false), "bcast.flat");
    CU_ASSERT_STRING_EQUAL(name_of(sim.groups[0], true), before);
    /* what comes before a timed call disturbs it least */
    CU_ASSERT_STRING_EQUAL(name_for(sim.groups[0], NF_COLL_BARRIER, true),
                           "barrier.dissemination");
    CU_ASSERT_STRING_NOT_EQUAL(name_for(sim.groups[0], NF_COLL_BARRIER, false),
                               "barrier.dissemination");
    CU_ASSERT_STRING_EQUAL(name_of(sim.groups[0], false), "bcast.flat");
    CU_ASSERT_STRING_NOT_EQUAL(before, "bcast.flat");
    sim_close(&sim);
}

static void combining_is_priced_by_type_and_operator(void)
{
    struct group_sim sim;
    double sum, max;

    CU_ASSERT_FATAL(open_with_model(&sim));
    sum = cost_of(sim.groups[0], NF_ELEM_FLOAT64, NF_SUM);
    max = cost_of(sim.groups[0], NF_ELEM_FLOAT64, NF_MAX);
    CU_ASSERT(sum < max);
    CU_ASSERT(max < cost_of(sim.groups[0], NF_ELEM_INT32, NF_PROD));
    CU_ASSERT(sum < cost_of(sim.groups[0], NF_ELEM_FLOAT64, NF_OPERATOR_USER));
    CU_ASSERT(max > cost_of(sim.groups[0], NF_ELEM_FLOAT64, NF_OPERATOR_USER));
    /* not measured: the slowest of the type, else of all */
    CU_ASSERT_EQUAL(cost_of(sim.groups[0], NF_ELEM_FLOAT64, NF_MIN), max);
    CU_ASSERT_EQUAL(
        cost_of(sim.groups[0], NF_ELEM_FLOAT64, NF_OPERATOR_USER + 1), max);
    CU_ASSERT_EQUAL(cost_of(sim.groups[0], NF_ELEM_USER, NF_OPERATOR_USER),
                    cost_of(sim.groups[0], NF_ELEM_INT32, NF_PROD));
    sim_close(&sim);
}

/* By their formula, as members share hosts. */
static void two_levels_have_segments_too(void)
{
    const struct nf_group_options options = {
        .algorithms = "bcast.two_level,reduce.two_level,allreduce.two_level"
    };
    static const enum nf_coll_op ops[] = { NF_COLL_BCAST, NF_COLL_REDUCE,
                                           NF_COLL_ALLREDUCE };
    struct group_sim sim;

    CU_ASSERT_FATAL(sim_open(&sim, RANKS, 1, &options));
    for (size_t i = 0; i < sizeof(ops) / sizeof(*ops); i++) {
        struct nf_choice_query query = { .coll = { .op = ops[i],
                                                   .ranks = RANKS,
                                                   .bytes = 8 << 20,
                                                   .elements = 1 << 20,
                                                   .commutative = true },
                                         .type = NF_ELEM_FLOAT64,
                                         .op = NF_SUM };
        struct nf_coll_choice choice = { .segments = 0 }, first = choice;

        for (uint32_t r = 0; r < RANKS; r++) {
            CU_ASSERT_EQUAL(
                nf_group_choose(sim.groups[r], &query, &choice, NULL), NF_OK);
            first = r == 0 ? choice : first;
            CU_ASSERT(strstr(choice.algorithm->name, ".two_level") != NULL);
            CU_ASSERT(choice.segments > 1);
            CU_ASSERT_EQUAL(choice.segments, first.segments);
        }
        query.coll.bytes = query.coll.elements = 8; /* not worth it */
        CU_ASSERT_EQUAL(nf_group_choose(sim.groups[0], &query, &choice, NULL),
                        NF_OK);
        CU_ASSERT_EQUAL(choice.segments, 1);
    }
    sim_close(&sim);
}

/* The call's own, in every member. */
static void calls_ask_for_their_type_and_operator(void)
{
    static const struct {
        enum nf_call_kind kind;
        int type, op;
    } calls[] = {
        { NF_CALL_ALLREDUCE, NF_ELEM_INT32, NF_PROD },
        { NF_CALL_REDUCE, NF_ELEM_FLOAT64, NF_MAX },
        { NF_CALL_SCAN, ROUND_MATRIX, ROUND_MULTIPLY },
    };
    static char buffers[RANKS][2][16000];

    for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
        struct group_sim sim;
        int found = 0;

        CU_ASSERT_FATAL(open_with_model(&sim));
        for (uint32_t r = 0; r < RANKS; r++) {
            const struct nf_call call = {
                .kind = calls[i].kind,
                .send = buffers[r][0],
                .recv = buffers[r][1],
                .count = 1000,
                .type = calls[i].type,
                .op = calls[i].op,
            };

            sim_start(&sim, r, &call);
        }
        CU_ASSERT(sim_run(&sim));
        for (uint32_t r = 0; r < RANKS; r++) {
            CU_ASSERT_EQUAL(sim.statuses[r], NF_OK);
            for (int c = 0; c < NF_CHOICES_KEPT; c++)
                found +=
                    sim.groups[r]->choices[c].valid &&
                    sim.groups[r]->choices[c].query.type == calls[i].type &&
                    sim.groups[r]->choices[c].query.op == calls[i].op;
        }
        CU_ASSERT_EQUAL(found, RANKS);
        sim_close(&sim);
    }
}

static void every_type_and_operator_has_a_name(void)
{
    char name[NF_CODE_NAME_BYTES], other[NF_CODE_NAME_BYTES];

    for (int i = NF_ELEM_BYTE; i <= NF_ELEM_LOC_FLOAT64; i++)
        for (int j = i; j <= NF_ELEM_LOC_FLOAT64; j++) {
            nf_elem_name(i, name);
            nf_elem_name(j, other);
            CU_ASSERT_EQUAL(strcmp(name, other) == 0, i == j);
        }
    for (int i = NF_SUM; i <= NF_MAXLOC; i++) {
        nf_operator_name(i, name);
        CU_ASSERT(name[0] != '\0');
    }
    nf_elem_name(NF_ELEM_USER + 3, name);
    CU_ASSERT_STRING_EQUAL(name, "user3");
    nf_operator_name(NF_OPERATOR_USER, name);
    CU_ASSERT_STRING_EQUAL(name, "user0");
}

/* -------------------------------------------------------------------- tables
 */

static char logged[1000];

static void keep_log(enum nf_log_level level, const char *line)
{
    (void)level;
    snprintf(logged + strlen(logged), sizeof(logged) - strlen(logged), "%s\n",
             line);
}

static bool write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    bool ok = file != NULL && fputs(text, file) >= 0;

    return file != NULL && fclose(file) == 0 && ok;
}

/* A table with a rule of a later version, of another host. */
static char *odd_table(void)
{
    struct nf_coll_rules rules;
    struct nf_error err;
    char *text = NULL;
    size_t bytes = 0;
    static char line[] = "rule bcast any 3 max bcast.later 1\n";

    nf_coll_rules_init(&rules);
    rules.model.npieces = 1;
    rules.model.pieces[0].start_us = 1;
    rules.model.delta = 1;
    rules.model.hosts_hash = 12345;
    rules.model.route = NF_MODEL_ROUTE_DIRECT;
    rules.unknown = line;
    rules.unknown_bytes = strlen(line);
    CU_ASSERT_EQUAL(nf_coll_rules_write(&rules, &text, &bytes, &err), NF_OK);
    return text;
}

static void a_table_that_does_not_fit_is_told_once(void)
{
    char path[] = "/tmp/nf-choice-XXXXXX";
    const struct nf_group_options options = { .table_file = path };
    struct nf_group *groups[3];
    struct nf_error err;
    int fd = mkstemp(path);
    char *text = odd_table(), want[400];

    CU_ASSERT(fd >= 0 && write_text(path, text));
    logged[0] = '\0';
    nf_log_set_sink(keep_log);
    CU_ASSERT_EQUAL(nf_group_open_threads(3, &options, groups, &err), NF_OK);
    nf_log_set_sink(NULL);
    snprintf(want, sizeof(want),
             "%s: line 9: rule ignored: algorithm \"bcast.later\" is not "
             "known\n%s: tuned between other hosts: not the best here, "
             "perhaps\n",
             path, path);
    CU_ASSERT_STRING_EQUAL(logged, want);
    if (strcmp(logged, want) != 0)
        printf("\n%s\n%s", logged, want);
    for (int i = 0; i < 3; i++) {
        CU_ASSERT(groups[i]->has_rules);
        nf_group_close(groups[i]);
    }
    nf_free(text);
    close(fd);
    unlink(path);
}

/* --------------------------------------------------------------- what is told
 */

static void tell_of(uint64_t elements, const char *wish,
                    const struct nf_coll_rules *rules, enum nf_coll_op op,
                    bool varies, const char *want, const char *why)
{
    const struct nf_coll_query query = { .op = op,
                                         .ranks = 5,
                                         .bytes = 8 * elements,
                                         .elements = elements,
                                         .commutative = true };
    struct nf_error err = { .text = "" };
    char text[NF_TOLD_BYTES];

    CU_ASSERT_EQUAL(
        nf_group_tell_choice(wish, rules, &query, varies, text, &err),
        why == NULL ? NF_OK : NF_ERR_INVAL);
    CU_ASSERT_STRING_EQUAL(text, want);
    CU_ASSERT(why == NULL || strstr(err.text, why) != NULL);
}
static void tell(const char *wish, const struct nf_coll_rules *rules,
                 enum nf_coll_op op, bool varies, const char *want)
{
    tell_of(10000, wish, rules, op, varies, want, NULL);
}

static void one_member_chooses_for_all(void)
{
    struct nf_coll_rules rules;
    const struct nf_coll_rule list[] = {
        { NF_COLL_BCAST, NF_CLASS_ANY, 5, UINT64_MAX,
          nf_coll_find("bcast.pipeline.fd"), NF_K_FIXED, 13 },
        { NF_COLL_REDUCE, NF_CLASS_COMMUTATIVE, 3, UINT64_MAX,
          nf_coll_find("reduce.linear"), NF_K_FIXED, 1 },
    };

    nf_coll_rules_init(&rules);
    rules.model.npieces = 1;
    rules.model.pieces[0].start_us = 100;
    rules.model.delta = 1;
    for (int i = 0; i < 2; i++)
        CU_ASSERT_EQUAL(nf_coll_rules_add(&rules, &list[i]), NF_OK);
    tell(NULL, NULL, NF_COLL_BCAST, false, "");
    tell(NULL, &rules, NF_COLL_BCAST, false, "bcast.pipeline.fd:k=13");
    tell(NULL, &rules, NF_COLL_REDUCE, false, "reduce.linear");
    tell(NULL, &rules, NF_COLL_GATHER, true, "");
    tell("reduce.binomial, bcast.circulant:k=3", &rules, NF_COLL_BCAST, false,
         "bcast.circulant:k=3");
    tell("gather.binomial", &rules, NF_COLL_GATHER, true, "gather.binomial");
    tell("gather.binomial", &rules, NF_COLL_REDUCE, false, "reduce.linear");
    tell("no.such", &rules, NF_COLL_REDUCE, false, "no.such");
    tell_of(1, "reduce.rabenseifner", &rules, NF_COLL_REDUCE, false, /* in empty blocks */
            "reduce.rabenseifner", NULL);
    /* what can't serve gives way to what would have been taken */
    tell_of(10000, "alltoall.pairwise_xor", NULL, NF_COLL_ALLTOALL, true, "",
            "wants 2, 4, 8, ... ranks, not 5");
    nf_coll_rules_fini(&rules);
}

/* ------------------------------------------------------------- deterministic
 */

enum { SUMMED = 900 };

/* Doubles of very different sizes: their sum depends on the order. */
static void draw(double *x, uint32_t rank, uint64_t number)
{
    struct nf_rng rng = { number * 1000 + rank };

    for (int i = 0; i < SUMMED; i++)
        x[i] = ((double)nf_rng_below(&rng, 1 << 30) - (1 << 29)) *
               (double)(UINT64_C(1) << nf_rng_below(&rng, 40));
}

/* One sum of all, in a group whose messages are delayed by @p seed.
 * @param model  a table with a model of its own is set first
 * @param result_p  [SUMMED]  @return the algorithm */
static const char *sum_up(enum nf_call_kind kind, uint64_t seed,
                          const struct nf_group_options *options, bool model,
                          double *result_p)
{
    static double in[RANKS][SUMMED], out[RANKS][SUMMED];
    struct group_sim sim;
    const char *name = "";

    CU_ASSERT_FATAL(sim_open(&sim, RANKS, seed, options));
    if (model) {
        char *text = odd_table();
        struct nf_error err;

        for (uint32_t r = 0; r < RANKS; r++)
            CU_ASSERT_EQUAL(nf_group_set_rules(sim.groups[r], text,
                                               strlen(text), NULL, &err),
                            NF_OK);
        nf_free(text);
    }
    for (uint32_t r = 0; r < RANKS; r++) {
        const struct nf_call call = { .kind = kind,
                                      .send = in[r],
                                      .recv = out[r],
                                      .count = SUMMED,
                                      .type = NF_ELEM_FLOAT64,
                                      .op = NF_SUM };

        draw(in[r], r, kind);
        sim_start(&sim, r, &call);
        CU_ASSERT_PTR_NOT_NULL_FATAL(sim.requests[r]);
        if (r == 0)
            name = nf_request_algorithm(sim.requests[r]);
    }
    CU_ASSERT(sim_run(&sim));
    for (uint32_t r = 1; r < RANKS && kind == NF_CALL_ALLREDUCE; r++)
        CU_ASSERT_EQUAL(memcmp(out[r], out[0], sizeof(out[0])), 0);
    memcpy(result_p, out[kind == NF_CALL_SCAN ? RANKS - 1 : 0], sizeof(out[0]));
    sim_close(&sim);
    return name;
}

/* The same bits whatever the delays, and whatever was measured. */
static void deterministic_sums_have_the_same_bits(void)
{
    const struct nf_group_options options = { .deterministic = 1 };
    static const enum nf_call_kind kinds[] = { NF_CALL_REDUCE,
                                               NF_CALL_ALLREDUCE,
                                               NF_CALL_SCAN };
    static double first[SUMMED], again[SUMMED];

    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
        const char *name = sum_up(kinds[i], 1, &options, false, first);

        CU_ASSERT_NOT_EQUAL(nf_coll_find(name)->order, NF_ORDER_COMMUTATIVE);
        for (uint64_t seed = 2; seed < 30; seed++) {
            const char *same =
                sum_up(kinds[i], seed, &options, seed % 2 == 1, again);

            CU_ASSERT_STRING_EQUAL(same, name);
            CU_ASSERT_EQUAL(memcmp(first, again, sizeof(first)), 0);
        }
    }
}

/* So do they without it, as long as the algorithm is the same. */
static void one_algorithm_has_the_same_bits(void)
{
    static double first[SUMMED], again[SUMMED];

    for (size_t i = 0; nf_coll_table[i] != NULL; i++) {
        const struct nf_coll_algorithm *a = nf_coll_table[i];
        const struct nf_group_options options = { .algorithms = a->name };

        if (a->power_of_two ||
            (a->op != NF_COLL_REDUCE && a->op != NF_COLL_ALLREDUCE))
            continue;
        (void)sum_up((enum nf_call_kind)a->op, 1, &options, false, first);
        for (uint64_t seed = 2; seed < 8; seed++) {
            const char *name =
                sum_up((enum nf_call_kind)a->op, seed, &options, false, again);

            CU_ASSERT_STRING_EQUAL(name, a->name);
            CU_ASSERT_EQUAL(memcmp(first, again, sizeof(first)), 0);
        }
    }
}

/* An operator need not commute then, and one that does is not taken advantage
 * of. */
static void deterministic_groups_keep_the_order(void)
{
    const struct nf_group_options options = { .deterministic = 1 };
    struct group_sim sim;

    CU_ASSERT_FATAL(sim_open(&sim, RANKS, 1, &options));
    for (int op = 0; op < NF_COLL_OPS; op++)
        for (uint64_t elements = 1; elements < 1 << 24; elements *= 8) {
            struct nf_choice_query query = { .coll = { (enum nf_coll_op)op,
                                                       RANKS, 0, elements,
                                                       elements, true },
                                             .type = NF_ELEM_FLOAT64,
                                             .op = NF_SUM };
            struct nf_coll_choice one, other;
            struct nf_error err;

            if (op != NF_COLL_REDUCE && op != NF_COLL_ALLREDUCE &&
                op != NF_COLL_REDUCE_SCATTER && op != NF_COLL_SCAN &&
                op != NF_COLL_EXSCAN)
                continue;
            CU_ASSERT_EQUAL(nf_group_choose(sim.groups[0], &query, &one, &err),
                            NF_OK);
            CU_ASSERT_NOT_EQUAL(one.algorithm->order, NF_ORDER_COMMUTATIVE);
            /* by P and count only */
            query.type = NF_ELEM_INT8;
            query.op = NF_PROD;
            query.coll.bytes = 3 * elements;
            CU_ASSERT_EQUAL(
                nf_group_choose(sim.groups[0], &query, &other, &err), NF_OK);
            CU_ASSERT_PTR_EQUAL(other.algorithm, one.algorithm);
            CU_ASSERT_EQUAL(other.segments, one.segments);
        }
    sim_close(&sim);
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "combining is priced by type and operator",
          combining_is_priced_by_type_and_operator },
        { "plain calls go by the built-in model",
          plain_calls_go_by_the_built_in_model },
        { "all-to-all goes by whole prices", exchanges_go_by_whole_prices },
        { "and tells its radices", a_call_tells_its_radices },
        { "two levels have segments too", two_levels_have_segments_too },
        { "calls ask for their type and operator",
          calls_ask_for_their_type_and_operator },
        { "every type and operator has a name",
          every_type_and_operator_has_a_name },
        { "a table that does not fit is told once",
          a_table_that_does_not_fit_is_told_once },
        { "one member chooses for all", one_member_chooses_for_all },
        CU_TEST_INFO_NULL,
    };
    CU_TestInfo bits[] = {
        { "deterministic sums have the same bits",
          deterministic_sums_have_the_same_bits },
        { "one algorithm has the same bits", one_algorithm_has_the_same_bits },
        { "deterministic groups keep the order",
          deterministic_groups_keep_the_order },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "what a group chooses by", NULL, NULL, NULL, NULL, tests },
        { "deterministic", NULL, NULL, NULL, NULL, bits },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
