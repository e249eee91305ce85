/* Members that are PVM tasks: hosts, spawning, and getting to know each other.
 * Everything that may hang is asked of the keeper. */
#include "config.h"
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>
#include "apps/collbench/member.h"
#include "apps/nowfarm/coll_world.h"
#include "apps/nowfarm/locate.h"
#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/net/keeper.h"
#include "common/net/mesh.h"
#include "common/net/pvm.h"
#include "master/hosts.h"

enum { HOST_US = 40000000, SPAWN_US = 40000000, END_US = 2000000 };

struct coll_tasks {
    struct nf_keeper *keeper;
    const volatile int *stop;
    bool enrolled;
    int here;        /* tid of the local pvmd */
    uint64_t id;     /* of the groups */
    uint32_t relays; /* workers that pass on what members print */
    uint32_t spawned;
    int server; /* tid of the group server that we have started, or 0 */
    int *tids;  /* [members], 0: not yet; ours is the first */
    struct nf_group **pairs; /* [members] */
    char (*hosts)[64];       /* [nhosts] to be used, this one first */
    size_t nhosts;
};

/* ---- the keeper's answers ---- */

static void take_output(const struct nf_answer *answer)
{
    char line[1024];

    snprintf(line, sizeof(line), "%s", answer->text);
    line[strcspn(line, "\r\n")] = '\0';
    if (line[0] != '\0')
        fprintf(stderr, "%s\n", line);
}

/* The next answer that is not something printed.
 *  @retval NF_WAIT  none until then */
static enum nf_status next_answer(struct coll_tasks *tasks, int64_t until_us,
                                  struct nf_answer *answer_p,
                                  struct nf_error *err)
{
    struct pollfd watch = { .fd = nf_keeper_fd(tasks->keeper),
                            .events = POLLIN };

    for (;;) {
        enum nf_status status = nf_keeper_next(tasks->keeper, answer_p);
        int64_t left_us = until_us - nf_now_us();

        if (status == NF_OK && answer_p->kind == NF_ANSWER_OUTPUT) {
            take_output(answer_p);
            continue;
        }
        if (status == NF_OK && answer_p->kind == NF_ANSWER_ENDED)
            tasks->relays--;
        if (status == NF_OK)
            return NF_OK;
        if (status != NF_WAIT)
            return nf_fail(err, NF_ERR_UNREACHABLE,
                           "the process that holds PVM is gone");
        if (tasks->stop != NULL && *tasks->stop)
            return nf_fail(err, NF_ERR_INTERRUPTED, "interrupted");
        if (left_us <= 0)
            return NF_WAIT;
        (void)poll(&watch, 1,
                   left_us < 100000 ? (int)(left_us / 1000) + 1 : 100);
    }
}

/* ---- hosts ---- */

static enum nf_status add_hosts(struct coll_tasks *tasks, const char *path,
                                const struct nf_hosts *file,
                                const struct nf_pvm_host *known, size_t nknown,
                                struct nf_error *err)
{
    int64_t until_us = nf_now_us() + HOST_US;
    size_t asked = 0;
    struct nf_answer answer;

    for (size_t i = 0; i < file->count; i++) {
        bool is_there = false;

        for (size_t j = 0; j < nknown; j++)
            is_there |= strcmp(known[j].name, file->list[i].name) == 0;
        if (!is_there)
            nf_keeper_add(tasks->keeper, file->list[i].line);
        asked += !is_there;
    }
    while (asked > 0) {
        enum nf_status status = next_answer(tasks, until_us, &answer, err);

        if (status == NF_WAIT)
            return nf_fail(err, NF_ERR_UNREACHABLE,
                           "%zu hosts of %s did not answer in 40 s", asked,
                           path);
        if (status != NF_OK)
            return status;
        if (answer.kind == NF_ANSWER_FAILED)
            return nf_fail(err, NF_ERR_UNREACHABLE, "host %s: %s", answer.host,
                           answer.text);
        asked -= answer.kind == NF_ANSWER_ADDED;
    }
    return NF_OK;
}

