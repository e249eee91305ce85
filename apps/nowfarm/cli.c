/* What the subcommands share. */
#include "config.h"
#include "apps/nowfarm/cli.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "common/base/text.h"
#include "common/base/units.h"

void nf_print_error(const char *who, const char *format, va_list args)
{
    char line[1024];

    vsnprintf(line, sizeof(line), format, args);
    nf_text_make_line(line);
    fprintf(stderr, "%s: %s\n", who, line);
}

int nf_usage_error(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    nf_print_error("nowfarm", format, args);
    va_end(args);
    return NF_EXIT_USAGE;
}

static void print_error(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

static void print_error(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    nf_print_error("nowfarm", format, args);
    va_end(args);
}

int nf_failure(const struct nf_error *err)
{
    print_error("%s", err->text);
    return nf_exit_status(err->status);
}

int nf_memory_error(void)
{
    fputs("nowfarm: out of memory\n", stderr);
    return NF_EXIT_FAILED;
}

int nf_read_options(poptContext context)
{
    int rc = poptGetNextOpt(context);

    if (rc >= 0 || rc == -1)
        return NF_EXIT_OK;
    return nf_usage_error("%s: %s (see --help)",
                          poptBadOption(context, POPT_BADOPTION_NOALIAS),
                          poptStrerror(rc));
}

int nf_read_count(const char *option, const char *text, uint64_t lo,
                  uint64_t hi, uint64_t *value_p)
{
    if (text == NULL)
        return nf_usage_error("%s is missing (see --help)", option);
    if (nf_parse_count(text, lo, hi, value_p) == NF_OK)
        return NF_EXIT_OK;
    return nf_usage_error("%s %s: want a count from %llu to %llu", option, text,
                          (unsigned long long)lo, (unsigned long long)hi);
}

int nf_print_json(json_t *object)
{
    return nf_print_json_digits(object, 12);
}

int nf_print_json_digits(json_t *object, unsigned digits)
{
    int rc;

    if (object == NULL)
        return nf_memory_error();
    rc = json_dumpf(object, stdout, JSON_COMPACT | JSON_REAL_PRECISION(digits));
    json_decref(object);
    putchar('\n');
    if (rc != 0 && !ferror(stdout))
        return nf_memory_error();
    return nf_finish_output();
}

int nf_finish_output(void)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return NF_EXIT_OK;
    print_error("standard output: %s", strerror(errno));
    return NF_EXIT_FAILED;
}
