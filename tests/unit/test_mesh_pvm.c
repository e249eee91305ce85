/* Meshes of real PVM tasks, none of which nowfarm has spawned.
 *
 * For each test this program starts itself some times.  Each such task says its
 * tid, is told all, plays its part of the scene (mesh_task.c), and ends with
 * status 0 if all was right. */
#include "config.h"
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>
#include "tests/unit/mesh_task.h"
#include "tests/unit/own_pvm.h"

/* @param dies  the task that is to be killed, or -1 */
static void run(const char *scene, uint32_t count, int dies)
{
    struct own_task all[OWN_TASKS_MOST];

    own_tasks_start(all, count, scene, STDERR_FILENO);
    for (uint32_t i = 0; i < count; i++)
        CU_ASSERT(own_task_end(&all[i], (int)i == dies));
}

static void test_exchange(void)
{
    run("exchange", 5, -1);
}

static void test_exchange_xdr(void)
{
    setenv("NOWFARM_ENCODING", "xdr", 1);
    run("exchange", 3, -1);
    unsetenv("NOWFARM_ENCODING");
}

static void test_one(void)
{
    run("exchange", 1, -1);
}

static void test_stopped(void)
{
    run("stopped", 3, -1);
}

static void test_killed(void)
{
    run("killed", 3, 1);
}

static void test_stranger(void)
{
    run("stranger", 4, -1);
}

static void test_foreign(void)
{
    run("foreign", 2, -1);
}

static void test_dropped(void)
{
    run("dropped", 2, -1);
}

static void test_turns(void)
{
    run("turns", 4, -1);
}

static void test_turns_given_up(void)
{
    run("turns-given-up", 3, -1);
}

static void test_two(void)
{
    run("two", 2, -1);
}

static void test_missing(void)
{
    run("missing", 3, -1);
}

static void test_no_memory(void)
{
    run("no-memory", 2, -1);
}

static void test_several_stopped(void)
{
    run("several-stopped", 2, -1);
}

static void test_no_room(void)
{
    run("no-room", 2, -1);
}

static void test_stopped_lower(void)
{
    run("stopped-lower", 3, -1);
}

static void test_here_and_gone(void)
{
    run("here-and-gone", 4, 1);
    run("gone-by-daemon", 4, 1);
}

static void test_asleep(void)
{
    run("asleep", 2, -1);
}

static void test_asleep_death(void)
{
    run("asleep-death", 2, 1);
}

static void test_left_pvm(void)
{
    run("left-pvm", 2, -1);
}

static void test_notices(void)
{
    run("notices", 2, -1);
}

static void test_late_bye(void)
{
    run("late-bye", 2, -1);
}

static void test_late(void)
{
    run("late", 3, -1);
}

static void test_closed_death(void)
{
    run("closed-death", 3, 1);
}

static void test_shy(void)
{
    run("shy", 4, -1);
}

static void test_next_mesh(void)
{
    run("next-mesh", 2, -1);
}

static void test_newcomer(void)
{
    run("newcomer", 3, -1);
}

static void test_ended_before(void)
{
    run("ended-before", 3, 1);
}

static void test_early(void)
{
    run("early", 2, -1);
}

static void test_thread(void)
{
    run("thread", 2, -1);
}

static void test_pause(void)
{
    run("pause", 2, -1);
}

static void test_pause_death(void)
{
    run("pause-death", 2, 1);
}

static void test_handler(void)
{
    run("handler", 1, -1);
}

static void test_interrupted(void)
{
    run("interrupted", 3, -1);
}

static void test_interrupted_routes(void)
{
    run("interrupted-routes", 4, -1);
}

static void test_interrupted_crossing(void)
{
    run("interrupted-crossing", 3, -1);
}

static void test_closed_together(void)
{
    run("closed-together", 2, -1);
}

static void test_interrupted_silence(void)
{
    run("interrupted-silence", 3, -1);
}

static void test_other_lists(void)
{
    run("other-order", 3, -1);
    run("other-halves", 4, -1);
    run("other-count", 3, -1);
    run("other-at-first", 3, -1);
    run("other-group-first", 3, -1);
}

static void test_stopped_before(void)
{
    run("stopped-before", 2, -1);
    run("stopped-each", 3, -1);
}

static void test_ended_early(void)
{
    run("ended-early", 3, 2);
}

static void test_first_ended_early(void)
{
    run("first-ended-early", 3, 0);
}

static void test_busy_death(void)
{
    run("busy-death", 3, 2);
}

static void test_by_daemon(void)
{
    run("by-daemon", 2, -1);
}

static void test_no_route(void)
{
    run("no-route", 2, -1);
    run("no-route-granted", 2, -1);
    run("no-route-among-others", 3, -1);
}

static void test_route_ends(void)
{
    run("route-ends", 2, -1);
}

static void test_duct_ends(void)
{
    run("duct-ends", 2, -1);
}

