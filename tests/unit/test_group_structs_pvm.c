/* Structures between PVM tasks: as they are, packed by all, packed by some. */
#include "config.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "tests/unit/group_structs.h"
#include "tests/unit/own_pvm.h"
#include "tests/unit/scene.h"

enum { TASKS = 4 };

/* ================================================== the part of a task === */

static void open_group(struct group_structs *s)
{
    struct nf_group *group = NULL;
    struct nf_error err = { NF_OK, "" };

    dup2(2, 1); /* the test does not listen any more */
    if (nf_group_open(tids, ntasks, 1, NULL, &group, &err) != NF_OK)
        fprintf(stderr, "%s\n", err.text);
    CHECK(group != NULL);
    CHECK(group_structs_define(s, group));
}

static void try_all(struct group_structs *s)
{
    CHECK(group_structs_try(s) == 0);
    CHECK(nf_barrier(s->group) == NF_OK);
    nf_group_close(s->group);
}

static void play_raw(void)
{
    struct group_structs s;

    open_group(&s);
    try_all(&s);
    CHECK(s.packs == 0 && s.unpacks == 0);
}

static void play_packed(void)
{
    struct group_structs s;

    open_group(&s);
    try_all(&s);
    CHECK(s.packs > 0 && s.unpacks > 0);
}

/* Who believes that formats differ packs; whoever gets that unpacks it. */
static void play_some(void)
{
    struct group_structs s;

    if (me % 2 == 1)
        setenv("NOWFARM_ENCODING", "xdr", 1);
    open_group(&s);
    try_all(&s);
    CHECK((s.packs > 0) == (me % 2 == 1));
    CHECK(s.unpacks > 0);
}

static void play_refused(void)
{
    struct group_structs s;
    struct nf_group *again;
    struct nf_error err;
    enum nf_status status;
    unsigned bad = 0;
    const char *text;

    open_group(&s);
    s.fail_pack = me == 0;
    status = group_structs_bcast(&s, 1000, &bad);
    /* word of it may come before the others make the call */
    CHECK(status == NF_ERR_FAILED || (me != 0 && status == NF_ERR_REVOKED));
    text = nf_group_error(s.group)->text;
    CHECK(strstr(text, "member 0") != NULL);
    CHECK(strstr(text, me == 0 ? "pack() of user0 returned 42"
                               : "could not pack or unpack elements") != NULL);
    CHECK(nf_barrier(s.group) == NF_ERR_REVOKED);
    CHECK(nf_group_shrink(s.group, &again, &err) == NF_OK);
    CHECK(nf_group_size(again) == ntasks);
    nf_group_close(s.group);
    s.group = again; /* with its types and operators */
    try_all(&s);
    CHECK(bad == 0 && s.packs > 1);
}

static const struct scene scenes[] = {
    { "raw", play_raw },   { "packed", play_packed },
    { "some", play_some }, { "refused", play_refused },
    { NULL, NULL },
};

/* ======================================================== the test === */

static void run(const char *scene)
{
    struct own_task all[TASKS];

    own_tasks_start(all, TASKS, scene, STDERR_FILENO);
    for (int i = 0; i < TASKS; i++)
        CU_ASSERT(own_task_end(&all[i], false));
}

static void run_in_xdr(const char *scene)
{
    setenv("NOWFARM_ENCODING", "xdr", 1);
    run(scene);
    unsetenv("NOWFARM_ENCODING");
}

static void tasks_on_machines_alike_do_not_pack(void)
{
    run("raw");
}

static void tasks_pack_for_other_machines(void)
{
    run_in_xdr("packed");
}

static void the_message_says_whether_it_is_packed(void)
{
    run("some");
}

static void who_cannot_pack_is_named(void)
{
    run_in_xdr("refused");
}

int main(int argc, char **argv)
{
    CU_TestInfo tests[] = {
        { "tasks on machines alike do not pack",
          tasks_on_machines_alike_do_not_pack },
        { "tasks pack for other machines", tasks_pack_for_other_machines },
        { "the message says whether it is packed",
          the_message_says_whether_it_is_packed },
        { "who cannot pack is named", who_cannot_pack_is_named },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "structures of groups of PVM tasks", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    if (argc == 4)
        return scene_play(argv + 1, scenes);
    return own_pvm_run(suites);
}