/* Does the file have this name?  NULL: there is no file, all hosts do. */
static bool is_listed(const struct nf_hosts *file, const char *name)
{
    if (file == NULL)
        return true;
    for (size_t i = 0; i < file->count; i++)
        if (strcmp(file->list[i].name, name) == 0)
            return true;
    return false;
}

/* This host first, since rank 0 is here; the others in their order. */
static enum nf_status order_hosts(struct coll_tasks *tasks, const char *path,
                                  const struct nf_hosts *file,
                                  const struct nf_pvm_host *known,
                                  size_t nknown, struct nf_error *err)
{
    const char *here = "?";

    tasks->hosts = nf_calloc(nknown + 1, sizeof(*tasks->hosts));
    if (tasks->hosts == NULL)
        return nf_fail(err, NF_ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < nknown; i++)
        if (known[i].tid == tasks->here)
            here = known[i].name;
    if (!is_listed(file, here))
        return nf_fail(err, NF_ERR_INVAL,
                       "%s: this host, %s, is not listed: "
                       "rank 0 is the command itself",
                       path, here);
    snprintf(tasks->hosts[tasks->nhosts++], sizeof(*tasks->hosts), "%s", here);
    for (size_t i = 0; file != NULL && i < file->count; i++)
        if (strcmp(file->list[i].name, here) != 0 && tasks->nhosts < nknown)
            snprintf(tasks->hosts[tasks->nhosts++], sizeof(*tasks->hosts), "%s",
                     file->list[i].name);
    for (size_t i = 0; file == NULL && i < nknown; i++)
        if (known[i].tid != tasks->here)
            snprintf(tasks->hosts[tasks->nhosts++], sizeof(*tasks->hosts), "%s",
                     known[i].name);
    return NF_OK;
}

static enum nf_status find_hosts(struct coll_tasks *tasks, const char *path,
                                 struct nf_error *err)
{
    struct nf_hosts file = { .count = 0 };
    struct nf_pvm_host *known = NULL;
    size_t nknown = 0;
    enum nf_status status = NF_OK;

    if (path != NULL)
        status = nf_hosts_read(path, &file, err);
    if (status == NF_OK && nf_pvm_hosts(&known, &nknown) != NF_OK)
        status =
            nf_fail(err, NF_ERR_UNREACHABLE, "the local pvmd does not answer");
    if (status == NF_OK && path != NULL) {
        status = add_hosts(tasks, path, &file, known, nknown, err);
        nf_free(known);
        known = NULL;
        if (status == NF_OK && nf_pvm_hosts(&known, &nknown) != NF_OK)
            status = nf_fail(err, NF_ERR_UNREACHABLE,
                             "the local pvmd does not answer");
    }
    if (status == NF_OK)
        status = order_hosts(tasks, path, path != NULL ? &file : NULL, known,
                             nknown, err);
    nf_free(known);
    nf_hosts_fini(&file);
    return status;
}

/* ---- members ---- */

/* Which ranks does a host have?  Its tasks get them in the order in which they
 * were spawned. */
static void give_ranks(struct coll_world *world, const struct nf_answer *answer)
{
    struct coll_tasks *tasks = world->tasks;
    uint32_t rank = 1;

    for (uint32_t i = 0; i < answer->ntids; i++) {
        while (rank < world->members &&
               (tasks->tids[rank] != 0 ||
                coll_world_place(rank, tasks->nhosts) != answer->spawn_id))
            rank++;
        if (rank == world->members)
            return;
        tasks->tids[rank] = answer->tids[i];
        tasks->spawned++;
    }
}

static enum nf_status spawn_all(struct coll_world *world, int tid,
                                struct nf_error *err)
{
    struct coll_tasks *tasks = world->tasks;
    char program[PATH_MAX], address[64];
    int64_t until_us = nf_now_us() + SPAWN_US;
    struct nf_answer answer;
    enum nf_status status = locate_slave(program, sizeof(program), err);

