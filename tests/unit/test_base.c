/* The base layer: numbers with units, errors, blobs and buffers, the allocator,
 * the log. */
#include "config.h"
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/alloc.h"
#include "common/base/blob.h"
#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/log.h"
#include "common/base/text.h"
#include "common/base/units.h"
#include "tests/unit/nf_unit.h"

/* ---- units ---- */

static void counts_are_plain_decimals_within_bounds(void)
{
    static const struct {
        const char *text;
        enum nf_status status;
        uint64_t value;
    } cases[] = {
        { "0", NF_OK, 0 },
        { "320", NF_OK, 320 },
        { "007", NF_OK, 7 },
        { "18446744073709551615", NF_OK, UINT64_MAX },
        { "18446744073709551616", NF_ERR_RANGE, 0 },
        { "99999999999999999999999", NF_ERR_RANGE, 0 },
        { "-1", NF_ERR_RANGE, 0 },
        { "", NF_ERR_INVAL, 0 },
        { "-", NF_ERR_INVAL, 0 },
        { "+1", NF_ERR_INVAL, 0 },
        { " 1", NF_ERR_INVAL, 0 },
        { "1 ", NF_ERR_INVAL, 0 },
        { "1.0", NF_ERR_INVAL, 0 },
        { "1e3", NF_ERR_INVAL, 0 },
        { "0x1", NF_ERR_INVAL, 0 },
        { "ten", NF_ERR_INVAL, 0 },
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint64_t value = 0;

        CU_ASSERT_EQUAL(nf_parse_count(cases[i].text, 0, UINT64_MAX, &value),
                        cases[i].status);
        CU_ASSERT_EQUAL(value, cases[i].value);
    }
}

static void a_count_out_of_bounds_leaves_the_value_alone(void)
{
    uint64_t value = 77;

    CU_ASSERT_EQUAL(nf_parse_count("4", 5, 9, &value), NF_ERR_RANGE);
    CU_ASSERT_EQUAL(nf_parse_count("10", 5, 9, &value), NF_ERR_RANGE);
    CU_ASSERT_EQUAL(value, 77);
    CU_ASSERT_EQUAL(nf_parse_count("5", 5, 9, &value), NF_OK);
    CU_ASSERT_EQUAL(nf_parse_count("9", 5, 9, &value), NF_OK);
}

static void times_need_a_unit(void)
{
    static const struct {
        const char *text;
        enum nf_status status;
        int64_t time_us;
    } cases[] = {
        { "0", NF_OK, 0 },
        { "100ms", NF_OK, 100000 },
        { "20us", NF_OK, 20 },
        { "1.5s", NF_OK, 1500000 },
        { ".5s", NF_OK, 500000 },
        { "2min", NF_OK, 120000000 },
        { "1h", NF_OK, 3600000000 },
        { "1e3ms", NF_OK, 1000000 },
        { "0.4us", NF_OK, 0 },
        { "0.6us", NF_OK, 1 },
        { "1000000000s", NF_OK, INT64_C(1000000000000000) },
        { "100", NF_ERR_INVAL, -7 },
        { "", NF_ERR_INVAL, -7 },
        { "ms", NF_ERR_INVAL, -7 },
        { "100 ms", NF_ERR_INVAL, -7 },
        { "100msx", NF_ERR_INVAL, -7 },
        { "100MS", NF_ERR_INVAL, -7 },
        { "0x10ms", NF_ERR_INVAL, -7 },
        { "nanms", NF_ERR_INVAL, -7 },
        { "infs", NF_ERR_INVAL, -7 },
        { "-5ms", NF_ERR_RANGE, -7 },
        { "1000000001s", NF_ERR_RANGE, -7 },
        { "1e300s", NF_ERR_RANGE, -7 },
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int64_t time_us = -7;
        bool right =
            nf_parse_time_us(cases[i].text, &time_us) == cases[i].status &&
            time_us == cases[i].time_us;

        CU_ASSERT(right);
        if (!right)
            printf("\n    \"%s\" gave %lld", cases[i].text, (long long)time_us);
    }
}

