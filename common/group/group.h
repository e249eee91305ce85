#ifndef NF_GROUP_GROUP_H
#define NF_GROUP_GROUP_H
/** @file group.h  Inside of a group: calls under way, messages that came early,
 *  and what is known of members that failed.  nowfarm_group.h is the outside.
 *
 *  group.c  calls, messages      watch.c   deaths, silence, giving up
 *  calls.c  the operations       shrink.c  a group of the survivors
 *  choose.c which algorithm      open.c    making groups
 *  wait.c   sleeping             early.c   messages of calls to come
 *  blocking.c  the blocking forms of the operations */
#include "common/coll/exchange_choice.h"
#include "common/coll/rules.h"
#include "common/coll/select.h"
#include "common/coll/torus_choice.h"
#include "common/group/exec.h"
#include "common/group/measured.h"
#include "common/group/over_mesh.h"
#include "common/net/mesh.h"

/** What a member that may be silent is given to answer, and what a message
 *  that was sent before a death is given to come: at most so long while other
 *  data move. */
enum {
    NF_GRACE_LEAST_US = 50000,
    NF_GRACE_MOST_US = 400000,
    NF_LEFT_GRACE_US = 100000,
    NF_LEFT_MOST_US = 1000000,
};

/** How long after something moved a member that is waited for is asked, and
 *  after its answer again: it has a time-out for each. */
enum { NF_ASK_EARLY_MOST_US = 500000 };

/** Of a member that is not needed no more is kept than this and one message. */
enum { NF_EARLY_BYTES = 1 << 20 };

enum { NF_NO_NETWORK_BYTES = 128 };
enum { NF_EARLY_LISTS = 64, NF_PLANS_KEPT = 128, NF_CHOICES_KEPT = 64 };

/** A message for a call that has not begun here. */
struct nf_early {
    struct nf_early *next;
    uint32_t from;
    struct nf_head head;
    struct nf_blob *payload;
};
struct nf_early_list {
    struct nf_early *first, *last;
};

/** A message of a shrink. */
struct nf_view {
    struct nf_view *next;
    uint32_t from, round;
    bool decides;
    uint8_t bits[]; /**< a bit for each member: is it lost? */
};
struct nf_view_list {
    struct nf_view *first, *last;
};

struct nf_request {
    struct nf_request *next; /**< the one begun after it */
    struct nf_group *group;
    struct nf_exec exec;
    const char *algorithm; /**< NULL: it needs none */
    char
        told[NF_TOLD_BYTES]; /**< algorithm, if it goes by radices or a shape */
    struct nf_plan *plan;    /**< borrowed of the group, or owned */
    bool owns_plan;
    uint32_t plan_slot;
    uint32_t nlet_in; /**< with a window: steps whose members are not held
                           back */
    uint32_t epoch;
    enum nf_status status; /**< NF_WAIT while under way */
    void *input;           /**< a copy of it, or NULL */
    size_t *offsets;       /**< if the user gave none */
    size_t *send_offsets;  /**< likewise */
};

struct nf_choice_query {
    struct nf_coll_query coll;
    bool varies;  /**< blocks of sizes that not all members know */
    bool lists;   /**< blocks may differ, whoever knows about how large they are */
    bool plain;   /**< as nf_group.plain */
    int type, op; /**< of operations that combine */
};

/** Looking for the member that is to blame. */
struct nf_chase {
    bool active;
    uint32_t first, suspect;
    uint32_t nonce, restarts;
    int64_t asked_us; /**< the suspect, or when to begin again */
    bool resting;     /**< until asked_us */
    bool moved;       /**< a member asked in this round has got on */
    bool *asked;      /**< [P] in this round */
    uint32_t *seen;   /**< [P] the progress in its last answer */
    int64_t *seen_us; /**< [P] when that was new; 0: it never answered */
    bool early;       /**< who is waited for was asked before the time-out, and
                           has not answered */
    uint32_t early_member;
    int64_t early_us; /**< when it was asked, or answered */
};

