#include "config.h"
#include "common/model/network.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "common/base/alloc.h"
#include "common/base/error.h"

enum nf_status nf_network_init(struct nf_network *network_p, uint32_t nhosts)
{
    if (nhosts < 1 || nhosts > NF_NETWORK_HOSTS_MAX)
        return NF_ERR_INVAL;
    *network_p = (struct nf_network){ .nhosts = nhosts };
    network_p->hosts = nf_calloc(nhosts, sizeof(*network_p->hosts));
    network_p->wires =
        nf_calloc((size_t)nhosts * nhosts, sizeof(*network_p->wires));
    if (network_p->hosts != NULL && network_p->wires != NULL)
        return NF_OK;
    nf_network_fini(network_p);
    return NF_ERR_NOMEM;
}

void nf_network_fini(struct nf_network *network)
{
    nf_free(network->hosts);
    nf_free(network->wires);
    nf_free(network->place);
    *network = (struct nf_network){ .nhosts = 0 };
}

enum nf_status nf_network_share(struct nf_network *network,
                                const uint32_t *hosts)
{
    uint32_t n = network->nhosts;
    uint32_t *place = nf_calloc(n, sizeof(*place));

    if (place == NULL)
        return NF_ERR_NOMEM;
    memcpy(place, hosts, n * sizeof(*place));
    nf_free(network->place);
    network->place = place;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j < n; j++)
            if (nf_network_are_together(network, i, j))
                *nf_network_wire(network, i, j) =
                    (struct nf_curve){ .npoints = 0 };
    return NF_OK;
}

double nf_network_time_us(const struct nf_network *network, uint32_t i,
                          uint32_t j, double bytes)
{
    return nf_curve_us(&network->hosts[i].send, bytes) +
           nf_curve_us(nf_network_wire(network, i, j), bytes) +
           nf_curve_us(&network->hosts[j].recv, bytes);
}

/* ---- ports ---- */

/* What the bytes take on the wire.  An idle link lets the first of them pass at
 * once, but of a stream of short messages each takes its time at the rate of
 * the long ones. */
static double bytes_us(const struct nf_network *network, uint32_t i, uint32_t j,
                       double bytes)
{
    const struct nf_curve *wire = nf_network_wire(network, i, j);

    return fmax(nf_curve_us(wire, bytes) - nf_curve_us(wire, 0),
                nf_curve_last_slope(wire) * bytes);
}

double nf_network_medium_us(const struct nf_network *network, uint32_t i,
                            uint32_t j, double bytes, double port_us)
{
    return fmin(port_us, bytes_us(network, i, j, bytes));
}

void nf_network_ports(const struct nf_network *network, uint32_t i,
                      double bytes, double *port_p, size_t stride)
{
    const struct nf_network_host *host = &network->hosts[i];
    double hold_us = nf_curve_us(&host->hold, bytes);
    bool is_held = hold_us > 1.1 * nf_curve_us(&host->send, bytes) &&
                   host->hold.line.byte_us > host->send.line.byte_us;
    double least_us = INFINITY, most_us = 0, least_byte_us = INFINITY;
    double share;
    uint32_t n = network->nhosts;

    for (uint32_t j = 0; j < n; j++) {
        double us;

        port_p[j * stride] = 0;
        if (nf_network_are_together(network, i, j))
            continue;
        us = bytes_us(network, i, j, bytes);
        port_p[j * stride] = us;
        least_us = fmin(least_us, us);
        most_us = fmax(most_us, us);
        least_byte_us = fmin(
            least_byte_us, nf_curve_last_slope(nf_network_wire(network, i, j)));
    }
    if (hold_us >= least_us && (hold_us <= most_us || !is_held))
        return;
    /* a single time may be too short by chance, its line and its rate are not
     */
    share = fmax(hold_us / least_us,
                 nf_curve_last_slope(&host->hold) / least_byte_us);
    share = fmin(share, 1);
    for (uint32_t j = 0; j < n; j++)
        if (!nf_network_are_together(network, i, j))
            port_p[j * stride] =
                hold_us < least_us ? port_p[j * stride] * share : hold_us;
}

