/* sim_makespan FILE POLICY [SEED]: the makespan, in seconds, of the job that a
 * platform file describes (sim/world.h), in virtual time. */
#include "config.h"
#include <stdio.h>
#include <stdlib.h>
#include "sim/farm_sim.h"

int main(int argc, char **argv)
{
    struct nf_error err = { .status = NF_OK };
    struct nf_farm_sim_result result;
    struct nf_policy policy;
    struct nf_world world;
    enum nf_status status;

    if (argc < 3 || argc > 4) {
        fprintf(stderr, "usage: sim_makespan FILE POLICY [SEED]\n");
        return 2;
    }
    if (nf_policy_parse(argv[2], &policy, &err) != NF_OK ||
        nf_world_read(argv[1], &world, &err) != NF_OK) {
        fprintf(stderr, "sim_makespan: %s\n", err.text);
        return 2;
    }
    status = nf_farm_sim_run(&world, &policy,
                             argc > 3 ? strtoull(argv[3], NULL, 10) : 1,
                             &result, &err);
    nf_world_fini(&world);
    if (status != NF_OK) {
        fprintf(stderr, "sim_makespan: %s\n", err.text);
        return 1;
    }
    printf("%.6f\n", (double)result.makespan_us * 1e-6);
    nf_farm_sim_fini(&result);
    return 0;
}