static void sizes_need_a_unit(void)
{
    uint64_t bytes = 5;

    CU_ASSERT_EQUAL(nf_parse_bytes("4096B", &bytes), NF_OK);
    CU_ASSERT_EQUAL(bytes, 4096);
    CU_ASSERT_EQUAL(nf_parse_bytes("1.5KiB", &bytes), NF_OK);
    CU_ASSERT_EQUAL(bytes, 1536);
    CU_ASSERT_EQUAL(nf_parse_bytes("64MiB", &bytes), NF_OK);
    CU_ASSERT_EQUAL(bytes, 64 << 20);
    CU_ASSERT_EQUAL(nf_parse_bytes("2TiB", &bytes), NF_OK);
    CU_ASSERT_EQUAL(bytes, UINT64_C(2) << 40);
    CU_ASSERT_EQUAL(nf_parse_bytes("3MB", &bytes), NF_OK);
    CU_ASSERT_EQUAL(bytes, 3000000);
    CU_ASSERT_EQUAL(nf_parse_bytes("4096", &bytes), NF_ERR_INVAL);
    CU_ASSERT_EQUAL(nf_parse_bytes("1KB", &bytes), NF_ERR_INVAL);
    CU_ASSERT_EQUAL(nf_parse_bytes("-1B", &bytes), NF_ERR_RANGE);
    CU_ASSERT_EQUAL(nf_parse_bytes("1e12TiB", &bytes), NF_ERR_RANGE);
    CU_ASSERT_EQUAL(bytes, 3000000);
}

static void rates_need_their_unit(void)
{
    static const char *const bad[] = { "100", "10MB", "10Mbit", "mbit", "" };
    uint64_t rate_bps = 7;
    char text[32];

    CU_ASSERT_EQUAL(nf_parse_rate_bps("0.5mbit", &rate_bps), NF_OK);
    CU_ASSERT_EQUAL(rate_bps, 500000);
    CU_ASSERT_EQUAL(nf_parse_rate_bps("8000bit", &rate_bps), NF_OK);
    CU_ASSERT_EQUAL(nf_parse_rate_bps("64kbit", &rate_bps), NF_OK);
    CU_ASSERT_EQUAL(nf_parse_rate_bps("100gbit", &rate_bps), NF_OK);
    CU_ASSERT_EQUAL(rate_bps, UINT64_C(100000000000));
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        CU_ASSERT_EQUAL(nf_parse_rate_bps(bad[i], &rate_bps), NF_ERR_INVAL);
    CU_ASSERT_EQUAL(nf_parse_rate_bps("-1mbit", &rate_bps), NF_ERR_RANGE);
    CU_ASSERT_EQUAL(nf_parse_rate_bps("0", &rate_bps), NF_ERR_RANGE);
    CU_ASSERT_EQUAL(nf_parse_rate_bps("7kbit", &rate_bps), NF_ERR_RANGE);
    CU_ASSERT_EQUAL(nf_parse_rate_bps("101gbit", &rate_bps), NF_ERR_RANGE);
    CU_ASSERT_EQUAL(rate_bps, UINT64_C(100000000000));
    CU_ASSERT_STRING_EQUAL(nf_format_rate_bps(1500000, text, sizeof(text)),
                           "1.5mbit");
    CU_ASSERT_STRING_EQUAL(nf_format_rate_bps(999, text, sizeof(text)),
                           "999bit");
}

