/* `nowfarm policies` and `nowfarm chunks`: output, errors, exit status. */
#include "config.h"
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "apps/nowfarm/commands.h"
#include "common/policy/policy.h"
#include "tests/unit/golden_spec.h"
#include "tests/unit/nf_unit.h"

enum { TEXT_BYTES = 65536 };

/* What one command printed. */
struct output {
    int status;
    char out[TEXT_BYTES], err[TEXT_BYTES];
};

static struct output output;
static char script_path[] = "/tmp/nf_test_script_XXXXXX";
static json_t *golden;

static void read_back(FILE *file, int fd, int saved, char *text)
{
    size_t bytes;

    dup2(saved, fd);
    close(saved);
    rewind(file);
    bytes = fread(text, 1, TEXT_BYTES - 1, file);
    text[bytes] = '\0';
    fclose(file);
}

/* Run a command with both standard streams caught. */
static void run(int (*command)(int, const char **), const char **argv)
{
    FILE *out = tmpfile(), *err = tmpfile();
    int argc = 0, saved_out, saved_err;

    while (argv[argc] != NULL)
        argc++;
    fflush(stdout);
    saved_out = dup(STDOUT_FILENO);
    saved_err = dup(STDERR_FILENO);
    dup2(fileno(out), STDOUT_FILENO);
    dup2(fileno(err), STDERR_FILENO);
    output.status = command(argc, argv);
    fflush(stdout);
    read_back(out, STDOUT_FILENO, saved_out, output.out);
    read_back(err, STDERR_FILENO, saved_err, output.err);
}

#define RUN(command, ...) run(command, (const char *[]){ __VA_ARGS__, NULL })

static void write_script(const char *text)
{
    FILE *file = fopen(script_path, "w");

    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    fputs(text, file);
    CU_ASSERT_EQUAL(fclose(file), 0);
}

/* ---- policies ---- */

static void policies_lists_every_name(void)
{
    RUN(nf_cmd_policies, "policies");
    CU_ASSERT_EQUAL(output.status, 0);
    CU_ASSERT_STRING_EQUAL(output.err, "");
    for (size_t i = 0; nf_sizer_table[i] != NULL; i++) {
        CU_ASSERT_PTR_NOT_NULL(strstr(output.out, nf_sizer_table[i]->summary));
        CU_ASSERT_PTR_NOT_NULL(strstr(output.out, nf_sizer_table[i]->source));
    }
    for (size_t i = 0; nf_pacer_table[i] != NULL; i++) {
        CU_ASSERT_PTR_NOT_NULL(strstr(output.out, nf_pacer_table[i]->summary));
        CU_ASSERT_PTR_NOT_NULL(strstr(output.out, nf_pacer_table[i]->source));
    }
    for (size_t i = 0; nf_policy_alias_table[i].name != NULL; i++)
        CU_ASSERT_PTR_NOT_NULL(
            strstr(output.out, nf_policy_alias_table[i].summary));
    CU_ASSERT_PTR_NOT_NULL(
        strstr(output.out, "rounding=ceil|floor|half, default ceil"));
    CU_ASSERT_PTR_NOT_NULL(strstr(output.out, "wmax=count (chunks), default "
                                              "16"));
}

static size_t count_sizers(void)
{
    size_t count = 0;

    while (nf_sizer_table[count] != NULL)
        count++;
    return count;
}

static size_t count_pacers(void)
{
    size_t count = 0;

    while (nf_pacer_table[count] != NULL)
        count++;
    return count;
}

static size_t count_aliases(void)
{
    size_t count = 0;

    while (nf_policy_alias_table[count].name != NULL)
        count++;
    return count;
}

static void policies_as_json_is_one_object(void)
{
    json_t *object, *gss, *kmin;

    RUN(nf_cmd_policies, "policies", "--json");
    CU_ASSERT_EQUAL(output.status, 0);
    object = json_loads(output.out, JSON_REJECT_DUPLICATES, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(object);
    CU_ASSERT_EQUAL(json_array_size(json_object_get(object, "sizers")),
                    count_sizers());
    CU_ASSERT_EQUAL(json_array_size(json_object_get(object, "pacers")),
                    count_pacers());
    CU_ASSERT_EQUAL(json_array_size(json_object_get(object, "aliases")),
                    count_aliases());
    gss = json_array_get(json_object_get(object, "sizers"), 1);
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(gss, "name")),
                           "gss");
    kmin = json_array_get(json_object_get(gss, "params"), 0);
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(kmin, "name")),
                           "kmin");
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(kmin, "default")),
                           "1");
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(kmin, "unit")),
                           "units");
    json_decref(object);
}

