#ifndef NF_APPS_COLLBENCH_PROBE_H
#define NF_APPS_COLLBENCH_PROBE_H
/** @file probe.h  The members of `nowfarm probe`: procedures that time messages
 *  between any two of them.  They use a mesh of their own, with heads as long
 *  as those of collective operations, so that what is measured is what runs;
 *  every time is taken on one host.
 *
 *      rank 0                                   others
 *      probe_open()                 BENCH_PROBE: probe_serve()
 *      probe_start(member, act) --ACT-->        carries it out with a partner,
 *      probe_collect(member)   <--RESULT--      who only answers
 *      probe_close()            --END-->
 *
 *  Acts of members that have nothing to do with each other may be under way at
 *  the same time. */
#include "apps/collbench/team.h"
#include "common/net/mesh.h"

enum { PROBE_SAMPLES_MAX = 128 };

enum probe_kind {
    PROBE_PING,  /**< bytes to partner and none back: us; until handed over:
                  * send_us
                  */
    PROBE_TAKE,  /**< partner sends bytes; after delay_us take them: us */
    PROBE_SEQ,   /**< bytes to its children in turn, `run` messages, then to
                      partner, who alone answers: us */
    PROBE_TREE,  /**< rank 0 only: bytes along the tree, partner answers: us */
    PROBE_TURNS, /**< the same; a host sends to a child when the one before has
                      it */
    PROBE_KINDS
};

struct probe_act {
    enum probe_kind kind;
    uint32_t partner;
    uint32_t bytes;
    uint32_t count, warm; /**< repetitions, and before that; count at most
                               PROBE_SAMPLES_MAX */
    uint32_t delay_us;    /**< TAKE: for the message to come; else before each
                                   repetition, until the network is idle */
    uint32_t
        run; /**< SEQ: r; TREE, TURNS: it has so many nodes, the first ones */
};

struct probe_result {
    uint32_t count;
    double us[PROBE_SAMPLES_MAX];
    double send_us[PROBE_SAMPLES_MAX]; /**< PING */
};

/** One member's view. */
struct probe {
    struct nf_mesh *mesh;
    const volatile int *stop; /**< may be NULL */
    int64_t timeout_us;       /**< without anything of anybody; < 0: for ever */
    struct nf_error *err;
    uint32_t guilty;    /**< who left or is silent; UINT32_MAX: not known */
    uint32_t awaited;   /**< whose message; UINT32_MAX: nobody's */
    double arrived_us;  /**< rank 0: when it was told that a message of the tree
                             has, at its partner; 0: not yet */
    uint32_t passed;    /**< messages of the tree since it was planted */
    uint32_t owed_at;   /**< so many, and rank 0 gets an answer; 0: none */
    uint32_t *children; /**< own, in the tree */
    uint32_t nchildren;
    struct nf_blob *payload;      /**< of the last size that was sent */
    struct probe_result *results; /**< rank 0: [ranks] */
    bool *has_result;             /**< rank 0: [ranks] */
};

/** Rank 0: begin; all others serve from now on.
 *  @param probe_p  close with probe_close(), also after a failure
 *  @retval < 0  team->err */
enum nf_status probe_open(struct bench_team *team, struct probe *probe_p);
/** @param orderly  the others wait for acts: tell them that there are none */
void probe_close(struct probe *probe, bool orderly);

/** The part of the others, until rank 0 closes. */
enum nf_status probe_serve(struct bench_team *team);

/** Have @p member carry out an act; if it is rank 0 itself, that is done before
 *  this returns, so ask the others first. */
enum nf_status probe_start(struct probe *probe, uint32_t member,
                           const struct probe_act *act);
/** What came out at @p member. */
enum nf_status probe_collect(struct probe *probe, uint32_t member,
                             struct probe_result *result_p);

/** Tell everybody the tree of PROBE_TREE: parent[v] of v < ranks, the root 0
 *  being its own; children are sent to in the order of their numbers in
 *  @p order. [ranks] */
enum nf_status probe_plant(struct probe *probe, const uint32_t *parent,
                           const uint32_t *order);
/** The same for one of them: those to whom PROBE_SEQ sends in turn. */
enum nf_status probe_plant_at(struct probe *probe, uint32_t member,
                              const uint32_t *parent, const uint32_t *order);

/* probe_act.c */
enum nf_status probe_carry_out(struct probe *probe, const struct probe_act *act,
                               struct probe_result *result_p);

/* probe.c, for probe_act.c */
enum probe_word {
    PROBE_DATA,    /**< nobody waits for it, but PROBE_TAKE */
    PROBE_ASK,     /**< send me so many bytes */
    PROBE_CALL,    /**< answer with nothing, if `run` of the tree have passed */
    PROBE_ANSWER,  /**< that */
    PROBE_PASS,    /**< DATA for the tree; partner says when it has it */
    PROBE_ARRIVED, /**< that it has, to rank 0 */
    PROBE_PLANT,   /**< your children */
    PROBE_ACT,     /**< carry this out */
    PROBE_RESULT,  /**< what came out */
    PROBE_END,
    PROBE_WORDS
};
/** Send a message without payload, or with so many bytes.  @param what  the
 * head beside its kind and bytes; may be NULL */
enum nf_status probe_send(struct probe *probe, uint32_t member,
                          enum probe_word word, uint32_t bytes,
                          const struct probe_act *what);
/** Until all that is queued for @p member has been handed over. */
enum nf_status probe_flush(struct probe *probe, uint32_t member);
/** Until a message of this kind has come of @p member; answer others. */
enum nf_status probe_await(struct probe *probe, uint32_t member,
                           enum probe_word word);
/** Until it has answered: what was sent to it before, it has. */
enum nf_status probe_call(struct probe *probe, uint32_t member);
/** The payload of so many bytes; NULL: 0 bytes, or out of memory. */
struct nf_blob *probe_payload(struct probe *probe, uint32_t bytes);
/** To the own children in the tree. */
enum nf_status probe_pass(struct probe *probe, const struct probe_act *act,
                          struct nf_blob *payload);
#endif
