/* The parameters of an emulated world, from text. */
#include "config.h"
#include "master/emulate.h"
#include <math.h>
#include <string.h>
#include "common/base/error.h"
#include "common/base/units.h"

/* Longer times are mistakes, and sums of them would overflow. */
static const int64_t TIME_MOST_US = 3600 * 1000000LL;
static const double SPEED_LEAST = 0.001, SPEED_MOST = 1000;

enum key { UNIT, SEND, RECV, WIRE, NET, BLOCKING, SPEEDS, NKEYS };

static const char *const key_names[NKEYS] = {
    [UNIT] = "unit",     [SEND] = "send", [RECV] = "recv",
    [WIRE] = "wire",     [NET] = "net",   [BLOCKING] = "blocking",
    [SPEEDS] = "speeds",
};

static enum nf_status read_us(const char *key, const char *text, int64_t *us_p,
                              struct nf_error *err)
{
    double number;
    int64_t us;

    if (nf_parse_time_us(text, &us) == NF_OK && us <= TIME_MOST_US) {
        *us_p = us;
        return NF_OK;
    }
    if (nf_parse_real(text, 0, 1e300, &number) == NF_OK)
        return nf_fail(err, NF_ERR_INVAL,
                       "emulate: %s %s: a time needs its unit, as %sms", key,
                       text, text);
    return nf_fail(err, NF_ERR_INVAL,
                   "emulate: %s %s: want a time from 0 to 1h, as 0.9ms", key,
                   text);
}

/* "C" or "C+U" */
static enum nf_status read_time(const char *key, char *text,
                                struct nf_emulate_time *time_p,
                                struct nf_error *err)
{
    char *plus = strchr(text, '+');
    struct nf_emulate_time time = { 0, 0 };
    enum nf_status status;

    if (plus != NULL)
        *plus = '\0';
    status = read_us(key, text, &time.fixed_us, err);
    if (status == NF_OK && plus != NULL)
        status = read_us(key, plus + 1, &time.per_unit_us, err);
    if (status == NF_OK)
        *time_p = time;
    return status;
}

static enum nf_status read_speeds(char *text, struct nf_emulate *e,
                                  struct nf_error *err)
{
    char *rest = text;

    e->nspeeds = 0;
    while (rest != NULL) {
        char *word = rest;
        double speed;

        rest = strchr(word, '/');
        if (rest != NULL)
            *rest++ = '\0';
        if (e->nspeeds == NF_EMULATE_SPEEDS_MAX)
            return nf_fail(err, NF_ERR_INVAL,
                           "emulate: speeds: want at most %d of them",
                           NF_EMULATE_SPEEDS_MAX);
        if (nf_parse_real(word, SPEED_LEAST, SPEED_MOST, &speed) != NF_OK)
            return nf_fail(err, NF_ERR_INVAL,
                           "emulate: speeds: \"%s\": want numbers from %g to "
                           "%g joined by \"/\", as 1/0.5",
                           word, SPEED_LEAST, SPEED_MOST);
        e->speeds[e->nspeeds++] =
            (uint32_t)floor(speed * NF_EMULATE_SPEED_ONE + 0.5);
    }
    return NF_OK;
}

static enum nf_status read_word(const char *key, const char *text,
                                const char *word0, const char *word1,
                                bool *second_p, struct nf_error *err)
{
    *second_p = strcmp(text, word1) == 0;
    if (*second_p || strcmp(text, word0) == 0)
        return NF_OK;
    return nf_fail(err, NF_ERR_INVAL, "emulate: %s %s: want %s or %s", key,
                   text, word0, word1);
}

static enum nf_status read_value(struct nf_emulate *e, enum key key, char *text,
                                 struct nf_error *err)
{
    const char *name = key_names[key];
    bool links = false;
    enum nf_status status;

    switch (key) {
    case UNIT:
        status = read_us(name, text, &e->unit_us, err);
        if (status == NF_OK && e->unit_us == 0)
            status = nf_fail(err, NF_ERR_INVAL,
                             "emulate: unit %s: want at least 1us", text);
        return status;
    case SEND:
        return read_time(name, text, &e->send, err);
    case RECV:
        return read_time(name, text, &e->recv, err);
    case WIRE:
        return read_time(name, text, &e->wire, err);
    case NET:
        status = read_word(name, text, "bus", "links", &links, err);
        e->wires = links ? NF_EMULATE_LINKS : NF_EMULATE_BUS;
        return status;
    case BLOCKING:
        return read_word(name, text, "no", "yes", &e->blocking, err);
    default:
        return read_speeds(text, e, err);
    }
}

static enum nf_status read_pair(struct nf_emulate *e, char *word, bool *given,
                                struct nf_error *err)
{
    char *value = strchr(word, '=');
    int key = 0;

    if (value == NULL)
        return nf_fail(err, NF_ERR_INVAL,
                       "emulate: \"%s\": want key=value, as unit=33ms", word);
    *value++ = '\0';
    while (key < NKEYS && strcmp(word, key_names[key]) != 0)
        key++;
    if (key == NKEYS)
        return nf_fail(err, NF_ERR_INVAL,
                       "emulate: no key \"%s\" (there are: unit, send, recv, "
                       "wire, net, blocking, speeds)",
                       word);
    if (given[key])
        return nf_fail(err, NF_ERR_INVAL, "emulate: %s is there twice", word);
    given[key] = true;
    return read_value(e, (enum key)key, value, err);
}

enum nf_status nf_emulate_parse(const char *spec, struct nf_emulate *emulate_p,
                                struct nf_error *err)
{
    char text[NF_EMULATE_SPEC_BYTES], *rest = text;
    struct nf_emulate e = { .unit_us = 0 };
    bool given[NKEYS] = { false };
    enum nf_status status = NF_OK;

    if (strlen(spec) >= sizeof(text))
        return nf_fail(err, NF_ERR_INVAL,
                       "emulate: want at most %zu characters",
                       sizeof(text) - 1);
    memcpy(text, spec, strlen(spec) + 1);
    while (status == NF_OK && rest != NULL) {
        char *word = rest;

        rest = strchr(word, ',');
        if (rest != NULL)
            *rest++ = '\0';
        status = read_pair(&e, word, given, err);
    }
    if (status != NF_OK)
        return status;
    if (!given[UNIT])
        return nf_fail(err, NF_ERR_INVAL,
                       "emulate: how long is a unit?  Want unit=TIME, as "
                       "unit=33ms");
    if (!given[RECV])
        e.recv = e.send;
    *emulate_p = e;
    return NF_OK;
}

uint32_t nf_emulate_speed(const struct nf_emulate *emulate, uint32_t slave)
{
    return slave < emulate->nspeeds ? emulate->speeds[slave]
                                    : NF_EMULATE_SPEED_ONE;
}

int64_t nf_emulate_time_us(const struct nf_emulate_time *time, uint64_t units)
{
    static const uint64_t most = 250000; /* times an hour: 28 years */
    uint64_t n = units < most ? units : most;

    return time->fixed_us + time->per_unit_us * (int64_t)n;
}