static void reals_are_finite_decimals(void)
{
    static const char *const bad[] = { "",    "nan", "inf", "-inf", "1.5x",
                                       "0x1", "1e+", " 1",  "1 ",   "." };
    double value = 0;

    CU_ASSERT_EQUAL(nf_parse_real("-2.5e-3", -1, 1, &value), NF_OK);
    CU_ASSERT_DOUBLE_EQUAL(value, -2.5e-3, 0);
    CU_ASSERT_EQUAL(nf_parse_real("1e400", -1e308, 1e308, &value),
                    NF_ERR_RANGE);
    CU_ASSERT_EQUAL(nf_parse_real("2", -1, 1, &value), NF_ERR_RANGE);
    CU_ASSERT_EQUAL(nf_parse_real("-2", -1, 1, &value), NF_ERR_RANGE);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        CU_ASSERT_EQUAL(nf_parse_real(bad[i], -10, 10, &value), NF_ERR_INVAL);
    }
    CU_ASSERT_DOUBLE_EQUAL(value, -2.5e-3, 0);
}

static void numbers_are_printed_for_people(void)
{
    char text[32];

    CU_ASSERT_STRING_EQUAL(nf_format_time_us(0, text, sizeof(text)), "0 us");
    CU_ASSERT_STRING_EQUAL(nf_format_time_us(999, text, sizeof(text)),
                           "999 us");
    CU_ASSERT_STRING_EQUAL(nf_format_time_us(1500000, text, sizeof(text)),
                           "1.50 s");
    CU_ASSERT_STRING_EQUAL(nf_format_time_us(61000000, text, sizeof(text)),
                           "1 min 01 s");
    CU_ASSERT_STRING_EQUAL(nf_format_time_us(7260000000, text, sizeof(text)),
                           "2 h 01 min");
    CU_ASSERT_STRING_EQUAL(nf_format_bytes(1023, text, sizeof(text)), "1023 B");
    CU_ASSERT_STRING_EQUAL(nf_format_bytes(65536, text, sizeof(text)),
                           "64.0 KiB");
    CU_ASSERT_EQUAL(strlen(nf_format_bytes(UINT64_MAX, text, 8)), 7);
}

/* ---- errors ---- */

static void a_failure_carries_status_and_text(void)
{
    struct nf_error err = { .status = NF_OK };

    CU_ASSERT_EQUAL(nf_fail(&err, NF_ERR_IO, "%s: %d", "a.npy", 7), NF_ERR_IO);
    CU_ASSERT_EQUAL(err.status, NF_ERR_IO);
    CU_ASSERT_STRING_EQUAL(err.text, "a.npy: 7");
    CU_ASSERT_EQUAL(nf_fail_prefix(&err, "--%s", "a"), NF_ERR_IO);
    CU_ASSERT_STRING_EQUAL(err.text, "--a: a.npy: 7");
    CU_ASSERT_EQUAL(nf_fail(NULL, NF_ERR_IO, "nobody listens"), NF_ERR_IO);
    CU_ASSERT_EQUAL(nf_fail_prefix(NULL, "x"), NF_ERR_FAILED);
}

static void an_overlong_text_is_cut(void)
{
    struct nf_error err;
    char text[2 * NF_ERROR_TEXT_BYTES];

    memset(text, 'x', sizeof(text));
    text[sizeof(text) - 1] = '\0';
    nf_fail(&err, NF_ERR_IO, "%s", text);
    CU_ASSERT_EQUAL(strlen(err.text), NF_ERROR_TEXT_BYTES - 1);
    nf_fail_prefix(&err, "where");
    CU_ASSERT_EQUAL(strlen(err.text), NF_ERROR_TEXT_BYTES - 1);
    CU_ASSERT(strncmp(err.text, "where: xxx", 10) == 0);
}

static void a_text_is_one_line_whatever_it_quotes(void)
{
    struct nf_error err;

    nf_fail(&err, NF_ERR_INVAL, "%s: cannot open", "a\nb\r\x1b[31m\x7f.npy");
    CU_ASSERT_STRING_EQUAL(err.text, "a?b??[31m?.npy: cannot open");
    nf_fail_prefix(&err, "--out %s", "\t\xc3\xa4");
    CU_ASSERT_STRING_EQUAL(err.text,
                           "--out ?\xc3\xa4: a?b??[31m?.npy: cannot open");
}

