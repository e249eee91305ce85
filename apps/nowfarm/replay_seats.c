/* Which slots there were, and when.  A slave that is started in the place of a
 * lost one gets its seats, so that a seat is what a simulated slave is. */
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include "apps/nowfarm/replay.h"
#include "common/base/alloc.h"

/* Seats that are there this soon were there from the beginning. */
static const int64_t LATE_US = 500000;

static struct seat *free_seat(struct seats *seats, const char *host)
{
    for (uint32_t i = 0; i < seats->count && seats->nfree > 0; i++)
        if (!seats->list[i].taken && strcmp(seats->list[i].host, host) == 0)
            return &seats->list[i];
    return NULL;
}

/* The absence of a seat that is not over. */
static struct absence *open_absence(struct seats *seats, uint32_t seat)
{
    for (uint32_t i = seats->nabsences; i-- > 0;)
        if (seats->absences[i].seat == seat)
            return seats->absences[i].until_us < 0 ? &seats->absences[i] : NULL;
    return NULL;
}

/* seat_of[slot of the history]; a slave that comes back finds its own. */
static void sit_down(struct seats *seats, const struct nf_history *h,
                     const struct nf_history_stay *stay, uint32_t *seat_of)
{
    const struct nf_history_slave *slave = &h->slaves[stay->slave];

    for (uint32_t k = 0; k < slave->slots; k++) {
        uint32_t *mine = &seat_of[slave->first_slot + k];
        struct seat *seat =
            *mine != NF_HISTORY_NONE ? &seats->list[*mine] : NULL;
        struct absence *absence;

        if (seat == NULL || seat->taken)
            seat = free_seat(seats, slave->host);
        if (seat == NULL) {
            seat = &seats->list[seats->count++];
            memcpy(seat->host, slave->host, sizeof(seat->host));
            seat->speed = 1;
            seats->nfree++;
            if (stay->from_us > h->stays[0].from_us + LATE_US)
                seats->absences[seats->nabsences++] = (struct absence){
                    .seat = seats->count - 1,
                    .until_us = -1,
                };
        }
        seat->taken = true;
        seats->nfree--;
        seat->slave = stay->slave;
        *mine = (uint32_t)(seat - seats->list);
        absence = open_absence(seats, *mine);
        if (absence != NULL)
            absence->until_us = stay->from_us;
    }
}

/* When it was last heard of. */
static int64_t last_answer_us(const struct nf_history *h,
                              const struct nf_history_stay *stay)
{
    int64_t last_us = stay->from_us;

    for (uint32_t i = 0; i < h->nchunks; i++)
        if (h->chunks[i].slave == stay->slave &&
            h->chunks[i].fate == NF_FATE_ANSWERED &&
            h->chunks[i].ended_us > last_us &&
            h->chunks[i].ended_us <= stay->to_us)
            last_us = h->chunks[i].ended_us;
    return last_us;
}

static void stand_up(struct seats *seats, const struct nf_history *h,
                     const struct nf_history_stay *stay,
                     const uint32_t *seat_of)
{
    const struct nf_history_slave *slave = &h->slaves[stay->slave];
    bool silent = strcmp(stay->reason, "silent") == 0;

    for (uint32_t k = 0; k < slave->slots; k++) {
        uint32_t seat = seat_of[slave->first_slot + k];

        seats->list[seat].taken = false;
        seats->nfree++;
        seats->absences[seats->nabsences++] = (struct absence){
            .seat = seat,
            .silent = silent,
            .at_us = silent ? last_answer_us(h, stay) : stay->to_us,
            .noticed_us = stay->to_us,
            .until_us = -1,
        };
    }
}

/* By end; those that do not end come last. */
static int by_end(const void *a, const void *b, void *arg)
{
    const struct nf_history *h = arg;
    uint32_t one = *(const uint32_t *)a, two = *(const uint32_t *)b;
    uint64_t one_us = (uint64_t)h->stays[one].to_us; /* -1: the most */
    uint64_t two_us = (uint64_t)h->stays[two].to_us;

    if (one_us != two_us)
        return one_us < two_us ? -1 : 1;
    return one < two ? -1 : one > two;
}

/* The stays, which are in order of joining, with their ends between them.
 * ends[h->nstays]: room */
static void replay_stays(struct seats *seats, const struct nf_history *h,
                         uint32_t *seat_of, uint32_t *ends)
{
    uint32_t next = 0;

    for (uint32_t i = 0; i < h->nstays; i++)
        ends[i] = i;
    qsort_r(ends, h->nstays, sizeof(*ends), by_end, (void *)(uintptr_t)h);
    for (uint32_t i = 0; i <= h->nstays; i++) {
        /* one that came and went at this very time comes first */
        for (; next < h->nstays && ends[next] < i; next++) {
            const struct nf_history_stay *stay = &h->stays[ends[next]];

            if (stay->to_us < 0 ||
                (i < h->nstays && stay->to_us > h->stays[i].from_us))
                break;
            stand_up(seats, h, stay, seat_of);
        }
        if (i < h->nstays)
            sit_down(seats, h, &h->stays[i], seat_of);
    }
}

static void name_chunks(struct seats *seats, const struct nf_history *h,
                        const uint32_t *seat_of)
{
    for (uint32_t i = 0; i < h->nchunks; i++)
        seats->of_chunk[i] = seat_of[h->slaves[h->chunks[i].slave].first_slot +
                                     h->chunks[i].slot];
}

enum nf_status seats_find(const struct nf_history *h, struct seats *seats_p)
{
    struct seats seats = { .count = 0 };
    uint32_t *seat_of = nf_malloc(h->nslots * sizeof(*seat_of));
    uint32_t *order = nf_malloc(h->nstays * sizeof(*order));
    size_t absences = h->nslots; /* those that come late */
    enum nf_status status = NF_OK;

    for (uint32_t i = 0; i < h->nstays; i++)
        absences += h->slaves[h->stays[i].slave].slots;
    seats.list = nf_calloc(h->nslots, sizeof(*seats.list));
    seats.of_chunk = nf_malloc(h->nchunks * sizeof(*seats.of_chunk));
    seats.absences = nf_calloc(absences, sizeof(*seats.absences));
    if (seat_of == NULL || order == NULL || seats.list == NULL ||
        seats.of_chunk == NULL || seats.absences == NULL) {
        status = NF_ERR_NOMEM;
        seats_fini(&seats);
    } else {
        for (uint32_t i = 0; i < h->nslots; i++)
            seat_of[i] = NF_HISTORY_NONE;
        replay_stays(&seats, h, seat_of, order);
        name_chunks(&seats, h, seat_of);
        *seats_p = seats;
    }
    nf_free(seat_of);
    nf_free(order);
    return status;
}

void seats_fini(struct seats *seats)
{
    nf_free(seats->list);
    nf_free(seats->of_chunk);
    nf_free(seats->absences);
    memset(seats, 0, sizeof(*seats));
}