    snprintf(address, sizeof(address), "coll:%x:%llx", (unsigned)tid,
             (unsigned long long)tasks->id);
    tasks->tids[0] = tid;
    for (size_t h = 0; h < tasks->nhosts && status == NF_OK; h++) {
        uint32_t count = 0;

        for (uint32_t i = 1; i < world->members; i++)
            count += coll_world_place(i, tasks->nhosts) == h;
        if (count == 0)
            continue;
        tasks->relays++;
        nf_keeper_spawn(tasks->keeper, (uint32_t)h, tasks->hosts[h], count,
                        program, address);
    }
    while (status == NF_OK && tasks->spawned < world->members - 1) {
        status = next_answer(tasks, until_us, &answer, err);
        if (status == NF_WAIT)
            return nf_fail(err, NF_ERR_UNREACHABLE,
                           "%u of %u members were not started in 40 s",
                           world->members - 1 - tasks->spawned,
                           world->members - 1);
        if (status == NF_OK && answer.kind == NF_ANSWER_REFUSED)
            return nf_fail(err, NF_ERR_UNREACHABLE, "host %s: %s", answer.host,
                           answer.text);
        if (status == NF_OK && answer.kind == NF_ANSWER_SPAWNED)
            give_ranks(world, &answer);
    }
    return status;
}

/* Tell one member who the others are, if it is of our version. */
static enum nf_status greet(const struct coll_world_config *config,
                            struct coll_world *world, uint32_t rank,
                            struct nf_error *err)
{
    const struct nf_group_options options = { .timeout_us = BENCH_MEET_US,
                                              .algorithms = "",
                                              .network_file = "",
                                              .stop = config->stop };
    struct coll_tasks *tasks = world->tasks;
    const int pair[2] = { tasks->tids[0], tasks->tids[rank] };
    char version[BENCH_VERSION_BYTES] = "";
    uint64_t words[2] = { world->members, (uint64_t)config->timeout_us };
    struct nf_group **group_p = &tasks->pairs[rank];
    enum nf_status status =
        nf_group_open(pair, 2, tasks->id, &options, group_p, err);

    if (status != NF_OK) {
        if (status != NF_ERR_INTERRUPTED)
            nf_fail_prefix(err, "rank %u on %s", rank, world->names[rank]);
        return status;
    }
    status = nf_bcast(*group_p, version, sizeof(version), NF_ELEM_BYTE, 1);
    version[sizeof(version) - 1] = '\0';
    if (status == NF_OK && !bench_same_version(version))
        return nf_fail(err, NF_ERR_FAILED,
                       "host %s: its slave is nowfarm %s, this is %s: install "
                       "the same version",
                       world->names[rank], version, nf_version());
    if (status == NF_OK)
        status = nf_bcast(*group_p, words, 2, NF_ELEM_UINT64, 0);
    if (status == NF_OK)
        status =
            nf_bcast(*group_p, tasks->tids, world->members, NF_ELEM_INT32, 0);
    if (status == NF_ERR_INTERRUPTED)
        nf_fail(err, status, "%s", nf_strerror(status));
    else if (status != NF_OK)
        nf_fail(err, status, "rank %u on %s: %s", rank, world->names[rank],
                nf_group_error(*group_p)->text);
    return status;
}

/* PVM's pvmd looks for the group server where tasks are, Debian has it beside
 * the daemon. */
static enum nf_status start_server(struct coll_tasks *tasks,
                                   struct nf_error *err)
{
    static const char *const places[] = { "lib/pvmgs", "lib/LINUX64/pvmgs",
                                          "bin/LINUX64/pvmgs",
                                          "lib/LINUXX86_64/pvmgs" };
    const char *root = getenv("PVM_ROOT");
    char path[PATH_MAX];
    int64_t until_us = nf_now_us() + SPAWN_US;
    struct nf_answer answer = { .ntids = 0 };
    enum nf_status status = NF_OK;

