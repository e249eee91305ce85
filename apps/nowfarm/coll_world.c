/* Where collective operations are measured: what tasks and threads have in
 * common, and the threads. */
#include "config.h"
#include "apps/nowfarm/coll_world.h"
#include <pthread.h>
#include <string.h>
#include "common/base/alloc.h"
#include "common/base/error.h"
#include "common/group/group.h"
#include "common/model/model.h"

struct coll_threads {
    uint32_t started; /* ranks 1..started run */
    struct one {
        pthread_t thread;
        struct nf_group *all;
        int64_t timeout_us;
    } * list; /* [members] */
};

static void *live(void *user)
{
    struct one *one = user;
    struct nf_error err = { NF_OK, "" };
    struct bench_team team;

    bench_team_init(&team, one->all, one->timeout_us, NULL, &err);
    (void)bench_serve(&team); /* rank 0 hears of failures, too */
    bench_team_fini(&team);
    nf_group_close(one->all);
    return NULL;
}

static enum nf_status start_threads(const struct coll_world_config *config,
                                    struct coll_world *world,
                                    struct nf_group **groups,
                                    struct nf_error *err)
{
    struct coll_threads *threads = world->threads;

    for (uint32_t i = 1; i < world->members; i++) {
        struct one *one = &threads->list[i];

        one->all = groups[i];
        one->timeout_us = config->timeout_us;
        if (pthread_create(&one->thread, NULL, live, one) != 0) {
            for (; i < world->members; i++) /* those before find them gone */
                nf_group_close(groups[i]);
            return nf_fail(err, NF_ERR_FAILED, "too many threads");
        }
        threads->started = i;
    }
    return NF_OK;
}

static uint32_t count_threads(const struct coll_world_config *config)
{
    if (config->members > 0)
        return config->members;
    return config->members_alone > 0 ? config->members_alone : COLL_THREADS;
}

static enum nf_status threads_open(const struct coll_world_config *config,
                                   struct coll_world *world,
                                   struct nf_group **all_p,
                                   struct nf_error *err)
{
    struct nf_group **groups;
    enum nf_status status;

    world->members = count_threads(config);
    groups = nf_calloc(world->members, sizeof(struct nf_group *));
    world->threads = nf_calloc(1, sizeof(*world->threads));
    world->names = nf_calloc(world->members, sizeof(*world->names));
    if (world->threads != NULL)
        world->threads->list =
            nf_calloc(world->members, sizeof(*world->threads->list));
    if (groups == NULL || world->names == NULL || world->threads == NULL ||
        world->threads->list == NULL) {
        nf_free(groups);
        return nf_fail(err, NF_ERR_NOMEM, "out of memory");
    }
    for (uint32_t i = 0; i < world->members; i++)
        strcpy(world->names[i], "local");
    status = nf_group_open_threads(world->members, &bench_patient, groups, err);
    if (status == NF_OK) {
        *all_p = groups[0];
        status = start_threads(config, world, groups, err);
    }
    nf_free(groups);
    return status;
}

static void threads_close(struct coll_world *world)
{
    for (uint32_t i = 1; i <= world->threads->started; i++)
        pthread_join(world->threads->list[i].thread, NULL);
    nf_free(world->threads->list);
    nf_free(world->threads);
    world->threads = NULL;
}

#ifndef HAVE_PVM3
enum nf_status coll_tasks_open(const struct coll_world_config *config,
                               struct coll_world *world,
                               struct nf_group **all_p, struct nf_error *err)
{
    (void)config, (void)world, (void)all_p;
    return nf_fail(err, NF_ERR_UNREACHABLE,
                   "this nowfarm was built without PVM: --transport local");
}

void coll_tasks_close(struct coll_world *world, bool orderly)
{
    (void)world, (void)orderly;
}
#endif

/* Data travel as between the members of any group that is opened here. */
static struct nf_coll_place find_place(const struct coll_world *world,
                                       const struct nf_group *all)
{
    struct nf_mesh_place place = { .direct = true };

    (void)nf_mesh_place(all->mesh, &place);
    return nf_coll_place_of(
        nf_model_hosts_hash(world->names[0], sizeof(world->names[0]),
                            world->members),
        place.direct && world->by_daemon == 0, place.converts);
}

static bool number_hosts(struct coll_world *world)
{
    uint32_t next = 0;

    world->hosts = nf_calloc(world->members, sizeof(*world->hosts));
    if (world->hosts == NULL)
        return false;
    for (uint32_t i = 0, j; i < world->members; i++) {
        for (j = 0; strcmp(world->names[j], world->names[i]) != 0; j++)
            continue;
        world->hosts[i] = j < i ? world->hosts[j] : next++;
    }
    return true;
}

enum nf_status coll_world_open(const struct coll_world_config *config,
                               struct coll_world *world, struct nf_error *err)
{
    struct nf_group *all = NULL;
    enum nf_status status;

    *world = (struct coll_world){ .members = 0 };
    status = config->local ? threads_open(config, world, &all, err)
                           : coll_tasks_open(config, world, &all, err);
    bench_team_init(&world->team, all, config->timeout_us, config->stop, err);
    if (status == NF_OK && !number_hosts(world))
        status = nf_fail(err, NF_ERR_NOMEM, "out of memory");
    if (status == NF_OK)
        world->place = find_place(world, all);
    else
        coll_world_close(world, false);
    return status;
}

void coll_world_close(struct coll_world *world, bool orderly)
{
    const struct bench_request end = { .kind = BENCH_END };
    struct nf_error unheard; /* why we close is known already */

    world->team.err = &unheard;
    world->team.stop = NULL;
    if (orderly && world->team.all != NULL)
        orderly = bench_direct(&world->team, &end, NULL, NULL) == NF_OK;
    bench_team_fini(&world->team);
    nf_group_close(world->team.all);
    world->team.all = NULL;
    if (world->threads != NULL)
        threads_close(world);
    if (world->tasks != NULL)
        coll_tasks_close(world, orderly);
    nf_free(world->names);
    world->names = NULL;
    nf_free(world->hosts);
    world->hosts = NULL;
    nf_free(world->routes);
    world->routes = NULL;
}

void coll_world_name_guilty(const struct coll_world *world,
                            struct nf_error *err)
{
    const char *why = NULL;
    uint32_t rank = bench_guilty_rank(&world->team, &why);

    if (rank < world->members && world->names != NULL)
        nf_fail(err, err->status, "rank %u on %s: member %u %s", rank,
                world->names[rank], rank, why);
}
