#include "config.h"
#include "apps/nowfarm/sim_options.h"
#include <string.h>
#include "apps/nowfarm/cli.h"
#include "common/base/units.h"

char *sim_next_word(char **text)
{
    char *word = *text, *comma;

    if (word == NULL)
        return NULL;
    comma = strchr(word, ',');
    if (comma != NULL)
        *comma = '\0';
    *text = comma != NULL ? comma + 1 : NULL;
    return word;
}

int sim_too_many(const char *option)
{
    return nf_usage_error("%s: want at most %d, with commas between them",
                          option, SIM_LIST_MAX);
}

int sim_read_counts(const char *option, char *text, uint32_t least,
                    uint32_t most, struct sim_list *list_p)
{
    char *word;
    int rc = NF_EXIT_OK;

    for (list_p->count = 0;
         rc == NF_EXIT_OK && (word = sim_next_word(&text)) != NULL;) {
        uint64_t value = 0;

        if (list_p->count == SIM_LIST_MAX)
            return sim_too_many(option);
        rc = nf_read_count(option, word, least, most, &value);
        list_p->value[list_p->count++] = (uint32_t)value;
    }
    return rc;
}

int sim_read_sizes(const char *option, char *text, struct sim_list *list_p)
{
    char *word;

    for (list_p->count = 0; (word = sim_next_word(&text)) != NULL;) {
        uint64_t value = 0;

        if (list_p->count == SIM_LIST_MAX)
            return sim_too_many(option);
        if (nf_parse_bytes(word, &value) != NF_OK || value > NF_MESH_BYTES_MAX)
            return nf_usage_error("%s %s: want a size with its unit up to "
                                  "%uB, as 4KiB",
                                  option, word, NF_MESH_BYTES_MAX);
        list_p->value[list_p->count++] = (uint32_t)value;
    }
    return NF_EXIT_OK;
}

const char *const sim_tick_options[SIM_TICKS] = { "--send-fixed", "--send-byte",
                                                  "--hop", "--recv-fixed",
                                                  "--recv-byte" };

int sim_read_costs(char *const ticks[SIM_TICKS], struct nf_mesh_costs *costs_p)
{
    struct nf_mesh_costs costs = NF_MESH_COSTS_PAPER;
    int64_t *to[SIM_TICKS] = { &costs.send_fixed, &costs.send_byte, &costs.hop,
                               &costs.recv_fixed, &costs.recv_byte };
    int rc = NF_EXIT_OK;

    for (int i = 0; i < SIM_TICKS && rc == NF_EXIT_OK; i++) {
        uint64_t value = 1;

        if (ticks[i] == NULL)
            continue;
        rc = nf_read_count(sim_tick_options[i], ticks[i], to[i] == &costs.hop,
                           NF_MESH_TICKS_MAX, &value);
        *to[i] = (int64_t)value;
    }
    if (rc == NF_EXIT_OK)
        *costs_p = costs;
    return rc;
}
