#ifndef NF_APPS_COLLBENCH_PROBE_WORD_H
#define NF_APPS_COLLBENCH_PROBE_WORD_H
/** @file probe_word.h  What the members of `nowfarm probe` say to each other,
 * as the head of a message.  Pure. */
#include <stdbool.h>
#include "common/group/head.h"
#include "common/net/mesh.h"

/** As long as the full heads of collective operations: what is measured is what
 *  runs. */
enum { PROBE_HEAD_BYTES = NF_HEAD_BYTES };
enum { PROBE_SAMPLES_MAX = 128, PROBE_BYTES_MOST = 1 << 26 };

enum probe_kind {
    PROBE_PING, /**< bytes to partner and none back: us; until handed over:
                 * send_us
                 */
    PROBE_TAKE, /**< partner sends bytes; after delay_us take them: us */
    PROBE_SEQ,  /**< bytes to its children in turn, `run` messages, then to
                     partner, who alone answers: us */
    PROBE_FLOOD, /**< partner sends bytes, `run` messages, 2 or more: us from
                      when the first one is here until the last one is */
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
    uint32_t run;         /**< SEQ: r; FLOOD: how many */
};

enum probe_word_kind {
    PROBE_DATA,   /**< what ASK asked for; number 0: nobody waits for it */
    PROBE_ASK,    /**< send me so many bytes; `run` times, the last of which
                       has the next number */
    PROBE_CALL,   /**< answer with nothing */
    PROBE_ANSWER, /**< that */
    PROBE_PASS,   /**< for the tree: to all children; without any, answer to
                       rank 0 if `run` says that it is the last */
    PROBE_PLANT,  /**< your children in the tree */
    PROBE_ACT,    /**< carry this out */
    PROBE_RESULT, /**< what came out */
    PROBE_ALIVE,  /**< a member that carries out an act, to rank 0 */
    PROBE_FAILED, /**< a member gives up, for partner: status in `run` */
    PROBE_END,    /**< there is nothing more to carry out */
    PROBE_WORDS
};

/** Questions - ASK, CALL, the last PASS, ACT - are numbered by who asks, from 1
 * up, and the reply has the number of its question. */
struct probe_word {
    enum probe_word_kind kind;
    uint32_t number;
    uint32_t bytes; /**< of the payload; ASK: that are asked for */
    struct probe_act act;
};

void probe_word_encode(const struct probe_word *word,
                       uint8_t to[PROBE_HEAD_BYTES]);
/** @return false: of another program of the user, or of another version, and
 *  not ours to believe */
bool probe_word_decode(const struct nf_mesh_message *message, uint32_t ranks,
                       struct probe_word *word_p);
#endif