static void every_status_has_a_text_and_an_exit_status(void)
{
    static const int exits[] = { 0, 2, 1, 2,   1, 3, 4,
                                 130, 1, 1, 1, 1, 1, 1 };

    for (int status = 0; status >= NF_ERR_REVOKED; status--) {
        CU_ASSERT_STRING_NOT_EQUAL(nf_strerror((enum nf_status)status),
                                   "unknown status");
        CU_ASSERT_EQUAL(nf_exit_status((enum nf_status)status), exits[-status]);
    }
    CU_ASSERT_STRING_EQUAL(nf_strerror((enum nf_status) - 99),
                           "unknown status");
    CU_ASSERT_EQUAL(nf_exit_status((enum nf_status) - 99), 1);
    CU_ASSERT_STRING_EQUAL(nf_version(), PACKAGE_VERSION);
}

static void types_have_their_widths(void)
{
    CU_ASSERT_EQUAL(nf_type_bytes(NF_BYTES), 1);
    CU_ASSERT_EQUAL(nf_type_bytes(NF_INT32), sizeof(int32_t));
    CU_ASSERT_EQUAL(nf_type_bytes(NF_INT64), sizeof(int64_t));
    CU_ASSERT_EQUAL(nf_type_bytes(NF_FLOAT32), sizeof(float));
    CU_ASSERT_EQUAL(nf_type_bytes(NF_FLOAT64), sizeof(double));
    CU_ASSERT_EQUAL(nf_type_bytes((enum nf_type)99), 0);
}

/* ---- buffers and blobs ---- */

static int releases;

static void count_release(void *data)
{
    (void)data;
    releases++;
}

static void a_wrapped_blob_is_released_with_its_last_reference(void)
{
    static char data[] = "data";
    struct nf_blob *blob = nf_blob_wrap(data, 4, NF_BYTES, count_release);

    CU_ASSERT_PTR_NOT_NULL_FATAL(blob);
    releases = 0;
    CU_ASSERT_PTR_EQUAL(nf_blob_ref(blob), blob);
    nf_blob_unref(blob);
    CU_ASSERT_EQUAL(releases, 0);
    CU_ASSERT_PTR_EQUAL(blob->data, data);
    nf_blob_unref(blob);
    CU_ASSERT_EQUAL(releases, 1);
    nf_blob_unref(NULL);
    CU_ASSERT_PTR_NULL(nf_blob_ref(NULL));
}

static void a_buffer_keeps_what_is_appended(void)
{
    struct nf_buf buf;
    struct nf_blob *blob;
    uint8_t want[3000];

    nf_buf_init(&buf);
    for (size_t i = 0; i < sizeof(want); i++) {
        want[i] = (uint8_t)(i * 7);
        CU_ASSERT_EQUAL(nf_buf_append(&buf, &want[i], 1), NF_OK);
    }
    CU_ASSERT_EQUAL(buf.bytes, sizeof(want));
    CU_ASSERT(memcmp(buf.data, want, sizeof(want)) == 0);
    blob = nf_buf_take(&buf, NF_INT32);
    CU_ASSERT_PTR_NOT_NULL_FATAL(blob);
    CU_ASSERT_EQUAL(buf.bytes, 0);
    CU_ASSERT_EQUAL(blob->bytes, sizeof(want));
    CU_ASSERT_EQUAL(blob->type, NF_INT32);
    CU_ASSERT(memcmp(blob->data, want, sizeof(want)) == 0);
    nf_blob_unref(blob);
    nf_buf_fini(&buf);
}

