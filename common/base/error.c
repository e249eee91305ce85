/* Status codes and error text. */
#include "config.h"
#include "common/base/error.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *nf_strerror(enum nf_status status)
{
    switch (status) {
    case NF_OK:
        return "ok";
    case NF_WAIT:
        return "nothing now, ask again";
    case NF_ERR_INVAL:
        return "bad argument or input";
    case NF_ERR_NOMEM:
        return "out of memory";
    case NF_ERR_RANGE:
        return "out of range";
    case NF_ERR_FAILED:
        return "the job failed";
    case NF_ERR_UNREACHABLE:
        return "unreachable";
    case NF_ERR_VERIFY:
        return "the result is wrong";
    case NF_ERR_INTERRUPTED:
        return "interrupted";
    case NF_ERR_IO:
        return "input or output error";
    case NF_ERR_PROTOCOL:
        return "malformed message";
    case NF_ERR_MISMATCH:
        return "members made different calls";
    case NF_ERR_TIMEDOUT:
        return "timed out";
    case NF_ERR_DEAD:
        return "a member has ended";
    case NF_ERR_REVOKED:
        return "the group was given up";
    }
    return "unknown status";
}

int nf_exit_status(enum nf_status status)
{
    switch (status) {
    case NF_OK:
    case NF_WAIT:
        return 0;
    case NF_ERR_INVAL:
    case NF_ERR_RANGE:
        return 2;
    case NF_ERR_UNREACHABLE:
        return 3;
    case NF_ERR_VERIFY:
        return 4;
    case NF_ERR_INTERRUPTED:
        return 130;
    case NF_ERR_NOMEM:
    case NF_ERR_FAILED:
    case NF_ERR_IO:
    case NF_ERR_PROTOCOL:
    case NF_ERR_MISMATCH:
    case NF_ERR_TIMEDOUT:
    case NF_ERR_DEAD:
    case NF_ERR_REVOKED:
        return 1;
    }
    return 1;
}

const char *nf_version(void)
{
    return PACKAGE_VERSION;
}

size_t nf_type_bytes(enum nf_type type)
{
    switch (type) {
    case NF_BYTES:
        return 1;
    case NF_INT16:
        return 2;
    case NF_INT32:
    case NF_FLOAT32:
        return 4;
    case NF_INT64:
    case NF_FLOAT64:
        return 8;
    }
    return 0;
}

/* Names of files and what hosts say may hold anything: an error is one line,
 * and does not steer a terminal. */
static void make_one_line(char *text)
{
    for (char *c = text; *c != '\0'; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            *c = '?';
}

enum nf_status nf_fail(struct nf_error *err, enum nf_status status,
                       const char *format, ...)
{
    va_list args;

    if (err == NULL)
        return status;
    err->status = status;
    va_start(args, format);
    vsnprintf(err->text, sizeof(err->text), format, args);
    va_end(args);
    make_one_line(err->text);
    return status;
}

enum nf_status nf_fail_prefix(struct nf_error *err, const char *format, ...)
{
    char text[NF_ERROR_TEXT_BYTES];
    size_t used;
    va_list args;

    if (err == NULL)
        return NF_ERR_FAILED;
    memcpy(text, err->text, sizeof(text));
    va_start(args, format);
    vsnprintf(err->text, sizeof(err->text), format, args);
    va_end(args);
    used = strlen(err->text);
    /* what does not fit is cut: the prefix says where, and matters most */
    snprintf(err->text + used, sizeof(err->text) - used, ": %.*s",
             (int)(sizeof(err->text) - 1), text);
    make_one_line(err->text);
    return err->status;
}