double nf_network_burst_bytes(const struct nf_network *network, uint32_t i,
                              uint32_t j)
{
    const struct nf_curve *wire = nf_network_wire(network, i, j);
    double slope = nf_curve_last_slope(wire), bytes;

    if (!wire->by_table || wire->npoints < 2 || !(slope > 0))
        return 0;
    bytes = wire->points[wire->npoints - 1].bytes;
    return fmax(
        bytes - (nf_curve_us(wire, bytes) - nf_curve_us(wire, 0)) / slope, 0);
}

/* ---- hosts that come and go ---- */

enum { WORST_SIZES = 8, WORST_POINTS = WORST_SIZES + 2 * NF_CURVE_POINTS_MAX };

/* A size more where both curves are looked at, unless there is one within a
 * byte.  @return how many there are now */
static uint32_t add_size(struct nf_curve_point *points, uint32_t count,
                         double bytes)
{
    uint32_t at = count;

    while (at > 0 && points[at - 1].bytes > bytes)
        at--;
    if ((at > 0 && bytes - points[at - 1].bytes < 1) ||
        (at < count && points[at].bytes - bytes < 1))
        return count;
    memmove(points + at + 1, points + at, (count - at) * sizeof(*points));
    points[at].bytes = bytes;
    return count + 1;
}

/* By how much the point is above the line between its neighbours. */
static double height(const struct nf_curve_point *p)
{
    double part = (p->bytes - p[-1].bytes) / (p[1].bytes - p[-1].bytes);

    return p->us - (p[-1].us + part * (p[1].us - p[-1].us));
}

/* One point less, and nowhere less time: the one that is missed the least. */
static uint32_t drop_point(struct nf_curve_point *points, uint32_t count)
{
    uint32_t best = 1;
    double more_us;

    for (uint32_t i = 2; i + 1 < count; i++)
        if (height(&points[i]) < height(&points[best]))
            best = i;
    more_us = fmax(height(&points[best]), 0);
    points[best - 1].us += more_us;
    points[best + 1].us += more_us;
    memmove(points + best, points + best + 1,
            (count - best - 1) * sizeof(*points));
    return count - 1;
}

/* *worst becomes at no size less than @p curve, but for times that no model
 * may have: between two points of both the greater of two straight lines is
 * nowhere above the line between its ends. */
static void worsen(struct nf_curve *worst, const struct nf_curve *curve)
{
    static const double sizes[WORST_SIZES] = { 0,    64,    256,   1024,
                                               4096, 16384, 65536, 1 << 20 };
    struct nf_curve_point points[WORST_POINTS];
    struct nf_curve both = { .by_table = true };
    uint32_t count = 0;

    both.line.fixed_us = fmax(worst->line.fixed_us, curve->line.fixed_us);
    both.line.byte_us =
        fmax(nf_curve_last_slope(worst), nf_curve_last_slope(curve));
    for (uint32_t i = 0; worst->by_table && i < worst->npoints; i++)
        count = add_size(points, count, worst->points[i].bytes);
    for (uint32_t i = 0; curve->by_table && i < curve->npoints; i++)
        count = add_size(points, count, curve->points[i].bytes);
    for (uint32_t i = 0; i < WORST_SIZES; i++)
        count = add_size(points, count, sizes[i]);
    for (uint32_t i = 0; i < count; i++)
        points[i].us = fmax(nf_curve_us(worst, points[i].bytes),
                            nf_curve_us(curve, points[i].bytes));
    while (count > NF_CURVE_POINTS_MAX)
        count = drop_point(points, count);
    both.npoints = count;
    for (uint32_t i = 0; i < count; i++)
        both.points[i] =
            (struct nf_curve_point){ points[i].bytes,
                                     fmin(points[i].us, NF_COST_MAX) };
    *worst = both;
}

/* The greatest of all that was measured. */
static void find_worst(const struct nf_network *network,
                       struct nf_network_host *host, struct nf_curve *wire)
{
    *host = network->hosts[0];
    *wire = (struct nf_curve){ .npoints = 0 };
    for (uint32_t i = 0; i < network->nhosts; i++) {
        worsen(&host->send, &network->hosts[i].send);
        worsen(&host->recv, &network->hosts[i].recv);
        worsen(&host->hold, &network->hosts[i].hold);
        host->runtime_us = fmax(host->runtime_us, network->hosts[i].runtime_us);
        for (uint32_t j = 0; j < network->nhosts; j++)
            if (j != i)
                worsen(wire, nf_network_wire(network, i, j));
    }
}

