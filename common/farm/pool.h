#ifndef NF_FARM_POOL_H
#define NF_FARM_POOL_H
/** @file pool.h  Where every unit is, in two bits each, and the units that wait
 *  to be handed out: one fresh range and two queues of returned ranges.
 *
 *  A waiting unit that is not fresh is in exactly one returned range; a leased
 *  one is in exactly one live lease.  A late answer settles a unit where it
 *  is: the range or lease that holds it then skips it.  Ranges of different
 *  origin are never merged, as each carries its own count of attempts.
 *
 *  With nf_pool_hold() it is known who holds the result of a settled unit. What
 *  a lost holder had waits again, marked, without being in a range: so losing
 *  one needs no memory.  Such a unit may be in a live lease too, or come into a
 *  range when that lease is lost; a range skips what does not wait any more. */
#include "common/farm/chunk.h"

enum nf_unit_state {
    NF_UNIT_WAITING, /**< fresh, or in a range of `returned` */
    NF_UNIT_LEASED,
    NF_UNIT_SETTLED, /**< done or given up */
    NF_UNIT_ALONE,   /**< in a range of `alone`: waits for a slave for itself */
};

/** In nf_pool.holders. */
#define NF_HOLDER_NONE UINT32_MAX
#define NF_HOLDER_LOST (UINT32_MAX - 1)

struct nf_pool {
    uint64_t units;
    uint64_t fresh_first; /**< fresh: [fresh_first, units) */
    uint64_t counts[4];   /**< units by enum nf_unit_state; sum: units */
    uint64_t *states;     /**< 32 units a word */
    struct nf_chunk_list returned, alone;
    struct nf_chunks chunks;
    uint32_t *holders;   /**< by unit: a slave, NONE or LOST; NULL: no hold */
    uint64_t held;       /**< units that a slave holds */
    uint64_t lost;       /**< units marked LOST: they wait */
    uint64_t lost_first; /**< no unit below is LOST */
};

/** @retval NF_ERR_NOMEM */
enum nf_status nf_pool_init(struct nf_pool *pool, uint64_t units);
void nf_pool_fini(struct nf_pool *pool);

enum nf_unit_state nf_pool_state(const struct nf_pool *pool, uint64_t unit);
/** Move @p unit to @p state.  @return the state it was in */
enum nf_unit_state nf_pool_move(struct nf_pool *pool, uint64_t unit,
                                enum nf_unit_state state);

static inline uint64_t nf_pool_fresh(const struct nf_pool *pool)
{
    return pool->units - pool->fresh_first;
}
/** Units in `returned`. */
static inline uint64_t nf_pool_returned(const struct nf_pool *pool)
{
    return pool->counts[NF_UNIT_WAITING] - nf_pool_fresh(pool);
}

/** Put the leased units of [first, first + count) of record @p index, unlinked,
 *  into the queue that its `alone` says; frees the record if none is left.
 *  @return units returned */
uint64_t nf_pool_return(struct nf_pool *pool, uint32_t index);

/** Take up to @p count fresh units into a new unlinked record, leased.  After a
 *  nf_chunks_reserve(); 1 <= count <= fresh.  @return its index */
uint32_t nf_pool_take_fresh(struct nf_pool *pool, uint64_t count);
/** Take up to @p count units off the head of `returned`, or `alone`, into a
 *  new unlinked record, leased; 1 if the range is `single`; of `returned`, what
 *  was lost with a holder comes after the ranges.  After a
 *  nf_chunks_reserve(); the queue must hold a unit.  Amortised O(1) a unit.
 *  @return its index */
uint32_t nf_pool_take_returned(struct nf_pool *pool, bool alone,
                               uint64_t count);
/** Keep holders from now on.  @retval NF_ERR_NOMEM */
enum nf_status nf_pool_hold(struct nf_pool *pool);
/** Slave @p holder has the result of @p unit, which has just been settled. */
void nf_pool_held_by(struct nf_pool *pool, uint64_t unit, uint32_t holder);
/** Holder @p holder was lost: what it had waits again.  O(units) if it had any.
 *  @return units */
uint64_t nf_pool_lose_holder(struct nf_pool *pool, uint32_t holder);
/** All that is held is home. */
void nf_pool_release_held(struct nf_pool *pool);

/** Make the fresh units a returned range.
 *  @retval NF_ERR_NOMEM  nothing changed */
enum nf_status nf_pool_return_fresh(struct nf_pool *pool);
#endif