static void neighbouring_pieces_are_borrowed_as_one(void)
{
    static const char text[] = "abcdefgh";
    struct nf_buf buf;

    nf_buf_init(&buf);
    CU_ASSERT_EQUAL(nf_buf_borrow(&buf, text, 2), NF_OK);
    CU_ASSERT_EQUAL(nf_buf_borrow(&buf, text + 2, 3), NF_OK);
    CU_ASSERT_PTR_EQUAL(buf.data, text);
    CU_ASSERT_EQUAL(buf.bytes, 5);
    CU_ASSERT_EQUAL(nf_buf_borrow(&buf, text + 6, 2), NF_OK);
    CU_ASSERT_PTR_NOT_EQUAL(buf.data, text);
    CU_ASSERT_EQUAL(buf.bytes, 7);
    CU_ASSERT(memcmp(buf.data, "abcdegh", 7) == 0);
    nf_buf_reset(&buf);
    CU_ASSERT_EQUAL(buf.bytes, 0);
    CU_ASSERT_EQUAL(nf_buf_append(&buf, "xy", 2), NF_OK);
    CU_ASSERT(memcmp(buf.data, "xy", 2) == 0);
    nf_buf_fini(&buf);
    CU_ASSERT_STRING_EQUAL(text, "abcdefgh");
}

static void large_data_begin_with_a_large_page(void)
{
    static const size_t sizes[] = { 1, (2 << 20) - 1, 2 << 20, (7 << 20) + 3 };

    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        uint8_t *data = nf_blob_alloc(sizes[i]);
        struct nf_blob *blob = nf_blob_create(sizes[i], NF_BYTES);

        CU_ASSERT_FATAL(data != NULL && blob != NULL);
        memset(data, 7, sizes[i]);
        memset(blob->data, 7, sizes[i]);
        CU_ASSERT(sizes[i] < 2 << 20 || (uintptr_t)data % (2 << 20) == 0);
        nf_blob_unref(blob);
        nf_free(data);
    }
}

/* What follows its neighbour is one part with it; all is where it was. */
static void a_chain_has_parts_of_others(void)
{
    static const size_t pieces[] = { 1, 4, 2, 3 };
    struct nf_blob *one = nf_blob_create(8, NF_BYTES);
    struct nf_blob *two = nf_blob_create(8, NF_BYTES);
    struct nf_blob *chain = nf_blob_chain(3, NF_BYTES);
    const uint8_t *a, *b;
    struct nf_blob_reader reader;
    struct nf_blob_part part;
    char text[10];

    CU_ASSERT_FATAL(one != NULL && two != NULL && chain != NULL);
    memcpy(one->data, "abcdefgh", 8);
    memcpy(two->data, "ABCDEFGH", 8);
    a = one->data;
    b = two->data;
    CU_ASSERT(nf_blob_is_chain(chain) && !nf_blob_is_chain(one));
    CU_ASSERT(!nf_blob_is_borrowed(chain));
    nf_blob_add(chain, &(struct nf_blob_part){ a + 3, 2, one });
    nf_blob_add(chain, &(struct nf_blob_part){ a + 5, 3, one });
    nf_blob_add(chain, &(struct nf_blob_part){ a, 0, one });
    nf_blob_add(chain, &(struct nf_blob_part){ b, 2, two });
    nf_blob_add(chain, &(struct nf_blob_part){ a, 3, one });
    CU_ASSERT_EQUAL(chain->nparts, 3);
    CU_ASSERT_EQUAL(chain->bytes, 10);
    CU_ASSERT_EQUAL(atomic_load(&one->refs), 3);
    nf_blob_copy_out(chain, text);
    CU_ASSERT(memcmp(text, "defghABabc", 10) == 0);
    reader = nf_blob_read(chain, NULL);
    for (size_t i = 0, at = 0; i < sizeof(pieces) / sizeof(*pieces); i++) {
        CU_ASSERT(nf_blob_next(&reader, pieces[i], &part));
        CU_ASSERT(memcmp(part.data, text + at, pieces[i]) == 0);
        CU_ASSERT_PTR_EQUAL(part.owner, i == 2 ? two : one);
        at += pieces[i];
    }
    CU_ASSERT(!nf_blob_next(&reader, 1, &part));
    reader = nf_blob_read(chain, NULL);
    CU_ASSERT(!nf_blob_next(&reader, 6, &part)); /* not in one part */
    reader = nf_blob_read(one, a + 2);
    CU_ASSERT(nf_blob_next(&reader, 2, &part) &&
              nf_blob_next(&reader, 3, &part));
    CU_ASSERT(part.data == a + 4 && part.owner == one);
    reader = nf_blob_read(NULL, NULL);
    CU_ASSERT(!nf_blob_next(&reader, 1, &part));
    nf_blob_unref(chain);
    CU_ASSERT_EQUAL(atomic_load(&one->refs), 1);
    CU_ASSERT_EQUAL(atomic_load(&two->refs), 1);
    nf_blob_unref(one);
    nf_blob_unref(two);
    CU_ASSERT_PTR_NULL(nf_blob_chain(SIZE_MAX, NF_BYTES));
}

