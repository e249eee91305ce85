#include "config.h"
#include "tests/unit/scene.h"
#include <pvm3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/net/pvm_context.h"

int tids[OWN_TASKS_MOST];
uint32_t ntasks, me;
const char *scene_name;

void check(bool right, int line, const char *text)
{
    if (right)
        return;
    fprintf(stderr, "%s, task %u, line %d: %s\n", scene_name, me, line, text);
    exit(1);
}

int64_t slowed_us(int64_t us)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return us * 4;
#else
    return getenv("NF_VALGRIND") != NULL ? us * 10 : us;
#endif
}

void scene_begin(char **args)
{
    scene_name = args[0];
    me = (uint32_t)strtoul(args[1], NULL, 10);
    ntasks = (uint32_t)strtoul(args[2], NULL, 10);
    printf("%d\n", pvm_mytid());
    fflush(stdout);
    for (uint32_t i = 0; i < ntasks; i++)
        CHECK(scanf("%d", &tids[i]) == 1 && tids[i] > 0);
}

int scene_play(char **args, const struct scene *scenes)
{
    scene_begin(args);
    while (scenes->name != NULL && strcmp(scenes->name, scene_name) != 0)
        scenes++;
    if (scenes->name == NULL)
        return 2;
    scenes->play();
    if (nf_pvm_self() >= 0) /* scenes may have left it */
        pvm_exit();
    return 0;
}
