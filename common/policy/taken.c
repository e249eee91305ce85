#include "config.h"
#include "common/policy/taken.h"

void nf_taken_ask(struct nf_taken *taken, uint64_t units[], uint32_t slot,
                  uint64_t left)
{
    if (left < taken->left)
        units[taken->slot] += taken->left - left;
    taken->left = left;
    taken->slot = slot;
}

uint64_t nf_taken_rest(uint64_t share, uint64_t taken)
{
    return taken < share ? share - taken : 0;
}
