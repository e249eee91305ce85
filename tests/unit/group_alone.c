/* A group of one member has nobody to combine with. */
#include "config.h"
#include <string.h>
#include "tests/unit/group_alone.h"

static void count_call(const void *in, void *inout, size_t count, int type,
                       void *calls)
{
    (void)in;
    (void)type;
    memset(inout, 0xff, count * sizeof(int64_t));
    ++*(unsigned *)calls;
}

/* @param in  NF_IN_PLACE, or what @p out is to be made of */
static enum nf_status call_alone(struct nf_group *group, int which,
                                 const void *in, void *out, size_t count,
                                 int op)
{
    switch (which) {
    case 0:
        return nf_reduce(group, in, out, count, NF_ELEM_INT64, op, 0);
    case 1:
        return nf_allreduce(group, in, out, count, NF_ELEM_INT64, op);
    case 2:
        return nf_reduce_scatter(group, in, out, &count, NF_ELEM_INT64, op);
    case 3:
        return nf_scan(group, in, out, count, NF_ELEM_INT64, op);
    default:
        return nf_exscan(group, in, out, count, NF_ELEM_INT64, op);
    }
}

bool is_right_alone(struct nf_group *group)
{
    enum { COUNT = 1000 };
    static const int64_t before[2] = { -5, -6 };
    int64_t in[COUNT], out[COUNT];
    bool ok = true;

    for (int i = 0; i < COUNT; i++)
        in[i] = i * 7919 + 1;
    for (int i = 0; i < 5 * 2 * 2 * 2; i++) {
        int which = i % 5, op;
        bool in_place = i / 5 % 2;
        size_t count = i / 10 % 2 ? COUNT : 0;
        unsigned calls = 0;

        ok = ok && nf_group_define_operator(group, count_call, i / 20, &calls,
                                            &op) == NF_OK;
        for (int k = 0; k < COUNT; k++)
            out[k] = in_place ? in[k] : before[k % 2];
        ok = ok && call_alone(group, which, in_place ? NF_IN_PLACE : in, out,
                              count, op) == NF_OK;
        for (size_t k = 0; k < COUNT && ok; k++) /* rank 0 has none before it */
            ok = out[k] == (in_place || (which < 4 && k < count)
                                ? in[k]
                                : before[k % 2]);
        ok = ok && calls == 0;
    }
    return ok;
}