/* ---- chunks ---- */

static void chunks_prints_the_sizes(void)
{
    RUN(nf_cmd_chunks, "chunks", "gss", "--units", "320", "--slaves", "4");
    CU_ASSERT_EQUAL(output.status, 0);
    CU_ASSERT_STRING_EQUAL(output.out,
                           "80 60 45 34 26 19 14 11 8 6 5 3 3 2 1 1\n1 1\n");
    RUN(nf_cmd_chunks, "chunks", "--json", "--units=10", "--slaves=4",
        "presend:g=3,td=5ms");
    CU_ASSERT_EQUAL(output.status, 0);
    CU_ASSERT_STRING_EQUAL(output.out,
                           "{\"policy\":\"presend:g=3,td=5ms\",\"units\":10,"
                           "\"slaves\":4,\"chunks\":[3,3,3,1]}\n");
    RUN(nf_cmd_chunks, "chunks", "send", "--units", "0", "--slaves", "4",
        "--json");
    CU_ASSERT_EQUAL(output.status, 0);
    CU_ASSERT_STRING_EQUAL(output.out,
                           "{\"policy\":\"send\",\"units\":0,\"slaves\":4,"
                           "\"chunks\":[]}\n");
}

static void chunks_replays_a_script(void)
{
    write_script("# a comment, then an empty line\n"
                 "\n"
                 "next 0\n"
                 "next 1 # 2 left of 3\n"
                 "report 0 2 102655 113695 102655.0 0.0\n"
                 "\tnext  2 1\r\n"
                 "next 3");
    RUN(nf_cmd_chunks, "chunks", "gss", "--units", "5", "--slaves", "4",
        "--json", "--script", script_path);
    CU_ASSERT_EQUAL(output.status, 0);
    CU_ASSERT_STRING_EQUAL(output.out,
                           "{\"policy\":\"gss\",\"units\":5,\"slaves\":4,"
                           "\"sizes\":[2,1,1,1]}\n");
}

/* What was taken out of a batch is what the script says, so that the rest of
 * the batch is the rest of what was really left of it. */
static void a_script_may_change_what_is_left_of_a_batch(void)
{
    write_script("next 0\nnext 1 7\nnext 2 16\nnext 3 1\nnext 0 10\n"
                 "next 1 0\nnext 1\n");
    RUN(nf_cmd_chunks, "chunks", "fac2", "--units", "80", "--slaves", "4",
        "--json", "--script", script_path);
    CU_ASSERT_EQUAL(output.status, 0);
    /* 40 = 10 + 7 + 16 + 1 + 6, and 4 of the second batch of 6 a chunk */
    CU_ASSERT_PTR_NOT_NULL(strstr(output.out, "\"sizes\":[10,10,10,7,6,5,5]"));
}

static void static_lists_the_block_of_every_slave(void)
{
    RUN(nf_cmd_chunks, "chunks", "static", "--units", "2", "--slaves", "4",
        "--json");
    CU_ASSERT_EQUAL(output.status, 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(output.out, "\"chunks\":[1,1,0,0]"));
    RUN(nf_cmd_chunks, "chunks", "static", "--units", "0", "--slaves", "3",
        "--json");
    CU_ASSERT_PTR_NOT_NULL(strstr(output.out, "\"chunks\":[0,0,0]"));
    write_script("next 3\nnext 1\nnext 1\nnext 0\n");
    RUN(nf_cmd_chunks, "chunks", "static", "--units", "10", "--slaves", "4",
        "--json", "--script", script_path);
    CU_ASSERT_PTR_NOT_NULL(strstr(output.out, "\"sizes\":[2,3,0,3]"));
}

/* The size in the script is what was taken; the answer is the policy's own. */
static void a_script_may_go_on_from_another_size(void)
{
    write_script("next 0 60\nnext 1\nnext 1 0\nnext 2\nnext 3 9\nnext 0\n");
    RUN(nf_cmd_chunks, "chunks", "gss", "--units", "100", "--slaves", "4",
        "--json", "--script", script_path);
    CU_ASSERT_EQUAL(output.status, 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(output.out, "\"sizes\":[25,10,8,8,6,4]"));
    write_script("next 0 100\nnext 1\n");
    RUN(nf_cmd_chunks, "chunks", "gss", "--units", "100", "--slaves", "4",
        "--json", "--script", script_path);
    CU_ASSERT_PTR_NOT_NULL(strstr(output.out, "\"sizes\":[25,0]"));
}

