/* Children: how they end, and how they are ended. */
#include "config.h"
#include "apps/nowfarm/child.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "tests/unit/nf_unit.h"

static int sh(const char *script, FILE *in, FILE *out,
              struct child_guard *guard)
{
    const char *argv[] = { "sh", "-c", script, NULL };
    struct child child = { "sh", argv, in, out, NULL };
    struct nf_error err;
    int exit_status = -1;

    CU_ASSERT_EQUAL(child_run(&child, guard, &exit_status, &err), NF_OK);
    return exit_status;
}

static void the_exit_status_is_told(void)
{
    CU_ASSERT_EQUAL(sh("exit 0", NULL, NULL, NULL), 0);
    CU_ASSERT_EQUAL(sh("exit 7", NULL, NULL, NULL), 7);
    CU_ASSERT_EQUAL(sh("kill -9 $$", NULL, NULL, NULL), 128 + SIGKILL);
}

static void a_missing_program_is_not_found(void)
{
    const char *argv[] = { "nowfarm-no-such-program", NULL };
    struct child child = { argv[0], argv, NULL, NULL, NULL };
    struct nf_error err;
    int exit_status = 0;

    CU_ASSERT_EQUAL(child_run(&child, NULL, &exit_status, &err), NF_OK);
    CU_ASSERT_EQUAL(exit_status, CHILD_NOT_FOUND);
}

static void files_are_its_input_and_output(void)
{
    FILE *in = child_scratch(), *out = child_scratch();
    char line[64] = "";

    fputs("one\ntwo\n", in);
    fflush(in);
    rewind(in);
    CU_ASSERT_EQUAL(sh("sort -r", in, out, NULL), 0);
    rewind(out);
    CU_ASSERT_PTR_NOT_NULL(fgets(line, sizeof(line), out));
    CU_ASSERT_STRING_EQUAL(line, "two\n");
    fclose(in);
    fclose(out);
}

static void last_line(const char *text, const char *want)
{
    FILE *file = child_scratch();
    char line[32];

    fputs(text, file);
    CU_ASSERT_STRING_EQUAL(child_last_line(file, line, sizeof(line)), want);
    fclose(file);
}

static void the_last_line_is_its_reason(void)
{
    last_line("", "");
    last_line("\n\n", "");
    last_line("first\nnowfarm: second\n\n", "second");
    last_line("no newline", "no newline");
    last_line("a\x1b[31m\xff\n", "a?[31m?");
    last_line("0123456789012345678901234567890123456789\n",
              "0123456789012345678901234567890");
}

/* By the signal.  Under valgrind one that comes between fork and exec is lost, and the
 * child ends by itself. */
static bool was_ended(int status)
{
    return status == 128 + SIGTERM ||
           (getenv("NF_VALGRIND") != NULL && status == 0);
}

/* A signal is sent to us before the child starts: it is seen all the same. */
static void a_signal_ends_the_child(void)
{
    struct child_guard guard;

    child_guard_enter(&guard);
    CU_ASSERT_FALSE(child_guard_look(&guard));
    raise(SIGINT);
    CU_ASSERT(was_ended(sh("sleep 10", NULL, NULL, &guard)));
    CU_ASSERT_EQUAL(guard.interrupted, SIGINT);
    child_guard_leave(&guard);
}

static void a_signal_between_children_is_not_lost(void)
{
    struct child_guard guard;

    child_guard_enter(&guard);
    CU_ASSERT_EQUAL(sh("exit 0", NULL, NULL, &guard), 0);
    raise(SIGTERM);
    child_guard_leave(&guard);
    CU_ASSERT_EQUAL(guard.interrupted, SIGTERM);
}

/* plot.c runs a child without a guard, perhaps within one. */
static void an_inner_child_passes_the_signal_on(void)
{
    struct child_guard guard;

    child_guard_enter(&guard);
    raise(SIGINT);
    CU_ASSERT(was_ended(sh("sleep 10", NULL, NULL, NULL)));
    CU_ASSERT_TRUE(child_guard_look(&guard));
    child_guard_leave(&guard);
}

static void an_ignored_signal_stays_ignored(void)
{
    struct child_guard guard;

    signal(SIGHUP, SIG_IGN);
    child_guard_enter(&guard);
    raise(SIGHUP);
    CU_ASSERT_EQUAL(sh("exit 3", NULL, NULL, &guard), 3);
    child_guard_leave(&guard);
    CU_ASSERT_FALSE(guard.interrupted);
    signal(SIGHUP, SIG_DFL);
}

int main(void)
{
    CU_TestInfo child[] = {
        { "the exit status is told", the_exit_status_is_told },
        { "a missing program is not found", a_missing_program_is_not_found },
        { "files are its input and output", files_are_its_input_and_output },
        { "the last line is its reason", the_last_line_is_its_reason },
        { "a signal ends the child", a_signal_ends_the_child },
        { "a signal between children is not lost",
          a_signal_between_children_is_not_lost },
        { "an inner child passes the signal on",
          an_inner_child_passes_the_signal_on },
        { "an ignored signal stays ignored", an_ignored_signal_stays_ignored },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "child", NULL, NULL, NULL, NULL, child },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
