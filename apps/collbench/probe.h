#ifndef NF_APPS_COLLBENCH_PROBE_H
#define NF_APPS_COLLBENCH_PROBE_H
/** @file probe.h  The members of `nowfarm probe`: procedures that time messages
 *  between any two of them.  They use a mesh of their own; every time is taken
 *  on one host.
 *
 *      rank 0                                   others
 *      probe_open()                 BENCH_PROBE: probe_serve()
 *      probe_start(member, act) --ACT-->        carries it out with a partner,
 *      probe_collect(member)   <--RESULT--      who only answers
 *      probe_close()            --END-->
 *
 *  Acts of members that have nothing to do with each other may be under way at
 *  the same time.
 *
 *  Nobody waits for ever:
 *    - Only who carries out an act waits, for the reply of one member at a time
 *      to a question that has been sent.  All others do, at once and without
 *      waiting, what each message asks for.  Rank 0 gives no act to who has one
 *      or is the partner of one, so no two wait for each other.
 *    - What comes is noted (probe_peer), and a wait looks at the notes: it may
 *      be taken off the mesh in any wait whatever, that for a backlog to go,
 * say.
 *    - A wait ends when the member has left, has not been heard of for the
 *      time-out, or stop is set.  Who fails tells rank 0 for whom, and leaves;
 *      when rank 0 leaves all do.  In an act a member shows rank 0 signs of
 *      life. */
#include "apps/collbench/probe_word.h"
#include "apps/collbench/team.h"

struct probe_result {
    uint32_t count;
    double us[PROBE_SAMPLES_MAX];
    double send_us[PROBE_SAMPLES_MAX]; /**< PING */
};

/** What is known of another member. */
struct probe_peer {
    int64_t heard_us;   /**< when it last said anything, nf_now_us() */
    double answered_us; /**< when the last reply was taken, bench_now_us() */
    uint32_t answered;  /**< our last question that it has replied to */
    bool left;
};

/** One member's view. */
struct probe {
    struct nf_mesh *mesh;
    const volatile int *stop; /**< may be NULL */
    int64_t timeout_us; /**< without anything of who is waited for; < 0: for
                             ever */
    struct nf_error *err;
    uint32_t guilty; /**< who left or is silent; UINT32_MAX: not known */
    struct probe_peer *peers; /**< [ranks] */
    uint32_t asked;           /**< questions, so far */
    uint32_t *children;       /**< own, in the tree */
    uint32_t nchildren;
    struct nf_blob *payload; /**< of the last size that was sent */
    /* not rank 0 */
    struct probe_word order; /**< ACT or END, to be carried out; WORDS: none */
    bool acting;
    int64_t shown_us; /**< when rank 0 was last shown a sign of life */
    /* rank 0 */
    bool closing;
    struct probe_result *results; /**< [ranks] */
    uint32_t *acts;               /**< [ranks] number of the last ACT, 0: own */
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
/** What came out at @p member.
 *  @param result_p  what probe_start() has asked of it */
enum nf_status probe_collect(struct probe *probe, uint32_t member,
                             struct probe_result *result_p);

/** Tell @p member its children, children[0..count), to whom it sends in this
 *  order: those of PROBE_SEQ, or of a tree. */
enum nf_status probe_plant(struct probe *probe, uint32_t member,
                           const uint32_t *children, uint32_t count);

/** A message down the tree that was planted, from rank 0, which has children.
 */
struct probe_cast {
    uint32_t bytes, parts;  /**< so many parts of so many bytes; parts >= 1 */
    uint32_t delay_us;      /**< before, until the network is idle */
    uint32_t allow_us;      /**< that it may take, beside the time-out */
    const uint32_t *leaves; /**< [nleaves] all that have no children */
    uint32_t nleaves;
};
/** Rank 0: send it and wait until all have it; nobody has an act.
 *  @param us_p  [nleaves] from the start until the answer of each leaf, which
 *               it gives to the last part, was here */
enum nf_status probe_cast(struct probe *probe, const struct probe_cast *cast,
                          double *us_p);

/* ---- probe_act.c ---- */

/** @param result_p  count is that of the act */
enum nf_status probe_carry_out(struct probe *probe, const struct probe_act *act,
                               struct probe_result *result_p);

/* ---- probe.c, for probe_act.c ---- */

/** Send a message of so many bytes.  @param what  the head beside kind, number
 *  and bytes; may be NULL */
enum nf_status probe_send(struct probe *probe, uint32_t member,
                          enum probe_word_kind kind, uint32_t number,
                          uint32_t bytes, const struct probe_act *what);
/** The same with the next number, which is a question.
 *  @param number_p  may be NULL */
enum nf_status probe_ask(struct probe *probe, uint32_t member,
                         enum probe_word_kind kind, uint32_t bytes,
                         const struct probe_act *what, uint32_t *number_p);
/** To the own children in the tree. */
enum nf_status probe_pass(struct probe *probe, uint32_t number, bool is_last,
                          struct nf_blob *payload);
/** Until all that is queued for @p member has been handed over. */
enum nf_status probe_flush(struct probe *probe, uint32_t member);
/** Until @p member has replied to this question, or a later one. */
enum nf_status probe_await(struct probe *probe, uint32_t member,
                           uint32_t number);
/** Until it has answered: what was sent to it before, it has. */
enum nf_status probe_call(struct probe *probe, uint32_t member);
/** In an act, now and then: rank 0 is to know that this member lives. */
enum nf_status probe_show_life(struct probe *probe);
/** The payload of so many bytes; NULL: 0 bytes, or out of memory. */
struct nf_blob *probe_payload(struct probe *probe, uint32_t bytes);
#endif
