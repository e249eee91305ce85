#include "config.h"
#include "tests/unit/coll_exchange.h"
#include <stdio.h>
#include <string.h>
#include "common/base/error.h"
#include "common/coll/check.h"

json_t *golden;

int load_golden(void)
{
    json_error_t err;

    golden = json_load_file(NF_SRCDIR "/tests/golden/alltoall.json", 0, &err);
    if (golden == NULL)
        printf("\n    %s", err.text);
    return golden != NULL ? 0 : 1;
}

int unload_golden(void)
{
    json_decref(golden);
    return 0;
}

json_int_t number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    if (json_is_integer(value))
        return json_integer_value(value);
    printf("\n    no number %s", key);
    return -1;
}

struct nf_coll_sides sides_of(const json_t *array)
{
    struct nf_coll_sides sides = { .count = (uint32_t)json_array_size(array) };

    for (uint32_t i = 0; i < sides.count && i < NF_COLL_SIDES_MAX; i++)
        sides.of[i] = (uint32_t)json_integer_value(json_array_get(array, i));
    return sides;
}

static const struct nf_coll_sides twos = {
    12, { 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2 }
};

struct nf_coll_sides radices_2(uint64_t ranks)
{
    struct nf_coll_sides sides = twos;

    sides.count = nf_coll_ceil_log2((uint32_t)ranks);
    return sides;
}

bool make_exchange(const char *name, const struct nf_coll_sides *shape,
                   const struct nf_coll_sides *radices, struct nf_schedule *s)
{
    const struct nf_coll_algorithm *algorithm = nf_coll_find(name);
    const struct nf_coll_args args = {
        .ranks = (uint32_t)nf_coll_sides_product(shape),
        .segments = 1,
        .shape = shape,
        .radices = radices,
    };
    struct nf_error err = { .text = "no such algorithm" };

    if (algorithm != NULL &&
        nf_coll_make(algorithm, &args, NF_ALL_RANKS, s, &err) == NF_OK)
        return true;
    printf("\n    %s: %s", name, err.text);
    return false;
}

bool is_right(const char *name, const struct nf_coll_args *args,
              struct nf_torus_load *load_p)
{
    const struct nf_coll_algorithm *algorithm = nf_coll_find(name);
    struct nf_coll_claim claim = nf_coll_claim_of(algorithm, args);
    struct nf_coll_faults faults;
    struct nf_schedule s;
    struct nf_error err = { .text = "" };
    bool right;

    claim.orders = args->ranks < 40 ? 2 : 1;
    right = nf_coll_make(algorithm, args, NF_ALL_RANKS, &s, &err) == NF_OK &&
            nf_coll_check(&claim, &s, &faults, &err) == NF_OK &&
            nf_torus_measure(args->shape, args->ranks, &s, 0, load_p, NULL) ==
                NF_OK;
    if (!right)
        printf("\n    %s, P=%u: %s", name, args->ranks, err.text);
    nf_schedule_fini(&s);
    return right;
}

bool is(const char *what, const char *name, uint64_t got, json_int_t want)
{
    if ((json_int_t)got == want)
        return true;
    printf("\n    %s: %s is %llu, want %lld", name, what,
           (unsigned long long)got, (long long)want);
    return false;
}
