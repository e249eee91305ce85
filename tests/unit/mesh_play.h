#ifndef NF_TESTS_UNIT_MESH_PLAY_H
#define NF_TESTS_UNIT_MESH_PLAY_H
/** @file mesh_play.h  What the scenes of test_mesh_pvm have in common. */
#include <sys/types.h>
#include "common/net/mesh.h"
#include "tests/unit/scene.h"

enum { PATIENCE_US = 20 * 1000000, MESSAGES = 40 };

/** What members have said already for the next meeting, + 1. */
extern uint32_t ahead[OWN_TASKS_MOST];

/** A mesh of all tasks. */
struct nf_mesh *open_mesh(uint64_t id);
void say(struct nf_mesh *mesh, uint32_t to, uint32_t word,
         struct nf_blob *payload);
uint32_t word_of(const struct nf_mesh_event *event);
/** The next event, which must come. */
struct nf_mesh_event next(struct nf_mesh *mesh);
/** It must be this word. */
void hear(struct nf_mesh *mesh, uint32_t from, uint32_t word);
/** Until what was sent has gone; words that come meanwhile are of meet(). */
void drain(struct nf_mesh *mesh, uint32_t to);
void note_ahead(const struct nf_mesh_event *event);
/** All wait for all. */
void meet(struct nf_mesh *mesh, uint32_t word);
/** Without a mesh: a word of PVM, and wait for one. */
void tell(uint32_t to);
void await_word(uint32_t from);
/** Until a task that is about to stop has: a SIGCONT before it would be lost. */
void await_stop(pid_t pid);
/** Come to the meeting of this id, and do not open routes. */
void say_here_and_no_more(uint64_t id);

/* Scenes of other files. */
void play_several_stopped(void);
void play_asleep(void);
void play_asleep_death(void);
void play_here_and_gone(void);
void play_stopped_lower(void);
void play_left_pvm(void);
void play_thread(void);
void play_late(void);
void play_closed_death(void);
void play_shy(void);
void play_pause(void);
void play_pause_death(void);
void play_notices(void);
void play_early(void);
void play_next_mesh(void);
void play_newcomer(void);
void play_ended_before(void);
void play_handler(void);
void play_no_room(void);
void play_turns(void);
void play_turns_given_up(void);
void play_interrupted(void);
void play_interrupted_routes(void);
void play_interrupted_crossing(void);
void play_closed_together(void);
void play_interrupted_silence(void);
void play_other_order(void);
void play_other_halves(void);
void play_other_count(void);
void play_other_at_first(void);
void play_other_group_first(void);
void play_stopped_before(void);
void play_stopped_each(void);
void play_ended_early(void);
void play_first_ended_early(void);
void play_busy_death(void);
void play_by_daemon(void);
void play_gone_by_daemon(void);
void play_no_route(void);
void play_no_route_granted(void);
void play_no_route_among_others(void);
void play_duct_ends(void);
void play_route_ends(void);
void play_late_bye(void);
void play_lent(void);
void play_lent_back(void);
void play_lent_lent(void);
void play_lent_landed(void);
void play_lent_later(void);
void play_lent_order(void);
void play_lent_settles(void);
void play_lent_nap(void);
void play_lent_nowhere(void);
void play_lent_cut(void);
void play_lent_subset(void);
void play_lent_death(void);
void play_lent_unread(void);
void play_lent_closed(void);
#endif