/* Slots keep what was dealt to them: who took less gets the rest, who took more
 * has taken it from those that ask last. */
static void a_script_may_change_what_was_dealt(void)
{
    static const struct {
        const char *spec, *script, *sizes;
    } cases[] = {
        { "static", "next 0 1\nnext 0\nnext 0\n", "[25,24,0]" },
        { "static", "next 0 40\nnext 0\nnext 1\nnext 2\nnext 3\n",
          "[25,0,25,25,10]" },
        { "static", "next 3 0\nnext 3 20\nnext 3\nnext 3\n", "[25,25,5,0]" },
        { "static", "next 0 100\nnext 1\n", "[25,0]" },
        /* 30, 30, 20, 20 */
        { "cyclic:g=10", "next 0 4\nnext 0\nnext 0\nnext 0\nnext 0\n",
          "[10,10,10,6,0]" },
        { "cyclic:g=10", "next 2 15\nnext 2\nnext 2\n", "[10,5,0]" },
        { "cyclic:g=10", "next 1 95\nnext 1\nnext 0\nnext 2\n", "[10,0,5,0]" },
        /* those that count requests, or go by what is left alone */
        { "tss:first=20,last=4", "next 0 3\nnext 1\n", "[20,18]" },
        { "fixed:g=8", "next 0 95\nnext 1\n", "[8,5]" },
        { "fiss", "next 0 99\nnext 1\n", "[5,1]" },
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        write_script(cases[i].script);
        RUN(nf_cmd_chunks, "chunks", cases[i].spec, "--units", "100",
            "--slaves", "4", "--json", "--script", script_path);
        CU_ASSERT_EQUAL(output.status, 0);
        CU_ASSERT_PTR_NOT_NULL(strstr(output.out, cases[i].sizes));
        if (strstr(output.out, cases[i].sizes) == NULL)
            printf("\n    %s is not %s", output.out, cases[i].sizes);
    }
}

static void expect_usage_error(const char *part)
{
    const char *newline = strchr(output.err, '\n');
    bool right = strstr(output.err, part) != NULL;

    CU_ASSERT_EQUAL(output.status, 2);
    CU_ASSERT_STRING_EQUAL(output.out, "");
    CU_ASSERT(strncmp(output.err, "nowfarm: ", 9) == 0);
    CU_ASSERT(newline != NULL && newline[1] == '\0');
    CU_ASSERT(right);
    if (!right)
        printf("\n    want \"%s\" in: %s", part, output.err);
}

static void bad_arguments_exit_2_with_one_line(void)
{
    static const struct {
        const char *argv[8];
        const char *part;
    } cases[] = {
        { { "chunks" }, "want a policy" },
        { { "chunks", "gss" }, "--units is missing" },
        { { "chunks", "gss", "--units", "5" }, "--slaves is missing" },
        { { "chunks", "gss", "--units", "-5", "--slaves", "4" },
          "--units -5: want a count from 0" },
        { { "chunks", "gss", "--units", "1e3", "--slaves", "4" },
          "--units 1e3: want a count" },
        { { "chunks", "gss", "--units", "99999999999999999999", "--slaves",
            "4" },
          "--units 99999999999999999999: want" },
        { { "chunks", "gss", "--units", "5", "--slaves", "0" },
          "--slaves 0: want a count from 1" },
        { { "chunks", "gss", "--units", "5", "--slaves", "1000001" },
          "to 1000000" },
        { { "chunks", "presnd", "--units", "5", "--slaves", "4" },
          "did you mean \"presend\"?" },
        { { "chunks", "gss", "send", "--units", "5", "--slaves", "4" },
          "unexpected argument \"send\"" },
        { { "chunks", "gss", "--unit", "5" }, "--unit: unknown option" },
        { { "chunks", "gss", "--units" }, "--units: missing argument" },
        { { "chunks", "send", "--units", "10000001", "--slaves", "4" },
          "more than 10000000" },
        { { "chunks", "a\nb", "--units", "5", "--slaves", "4" },
          "byte 0x0a is not allowed" },
        { { "chunks", "wf:speeds=1/2", "--units", "5", "--slaves", "3" },
          "policy \"wf:speeds=1/2\": speeds: 2 given for 3 slots" },
        { { "chunks", "awf:weights=1", "--units", "5", "--slaves", "3" },
          "weights: 1 given for 3 slots (want one for each)" },
        { { "chunks", "wf:speeds=1/0/1", "--units", "5", "--slaves", "3" },
          "speeds 0: want a count >= 1" },
        { { "chunks", "fac:mu=0", "--units", "5", "--slaves", "3" },
          "mu 0: want a number > 0" },
        { { "chunks", "fac:mu=-1", "--units", "5", "--slaves", "3" },
          "mu -1: want a plain number" },
        { { "chunks", "fiss:stages=1", "--units", "5", "--slaves", "3" },
          "stages 1: want a count >= 2" },
        { { "chunks", "gss", "--units", "5\n6", "--slaves", "4" },
          "--units 5?6: want" },
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        run(nf_cmd_chunks, (const char **)(uintptr_t)cases[i].argv);
        expect_usage_error(cases[i].part);
    }
    RUN(nf_cmd_policies, "policies", "all");
    expect_usage_error("unexpected argument \"all\"");
    RUN(nf_cmd_policies, "policies", "--xml");
    expect_usage_error("--xml: unknown option");
}