/* What is the default elsewhere goes by ducts. */
static void test_libpvm(void)
{
    setenv("NOWFARM_ROUTE", "pvm", 1);
    run("exchange", 5, -1);
    run("stopped", 3, -1);
    run("killed", 3, 1);
    run("two", 2, -1);
    run("busy-death", 3, 2);
    unsetenv("NOWFARM_ROUTE");
}

static void test_lent(void)
{
    unsetenv("NOWFARM_LOANS");
    run("lent", 2, -1);
    run("lent-back", 2, -1);
    run("lent-lent", 2, -1);
    run("lent-landed", 2, -1);
    run("lent-later", 2, -1);
    run("lent-order", 2, -1);
    run("lent-settles", 3, -1);
    run("lent-nap", 3, -1);
    run("lent-nowhere", 2, -1);
    run("lent-cut", 2, -1);
    run("lent-subset", 2, -1);
    run("exchange", 5, -1);
    setenv("NOWFARM_LOANS", "no", 1);
}

static void test_lent_ends(void)
{
    unsetenv("NOWFARM_LOANS");
    run("lent-death", 2, 1);
    run("lent-unread", 2, 1);
    run("lent-closed", 2, -1);
    setenv("NOWFARM_LOANS", "no", 1);
}

static CU_TestInfo tests[] = {
    { "all exchange messages of all sizes and types", test_exchange },
    { "the same in XDR", test_exchange_xdr },
    { "a mesh of one", test_one },
    { "a stopped member stops nobody", test_stopped },
    { "a killed member has left, the rest go on", test_killed },
    { "a stranger does no harm", test_stranger },
    { "the program's own use of PVM is not disturbed", test_foreign },
    { "what has not begun can be dropped", test_dropped },
    { "long messages go one after the other", test_turns },
    { "what waits for its turn is given up", test_turns_given_up },
    { "two meshes at once", test_two },
    { "who does not come is named", test_missing },
    { "out of memory", test_no_memory },
    { "all meshes together do not block on a stopped member",
      test_several_stopped },
    { "a goodbye has room where nothing else has, and needs no memory",
      test_no_room },
    { "no route is asked of a member that does not answer",
      test_stopped_lower },
    { "a member that goes while a mesh opens is named in time",
      test_here_and_gone },
    { "nobody sleeps on what another mesh has read", test_asleep },
    { "nor on a death that another mesh has read of", test_asleep_death },
    { "who has left PVM stays out of it", test_left_pvm },
    { "no notice is left where nobody looks", test_notices },
    { "nor a goodbye that comes late", test_late_bye },
    { "who opens a mesh that was closed hears so", test_late },
    { "a death is no news of a closed mesh", test_closed_death },
    { "members that do not wait for each other", test_shy },
    { "a window for each mesh that is not there yet", test_early },
    { "words for the next mesh wait until the last is closed", test_next_mesh },
    { "also those of one who was in none before", test_newcomer },
    { "an end is known in meshes that come after it", test_ended_before },
    { "a thread that was there before", test_thread },
    { "a paused member, and what is urgent", test_pause },
    { "a paused member that ends", test_pause_death },
    { "a stop ends the opening of a mesh, for all", test_interrupted },
    { "also when all have come and open routes", test_interrupted_routes },
    { "also where word that all are there is on its way",
      test_interrupted_crossing },
    { "at once, though a member says nothing", test_interrupted_silence },
    { "nor is a goodbye waited for that has been read", test_closed_together },
    { "who has another list of members is told to have",
      test_other_lists },
    { "who was stopped may come again", test_stopped_before },
    { "nobody waits for a member that ends before it comes", test_ended_early },
    { "nor for the first one", test_first_ended_early },
    { "a death is told in unbroken traffic, behind what was said",
      test_busy_death },
    { "messages go by the pvmds if that is wanted", test_by_daemon },
    { "or if no direct route can be had, and that is known", test_no_route },
    { "also when a route ends before its tasks", test_route_ends },
    { "who is cut off has left", test_duct_ends },
    { "where libpvm's own routes are wanted all is the same", test_libpvm },
    { "a program that handles all messages is told", test_handler },
    { "large payloads are read from where they are", test_lent },
    { "and are the lender's again when either ends", test_lent_ends },
    CU_TEST_INFO_NULL,
};

static char **by_hand;

static void test_by_hand(void)
{
    run(by_hand[0], (uint32_t)atoi(by_hand[1]), -1);
}

static CU_TestInfo one_test[] = {
    { "by hand", test_by_hand },
    CU_TEST_INFO_NULL,
};

int main(int argc, char **argv)
{
    CU_SuiteInfo suites[] = {
        { "mesh of PVM tasks", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    if (argc == 4)
        return scene_play(argv + 1, mesh_scenes);
    if (argc == 3) { /* one scene, by hand */
        by_hand = argv + 1;
        suites[0].pTests = one_test;
    } else {
        setenv("NOWFARM_LOANS", "no", 1); /* most scenes are about links */
    }
    return own_pvm_run(suites);
}