uint32_t nf_network_find(const struct nf_network *network, const char *name)
{
    uint32_t i = 0;

    while (i < network->nhosts && strcmp(network->hosts[i].name, name) != 0)
        i++;
    return i;
}

/* The wires between hosts that were measured as from[], the others' worst. */
static void carry_over(const struct nf_network *network, const uint32_t *from,
                       const struct nf_curve *worst, struct nf_network *now)
{
    uint32_t known = network->nhosts;

    for (uint32_t i = 0; i < now->nhosts; i++)
        for (uint32_t j = 0; j < now->nhosts; j++)
            *nf_network_wire(now, i, j) =
                from[i] < known && from[j] < known && from[i] != from[j]
                    ? *nf_network_wire(network, from[i], from[j])
                    : *worst;
}

enum nf_status nf_network_of(const struct nf_network *network,
                             const char (*names)[NF_NETWORK_NAME_BYTES],
                             uint32_t count, struct nf_network *now_p,
                             uint32_t *unknown_p)
{
    struct nf_network_host worst;
    struct nf_curve wire;
    struct nf_network now;
    uint32_t unknown = 0, from[NF_NETWORK_HOSTS_MAX];
    enum nf_status status = nf_network_init(&now, count);

    if (status != NF_OK)
        return status;
    find_worst(network, &worst, &wire);
    now.model = network->model;
    now.shared = network->shared;
    now.call_us = network->call_us;
    now.wake_us = network->wake_us;
    for (uint32_t i = 0; i < count; i++) {
        from[i] = nf_network_find(network, names[i]);
        unknown += from[i] == network->nhosts;
        now.hosts[i] =
            from[i] < network->nhosts ? network->hosts[from[i]] : worst;
        snprintf(now.hosts[i].name, sizeof(now.hosts[i].name), "%s", names[i]);
    }
    carry_over(network, from, &wire, &now);
    *now_p = now;
    if (unknown_p != NULL)
        *unknown_p = unknown;
    return NF_OK;
}

/* ---- age ---- */

/* Days since 1970 of a date of the Gregorian calendar; years begin in March. */
static int64_t days(int64_t year, int64_t month, int64_t day)
{
    int64_t y = month <= 2 ? year - 1 : year;
    int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;

    return 365 * y + y / 4 - y / 100 + y / 400 + of_year - 719468;
}

/* The number of @p n digits at @p text; -1: they are none. */
static int64_t digits(const char *text, int n)
{
    int64_t number = 0;

    for (int i = 0; i < n; i++) {
        if (text[i] < '0' || text[i] > '9')
            return -1;
        number = 10 * number + (text[i] - '0');
    }
    return number;
}

int64_t nf_network_date_s(const char *date)
{
    static const char form[] = "0000-00-00T00:00:00Z";
    int64_t year, month, day, hour, minute, second, next;

    if (strlen(date) != sizeof(form) - 1)
        return -1;
    for (size_t i = 0; form[i] != '\0'; i++)
        if (form[i] == '0' ? date[i] < '0' || date[i] > '9'
                           : date[i] != form[i])
            return -1;
    year = digits(date, 4);
    month = digits(date + 5, 2);
    day = digits(date + 8, 2);
    hour = digits(date + 11, 2);
    minute = digits(date + 14, 2);
    second = digits(date + 17, 2);
    if (year < 1970 || month < 1 || month > 12 || day < 1 || hour > 23 ||
        minute > 59 || second > 60)
        return -1;
    next = month < 12 ? days(year, month + 1, 1) : days(year + 1, 1, 1);
    if (day > next - days(year, month, 1))
        return -1;
    return 86400 * days(year, month, day) + 3600 * hour + 60 * minute + second;
}

enum nf_status nf_network_check_date(const struct nf_network *network,
                                     int64_t now_s, const char *name,
                                     struct nf_error *err)
{
    if (nf_network_date_s(network->model.date) <= now_s + NF_NETWORK_AHEAD_S)
        return NF_OK;
    return nf_fail(err, NF_ERR_INVAL, "%s: date: %s is still to come", name,
                   network->model.date);
}