    if (root == NULL)
        root = "/usr/lib/pvm3";
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        snprintf(path, sizeof(path), "%s/%s", root, places[i]);
        if (access(path, X_OK) == 0)
            break;
        path[0] = '\0';
    }
    if (path[0] == '\0')
        return nf_fail(
            err, NF_ERR_UNREACHABLE,
            "--group-library: there is no group server, pvmgs, under %s", root);
    tasks->relays++;
    nf_keeper_spawn(tasks->keeper, NF_COLL_RANKS_MAX, tasks->hosts[0], 1, path,
                    "none");
    while (status == NF_OK && tasks->server == 0) {
        status = next_answer(tasks, until_us, &answer, err);
        if (status == NF_WAIT)
            return nf_fail(err, NF_ERR_UNREACHABLE,
                           "--group-library: %s was not started in 40 s", path);
        if (status == NF_OK && answer.kind == NF_ANSWER_REFUSED)
            return nf_fail(err, NF_ERR_UNREACHABLE, "--group-library: %s: %s",
                           path, answer.text);
        if (status == NF_OK && answer.kind == NF_ANSWER_SPAWNED)
            tasks->server = answer.tids[0];
    }
    return status;
}

static enum nf_status check_count(const struct coll_world_config *config,
                                  size_t hosts, const char *whose,
                                  struct nf_error *err)
{
    if (config->members > 0 || config->members_most == 0 ||
        hosts <= config->members_most)
        return NF_OK;
    return nf_fail(err, NF_ERR_INVAL,
                   "%s has %zu hosts: want up to %u%s (or say how many "
                   "members by --slaves)",
                   whose, hosts, config->members_most,
                   config->members_most_why != NULL ? config->members_most_why
                                                    : "");
}

/* What a file lists is known before anything is started. */
static enum nf_status check_file(const struct coll_world_config *config,
                                 struct nf_error *err)
{
    struct nf_hosts file;
    size_t count;
    enum nf_status status;

    if (config->hosts_file == NULL)
        return NF_OK;
    status = nf_hosts_read(config->hosts_file, &file, err);
    if (status != NF_OK)
        return status;
    count = file.count;
    nf_hosts_fini(&file);
    return config->members > 0
               ? NF_OK
               : check_count(config, count, config->hosts_file, err);
}

static enum nf_status make_room(const struct coll_world_config *config,
                                struct coll_world *world, struct nf_error *err)
{
    struct coll_tasks *tasks = world->tasks;
    uint32_t members = config->members;

    if (check_count(config, tasks->nhosts, "the virtual machine", err) != NF_OK)
        return NF_ERR_INVAL;
    world->members = members > 0 ? members : (uint32_t)tasks->nhosts;
    if (world->members == 1 && members == 0 && config->members_alone > 0)
        world->members = config->members_alone;
    if (world->members < 2)
        return nf_fail(err, NF_ERR_INVAL,
                       "the virtual machine has one host: say how many members "
                       "by --slaves");
    world->names = nf_calloc(world->members, sizeof(*world->names));
    tasks->tids = nf_calloc(world->members, sizeof(*tasks->tids));
    tasks->pairs = nf_calloc(world->members, sizeof(struct nf_group *));
    if (world->names == NULL || tasks->tids == NULL || tasks->pairs == NULL)
        return nf_fail(err, NF_ERR_NOMEM, "out of memory");
    for (uint32_t i = 0; i < world->members; i++)
        strcpy(world->names[i],
               tasks->hosts[coll_world_place(i, tasks->nhosts)]);
    return NF_OK;
}

static enum nf_status meet(const struct coll_world_config *config,
                           struct coll_world *world, struct nf_group **all_p,
                           struct nf_error *err)
{
    struct nf_group_options patient = bench_patient;
    struct coll_tasks *tasks = world->tasks;
    enum nf_status status = NF_OK;

    patient.stop = config->stop;
    for (uint32_t i = 1; i < world->members && status == NF_OK; i++)
        status = greet(config, world, i, err);
    if (status == NF_OK)
        status = nf_group_open(tasks->tids, world->members, tasks->id + 1,
                               &patient, all_p, err);
    return status;
}

/* Which messages go by the pvmds? */
static enum nf_status find_routes(struct coll_world *world,
                                  struct nf_group *all, struct nf_error *err)
{
    uint64_t pairs = (uint64_t)world->members * (world->members - 1) / 2;
    enum nf_status status;

