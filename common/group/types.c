/* Elements and operators.  Signed sums and products wrap around, as in two's
 * complement, so that no input is undefined. */
#include "config.h"
#include "common/group/types.h"
#include <complex.h>
#include <stdio.h>
#include <string.h>
#include "common/base/alloc.h"

struct elem {
    uint8_t bytes;
    enum nf_type wire;
};

static const struct elem elems[] = {
    [NF_ELEM_BYTE] = { 1, NF_BYTES },
    [NF_ELEM_INT8] = { 1, NF_BYTES },
    [NF_ELEM_INT16] = { 2, NF_INT16 },
    [NF_ELEM_INT32] = { 4, NF_INT32 },
    [NF_ELEM_INT64] = { 8, NF_INT64 },
    [NF_ELEM_UINT8] = { 1, NF_BYTES },
    [NF_ELEM_UINT16] = { 2, NF_INT16 },
    [NF_ELEM_UINT32] = { 4, NF_INT32 },
    [NF_ELEM_UINT64] = { 8, NF_INT64 },
    [NF_ELEM_FLOAT32] = { 4, NF_FLOAT32 },
    [NF_ELEM_FLOAT64] = { 8, NF_FLOAT64 },
    [NF_ELEM_COMPLEX64] = { 8, NF_FLOAT32 },
    [NF_ELEM_COMPLEX128] = { 16, NF_FLOAT64 },
    [NF_ELEM_LOC_INT64] = { 16, NF_INT64 },
    [NF_ELEM_LOC_FLOAT64] = { 16, NF_INT64 },
};
enum { ELEMS = sizeof(elems) / sizeof(*elems) };

static const char *const elem_names[ELEMS] = {
    [NF_ELEM_BYTE] = "byte",
    [NF_ELEM_INT8] = "int8",
    [NF_ELEM_INT16] = "int16",
    [NF_ELEM_INT32] = "int32",
    [NF_ELEM_INT64] = "int64",
    [NF_ELEM_UINT8] = "uint8",
    [NF_ELEM_UINT16] = "uint16",
    [NF_ELEM_UINT32] = "uint32",
    [NF_ELEM_UINT64] = "uint64",
    [NF_ELEM_FLOAT32] = "float",
    [NF_ELEM_FLOAT64] = "double",
    [NF_ELEM_COMPLEX64] = "complex64",
    [NF_ELEM_COMPLEX128] = "complex128",
    [NF_ELEM_LOC_INT64] = "loc_int64",
    [NF_ELEM_LOC_FLOAT64] = "loc_double",
};

static const char *const operator_names[] = {
    [NF_SUM] = "sum",   [NF_PROD] = "prod",     [NF_MIN] = "min",
    [NF_MAX] = "max",   [NF_BAND] = "band",     [NF_BOR] = "bor",
    [NF_BXOR] = "bxor", [NF_LAND] = "land",     [NF_LOR] = "lor",
    [NF_LXOR] = "lxor", [NF_MINLOC] = "minloc", [NF_MAXLOC] = "maxloc",
};
enum { OPERATOR_NAMES = sizeof(operator_names) / sizeof(*operator_names) };

void nf_elem_name(int type, char *text_p)
{
    if (type >= 0 && type < ELEMS)
        snprintf(text_p, NF_CODE_NAME_BYTES, "%s", elem_names[type]);
    else
        snprintf(text_p, NF_CODE_NAME_BYTES, "user%d", type - NF_ELEM_USER);
}

void nf_operator_name(int op, char *text_p)
{
    if (op >= 0 && op < OPERATOR_NAMES)
        snprintf(text_p, NF_CODE_NAME_BYTES, "%s", operator_names[op]);
    else
        snprintf(text_p, NF_CODE_NAME_BYTES, "user%d", op - NF_OPERATOR_USER);
}