struct nf_group {
    struct nf_mesh *mesh; /**< NULL: given up for want of memory */
    uint32_t rank, ranks;
    uint32_t *hosts; /**< [P] of each member, the same numbers in all */
    uint32_t nhosts; /**< how many different ones */
    double part;     /**< of the members that is on the fullest host */
    uint32_t least;  /**< of them on the host that has the fewest */
    uint64_t id;     /**< of the mesh; that of a shrunken one comes from it */
    struct nf_group_clock clock;
    int64_t timeout_us;       /**< < 0: none */
    const volatile int *stop; /**< of the user, or NULL */
    bool deterministic;
    char forced[NF_COLL_OPS][64]; /**< "bcast.pipeline.fd:k=16"; "": none */
    struct nf_coll_rules rules;
    bool has_rules; /**< the model is theirs */
    struct nf_exchange_price
        exchange;                 /**< of that model, or of the network's
                                       if there is none, as rank 0 has it */
    struct nf_torus_choices *torus; /**< that the members are, or NULL */
    struct nf_measured *measured; /**< the network, or NULL */
    struct nf_coll_tree told;     /**< of nf_group_set_tree(); ranks 0: none */
    uint32_t *told_words;         /**< that is in it */
    bool has_odd_doubles; /**< not nf_doubles_are_plain(): plans of this member
                               could differ from those of others */
    uint32_t odd; /**< 1 + the first such member of the group that was opened,
                       equal in all; 0: there is none, and models may choose */
    char no_network[NF_NO_NETWORK_BYTES]; /**< why that of rank 0 is not used,
                                               equal in all; "": it is, or there
                                               is none */
    uint64_t memory_bytes; /**< that calls may take beyond the user's buffers,
                              the same in all members; 0: any */
    bool sharing; /**< the table and the network are handed out: nothing is
                       forced yet, and no network or limit counts */
    bool plain;   /**< calls that begin now go by the built-in model,
                       whatever is forced or measured; barriers let all go
                       at once */
    struct nf_user_codes codes;

    uint32_t epoch;              /**< of the next call */
    struct nf_request *requests; /**< under way, oldest first */
    struct nf_request *spare;
    struct nf_early_list early[NF_EARLY_LISTS]; /**< by epoch */
    size_t early_most_bytes; /**< NF_EARLY_BYTES; tests take less */
    size_t *early_bytes; /**< [P] of a member in them, with what they cost */
    bool *paused;        /**< [P] */
    uint32_t npaused;
    struct nf_view_list views; /**< of a shrink, in order */
    struct nf_plan *plans[NF_PLANS_KEPT];
    uint32_t plan_users[NF_PLANS_KEPT];
    struct {
        bool valid;
        struct nf_choice_query query;
        struct nf_coll_choice choice;
    } choices[NF_CHOICES_KEPT];

    bool revoked;
    uint32_t end_epoch; /**< revoked: this call and later ones are given up */
    enum nf_status broken; /**< the mesh is of no use any more: why */
    bool starting;         /**< inside nf_group_start */
    struct nf_error error;
    uint32_t blamed; /**< the member that error is about, of several the first;
                          NF_PLAN_NONE: about none */
    bool *lost;      /**< [P] for whom it was given up */
    const char **whys; /**< [P] what was found out of each that is lost, "is
                            silent"; NULL: others have left it out */
    bool *left;        /**< [P] */
    int64_t *left_us;  /**< [P] when */
    uint32_t nleft;
    uint32_t moves; /**< how often something happened in calls that are over */
    uint32_t moves_seen; /**< nf_group_moves() at moved_us */
    int64_t moved_us;    /**< when something last happened in a call */
    int64_t suspected_us; /**< when the mesh was last asked to look after who is
                               waited for, or the first call began */
    uint32_t suspect;     /**< who is next */
    int64_t pumped_us;   /**< when messages were last asked for */
    bool tired; /**< operators took long: the rest of what has come is for the
                     next look */
    struct nf_chase chase;
};

int64_t nf_group_now_us(const struct nf_group *group);

/* calls.c */
/** What an all-to-all of different sizes has, and is to have, in the place of the
 *  user's buffers. */
struct nf_blocks {
    struct nf_blob *const *chains; /**< [P] what goes to each, as long as its
                                        count says, a chain or not; NULL for no
                                        bytes, and all for this member itself.  Or
                                        NULL: call->send */
    struct nf_exec_block *come;    /**< [P] set when the request is done: what
                                        came of each, with a reference */
};
/** May there be chains, and is one better than one piece, for so many bytes in so many
 * parts that go to @p rank? */
bool nf_group_likes_chain(const struct nf_group *group, uint32_t rank,
                          size_t bytes, size_t parts);
/** As nf_group_start().  call->recv is not used: what comes is not copied, but handed
 *  out as it came, in messages.
 *  @param blocks  `chains` is borrowed for this call, `come` until it is done */
enum nf_status nf_group_start_blocks(struct nf_group *group,
                                     const struct nf_call *call,
                                     const struct nf_blocks *blocks,
                                     struct nf_request **request_p);

/* group.c, for calls.c */
/** Begin a call whose data and algorithm are known.
 *  @param request  of nf_group_new_request()
 *  @retval < 0  the group was given up; @p request is to be dropped */
