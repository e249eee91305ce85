#ifndef NF_APPS_NOWFARM_CLI_H
#define NF_APPS_NOWFARM_CLI_H
/** @file cli.h  What the subcommands share: one way to fail, one to print. */
#include <jansson.h>
#include <popt.h>
#include <stdarg.h>
#include <stdint.h>
#include "nowfarm.h"

/** Exit statuses of all commands. */
enum {
    NF_EXIT_OK = 0,
    NF_EXIT_FAILED = 1,
    NF_EXIT_USAGE = 2,
    NF_EXIT_UNREACHABLE = 3,
    NF_EXIT_INTERRUPTED = 130,
};

/** Print "@p who: ..." as one line on standard error, whatever the arguments
 *  hold. */
void nf_print_error(const char *who, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));

/** Print "nowfarm: ..." as one line on standard error.
 *  @return NF_EXIT_USAGE, so that failing is one line */
int nf_usage_error(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

/** Print "nowfarm: " and the text of @p err as one line.
 *  @return the exit status for err->status */
int nf_failure(const struct nf_error *err);

/** Print "nowfarm: out of memory".  @return NF_EXIT_FAILED */
int nf_memory_error(void);

/** Read all options of @p context.  An option that popt does not know is an
 *  error; --help prints and exits, as popt does.
 *  @return NF_EXIT_OK or NF_EXIT_USAGE */
int nf_read_options(poptContext context);

/** Parse a count given to @p option ("--units"); @p text NULL is an error: the
 *  option is required.
 *  @return NF_EXIT_OK (then *value_p is set) or NF_EXIT_USAGE */
int nf_read_count(const char *option, const char *text, uint64_t lo,
                  uint64_t hi, uint64_t *value_p);

/** Print @p object (may be NULL: out of memory) and a newline on standard
 *  output, and drop the reference.
 *  @return NF_EXIT_OK, or NF_EXIT_FAILED if it could not be written */
int nf_print_json(json_t *object);

/** The same with @p digits significant digits: 17 give the same double when
 *  read; nf_print_json() has 12. */
int nf_print_json_digits(json_t *object, unsigned digits);

/** Flush standard output.  @return NF_EXIT_OK, or NF_EXIT_FAILED with a line on
 *  standard error if something could not be written */
int nf_finish_output(void);
#endif