static bool is_user_type(const struct nf_user_codes *codes, int type)
{
    return type >= NF_ELEM_USER &&
           (uint32_t)(type - NF_ELEM_USER) < codes->ntypes;
}

static bool is_user_operator(const struct nf_user_codes *codes, int op)
{
    return op >= NF_OPERATOR_USER &&
           (uint32_t)(op - NF_OPERATOR_USER) < codes->noperators;
}

size_t nf_elem_bytes(const struct nf_user_codes *codes, int type)
{
    int i = type - NF_ELEM_USER;

    if (type >= 0 && type < ELEMS)
        return elems[type].bytes;
    if (!is_user_type(codes, type))
        return 0;
    return (size_t)codes->types[i].units * codes->types[i].unit_bytes;
}

const struct nf_packing *nf_elem_packing(const struct nf_user_codes *codes,
                                         int type)
{
    int i = type - NF_ELEM_USER;

    return is_user_type(codes, type) && codes->types[i].packing.pack != NULL
               ? &codes->types[i].packing
               : NULL;
}

size_t nf_elem_equal_bytes(const struct nf_user_codes *codes, int type)
{
    const struct nf_packing *packing = nf_elem_packing(codes, type);

    return packing != NULL ? packing->packed_bytes : nf_elem_bytes(codes, type);
}

size_t nf_elem_most_bytes(const struct nf_user_codes *codes, int type)
{
    size_t bytes = nf_elem_bytes(codes, type);
    size_t packed = nf_elem_equal_bytes(codes, type);

    return packed > bytes ? packed : bytes;
}

enum nf_type nf_elem_wire(const struct nf_user_codes *codes, int type)
{
    if (type >= 0 && type < ELEMS)
        return elems[type].wire;
    if (is_user_type(codes, type)) {
        uint32_t unit = codes->types[type - NF_ELEM_USER].unit_bytes;

        return unit == 8   ? NF_INT64
               : unit == 4 ? NF_INT32
               : unit == 2 ? NF_INT16
                           : NF_BYTES;
    }
    return NF_BYTES;
}

/* A switch, for the compiler to say which type was forgotten. */
enum nf_elem nf_elem_of(enum nf_type type)
{
    switch (type) {
    case NF_BYTES:
        break;
    case NF_INT16:
        return NF_ELEM_INT16;
    case NF_INT32:
        return NF_ELEM_INT32;
    case NF_INT64:
        return NF_ELEM_INT64;
    case NF_FLOAT32:
        return NF_ELEM_FLOAT32;
    case NF_FLOAT64:
        return NF_ELEM_FLOAT64;
    }
    return NF_ELEM_BYTE;
}

bool nf_operator_commutes(const struct nf_user_codes *codes, int op)
{
    return !is_user_operator(codes, op) ||
           codes->operators[op - NF_OPERATOR_USER].commutative;
}

/* ------------------------------------------------------------------- loops */

typedef void kernel(void *out, const void *left, const void *right,
                    size_t count);

/* The compiler makes vectors of these.  A type can't stand in parentheses:
 * NOLINTBEGIN(bugprone-macro-parentheses) */
#define NF_KERNEL(name, ctype, expression)                                     \
    static void name(void *out_, const void *left_, const void *right_,        \
                     size_t count)                                             \
    {                                                                          \
        ctype *out = out_;                                                     \
        const ctype *left = left_, *right = right_;                            \
                                                                               \
        for (size_t i = 0; i < count; i++) {                                   \
            ctype x = left[i], y = right[i];                                   \
                                                                               \
            out[i] = (ctype)(expression);                                      \
        }                                                                      \
    }

