/* Groups that read a model file when they are opened: all get it or none does,
 * and what there is to say of it is said. */
#include "config.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "common/base/doubles.h"
#include "common/base/log.h"
#include "common/group/group.h"
#include "tests/unit/model_text.h"
#include "tests/unit/nf_unit.h"

/* All of the file's way: threads are on "local", which is one host. */
static void threads_go_by_a_file(void)
{
    struct nf_group *groups[3];
    struct nf_group_options options = { .algorithms = "" };
    char path[] = "/tmp/nowfarm-network.XXXXXX";
    char *text = write_model(3, 3);
    int fd = mkstemp(path);
    FILE *file = fdopen(fd, "w");

    CU_ASSERT_FATAL(file != NULL);
    fputs(text, file);
    fclose(file);
    options.network_file = path;
    CU_ASSERT_EQUAL(nf_group_open_threads(3, &options, groups, NULL), NF_OK);
    for (int i = 0; i < 3; i++) {
        CU_ASSERT_PTR_NOT_NULL(groups[i]->measured);
        CU_ASSERT_EQUAL(nf_measured_id(groups[i]->measured),
                        nf_measured_id(groups[0]->measured));
        CU_ASSERT_EQUAL(nf_measured_unknown(groups[i]->measured), 3);
    }
    for (int i = 0; i < 3; i++)
        nf_group_close(groups[i]);
    options.network_file = "/nowhere/net.json";
    CU_ASSERT_EQUAL(nf_group_open_threads(3, &options, groups, NULL), NF_OK);
    for (int i = 0; i < 3; i++) {
        CU_ASSERT_PTR_NULL(groups[i]->measured);
        nf_group_close(groups[i]);
    }
    unlink(path);
    free(text);
}

/* ---- members that calculate otherwise ---- */

#define ODD_MEMBERS 4
#include "tests/unit/odd_members.h"

static void *get_number(void *group)
{
    uint32_t number = nf_group_rank(group) == 0 ? 4711 : 0;
    enum nf_status status = nf_bcast(group, &number, 1, NF_ELEM_UINT32, 0);

    return status == NF_OK && number == 4711 ? group : NULL;
}

/* @param odd  as above */
static void expect_network(struct nf_group **groups, uint32_t odd)
{
    const struct nf_choice_query query = to_members(65536);
    pthread_t threads[MEMBERS];

    for (uint32_t i = 0; i < MEMBERS; i++) {
        struct nf_error err = { .text = "" };
        struct nf_coll_choice choice = { .segments = 0 };

        CU_ASSERT_EQUAL(groups[i]->measured != NULL, odd == MEMBERS);
        CU_ASSERT_EQUAL(nf_group_choose(groups[i], &query, &choice, &err),
                        NF_OK);
        CU_ASSERT(odd == MEMBERS || choice.tree == NULL);
        CU_ASSERT_EQUAL(nf_group_force(groups[i], "bcast.tree", &err), NF_OK);
        CU_ASSERT_EQUAL(nf_group_choose(groups[i], &query, &choice, &err),
                        odd == MEMBERS ? NF_OK : NF_ERR_FAILED);
        CU_ASSERT(odd == MEMBERS ||
                  strstr(err.text, "bcast.tree: no network: the doubles of "
                                   "member") != NULL);
        nf_group_unforce(groups[i]);
    }
    for (uint32_t i = 0; i < MEMBERS; i++)
        pthread_create(&threads[i], NULL, get_number, groups[i]);
    for (uint32_t i = 0; i < MEMBERS; i++) {
        void *good;

        pthread_join(threads[i], &good);
        CU_ASSERT_PTR_NOT_NULL(good);
    }
}

/* Such a member would plan another tree, and refuse every call. */
static void one_who_calculates_otherwise_ends_it(void)
{
    struct nf_group *groups[MEMBERS];
    struct nf_group_options options = { .algorithms = "" };
    char path[] = "/tmp/nowfarm-network.XXXXXX", name[32];
    char *text = write_model(3, 3);
    FILE *file = fdopen(mkstemp(path), "w");

    CU_ASSERT(nf_doubles_are_plain());
    CU_ASSERT_FATAL(file != NULL);
    fputs(text, file);
    fclose(file);
    nf_log_set_sink(keep_warning);
    for (uint32_t odd = 0; odd <= MEMBERS; odd++) {
        options.network_file = odd % 2 == 0 ? path : NULL;
        setenv("NOWFARM_NETWORK", path, 1);
        warnings = 0;
        open_members(groups, odd, &options);
        snprintf(name, sizeof(name), "doubles of member %u ", odd);
        /* that hosts were not measured is told in any case */
        CU_ASSERT_EQUAL(warnings, odd == MEMBERS ? 1 : 2);
        CU_ASSERT_EQUAL(strstr(warning, name) != NULL, odd < MEMBERS);
        CU_ASSERT_EQUAL(strstr(warning, path) != NULL, true);
        expect_network(groups, odd);
        for (int i = 0; i < MEMBERS; i++)
            nf_group_close(groups[i]);
    }
    nf_log_set_sink(NULL);
    unsetenv("NOWFARM_NETWORK");
    unlink(path);
    free(text);
}

