#include "config.h"
#include "tests/unit/wormhole_cycles.h"

/* Is any flit of the worm in this channel? */
static bool is_in(const struct cycles_worm *worm, uint32_t channel)
{
    for (uint32_t f = 0; f < worm->flits; f++)
        if (worm->place[f] >= 0 && (uint32_t)worm->place[f] < worm->hops &&
            worm->route[worm->place[f]] == channel)
            return true;
    return false;
}

static bool is_free(const struct cycles *c, uint32_t channel)
{
    uint32_t there = 0;

    for (uint32_t w = 0; w < c->nworms; w++)
        there += is_in(&c->worms[w], channel);
    return there < (nf_mesh_is_port(&c->mesh, channel) ? c->ports : 1);
}

/* Every flit takes the place of the one before it. */
static void move(struct cycles_worm *worm)
{
    for (uint32_t f = worm->flits; f-- > 1;)
        worm->place[f] = worm->place[f - 1];
    worm->place[0]++;
    if (worm->place[0] > (int32_t)worm->hops)
        worm->place[0] = (int32_t)worm->hops;
}

static bool is_there(const struct cycles_worm *worm)
{
    return worm->place[worm->flits - 1] == (int32_t)worm->hops;
}

/* Its header is in the last channel, or beyond. */
static bool drains(const struct cycles_worm *worm)
{
    return worm->place[0] >= (int32_t)worm->hops - 1;
}

static bool asks_before(const struct cycles *c, uint32_t a, uint32_t b)
{
    return c->worms[a].asked < c->worms[b].asked ||
           (c->worms[a].asked == c->worms[b].asked && a < b);
}

/* Let the one that has waited longest of all who can go, go.
 * @return false if nobody can */
static bool grant_one(struct cycles *c, int64_t now)
{
    uint32_t best = c->nworms;
    struct cycles_worm *worm;

    for (uint32_t w = 0; w < c->nworms; w++) {
        worm = &c->worms[w];
        if (worm->asked >= 0 && is_free(c, worm->route[worm->place[0] + 1]) &&
            (best == c->nworms || asks_before(c, w, best)))
            best = w;
    }
    if (best == c->nworms)
        return false;
    worm = &c->worms[best];
    move(worm);
    worm->granted_at[worm->place[0]] = now;
    worm->asked = -1;
    return true;
}

bool cycles_run(struct cycles *c)
{
    uint32_t there = 0;
    int64_t idle = 0;

    for (uint32_t w = 0; w < c->nworms; w++) {
        struct cycles_worm *worm = &c->worms[w];

        worm->hops = nf_mesh_way_hops(&c->mesh, &worm->way);
        for (uint32_t x = 0; x < worm->hops; x++)
            worm->route[x] = nf_mesh_way_channel(&c->mesh, &worm->way, x);
        worm->delivered = worm->asked = -1;
        for (uint32_t f = 0; f < worm->flits; f++)
            worm->place[f] = -1;
    }
    /* all are offered before that many cycles */
    for (int64_t now = 0; there < c->nworms && idle < 300; now++) {
        bool granted = false;

        for (uint32_t w = 0; w < c->nworms; w++) {
            struct cycles_worm *worm = &c->worms[w];

            if (worm->delivered < 0 && drains(worm)) {
                move(worm);
                idle = 0;
                if (is_there(worm)) {
                    worm->delivered = now;
                    there++;
                }
            }
            /* a header that moved in the cycle before asks now */
            if (!drains(worm) && worm->asked < 0 && worm->offered <= now)
                worm->asked = now;
        }
        while (grant_one(c, now))
            granted = true;
        idle = granted ? 0 : idle + 1;
    }
    return there == c->nworms;
}
