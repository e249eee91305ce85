/* What a comparison says in one sentence, and no more than it knows. */
#include "config.h"
#include <stdarg.h>
#include "apps/nowfarm/compare.h"

/* Text that grows to the end of its room and is cut there. */
struct sentence {
    char *text;
    size_t used, bytes;
};

static void say(struct sentence *s, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void say(struct sentence *s, const char *format, ...)
{
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(s->text + s->used, s->bytes - s->used, format, args);
    va_end(args);
    if (n > 0)
        s->used +=
            (size_t)n < s->bytes - s->used ? (size_t)n : s->bytes - s->used - 1;
}

/* "a, b and c": the policies that can't be told from the best. */
static void say_tied(struct sentence *s, const struct compare *c,
                     const struct compare_verdict *v)
{
    unsigned told = 0;

    for (unsigned i = 0; i < c->npolicies; i++) {
        if (!v->results[i].tied)
            continue;
        told++;
        say(s, "%s%s",
            told == 1          ? ""
            : told == v->ntied ? " and "
                               : ", ",
            c->policies[i]);
    }
}

/* The eligible policy with the lowest median but the best, or -1. */
static int runner_up(const struct compare *c, const struct compare_verdict *v)
{
    int next = -1;

    for (unsigned i = 0; i < c->npolicies; i++)
        if ((int)i != v->best && v->results[i].eligible &&
            (next < 0 ||
             v->results[i].span_s.median < v->results[next].span_s.median))
            next = (int)i;
    return next;
}

static unsigned count_eligible(const struct compare *c,
                               const struct compare_verdict *v)
{
    unsigned n = 0;

    for (unsigned i = 0; i < c->npolicies; i++)
        n += v->results[i].eligible;
    return n;
}

static void say_clear(struct sentence *s, const struct compare *c,
                      const struct compare_verdict *v, int next)
{
    const struct stats_interval *to = &v->results[next].to_best;

    say(s,
        "%s is the best, and the difference is real: the next, %s, takes "
        "%.3f times as long (%.3g %% interval %.3f to %.3f)",
        c->policies[v->best], c->policies[next], to->median,
        100 * to->confidence, to->low, to->high);
}

const char *compare_conclude(const struct compare *c,
                             const struct compare_verdict *v, char *text,
                             size_t bytes)
{
    struct sentence s = { text, 0, bytes };
    unsigned others = count_eligible(c, v) - (v->best >= 0);
    int next = runner_up(c, v);

    text[0] = '\0';
    if (v->best < 0)
        say(&s, "no policy did all of its runs: nothing can be said");
    else if (others == 0)
        say(&s,
            c->npolicies == 1
                ? "%s: there is nothing to compare it with"
                : "%s is the only policy that did all of its runs",
            c->policies[v->best]);
    else if (v->ntied == 0)
        say_clear(&s, c, v, next);
    else if (v->results[next].to_best.confidence < STATS_LEAST_CONFIDENCE)
        say(&s,
            "%s has the lowest median, but %zu round%s cannot tell whether "
            "that is real: 5 are needed, 6 for 95 %%",
            c->policies[v->best], v->results[next].to_best.n,
            v->results[next].to_best.n == 1 ? "" : "s");
    else {
        say(&s, "%s has the lowest median, but no difference to ",
            c->policies[v->best]);
        say_tied(&s, c, v);
        say(&s, " can be told%s",
            v->ntied < others ? "; the others are slower" : "");
    }
    return text;
}