static void bad_scripts_exit_2_naming_file_and_line(void)
{
    static const struct {
        const char *text, *part;
    } cases[] = {
        { "next 0\nnext\n", ":2: want: next SLAVE [SIZE]" },
        { "next 0 1 2\n", ":1: want: next SLAVE [SIZE]" },
        { "next 4\n", ":1: slave 4: want a count from 0 to 3" },
        { "next -1\n", ":1: slave -1: want" },
        { "next 0 101\n", ":1: size 101: want a count from 0 to 100" },
        { "next 0 60\nnext 0 41\n", ":2: size 41: want a count from 0 to 40" },
        { "\n\nfetch 0\n", ":3: \"fetch\": want next or report" },
        { "report 0 1 2 3 4\n", ":1: want: report SLAVE SIZE" },
        { "report 0 1 2 3 4 5 6 7 8 9\n", ":1: want: report SLAVE SIZE" },
        { "report 0 0 2 3 4 5\n", ":1: size 0: want a count >= 1" },
        { "report 0 1 x 3 4 5\n", ":1: compute time x: want" },
        { "report 0 1 2 -3 4 5\n", ":1: elapsed time -3: want" },
        { "report 0 101 2 3 4 5\n", ":1: size 101: want a count from 0" },
        { "report 0 1 2 3 nan 5\n", ":1: mean nan: want" },
        { "report 0 1 2 3 4 -5\n", ":1: M2 -5: want" },
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        write_script(cases[i].text);
        RUN(nf_cmd_chunks, "chunks", "gss", "--units", "100", "--slaves", "4",
            "--json", "--script", script_path);
        expect_usage_error(cases[i].part);
        CU_ASSERT_PTR_NOT_NULL(strstr(output.err, script_path));
    }
    RUN(nf_cmd_chunks, "chunks", "gss", "--units", "5", "--slaves", "4",
        "--script", "/nonexistent/script");
    expect_usage_error("--script /nonexistent/script: No such file");
    RUN(nf_cmd_chunks, "chunks", "gss", "--units", "5", "--slaves", "4",
        "--script", "/");
    expect_usage_error("--script /: Is a directory");
}

/* ---- chunks beside the reference ---- */

static int64_t integer(const json_t *array, size_t index)
{
    return (int64_t)json_integer_value(json_array_get(array, index));
}

/* `nowfarm chunks` as a row of the goldens has it, with a script if there is
 * one.  @return its answers, owned by the caller; NULL if it failed */
static json_t *chunks_of(const json_t *row, char spec[NF_POLICY_SPEC_BYTES],
                         bool script)
{
    char units[32], slaves[32];
    json_t *object, *sizes;

    golden_spec(json_string_value(json_object_get(row, "policy")),
                json_object_get(row, "params"), spec);
    snprintf(units, sizeof(units), "%" PRId64,
             (int64_t)json_integer_value(json_object_get(row, "N")));
    snprintf(slaves, sizeof(slaves), "%" PRId64,
             (int64_t)json_integer_value(json_object_get(row, "p")));
    RUN(nf_cmd_chunks, "chunks", spec, "--units", units, "--slaves", slaves,
        "--json", script ? "--script" : NULL, script_path);
    object = json_loads(output.out, JSON_REJECT_DUPLICATES, NULL);
    sizes = json_incref(json_object_get(object, script ? "sizes" : "chunks"));
    json_decref(object);
    if (output.status == 0 && sizes != NULL)
        return sizes;
    printf("\n    %s: status %d: %s", spec, output.status, output.err);
    json_decref(sizes);
    return NULL;
}

