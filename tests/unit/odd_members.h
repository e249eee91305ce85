#ifndef NF_TESTS_UNIT_ODD_MEMBERS_H
#define NF_TESTS_UNIT_ODD_MEMBERS_H
/* Groups of MEMBERS threads, of whom one calculates with other doubles, and what is
 * logged meanwhile.  Who wants another number of them defines ODD_MEMBERS before. */
#include <pthread.h>
#include <stdio.h>
#include "common/base/log.h"
#include "common/group/group.h"
#include "tests/unit/nf_unit.h"

#ifndef ODD_MEMBERS
#define ODD_MEMBERS 5
#endif
enum { MEMBERS = ODD_MEMBERS };

static int warnings;
static char warning[512];

static void keep_warning(enum nf_log_level level, const char *line)
{
    warnings += level == NF_LOG_WARN;
    snprintf(warning, sizeof(warning), "%s", line);
}

static const struct nf_group_options *member_options;

/* @return NULL: it failed */
static void *share(void *group)
{
    return nf_group_share_texts(group, member_options) == NF_OK ? group : NULL;
}

/* Groups of PVM tasks open so, each member by itself.
 * @param odd  who does; MEMBERS: nobody */
static void open_members(struct nf_group **groups, uint32_t odd,
                         const struct nf_group_options *options)
{
    struct nf_mesh *meshes[MEMBERS];
    pthread_t threads[MEMBERS];

    CU_ASSERT_EQUAL_FATAL(nf_mesh_open_local(MEMBERS, meshes, NULL), NF_OK);
    member_options = options;
    for (uint32_t i = 0; i < MEMBERS; i++) {
        CU_ASSERT_EQUAL_FATAL(
            nf_group_create(meshes[i], 0, NULL, options, &groups[i], NULL),
            NF_OK);
        CU_ASSERT(!groups[i]->has_odd_doubles);
        groups[i]->has_odd_doubles = i == odd;
    }
    for (uint32_t i = 0; i < MEMBERS; i++)
        CU_ASSERT_EQUAL_FATAL(
            pthread_create(&threads[i], NULL, share, groups[i]), 0);
    for (uint32_t i = 0; i < MEMBERS; i++) {
        void *good;

        pthread_join(threads[i], &good);
        CU_ASSERT_PTR_NOT_NULL(good);
    }
}

static struct nf_choice_query to_members(uint64_t bytes)
{
    return (struct nf_choice_query){ .coll = { .op = NF_COLL_BCAST,
                                               .ranks = MEMBERS,
                                               .bytes = bytes,
                                               .elements = bytes,
                                               .commutative = true } };
}
#endif