/* Threads by a file of that age and route.  @return do they go by it? */
static bool open_by_model(int age_days, const char *route)
{
    struct nf_group *groups[MEMBERS];
    struct nf_group_options options = { .algorithms = "" };
    char path[] = "/tmp/nowfarm-network.XXXXXX";
    FILE *file = fdopen(mkstemp(path), "w");
    char *text;
    bool by_network;

    CU_ASSERT_FATAL(file != NULL);
    made.age_days = age_days;
    made.route = route;
    text = write_model(3, 3);
    made.age_days = 0;
    made.route = "direct";
    fputs(text, file);
    fclose(file);
    options.network_file = path;
    warnings = 0;
    open_members(groups, MEMBERS, &options);
    by_network = groups[0]->measured != NULL;
    for (int i = 0; i < MEMBERS; i++) {
        CU_ASSERT_EQUAL(groups[i]->measured != NULL, by_network);
        CU_ASSERT_EQUAL(groups[i]->exchange.npieces, by_network ? 1 : 0);
        CU_ASSERT_EQUAL(groups[i]->exchange.start_ns[0],
                        by_network ? 176000 : 0);
        nf_group_close(groups[i]);
    }
    unlink(path);
    free(text);
    return by_network;
}

/* A member's host is unknown: that is one line; what follows is one more. */
static void a_doubtful_model_is_told_of(void)
{
    nf_log_set_sink(keep_warning);
    CU_ASSERT(open_by_model(6, "direct"));
    CU_ASSERT_EQUAL(warnings, 1);
    CU_ASSERT(open_by_model(30, "direct"));
    CU_ASSERT_EQUAL(warnings, 2);
    CU_ASSERT(strstr(warning, ": the model is 30 days old: measure again") !=
              NULL);
    CU_ASSERT(open_by_model(0, "daemon"));
    CU_ASSERT_EQUAL(warnings, 2);
    CU_ASSERT(strstr(warning, ": the model is of messages by the daemons: "
                              "measure again") != NULL);
    CU_ASSERT(open_by_model(8, "daemon"));
    CU_ASSERT_EQUAL(warnings, 2);
    CU_ASSERT(strstr(warning, "8 days old, of messages by the daemons") !=
              NULL);
    CU_ASSERT(!open_by_model(-2, "direct"));
    CU_ASSERT_EQUAL(warnings, 1);
    CU_ASSERT(strstr(warning, " is still to come: going by no network") != NULL);
    nf_log_set_sink(NULL);
}

/* A file of @p text and @p spaces behind it.  @return do groups go by it? */
static bool open_by_text(const char *text, size_t spaces)
{
    struct nf_group *groups[MEMBERS];
    struct nf_group_options options = { .algorithms = "" };
    char path[] = "/tmp/nowfarm-network.XXXXXX";
    FILE *file = fdopen(mkstemp(path), "w");
    bool by_network;

    CU_ASSERT_FATAL(file != NULL);
    fprintf(file, "%s%*s", text, (int)spaces, "");
    CU_ASSERT_EQUAL(fclose(file), 0);
    options.network_file = path;
    warnings = 0;
    nf_log_set_sink(keep_warning);
    CU_ASSERT_EQUAL_FATAL(
        nf_group_open_threads(MEMBERS, &options, groups, NULL), NF_OK);
    nf_log_set_sink(NULL);
    by_network = groups[MEMBERS - 1]->measured != NULL;
    for (int i = 0; i < MEMBERS; i++)
        nf_group_close(groups[i]);
    unlink(path);
    return by_network;
}

/* A model of 300 hosts, and one that is longer than what groups take. */
static void of_long_files_the_limit_is_told(void)
{
    char *text = write_model(300, 3);
    size_t bytes = strlen(text);

    CU_ASSERT(bytes < NF_MEASURED_BYTES_MAX);
    CU_ASSERT(open_by_text(text, NF_MEASURED_BYTES_MAX - bytes));
    CU_ASSERT_EQUAL(warnings, 1); /* "local" was not measured */
    CU_ASSERT(!open_by_text(text, NF_MEASURED_BYTES_MAX - bytes + 1));
    CU_ASSERT_EQUAL(warnings, 1);
    CU_ASSERT(strstr(warning, ": 17 MiB, a group takes up to 16: going by no "
                              "network") != NULL);
    CU_ASSERT(!open_by_text("", 0));
    CU_ASSERT_EQUAL(warnings, 1);
    CU_ASSERT(strstr(warning, ": empty: going by no network") != NULL);
    free(text);
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "threads go by a file", threads_go_by_a_file },
        { "one who calculates otherwise ends it",
          one_who_calculates_otherwise_ends_it },
        { "of long files the limit is told", of_long_files_the_limit_is_told },
        { "a doubtful model is told of", a_doubtful_model_is_told_of },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "groups and model files", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