static void sequences_are_those_of_the_reference(void)
{
    size_t i, j;
    json_t *row, *run, *rows = json_object_get(golden, "chunk_sequences");

    CU_ASSERT(json_array_size(rows) >= 297);
    json_array_foreach(rows, i, row)
    {
        char spec[NF_POLICY_SPEC_BYTES];
        json_t *sizes = chunks_of(row, spec, false);
        size_t at = 0;
        bool same = sizes != NULL;

        json_array_foreach(json_object_get(row, "rle"), j,
                           run) for (int64_t n = integer(run, 1); n > 0;
                                     n--, at++) same =
            same && at < json_array_size(sizes) &&
            integer(sizes, at) == integer(run, 0);
        CU_ASSERT(same && at == json_array_size(sizes));
        if (!same || at != json_array_size(sizes))
            printf("\n    row %zu, %s: %s", i, spec, output.out);
        json_decref(sizes);
    }
}

/* The lines of a script of the reference, with the sizes that it went on with,
 * and the answers that it gave. */
static void write_golden_script(const json_t *ops, json_t *answers)
{
    FILE *file = fopen(script_path, "w");
    size_t i;
    json_t *op;

    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    json_array_foreach((json_t *)(uintptr_t)ops, i, op)
    {
        if (strcmp(json_string_value(json_array_get(op, 0)), "next") == 0) {
            fprintf(file, "next %" PRId64 " %" PRId64 "\n", integer(op, 1),
                    integer(op, 2));
            json_array_append(answers, json_array_get(op, 2));
        } else {
            fprintf(file,
                    "report %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64
                    " %.17g %.17g\n",
                    integer(op, 1), integer(op, 2), integer(op, 3),
                    integer(op, 4), json_number_value(json_array_get(op, 5)),
                    json_number_value(json_array_get(op, 6)));
        }
    }
    CU_ASSERT_EQUAL(fclose(file), 0);
}

/* Formulas in doubles, af's and rta's, may be one unit off. */
static void scripts_are_answered_as_by_the_reference(void)
{
    size_t i;
    json_t *row, *rows = json_object_get(golden, "scripts");

    CU_ASSERT(json_array_size(rows) >= 15);
    json_array_foreach(rows, i, row)
    {
        const char *name = json_string_value(json_object_get(row, "policy"));
        int64_t off = strcmp(name, "af") == 0 || strcmp(name, "rta") == 0;
        char spec[NF_POLICY_SPEC_BYTES];
        json_t *want = json_array(), *sizes;
        bool same;

        write_golden_script(json_object_get(row, "ops"), want);
        sizes = chunks_of(row, spec, true);
        same = sizes != NULL && json_array_size(sizes) == json_array_size(want);
        for (size_t k = 0; same && k < json_array_size(want); k++)
            same = llabs(integer(sizes, k) - integer(want, k)) <= off;
        CU_ASSERT(same);
        if (!same)
            printf("\n    script %zu, %s: %s", i, spec, output.out);
        json_decref(sizes);
        json_decref(want);
    }
}

static int make_script_file(void)
{
    int fd = mkstemp(script_path);

    golden = json_load_file(NF_SRCDIR "/tests/golden/policies.json", 0, NULL);
    return golden == NULL || fd < 0 || close(fd) != 0;
}

static int remove_script_file(void)
{
    json_decref(golden);
    return unlink(script_path) != 0;
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "policies lists every name", policies_lists_every_name },
        { "policies as JSON is one object", policies_as_json_is_one_object },
        { "chunks prints the sizes", chunks_prints_the_sizes },
        { "chunks replays a script", chunks_replays_a_script },
        { "a script may go on from another size",
          a_script_may_go_on_from_another_size },
        { "a script may change what was dealt",
          a_script_may_change_what_was_dealt },
        { "a script may change what is left of a batch",
          a_script_may_change_what_is_left_of_a_batch },
        { "static lists the block of every slave",
          static_lists_the_block_of_every_slave },
        { "sequences are those of the reference",
          sequences_are_those_of_the_reference },
        { "scripts are answered as by the reference",
          scripts_are_answered_as_by_the_reference },
        { "bad arguments exit 2 with one line",
          bad_arguments_exit_2_with_one_line },
        { "bad scripts exit 2 naming file and line",
          bad_scripts_exit_2_naming_file_and_line },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "commands", make_script_file, remove_script_file, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
