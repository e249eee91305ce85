#ifndef NF_APPS_NOWFARM_COLL_WORLD_H
#define NF_APPS_NOWFARM_COLL_WORLD_H
/** @file coll_world.h  Somewhere to measure collective operations: P members,
 *  PVM tasks or threads, of whom this process is rank 0. */
#include "apps/collbench/team.h"
#include "common/coll/rules.h"

/** Of threads if nobody says how many. */
enum { COLL_THREADS = 4 };

struct coll_world_config {
    bool local;             /**< threads instead of tasks */
    uint32_t members;       /**< P; 0: one a host */
    uint32_t members_alone; /**< and if there is one host only, or threads; 0:
                                 refuse, COLL_THREADS */
    uint32_t members_most;  /**< no more hosts than that may be meant by 0;
                                 0: any number */
    const char *members_most_why; /**< " with ...", for errors; may be NULL */
    const char *hosts_file;       /**< NULL: all hosts of the virtual machine */
    int64_t timeout_us;           /**< of calls */
    const char *route;            /**< of tasks; NULL: as NOWFARM_ROUTE says */
    bool group_server;        /**< tasks: start that of PVM's group library */
    const volatile int *stop; /**< as in struct bench_team */
};

struct coll_world {
    uint32_t members;
    char (*names)[64]; /**< [members] hosts, by rank */
    struct bench_team team;
    struct coll_threads *threads; /**< NULL: tasks */
    struct coll_tasks *tasks;     /**< NULL: threads */
    uint32_t *hosts;              /**< [members] the same as numbers, from 0 */
    uint64_t *routes;   /**< see bench_by_daemon(); NULL: all are direct */
    uint64_t by_daemon; /**< how many routes are not */
    struct nf_coll_place place; /**< and how data travel there */
};

/** @param err  borrowed as long as the world is there: failures of its team
 *  are told there
 *  @retval NF_ERR_INVAL        hosts file, or this host is not in it
 *  @retval NF_ERR_UNREACHABLE  PVM, a host, or a member could not be had
 *  @retval NF_ERR_FAILED       a member of another version
 *  @retval NF_ERR_INTERRUPTED */
enum nf_status coll_world_open(const struct coll_world_config *config,
                               struct coll_world *world, struct nf_error *err);
/** End all members; @p orderly: they are in step, so tell them.  After that
 *  what they printed is on standard error, and a virtual machine that we had
 *  started is halted. */
void coll_world_close(struct coll_world *world, bool orderly);

/** If it is known who is to blame, have @p err say who that is, where, and what
 *  was found out of it.  Its group may have counted it by another rank. */
void coll_world_name_guilty(const struct coll_world *world,
                            struct nf_error *err);

/** Rank @p i of @p members runs on which of @p count hosts? */
static inline size_t coll_world_place(uint32_t i, size_t count)
{
    return i % count;
}

/* coll_world_pvm.c */
enum nf_status coll_tasks_open(const struct coll_world_config *config,
                               struct coll_world *world,
                               struct nf_group **all_p, struct nf_error *err);
void coll_tasks_close(struct coll_world *world, bool orderly);
#endif
