/* Numbers with units, strictly parsed: what is left over is an error. */
#include "config.h"
#include "common/base/units.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct unit {
    const char *name;
    double factor;
};

enum nf_status nf_parse_count(const char *text, uint64_t lo, uint64_t hi,
                              uint64_t *value_p)
{
    uint64_t value = 0;

    if (*text == '\0')
        return NF_ERR_INVAL;
    for (const char *c = text; *c != '\0'; c++)
        if (*c < '0' || *c > '9')
            return text[0] == '-' && c == text && c[1] != '\0' ? NF_ERR_RANGE
                                                               : NF_ERR_INVAL;
    for (const char *c = text; *c != '\0'; c++) {
        uint64_t digit = (uint64_t)(*c - '0');

        if (value > (UINT64_MAX - digit) / 10)
            return NF_ERR_RANGE;
        value = value * 10 + digit;
    }
    if (value < lo || value > hi)
        return NF_ERR_RANGE;
    *value_p = value;
    return NF_OK;
}

/* A decimal number at the start of text; *rest_p points behind it. */
static enum nf_status parse_decimal(const char *text, double *value_p,
                                    const char **rest_p)
{
    char *end;
    double value;

    if (text[0] == '\0' || strchr("+-.0123456789", text[0]) == NULL)
        return NF_ERR_INVAL;
    if (strchr("xX", text[strspn(text, "+-.0123456789")]) != NULL &&
        text[strspn(text, "+-.0123456789")] != '\0')
        return NF_ERR_INVAL; /* strtod would read hexadecimal */
    errno = 0;
    value = strtod(text, &end);
    if (end == text)
        return NF_ERR_INVAL;
    if (!isfinite(value))
        return strpbrk(text, "nN") != NULL ? NF_ERR_INVAL : NF_ERR_RANGE;
    *value_p = value;
    *rest_p = end;
    return NF_OK;
}

static enum nf_status parse_with_unit(const char *text,
                                      const struct unit *units, double limit,
                                      double *value_p)
{
    const char *rest;
    double value;
    enum nf_status status = parse_decimal(text, &value, &rest);

    if (status != NF_OK)
        return status;
    if (*rest == '\0' && value == 0) {
        *value_p = 0;
        return NF_OK;
    }
    for (; units->name != NULL; units++)
        if (strcmp(rest, units->name) == 0)
            break;
    if (units->name == NULL)
        return NF_ERR_INVAL;
    if (value < 0 || value * units->factor > limit)
        return NF_ERR_RANGE;
    *value_p = value * units->factor;
    return NF_OK;
}

enum nf_status nf_parse_time_us(const char *text, int64_t *time_us_p)
{
    static const struct unit units[] = {
        { "us", 1 },    { "ms", 1e3 },  { "s", 1e6 },
        { "min", 6e7 }, { "h", 3.6e9 }, { NULL, 0 },
    };
    double value;
    enum nf_status status = parse_with_unit(text, units, 1e15, &value);

    if (status == NF_OK)
        *time_us_p = (int64_t)floor(value + 0.5);
    return status;
}

enum nf_status nf_parse_bytes(const char *text, uint64_t *bytes_p)
{
    static const struct unit units[] = {
        { "B", 1 },          { "KiB", 1024 },          { "MiB", 1048576 },
        { "GiB", 0x1p30 },   { "TiB", 0x1p40 },        { "kB", 1e3 },
        { "MB", 1e6 },       { "GB", 1e9 },            { "TB", 1e12 },
        { NULL, 0 },
    };
    double value;
    enum nf_status status = parse_with_unit(text, units, 0x1p60, &value);

    if (status == NF_OK)
        *bytes_p = (uint64_t)floor(value + 0.5);
    return status;
}

enum nf_status nf_parse_rate_bps(const char *text, uint64_t *rate_bps_p)
{
    static const struct unit units[] = {
        { "bit", 1 },    { "kbit", 1e3 }, { "mbit", 1e6 },
        { "gbit", 1e9 }, { NULL, 0 },
    };
    double value;
    enum nf_status status = parse_with_unit(text, units, 1e11, &value);

    if (status != NF_OK)
        return status;
    if (value < 8e3)
        return NF_ERR_RANGE;
    *rate_bps_p = (uint64_t)floor(value + 0.5);
    return NF_OK;
}

enum nf_status nf_parse_real(const char *text, double lo, double hi,
                             double *value_p)
{
    const char *rest;
    double value;
    enum nf_status status = parse_decimal(text, &value, &rest);

    if (status != NF_OK)
        return status;
    if (*rest != '\0')
        return NF_ERR_INVAL;
    if (value < lo || value > hi)
        return NF_ERR_RANGE;
    *value_p = value;
    return NF_OK;
}

const char *nf_format_time_us(int64_t time_us, char *text, size_t bytes)
{
    double us = (double)time_us;

    if (time_us < 1000)
        snprintf(text, bytes, "%lld us", (long long)time_us);
    else if (us < 1e6)
        snprintf(text, bytes, "%.3g ms", us * 1e-3);
    else if (us < 60e6)
        snprintf(text, bytes, "%.2f s", us * 1e-6);
    else if (us < 3600e6)
        snprintf(text, bytes, "%lld min %02lld s",
                 (long long)(time_us / 60000000),
                 (long long)(time_us / 1000000 % 60));
    else
        snprintf(text, bytes, "%lld h %02lld min",
                 (long long)(time_us / 3600000000LL),
                 (long long)(time_us / 60000000 % 60));
    return text;
}

const char *nf_format_bytes(uint64_t size_bytes, char *text, size_t bytes)
{
    static const char *const names[] = { "B", "KiB", "MiB", "GiB", "TiB" };
    double value = (double)size_bytes;
    size_t i = 0;

    for (; value >= 1024 && i < 4; i++)
        value /= 1024;
    snprintf(text, bytes, i == 0 ? "%.0f %s" : "%.1f %s", value, names[i]);
    return text;
}

const char *nf_format_rate_bps(uint64_t rate_bps, char *text, size_t bytes)
{
    static const char *const names[] = { "bit", "kbit", "mbit", "gbit" };
    double value = (double)rate_bps;
    size_t i = 0;

    for (; value >= 1000 && i < 3; i++)
        value /= 1000;
    snprintf(text, bytes, "%.6g%s", value, names[i]);
    return text;
}