static void doubt(char *text, size_t bytes, const char *what)
{
    size_t used = strlen(text);

    snprintf(text + used, bytes - used, "%s%s",
             used > 0 ? ", " : "the model is ", what);
}

static int64_t age_s(const struct nf_network *network, int64_t now_s)
{
    return now_s - nf_network_date_s(network->model.date);
}

unsigned nf_network_doubts(const struct nf_network *network,
                           const struct nf_network_use *use)
{
    unsigned doubts = 0;

    if (use->now_s > 0 && age_s(network, use->now_s) > NF_NETWORK_OLD_S)
        doubts += NF_NETWORK_DOUBT_AGE;
    if (network->model.route != use->route)
        doubts += NF_NETWORK_DOUBT_ROUTE;
    if (network->model.encoding != use->encoding)
        doubts += NF_NETWORK_DOUBT_ENCODING;
    return doubts;
}

void nf_network_say_doubts(const struct nf_network *network,
                           const struct nf_network_use *use, unsigned doubts,
                           char *text, size_t bytes)
{
    const struct nf_model *model = &network->model;
    char age[32];
    size_t used;

    text[0] = '\0';
    if (doubts & NF_NETWORK_DOUBT_AGE) {
        snprintf(age, sizeof(age), "%u days old",
                 (uint32_t)(age_s(network, use->now_s) / 86400));
        doubt(text, bytes, age);
    }
    if (doubts & NF_NETWORK_DOUBT_ROUTE)
        doubt(text, bytes,
              model->route == NF_MODEL_ROUTE_DIRECT
                  ? "of messages by the direct route"
                  : "of messages by the daemons");
    if (doubts & NF_NETWORK_DOUBT_ENCODING)
        doubt(text, bytes,
              model->encoding == NF_MODEL_ENCODING_RAW ? "of data as they are"
                                                       : "of data in XDR");
    used = strlen(text);
    snprintf(text + used, bytes - used, ": measure again");
}

bool nf_network_is_doubtful(const struct nf_network *network,
                            const struct nf_network_use *use, char *text,
                            size_t bytes)
{
    unsigned doubts = nf_network_doubts(network, use);

    if (doubts != 0)
        nf_network_say_doubts(network, use, doubts, text, bytes);
    return doubts != 0;
}

/* Is that the name of a member on this host?  The second one's is HOST#1. */
static bool is_on(const char *name, const char *host)
{
    size_t length = strcspn(name, "#");

    return strncmp(name, host, length) == 0 && host[length] == '\0';
}

bool nf_network_is_old(const struct nf_network *network, int64_t now_s,
                       const char (*names)[NF_NETWORK_NAME_BYTES],
                       uint32_t count, char *text, size_t bytes)
{
    uint32_t joined = 0, left = 0;
    char age[120], others[120];

    for (uint32_t i = 0; names != NULL && i < count; i++)
        joined += nf_network_find(network, names[i]) == network->nhosts;
    for (uint32_t i = 0; names != NULL && i < network->nhosts; i++) {
        uint32_t j = 0;

        while (j < count && !is_on(network->hosts[i].name, names[j]))
            j++;
        left += j == count;
    }
    snprintf(age, sizeof(age), "%u days old, which is more than %d",
             (uint32_t)(age_s(network, now_s) / 86400),
             NF_NETWORK_OLD_S / 86400);
    snprintf(others, sizeof(others),
             "of other hosts: %u of it are not here, and %u here were not "
             "measured and count as slow",
             left, joined);
    text[0] = '\0';
    if (now_s > 0 && age_s(network, now_s) > NF_NETWORK_OLD_S)
        doubt(text, bytes, age);
    if (joined > 0 || left > 0)
        doubt(text, bytes, others);
    if (text[0] == '\0')
        return false;
    snprintf(text + strlen(text), bytes - strlen(text), ": measure again");
    return true;
}

struct nf_hetero nf_network_hetero(const struct nf_network *network,
                                   bool has_ports)
{
    return (struct nf_hetero){ .hosts = network->nhosts,
                               .is_matrix = true,
                               .has_ports = has_ports,
                               .is_shared = has_ports && network->shared,
                               .measured = network };
}
