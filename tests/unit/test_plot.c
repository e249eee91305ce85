/* Pictures: what is refused, what gnuplot is told, and what becomes of its
 * failures.  Whether they please is for people to see. */
#include "config.h"
#include "apps/nowfarm/plot.h"
#include <math.h>
#include <sys/stat.h>
#include "tests/unit/nf_tmpdir.h"
#include "tests/unit/nf_unit.h"

static const double first[] = { 3, 1, 2, NAN }, second[] = { 7, INFINITY, 5 };
/* a label that would be a command, a formula and two lines, if it were let */
static const struct plot_series rows[] = {
    { .label = "send:g='`touch pwned`'_{x}\n", .x = first, .n = 4 },
    { .label = "gss:kmin=2,rounding=half+window:w=3",
      .x = second,
      .n = 3,
      .note = "<5 & more>" },
    { .label = "nothing", .x = NULL, .n = 0 },
};

static struct plot boxes(void)
{
    return (struct plot){ .kind = PLOT_BOXES,
                          .title = "it's \"quoted\"",
                          .subtitle = "second line",
                          .x_label = "time [s]",
                          .series = rows,
                          .nseries = 3,
                          .mark = 0.5,
                          .mark_label = "bound" };
}

static bool have_gnuplot(void)
{
    return system("gnuplot --version > /dev/null 2>&1") == 0;
}

static const char *slurp(const char *path)
{
    static char text[1 << 17];
    FILE *file = fopen(path, "r");
    size_t bytes = 0;

    if (file != NULL) {
        bytes = fread(text, 1, sizeof(text) - 1, file);
        fclose(file);
    }
    text[bytes] = '\0';
    return text;
}

/* A gnuplot of ours, which comes first in PATH until real_gnuplot(). */
static char path_before[4096];

static void fake_gnuplot(const char *script)
{
    char value[8192];

    snprintf(path_before, sizeof(path_before), "%s", getenv("PATH"));
    mkdir(nf_tmp("bin"), 0700);
    chmod(nf_tmp_write("bin/gnuplot", script), 0700);
    snprintf(value, sizeof(value), "%s:%s", nf_tmp("bin"), path_before);
    setenv("PATH", value, 1);
}

static void real_gnuplot(void)
{
    setenv("PATH", path_before, 1);
}

static void other_suffixes_are_refused(void)
{
    static const char *const bad[] = { "p.jpg", "p",        "svg",
                                       ".svg",  "p.svg.gz", "" };
    struct plot plot = boxes();

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct nf_error err = { .text = "" };

        CU_ASSERT_EQUAL(plot_check(bad[i], &err), NF_ERR_INVAL);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.text, ".svg or .png"));
        CU_ASSERT_EQUAL(plot_write(&plot, bad[i], &err), NF_ERR_INVAL);
    }
}

static void a_missing_folder_is_refused(void)
{
    struct nf_error err = { .text = "" };

    CU_ASSERT_EQUAL(plot_check(nf_tmp("none/p.svg"), &err), NF_ERR_INVAL);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "there is no directory"));
}

static void a_missing_gnuplot_is_named(void)
{
    struct nf_error err = { .text = "" };

    fake_gnuplot("");
    setenv("PATH", nf_tmp("nobin"), 1);
    CU_ASSERT_EQUAL(plot_check(nf_tmp("p.svg"), &err), NF_ERR_INVAL);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "gnuplot-nox"));
    real_gnuplot();
}

static void failed(const char *script, const char *why)
{
    struct nf_error err = { .text = "" };
    const char *path = nf_tmp_write("old.svg", "as before");
    struct plot plot = boxes();

    fake_gnuplot(script);
    CU_ASSERT_EQUAL(plot_write(&plot, path, &err), NF_ERR_FAILED);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, why));
    CU_ASSERT_STRING_EQUAL(slurp(path), "as before");
    real_gnuplot();
}

static void a_failure_leaves_the_old_picture(void)
{
    failed("#!/bin/sh\necho '<?xml half'\necho no font >&2\nexit 3\n",
           "exit status 3: no font");
    failed("#!/bin/sh\nkill -9 $$\n", "exit status 137");
    failed("#!/bin/sh\nexit 0\n", "drew nothing");
    failed("#!/bin/sh\necho 'not a picture'\n", "drew nothing");
}

/* What gnuplot is told: the script itself as the picture. */
static void texts_are_between_single_quotes(void)
{
    struct nf_error err = { .text = "" };
    struct plot plot = boxes();
    const char *script;

    plot.mark = 1;
    fake_gnuplot("#!/bin/sh\necho '<?xml'\ncat\n");
    CU_ASSERT_EQUAL(plot_write(&plot, nf_tmp("s.svg"), &err), NF_OK);
    real_gnuplot();
    script = slurp(nf_tmp("s.svg"));
    CU_ASSERT_PTR_NOT_NULL(strstr(script, "'it''s \"quoted\"'"));
    CU_ASSERT_PTR_NOT_NULL(strstr(script, "'send:g=''`touch pwned`''_{x} ' 1"));
    CU_ASSERT_PTR_NOT_NULL(
        strstr(script, "'gss:kmin=2,rounding=half'.\"\\n\".'+window:w=3' 2"));
    CU_ASSERT_PTR_NOT_NULL(strstr(script, "noenhanced"));
    /* median, row, quartiles, extremes; from zero, as 1 is far below 7 */
    CU_ASSERT_PTR_NOT_NULL(strstr(script, "\n2 1 1.5 2.5 1 3\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(script, "\n6 2 5.5 6.5 5 7\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(script, "set xrange [0:7.42]\n"));
    CU_ASSERT_PTR_NULL(strstr(script, "inf"));
    CU_ASSERT_PTR_NULL(strstr(script, "\nnan"));
}

/* as the medians say, whatever single values and the mark do */
static void wide_data_have_a_logarithmic_axis(void)
{
    static const double near[] = { 1, 2, 21 }, far[] = { 5, 21, 22 };
    const struct plot_series wide[] = { { .label = "a", .x = near, .n = 3 },
                                        { .label = "b", .x = far, .n = 3 } };
    struct nf_error err = { .text = "" };
    struct plot plot = boxes();

    plot.series = wide;
    plot.nseries = 2;

    fake_gnuplot("#!/bin/sh\necho '<?xml'\ncat\n");
    CU_ASSERT_EQUAL(plot_write(&plot, nf_tmp("s.svg"), &err), NF_OK);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(slurp(nf_tmp("s.svg")), "set logscale x\nset xrange [0.43"));
    plot.nseries = 1;
    CU_ASSERT_EQUAL(plot_write(&plot, nf_tmp("s.svg"), &err), NF_OK);
    CU_ASSERT_PTR_NULL(strstr(slurp(nf_tmp("s.svg")), "logscale"));
    real_gnuplot();
}

