/* What sorting is made of: keys, runs, and who is compared with whom. */
#include "config.h"
#include <string.h>
#include "apps/sort/sort.h"

#define SIGN (UINT64_C(1) << 63)

uint64_t nf_sort_key(double number)
{
    uint64_t bits;

    memcpy(&bits, &number, sizeof(bits));
    return bits & SIGN ? ~bits : bits | SIGN;
}

double nf_sort_number(uint64_t key)
{
    uint64_t bits = key & SIGN ? key ^ SIGN : ~key;
    double number;

    memcpy(&number, &bits, sizeof(number));
    return number;
}

/* By digits of a byte, the last first: O(8 count). */
void nf_sort_keys(uint64_t *keys, uint64_t *spare, uint64_t count)
{
    uint64_t *from = keys, *to = spare;

    for (unsigned shift = 0; shift < 64; shift += 8) {
        uint64_t begin[256] = { 0 }, sum = 0;
        uint64_t *other = from;

        for (uint64_t i = 0; i < count; i++)
            begin[from[i] >> shift & 255]++;
        if (count > 0 && begin[from[0] >> shift & 255] == count)
            continue; /* all have the same */
        for (unsigned digit = 0; digit < 256; digit++) {
            uint64_t those = begin[digit];

            begin[digit] = sum;
            sum += those;
        }
        for (uint64_t i = 0; i < count; i++)
            to[begin[from[i] >> shift & 255]++] = from[i];
        from = to;
        to = other;
    }
    if (from != keys)
        memcpy(keys, from, (size_t)count * sizeof(*keys));
}

static void merge_two(const uint64_t *a, const uint64_t *a_end,
                      const uint64_t *b, const uint64_t *b_end, uint64_t *to)
{
    while (a < a_end && b < b_end)
        *to++ = *b < *a ? *b++ : *a++;
    while (a < a_end)
        *to++ = *a++;
    while (b < b_end)
        *to++ = *b++;
}

/* Two and two, again and again: O(keys log runs). */
uint64_t *nf_sort_merge(uint64_t *keys, uint64_t *spare, uint64_t *at,
                        uint64_t runs)
{
    while (runs > 1) {
        uint64_t *other = keys, merged = 0;

        for (uint64_t i = 0; i < runs; i += 2) {
            uint64_t begin = at[i], end = at[i + 1];
            uint64_t last = i + 1 < runs ? at[i + 2] : end;

            merge_two(keys + begin, keys + end, keys + end, keys + last,
                      spare + begin);
            at[merged++] = begin;
            at[merged] = last; /* that has been read */
        }
        runs = merged;
        keys = spare;
        spare = other;
    }
    return keys;
}

uint64_t nf_sort_left(const uint64_t *keys, uint64_t count, uint64_t unit,
                      const struct nf_sort_splitter *splitter)
{
    uint64_t low = 0, high = count;

    while (low < high) {
        uint64_t middle = low + (high - low) / 2;

        if (keys[middle] < splitter->key ||
            (keys[middle] == splitter->key && unit < splitter->unit))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

uint64_t nf_sort_block(const struct nf_sort_plan *plan)
{
    return plan->count / plan->units + (plan->count % plan->units != 0);
}

uint64_t nf_sort_begin(const struct nf_sort_plan *plan, uint64_t unit)
{
    uint64_t rest = plan->count % plan->units, begin;

    if (plan->way == NF_SORT_SAMPLE)
        return plan->count / plan->units * unit + (unit < rest ? unit : rest);
    begin = nf_sort_block(plan) * unit;
    return begin < plan->count ? begin : plan->count;
}

uint32_t nf_sort_exchanges(const struct nf_sort_plan *plan)
{
    uint32_t levels = 0;

    if (plan->units == 1 || plan->way == NF_SORT_SAMPLE)
        return plan->units > 1;
    while (plan->units >> (levels + 1) != 0)
        levels++;
    return levels * (levels + 1) / 2;
}

/* Stage s = 1, 2, ... has s exchanges, with partners that differ in bit s - 1,
 * then s - 2, ..., 0; runs of 2^s blocks become sorted, up and down in turn. */
uint64_t nf_sort_partner(uint32_t i, uint64_t unit, bool *low_p)
{
    uint32_t stage = 1, bit;
    bool up;

    while (i >= stage)
        i -= stage++;
    bit = stage - 1 - i;
    up = (unit >> stage & 1) == 0;
    *low_p = ((unit >> bit & 1) == 0) == up;
    return unit ^ UINT64_C(1) << bit;
}
