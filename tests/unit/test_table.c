/* Tables and CSV, character by character. */
#include "config.h"
#include "apps/nowfarm/table.h"
#include <stdlib.h>
#include <string.h>
#include "common/base/alloc.h"
#include "tests/unit/nf_unit.h"

static void expect(const struct table *t, unsigned widest, const char *want)
{
    char *text = NULL;
    size_t bytes;
    FILE *to = open_memstream(&text, &bytes);

    table_print(t, widest, to);
    fclose(to);
    CU_ASSERT_STRING_EQUAL(text, want);
    if (strcmp(text, want) != 0)
        fprintf(stderr, "got:\n%swant:\n%s", text, want);
    free(text);
}

static void columns_are_aligned(void)
{
    struct table t;

    table_init(&t, 4, true);
    table_add_row(&t, "policy");
    table_set(&t, 1, "median");
    table_set(&t, 2, "q1");
    table_set(&t, 3, "remark");
    table_add_row(&t, "send");
    table_set(&t, 1, "%.1f", 12.0);
    table_set(&t, 2, "%.1f", 100.5);
    table_set(&t, 3, "slow");
    table_add_row(&t, "gss:kmin=5");
    table_set(&t, 1, "9");
    expect(&t, 28,
           "policy      median     q1  remark\n"
           "send          12.0  100.5  slow\n"
           "gss:kmin=5       9\n");
    table_fini(&t);
}

static void a_long_label_has_its_own_line(void)
{
    struct table t;

    table_init(&t, 2, false);
    table_add_row(&t, "short");
    table_set(&t, 1, "1");
    table_add_row(&t, "longer than that");
    table_set(&t, 1, "22");
    table_add_row(&t, "a heading without cells");
    expect(&t, 6,
           "short   1\n"
           "longer than that\n"
           "       22\n"
           "a heading without cells\n");
    table_fini(&t);
}

static void characters_count_not_bytes(void)
{
    struct table t;

    table_init(&t, 2, false);
    table_add_row(&t, "\xc3\xa4\xc3\xb6");
    table_set(&t, 1, "\xc2\xb5s");
    table_add_row(&t, "abc");
    table_set(&t, 1, "123");
    expect(&t, 20, "\xc3\xa4\xc3\xb6    \xc2\xb5s\nabc  123\n");
    table_fini(&t);
}

static void memory_may_run_out(void)
{
    for (long n = 0;; n++) {
        struct table t;
        enum nf_status status;

        table_init(&t, 3, false);
        nf_alloc_fail_after(n);
        status = table_add_row(&t, "one");
        if (status == NF_OK)
            status = table_add_row(&t, "two");
        nf_alloc_fail_after(-1);
        CU_ASSERT(status == NF_OK || status == NF_ERR_NOMEM);
        table_fini(&t);
        if (status == NF_OK)
            break;
    }
}

static void csv(const char *text, const char *want)
{
    char *got = NULL;
    size_t bytes;
    FILE *to = open_memstream(&got, &bytes);

    table_print_csv(text, to);
    fclose(to);
    CU_ASSERT_STRING_EQUAL(got, want);
    free(got);
}

static void csv_is_quoted_where_it_must_be(void)
{
    csv("send", "send");
    csv("", "");
    csv("gss:kmin=5,rounding=half", "\"gss:kmin=5,rounding=half\"");
    csv("say \"hi\"", "\"say \"\"hi\"\"\"");
    csv("two\nlines", "\"two\nlines\"");
}

int main(void)
{
    CU_TestInfo table[] = {
        { "columns are aligned", columns_are_aligned },
        { "a long label has its own line", a_long_label_has_its_own_line },
        { "characters count, not bytes", characters_count_not_bytes },
        { "memory may run out", memory_may_run_out },
        { "CSV is quoted where it must be", csv_is_quoted_where_it_must_be },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "table", NULL, NULL, NULL, NULL, table },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