static void labels_break_anywhere_if_they_must(void)
{
    const struct plot_series row = {
        .label = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\xc3\xa4"
                 "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb",
        .x = first,
        .n = 3
    };
    struct plot plot = boxes();
    struct nf_error err;

    plot.series = &row;
    plot.nseries = 1;
    fake_gnuplot("#!/bin/sh\necho '<?xml'\ncat\n");
    CU_ASSERT_EQUAL(plot_write(&plot, nf_tmp("s.svg"), &err), NF_OK);
    real_gnuplot();
    CU_ASSERT_PTR_NOT_NULL(
        strstr(slurp(nf_tmp("s.svg")),
               "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'.\"\\n\".'\xc3\xa4"
               "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbb'.\"\\n\".'bbbbbb' 1"));
}

static void gnuplot_draws_boxes(void)
{
    struct plot plot = boxes();
    struct nf_error err = { .text = "" };
    const char *text;

    if (!have_gnuplot())
        return;
    CU_ASSERT_EQUAL(plot_check(nf_tmp("p.svg"), &err), NF_OK);
    CU_ASSERT_EQUAL(plot_write(&plot, nf_tmp("p.svg"), &err), NF_OK);
    text = slurp(nf_tmp("p.svg"));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "</svg>"));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "`touch pwned`"));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "&lt;5 &amp; more"));
    CU_ASSERT_EQUAL(plot_write(&plot, nf_tmp("p.png"), &err), NF_OK);
    CU_ASSERT_EQUAL(strncmp(slurp(nf_tmp("p.png")), "\x89PNG", 4), 0);
    CU_ASSERT_STRING_EQUAL(err.text, "");
    CU_ASSERT_NOT_EQUAL(access("pwned", F_OK), 0);
}

static void gnuplot_draws_lines(void)
{
    const double x[] = { 1, 10, 100 }, y[] = { 4, 2, NAN };
    const struct plot_series lines[] = {
        { .label = "measured", .x = x, .y = y, .n = 3 },
        { .label = "model", .x = x, .y = x, .n = 3 },
    };
    struct plot plot = { .kind = PLOT_LINES,
                         .title = "time against size",
                         .x_label = "size [B]",
                         .y_label = "time [us]",
                         .series = lines,
                         .nseries = 2,
                         .mark = NAN,
                         .log_x = true,
                         .log_y = true };
    struct nf_error err = { .text = "" };

    if (!have_gnuplot())
        return;
    CU_ASSERT_EQUAL(plot_write(&plot, nf_tmp("l.svg"), &err), NF_OK);
    CU_ASSERT_STRING_EQUAL(err.text, "");
    CU_ASSERT_PTR_NOT_NULL(strstr(slurp(nf_tmp("l.svg")), "time [us]"));
}

/* One value, or values that are all the same, still have an axis. */
static void gnuplot_draws_a_point(void)
{
    const double same[] = { 5, 5 };
    const struct plot_series row = { .label = "one", .x = same, .n = 2 };
    struct plot plot = boxes();
    struct nf_error err = { .text = "" };

    if (!have_gnuplot())
        return;
    plot.series = &row;
    plot.nseries = 1;
    plot.mark = NAN;
    CU_ASSERT_EQUAL(plot_write(&plot, nf_tmp("one.svg"), &err), NF_OK);
    CU_ASSERT_STRING_EQUAL(err.text, "");
}

int main(void)
{
    CU_TestInfo checks[] = {
        { "other suffixes are refused", other_suffixes_are_refused },
        { "a missing folder is refused", a_missing_folder_is_refused },
        { "a missing gnuplot is named", a_missing_gnuplot_is_named },
        { "a failure leaves the old picture",
          a_failure_leaves_the_old_picture },
        CU_TEST_INFO_NULL,
    };
    CU_TestInfo pictures[] = {
        { "texts are between single quotes", texts_are_between_single_quotes },
        { "wide data have a logarithmic axis",
          wide_data_have_a_logarithmic_axis },
        { "labels break anywhere if they must",
          labels_break_anywhere_if_they_must },
        { "gnuplot draws boxes", gnuplot_draws_boxes },
        { "gnuplot draws lines", gnuplot_draws_lines },
        { "gnuplot draws a point", gnuplot_draws_a_point },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "checks", nf_tmpdir_make, nf_tmpdir_remove, NULL, NULL, checks },
        { "pictures", nf_tmpdir_make, nf_tmpdir_remove, NULL, NULL, pictures },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