enum nf_status nf_group_launch(struct nf_group *group,
                               struct nf_request *request,
                               const struct nf_coll_choice *choice,
                               const struct nf_exec_call *call, uint32_t root);
struct nf_request *nf_group_new_request(struct nf_group *group);
/** Take the messages that have come, until no call is under way any more, or
 *  operators of the user have taken long.
 *  @retval < 0  the group failed */
enum nf_status nf_group_pump(struct nf_group *group);
/** nf_mesh_landing.find of its mesh, @p self being the group: where the call that a
 *  message is of wants its payload in the end. */
uint8_t *nf_group_landing(void *self, uint32_t member, const uint8_t *head,
                          size_t head_bytes, size_t bytes);
/** nf_mesh_landing.is_later: another call is under way or about to begin here, and that
 *  which it is of has not begun. */
bool nf_group_is_later(void *self, const uint8_t *head, size_t head_bytes);
/** Hear of deaths, answer who asks and the like, unless that was done just now.
 *  Who only sends, as the root of broadcasts, and whose calls are done as soon as
 *  they have begun, would never else.
 *  @param starting  a call is to begin
 *  @retval < 0  the group failed */
enum nf_status nf_group_look_around(struct nf_group *group, bool starting);
/** The mesh is to look after the next @p most of those that @p is_missing, since
 *  whoever tells of ends there may be busy.  Nothing where all look after all.
 *  @return when it is time for the next ones, on the group's clock; INT64_MAX:
 *  never */
int64_t nf_group_suspect(struct nf_group *group,
                         bool is_missing(const void *of, uint32_t member),
                         const void *of, int64_t now_us, uint32_t most);
/** Counts what happens in calls, including bytes of messages that are not whole
 *  yet: as long as it changes, nobody that this member needs is silent. */
uint32_t nf_group_moves(const struct nf_group *group);
/** Is call @p epoch given up? */
bool nf_group_ends(const struct nf_group *group, uint32_t epoch);
/** Has the call @p epoch not begun here yet? */
bool nf_group_is_ahead(const struct nf_group *group, uint32_t epoch);
/** The oldest call that is not over. */
uint32_t nf_group_first_epoch(const struct nf_group *group);
/** End the calls under way from @p epoch on: their group failed. */
void nf_group_abandon(struct nf_group *group, uint32_t epoch,
                      enum nf_status status);
/** Forget @p request, which may be under way or not. */
void nf_group_drop_request(struct nf_request *request);

/** @p tree, which is told from others by where it is, is not what it was (NULL:
 *  nor is any other): new calls plan anew.  Those under way go on with the plans
 *  that they have. */
void nf_group_outdate_plans(struct nf_group *group,
                            const struct nf_coll_tree *tree);

/** A call without data: nobody may have sent any.
 *  @retval NF_ERR_MISMATCH  somebody has */
enum nf_status nf_group_pass(struct nf_group *group);

/* wait.c */
/** Is there one call under way, that waits for nothing but that what it sent is read? */
bool nf_group_settles(const struct nf_group *group);
/** Is the oldest call one in which all wait for what comes from the root, and are all
 *  on one host?  Who yields there, and finds nothing, is in its way. */
bool nf_group_waits_for_root(const struct nf_group *group);
/** Has the user said stop? */
bool nf_group_is_stopped(const struct nf_group *group);
/** Sleep until something may have happened, @p timeout_us (< 0: for ever) has
 *  passed, or it is time to see whether the user has said stop. */
void nf_group_sleep(struct nf_group *group, int64_t timeout_us);

/* early.c */
/** Keep a message of a call to come.
 *  @param payload  taken over, also on errors   @retval NF_ERR_NOMEM */
enum nf_status nf_group_keep(struct nf_group *group, uint32_t from,
                             const struct nf_head *head,
                             struct nf_blob *payload);
/** Take the first one of call @p epoch out; NULL: there is none.  The caller
 *  frees it and its payload. */
struct nf_early *nf_group_find_early(struct nf_group *group, uint32_t epoch);
/** Take messages again of paused members that are needed, or of which enough
 *  was used. */
void nf_group_resume(struct nf_group *group);
/** Pause members of whom @p request, which begins, wants large blocks later. */
void nf_group_hold_back(struct nf_group *group, struct nf_request *request);
/** Something of @p member was taken: pause it if all that is still to come of
 * it is a large block whose turn has not come. */
void nf_group_hold_next(struct nf_group *group, uint32_t member);
/** Let those in whose turn has come. */
void nf_group_let_in(struct nf_group *group, struct nf_request *request);
/** Drop all, and take messages of everybody. */
void nf_group_forget_early(struct nf_group *group);