static void absurd_sizes_are_out_of_memory(void)
{
    struct nf_buf buf;

    nf_buf_init(&buf);
    CU_ASSERT_EQUAL(nf_buf_append(&buf, "abc", 3), NF_OK);
    CU_ASSERT_PTR_NULL(nf_buf_reserve(&buf, SIZE_MAX));
    CU_ASSERT_EQUAL(buf.bytes, 3);
    CU_ASSERT_PTR_NULL(nf_blob_create(SIZE_MAX, NF_BYTES));
    nf_buf_fini(&buf);
}

/* ---- the allocator ---- */

static bool use_memory(void)
{
    static const char text[] = "a borrowed text";
    struct nf_buf buf;
    struct nf_blob *blob = NULL;
    bool ok;

    nf_buf_init(&buf);
    ok = nf_buf_borrow(&buf, text, 5) == NF_OK &&
         nf_buf_append(&buf, text, sizeof(text)) == NF_OK;
    if (ok) {
        CU_ASSERT_EQUAL(buf.bytes, 5 + sizeof(text));
        blob = nf_buf_take(&buf, NF_BYTES);
        ok = blob != NULL;
        CU_ASSERT_EQUAL(buf.bytes, ok ? 0 : 5 + sizeof(text));
    }
    nf_blob_unref(blob);
    nf_buf_fini(&buf);
    return ok;
}

static void every_failing_allocation_is_survived(void)
{
    long successes = 0;

    for (; successes < 50; successes++) {
        bool ok;

        nf_alloc_fail_after(successes);
        ok = use_memory();
        nf_alloc_fail_after(-1);
        if (ok)
            break;
    }
    CU_ASSERT(successes >= 2);
    CU_ASSERT(successes < 50);
}

static void nothing_can_be_allocated_and_freed(void)
{
    void *block = nf_malloc(0);
    char *copy = nf_strdup("text");

    CU_ASSERT_PTR_NOT_NULL(block);
    block = nf_realloc(block, 100);
    CU_ASSERT_PTR_NOT_NULL(block);
    nf_free(block);
    nf_free(NULL);
    CU_ASSERT_STRING_EQUAL(copy, "text");
    nf_free(copy);
}

/* ---- log, clock ---- */

static char logged[200];
static int nlogged;

static void keep_line(enum nf_log_level level, const char *line)
{
    nlogged++;
    snprintf(logged, sizeof(logged), "%d %s", (int)level, line);
}