/* arithmetic in `wide`, which is unsigned for integers */
#define NF_ARITHMETIC(tag, ctype, wide)                                        \
    NF_KERNEL(sum_##tag, ctype, (wide)x + (wide)y)                             \
    NF_KERNEL(prod_##tag, ctype, (wide)x *(wide)y)
#define NF_ORDERED(tag, ctype)                                                 \
    NF_KERNEL(min_##tag, ctype, (y < x || x != x) ? y : x)                     \
    NF_KERNEL(max_##tag, ctype, (y > x || x != x) ? y : x)
#define NF_BITWISE(tag, ctype)                                                 \
    NF_KERNEL(band_##tag, ctype, x &y)                                         \
    NF_KERNEL(bor_##tag, ctype, x | y)                                         \
    NF_KERNEL(bxor_##tag, ctype, x ^ y)
#define NF_LOGICAL(tag, ctype)                                                 \
    NF_KERNEL(land_##tag, ctype, x != 0 && y != 0)                             \
    NF_KERNEL(lor_##tag, ctype, x != 0 || y != 0)                              \
    NF_KERNEL(lxor_##tag, ctype, (x != 0) != (y != 0))
#define NF_INTEGER(tag, ctype, wide)                                           \
    NF_ARITHMETIC(tag, ctype, wide)                                            \
    NF_ORDERED(tag, ctype)                                                     \
    NF_BITWISE(tag, ctype)                                                     \
    NF_LOGICAL(tag, ctype)

NF_INTEGER(i8, int8_t, unsigned)
NF_INTEGER(i16, int16_t, unsigned)
NF_INTEGER(i32, int32_t, uint32_t)
NF_INTEGER(i64, int64_t, uint64_t)
NF_INTEGER(u8, uint8_t, unsigned)
NF_INTEGER(u16, uint16_t, unsigned)
NF_INTEGER(u32, uint32_t, uint32_t)
NF_INTEGER(u64, uint64_t, uint64_t)
NF_ARITHMETIC(f32, float, float)
NF_ORDERED(f32, float)
NF_LOGICAL(f32, float)
NF_ARITHMETIC(f64, double, double)
NF_ORDERED(f64, double)
NF_LOGICAL(f64, double)
NF_ARITHMETIC(c64, float complex, float complex)
NF_LOGICAL(c64, float complex)
NF_ARITHMETIC(c128, double complex, double complex)
NF_LOGICAL(c128, double complex)

/* Is x to be kept rather than y?  Of equals the least index, and any number
 * rather than a NaN. */
#define NF_KEEPS(x, y, better)                                                 \
    ((y).value != (y).value                                                    \
         ? ((x).value == (x).value || (x).index <= (y).index)                  \
         : (x).value better(y).value ||                                        \
               ((x).value == (y).value && (x).index <= (y).index))
#define NF_LOCATE(tag, ctype)                                                  \
    NF_KERNEL(minloc_##tag, ctype, NF_KEEPS(x, y, <) ? x : y)                  \
    NF_KERNEL(maxloc_##tag, ctype, NF_KEEPS(x, y, >) ? x : y)
#undef NF_KERNEL
#define NF_KERNEL(name, ctype, expression)                                     \
    static void name(void *out_, const void *left_, const void *right_,        \
                     size_t count)                                             \
    {                                                                          \
        ctype *out = out_;                                                     \
        const ctype *left = left_, *right = right_;                            \
                                                                               \
        for (size_t i = 0; i < count; i++) {                                   \
            ctype x = left[i], y = right[i];                                   \
                                                                               \
            out[i] = expression;                                               \
        }                                                                      \
    }
NF_LOCATE(i64, struct nf_loc_int64)
NF_LOCATE(f64, struct nf_loc_float64)
/* NOLINTEND(bugprone-macro-parentheses) */

#define NF_ROW_ORDERED(tag)    [NF_MIN] = min_##tag, [NF_MAX] = max_##tag
#define NF_ROW_ARITHMETIC(tag) [NF_SUM] = sum_##tag, [NF_PROD] = prod_##tag
#define NF_ROW_BITWISE(tag)                                                    \
    [NF_BAND] = band_##tag, [NF_BOR] = bor_##tag, [NF_BXOR] = bxor_##tag
#define NF_ROW_LOGICAL(tag)                                                    \
    [NF_LAND] = land_##tag, [NF_LOR] = lor_##tag, [NF_LXOR] = lxor_##tag
#define NF_ROW_INTEGER(tag)                                                    \
    {                                                                          \
        NF_ROW_ARITHMETIC(tag), NF_ROW_ORDERED(tag), NF_ROW_BITWISE(tag),      \
            NF_ROW_LOGICAL(tag)                                                \
    }
#define NF_ROW_REAL(tag)                                                       \
    {                                                                          \
        NF_ROW_ARITHMETIC(tag), NF_ROW_ORDERED(tag), NF_ROW_LOGICAL(tag)       \
    }

enum { OPERATORS = NF_MAXLOC + 1 };
/* NULL: no such combination */
static kernel *const kernels[ELEMS][OPERATORS] = {
    [NF_ELEM_BYTE] = { NF_ROW_ORDERED(u8), NF_ROW_BITWISE(u8),
                       NF_ROW_LOGICAL(u8) },
    [NF_ELEM_INT8] = NF_ROW_INTEGER(i8),
    [NF_ELEM_INT16] = NF_ROW_INTEGER(i16),
    [NF_ELEM_INT32] = NF_ROW_INTEGER(i32),
    [NF_ELEM_INT64] = NF_ROW_INTEGER(i64),
    [NF_ELEM_UINT8] = NF_ROW_INTEGER(u8),
    [NF_ELEM_UINT16] = NF_ROW_INTEGER(u16),
    [NF_ELEM_UINT32] = NF_ROW_INTEGER(u32),
    [NF_ELEM_UINT64] = NF_ROW_INTEGER(u64),
    [NF_ELEM_FLOAT32] = NF_ROW_REAL(f32),
    [NF_ELEM_FLOAT64] = NF_ROW_REAL(f64),
    [NF_ELEM_COMPLEX64] = { NF_ROW_ARITHMETIC(c64), NF_ROW_LOGICAL(c64) },
    [NF_ELEM_COMPLEX128] = { NF_ROW_ARITHMETIC(c128), NF_ROW_LOGICAL(c128) },
    [NF_ELEM_LOC_INT64] = { [NF_MINLOC] = minloc_i64,
                            [NF_MAXLOC] = maxloc_i64 },
    [NF_ELEM_LOC_FLOAT64] = { [NF_MINLOC] = minloc_f64,
                              [NF_MAXLOC] = maxloc_f64 },
};

bool nf_operator_fits(const struct nf_user_codes *codes, int type, int op)
{
    if (is_user_operator(codes, op))
        return nf_elem_bytes(codes, type) > 0;
    return type >= 0 && type < ELEMS && op >= 0 && op < OPERATORS &&
           kernels[type][op] != NULL;
}

enum nf_status nf_combine(const struct nf_user_codes *codes, int type, int op,
                          void *out, const void *left, const void *right,
                          size_t count)
{
    size_t bytes = count * nf_elem_bytes(codes, type);
    nf_operator_function *function;
    void *user, *swap;

    if (op < NF_OPERATOR_USER) {
        kernels[type][op](out, left, right, count);
        return NF_OK;
    }
    function = codes->operators[op - NF_OPERATOR_USER].function;
    user = codes->operators[op - NF_OPERATOR_USER].user;
    if (out != left) {
        if (out != right)
            memcpy(out, right, bytes);
        function(left, out, count, type, user);
        return NF_OK;
    }
    if (codes->operators[op - NF_OPERATOR_USER].commutative) {
        function(right, out, count, type, user);
        return NF_OK;
    }
    swap = nf_malloc(bytes);
    if (swap == NULL)
        return NF_ERR_NOMEM;
    memcpy(swap, right, bytes);
    function(left, swap, count, type, user);
    memcpy(out, swap, bytes);
    nf_free(swap);
    return NF_OK;
}