/* watch.c */
/** Give the group up, tell everybody, and fail its calls under way.
 *  @param ranks  [nranks] whom it is lost for
 *  @return @p reason; NF_ERR_REVOKED if it was given up before */
enum nf_status nf_group_revoke(struct nf_group *group, enum nf_status reason,
                               const uint32_t *ranks, uint32_t nranks,
                               const char *text);
/** Give it up since memory or the transport failed.  @return as above */
enum nf_status nf_group_broke(struct nf_group *group, enum nf_status status);
void nf_group_saw_left(struct nf_group *group, uint32_t member);
/** @retval < 0  the group was given up by it */
enum nf_status nf_group_saw_control(struct nf_group *group, uint32_t from,
                                    const struct nf_control *control);
/** What is due now.  @retval < 0  the group was given up */
enum nf_status nf_group_watch(struct nf_group *group, int64_t now_us);
/** Something happened: nobody is silent. */
void nf_group_saw_progress(struct nf_group *group, int64_t now_us);
enum nf_status nf_group_send_control(struct nf_group *group, uint32_t member,
                                     const struct nf_control *control);

/* choose.c */
/** @retval NF_ERR_FAILED  there is no algorithm for it */
enum nf_status nf_group_choose(struct nf_group *group,
                               const struct nf_choice_query *query,
                               struct nf_coll_choice *choice_p,
                               struct nf_error *err);
/** Choose as @p text says, "bcast.pipeline.fd:k=16,reduce.chain.fd"; a call
 *  that they cannot serve is an error.
 *  @retval NF_ERR_INVAL  no such algorithm, bad k, not for so many members */
enum nf_status nf_group_force(struct nf_group *group, const char *text,
                              struct nf_error *err);

/** Nothing is forced any more. */
void nf_group_unforce(struct nf_group *group);
/** Choose anew. */
void nf_group_forget_choices(struct nf_group *group);
/** The same as in a larger group; what is not for so few is left out, with a
 *  warning. */
void nf_group_force_those_of(struct nf_group *group,
                             const struct nf_group *from);

/** Choose by these rules, as text, from now on.
 *  @param warning  NULL, or gets what nf_coll_rules_read() warns of: for one
 *  member to tell
 *  @retval NF_ERR_INVAL  they are damaged */
enum nf_status nf_group_set_rules(struct nf_group *group, const char *text,
                                  size_t bytes, struct nf_error *warning,
                                  struct nf_error *err);

/** Choose algorithms and trees by this network, a model file as text, from now on;
 *  calls under way go on as they are.
 *  @param names  [ranks] of the members' hosts   @param file  for errors
 *  @retval NF_ERR_INVAL  it is no model, or there are too many members
 *  @retval NF_ERR_NOMEM */
enum nf_status nf_group_set_network(struct nf_group *group, const char *text,
                                    size_t bytes, const char *file,
                                    const char (*names)[64],
                                    struct nf_error *err);

/* share.c */
/** Rank 0's table and network become everybody's, if all can go by them: the
 * end of opening a group.  Each member calls it, before any other call.
 *  @param options  of this member
 *  @retval < 0  group->error; the group is of no use */
enum nf_status nf_group_share_texts(struct nf_group *group,
                                    const struct nf_group_options *options);
/** The same for @p count groups in one thread: nothing needs to be sent. */
enum nf_status nf_group_share_here(struct nf_group **groups, uint32_t count,
                                   const struct nf_group_options *options,
                                   struct nf_error *err);

/* shrink.c */
struct nf_shrink;
/** Keep a message of a shrink until it is looked at.  @retval NF_ERR_NOMEM */
enum nf_status nf_shrink_keep(struct nf_group *group, uint32_t from,
                              const struct nf_control *control);
void nf_shrink_forget(struct nf_group *group);
/** Begin to agree; then run until it does not return NF_WAIT.
 *  @retval NF_ERR_NOMEM
 *  @retval NF_ERR_UNREACHABLE  the transport itself broke */
enum nf_status nf_shrink_start(struct nf_group *group,
                               struct nf_shrink **shrink_p,
                               struct nf_error *err);
/** @param group_p  set with NF_OK
 *  @retval NF_WAIT  @retval NF_ERR_TIMEDOUT, NF_ERR_DEAD, ...
 *  @retval NF_ERR_UNREACHABLE, NF_ERR_NOMEM  the transport itself broke */
enum nf_status nf_shrink_run(struct nf_shrink *shrink,
                             struct nf_group **group_p, struct nf_error *err);
/** Microseconds until it is to be run again though nothing came. */
int64_t nf_shrink_deadline_us(const struct nf_shrink *shrink);
/** NULL is fine. */
void nf_shrink_destroy(struct nf_shrink *shrink);
#endif
