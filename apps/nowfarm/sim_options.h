#ifndef NF_APPS_NOWFARM_SIM_OPTIONS_H
#define NF_APPS_NOWFARM_SIM_OPTIONS_H
/** @file sim_options.h  Options that simulations of meshes and tori read alike.
 *  Each function returns the exit status; NF_EXIT_USAGE has told what is wrong
 *  with @p option. */
#include "sim/mesh_cast.h"

/** A tick of these simulations; what is told is in us. */
#define SIM_TICK_US 0.01

enum { SIM_LIST_MAX = 32, SIM_TICKS = 5 };

struct sim_list {
    uint32_t count, value[SIM_LIST_MAX];
};

/** An option of popt's whose text is put at @p to and read later. */
#define SIM_TEXT_OPTION(name, to, help, what)                                  \
    {                                                                          \
        name, '\0', POPT_ARG_STRING, to, 0, help, what                         \
    }

/** The options that sim_read_costs() reads: texts [SIM_TICKS]. */
#define SIM_TICK_OPTIONS(ticks)                                                \
    SIM_TEXT_OPTION("send-fixed", &(ticks)[0],                                 \
                    "ticks of 0.01 us that a send takes (2000)", "TICKS"),     \
        SIM_TEXT_OPTION("send-byte", &(ticks)[1], "and for each byte (2)",     \
                        "TICKS"),                                              \
        SIM_TEXT_OPTION("hop", &(ticks)[2],                                    \
                        "that a byte takes over a channel (2)", "TICKS"),      \
        SIM_TEXT_OPTION("recv-fixed", &(ticks)[3],                             \
                        "that a receipt takes (3500)", "TICKS"),               \
        SIM_TEXT_OPTION("recv-byte", &(ticks)[4], "and for each byte (3)",     \
                        "TICKS")

/** The words of "a,b,c" one after the other, cutting it up; NULL: no more. */
char *sim_next_word(char **text);
/** "8,16": each from @p least to @p most.  Cuts up the text. */
int sim_read_counts(const char *option, char *text, uint32_t least,
                    uint32_t most, struct sim_list *list_p);
/** "4B,4KiB": each up to NF_MESH_BYTES_MAX.  Cuts up the text. */
int sim_read_sizes(const char *option, char *text, struct sim_list *list_p);
/** @return NF_EXIT_USAGE; there are more than SIM_LIST_MAX */
int sim_too_many(const char *option);

/** Options of the parts of struct nf_mesh_costs, in their order. */
extern const char *const sim_tick_options[SIM_TICKS];
/** @param ticks  texts; NULL: the paper's
 *  @param costs_p  set on NF_EXIT_OK */
int sim_read_costs(char *const ticks[SIM_TICKS], struct nf_mesh_costs *costs_p);
#endif