    world->routes =
        nf_calloc(world->members * bench_route_words(world->members),
                  sizeof(*world->routes));
    if (world->routes == NULL)
        return nf_fail(err, NF_ERR_NOMEM, "out of memory");
    status = bench_tell_routes(all, world->routes);
    if (status != NF_OK)
        return nf_fail(err, status, "%s", nf_group_error(all)->text);
    for (uint32_t i = 1; i < world->members; i++)
        for (uint32_t j = 0; j < i; j++)
            world->by_daemon +=
                bench_by_daemon(world->routes, world->members, i, j);
    if (world->by_daemon > 0 && nf_pvm_wants_direct_routes())
        fprintf(stderr,
                "nowfarm: %llu of %llu pairs of members have no direct route, "
                "their messages go by the pvmds\n",
                (unsigned long long)world->by_daemon,
                (unsigned long long)pairs);
    return NF_OK;
}

/* Members ask for routes when they first speak to us, as this says. */
static void set_route(const struct coll_world_config *config)
{
    if (config->members > NF_MESH_ROUTES_MOST)
        setenv("NOWFARM_ROUTE", "daemon", 1);
    else if (config->route != NULL)
        setenv("NOWFARM_ROUTE", config->route, 1);
}

enum nf_status coll_tasks_open(const struct coll_world_config *config,
                               struct coll_world *world,
                               struct nf_group **all_p, struct nf_error *err)
{
    enum nf_status status = check_file(config, err);
    struct coll_tasks *tasks;
    int tid = 0;

    if (status != NF_OK)
        return status;
    tasks = nf_calloc(1, sizeof(*tasks));
    if (tasks == NULL)
        return nf_fail(err, NF_ERR_NOMEM, "out of memory");
    world->tasks = tasks;
    tasks->stop = config->stop;
    set_route(config);
    if (getrandom(&tasks->id, sizeof(tasks->id), 0) != sizeof(tasks->id))
        tasks->id = (uint64_t)nf_now_us();
    status = nf_keeper_open(NF_KEEP_JOB, &tasks->keeper, err);
    if (status == NF_OK && nf_pvm_enroll(&tid) != NF_OK)
        status =
            nf_fail(err, NF_ERR_UNREACHABLE, "the local pvmd does not answer");
    if (status != NF_OK)
        return status;
    tasks->enrolled = true;
    tasks->here = nf_pvm_host_of(tid);
    status = find_hosts(tasks, config->hosts_file, err);
    if (status == NF_OK)
        status = make_room(config, world, err);
    if (status == NF_OK)
        status = spawn_all(world, tid, err);
    if (status == NF_OK && config->group_server)
        status = start_server(tasks, err);
    if (status == NF_OK)
        status = meet(config, world, all_p, err);
    if (status == NF_OK)
        status = find_routes(world, *all_p, err);
    return status;
}

/* ---- the end ---- */

static void await_end(struct coll_tasks *tasks)
{
    int64_t until_us = nf_now_us() + END_US;
    struct nf_answer answer;

    tasks->stop = NULL;
    while (tasks->relays > 0 &&
           next_answer(tasks, until_us, &answer, NULL) == NF_OK)
        ;
}

void coll_tasks_close(struct coll_world *world, bool orderly)
{
    struct coll_tasks *tasks = world->tasks;

    for (uint32_t i = 1; tasks->pairs != NULL && i < world->members; i++)
        nf_group_close(tasks->pairs[i]);
    if (tasks->server != 0)
        nf_keeper_kill(tasks->keeper, &tasks->server, 1);
    if (orderly)
        await_end(tasks);
    if (tasks->tids != NULL && (!orderly || tasks->relays > 0)) {
        for (uint32_t i = 1; i < world->members; i++)
            if (tasks->tids[i] != 0)
                nf_keeper_kill(tasks->keeper, &tasks->tids[i], 1);
        await_end(tasks);
    }
    if (tasks->enrolled)
        nf_pvm_leave();
    nf_keeper_close(tasks->keeper, true);
    nf_free(tasks->tids);
    nf_free(tasks->pairs);
    nf_free(tasks->hosts);
    nf_free(tasks);
    world->tasks = NULL;
}