static void the_log_keeps_to_its_level(void)
{
    nf_log_set_sink(keep_line);
    nf_log_set_level(NF_LOG_INFO);
    nlogged = 0;
    nf_log(NF_LOG_DEBUG, "not this");
    CU_ASSERT_EQUAL(nlogged, 0);
    nf_log(NF_LOG_INFO, "slave %d lost", 7);
    CU_ASSERT_EQUAL(nlogged, 1);
    CU_ASSERT_STRING_EQUAL(logged, "2 slave 7 lost");
    CU_ASSERT_EQUAL(nf_log_get_level(), NF_LOG_INFO);
    nf_log_set_level(NF_LOG_WARN);
    nf_log(NF_LOG_INFO, "not this either");
    CU_ASSERT_EQUAL(nlogged, 1);
    nf_log_set_sink(NULL);
}

static void the_clock_does_not_go_back(void)
{
    int64_t before_us = nf_now_us();

    for (int i = 0; i < 1000; i++) {
        int64_t now_us = nf_now_us();

        CU_ASSERT(now_us >= before_us);
        before_us = now_us;
    }
}

static void text_of_others_becomes_one_line(void)
{
    char text[] = "a\nb\tc\033[2Jd\177e\xc3\xa9", empty[] = "";

    nf_text_make_line(text);
    CU_ASSERT_STRING_EQUAL(text, "a?b?c?[2Jd?e\xc3\xa9");
    nf_text_make_line(empty);
    CU_ASSERT_STRING_EQUAL(empty, "");
}

static void half_a_character_becomes_printable(void)
{
    char text[] = "a\xc3\xa9\xe2\x82";

    nf_text_make_utf8(text, strlen(text));
    CU_ASSERT_STRING_EQUAL(text, "a\xc3\xa9??");
}

int main(void)
{
    CU_TestInfo units[] = {
        { "counts are plain decimals within bounds",
          counts_are_plain_decimals_within_bounds },
        { "a count out of bounds leaves the value alone",
          a_count_out_of_bounds_leaves_the_value_alone },
        { "times need a unit", times_need_a_unit },
        { "sizes need a unit", sizes_need_a_unit },
        { "rates need their unit", rates_need_their_unit },
        { "reals are finite decimals", reals_are_finite_decimals },
        { "numbers are printed for people", numbers_are_printed_for_people },
        CU_TEST_INFO_NULL,
    };
    CU_TestInfo errors[] = {
        { "a failure carries status and text",
          a_failure_carries_status_and_text },
        { "an overlong text is cut", an_overlong_text_is_cut },
        { "a text is one line, whatever it quotes",
          a_text_is_one_line_whatever_it_quotes },
        { "every status has a text and an exit status",
          every_status_has_a_text_and_an_exit_status },
        { "types have their widths", types_have_their_widths },
        CU_TEST_INFO_NULL,
    };
    CU_TestInfo memory[] = {
        { "large data begin with a large page",
          large_data_begin_with_a_large_page },
        { "a chain has parts of others", a_chain_has_parts_of_others },
        { "a wrapped blob is released with its last reference",
          a_wrapped_blob_is_released_with_its_last_reference },
        { "a buffer keeps what is appended", a_buffer_keeps_what_is_appended },
        { "neighbouring pieces are borrowed as one",
          neighbouring_pieces_are_borrowed_as_one },
        { "absurd sizes are out of memory", absurd_sizes_are_out_of_memory },
        { "every failing allocation is survived",
          every_failing_allocation_is_survived },
        { "nothing can be allocated and freed",
          nothing_can_be_allocated_and_freed },
        CU_TEST_INFO_NULL,
    };
    CU_TestInfo others[] = {
        { "the log keeps to its level", the_log_keeps_to_its_level },
        { "the clock does not go back", the_clock_does_not_go_back },
        { "text of others becomes one line", text_of_others_becomes_one_line },
        { "half a character becomes printable",
          half_a_character_becomes_printable },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "units", NULL, NULL, NULL, NULL, units },
        { "errors", NULL, NULL, NULL, NULL, errors },
        { "memory", NULL, NULL, NULL, NULL, memory },
        { "others", NULL, NULL, NULL, NULL, others },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
