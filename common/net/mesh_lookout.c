/* Who asks for word of whom.  See mesh_lookout.h. */
#include "config.h"
#include "common/net/mesh_lookout.h"
#include "common/base/alloc.h"

static void set(uint8_t *bits, uint32_t member)
{
    bits[member / 8] |= (uint8_t)(1u << member % 8);
}

bool nf_lookout_says(const uint8_t *said, uint32_t member)
{
    return (said[member / 8] >> member % 8 & 1) != 0;
}

size_t nf_lookout_bytes(uint32_t ranks)
{
    return (ranks + 7) / 8;
}

/* They only go up: O(ranks) in the life of a mesh. */
static bool find_firsts(struct nf_lookout *lookout)
{
    uint32_t next = lookout->firsts[0];
    bool changed = false;

    for (int i = 0; i < NF_LOOKOUT_FIRSTS; i++) {
        while (next < lookout->ranks &&
               (next == lookout->rank || nf_lookout_says(lookout->gone, next)))
            next++;
        changed = changed || lookout->firsts[i] != next;
        lookout->firsts[i] = next;
        next += next < lookout->ranks;
    }
    return changed;
}

bool nf_lookout_init(struct nf_lookout *lookout, uint32_t rank, uint32_t ranks)
{
    size_t bytes = nf_lookout_bytes(ranks);

    *lookout = (struct nf_lookout){ .rank = rank, .ranks = ranks };
    lookout->ended = nf_calloc(4, bytes);
    if (lookout->ended == NULL)
        return false;
    lookout->gone = lookout->ended + bytes;
    lookout->certain = lookout->gone + bytes;
    lookout->suspected = lookout->certain + bytes;
    (void)find_firsts(lookout);
    return true;
}

void nf_lookout_fini(struct nf_lookout *lookout)
{
    nf_free(lookout->ended);
    *lookout = (struct nf_lookout){ .ranks = 0 };
}

enum nf_lookout_due nf_lookout_note(struct nf_lookout *lookout, uint32_t member,
                                    enum nf_lookout_word word)
{
    bool told = nf_lookout_tells(lookout), changed = false, asks = false;
    bool ended = word != NF_LOOKOUT_CLOSED;
    bool is_new = ended && !nf_lookout_says(lookout->ended, member);

    if (is_new) {
        set(lookout->ended, member);
        lookout->nended++;
    }
    if (word == NF_LOOKOUT_ENDED)
        set(lookout->certain, member);
    if (!nf_lookout_says(lookout->gone, member)) {
        asks = word == NF_LOOKOUT_TOLD;
        if (asks)
            set(lookout->suspected, member);
        set(lookout->gone, member);
        changed = find_firsts(lookout) && !told;
    }
    if (!nf_lookout_is_partial(lookout))
        return NF_LOOKOUT_NOTHING;
    if (changed)
        lookout->waits = !ended;
    if (asks || (is_new && told) || (changed && ended))
        return NF_LOOKOUT_NOW;
    return changed ? NF_LOOKOUT_SOON : NF_LOOKOUT_NOTHING;
}

void nf_lookout_settle(struct nf_lookout *lookout)
{
    lookout->waits = false;
}

bool nf_lookout_suspect(struct nf_lookout *lookout, uint32_t member)
{
    if (member == lookout->rank || nf_lookout_asks(lookout, member) ||
        nf_lookout_says(lookout->gone, member))
        return false;
    set(lookout->suspected, member);
    return true;
}

bool nf_lookout_is_partial(const struct nf_lookout *lookout)
{
    return lookout->ranks > NF_LOOKOUT_ALONE_MOST;
}

bool nf_lookout_tells(const struct nf_lookout *lookout)
{
    return nf_lookout_is_partial(lookout) && !lookout->waits &&
           lookout->rank < lookout->firsts[0];
}

bool nf_lookout_asks(const struct nf_lookout *lookout, uint32_t member)
{
    if (member == lookout->rank || nf_lookout_says(lookout->certain, member))
        return false;
    if (!nf_lookout_is_partial(lookout) ||
        nf_lookout_says(lookout->suspected, member))
        return true;
    if (nf_lookout_says(lookout->ended, member))
        return false;
    if (nf_lookout_tells(lookout))
        return true;
    if (nf_lookout_says(lookout->gone, member))
        return false;
    for (int i = 0; i < NF_LOOKOUT_FIRSTS; i++)
        if (member == lookout->firsts[i])
            return true;
    return false;
}
