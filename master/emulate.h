#ifndef NF_MASTER_EMULATE_H
#define NF_MASTER_EMULATE_H
/** @file emulate.h  Emulated workstations: what `nowfarm run --emulate` asks
 *  for, and the transport that makes it so.
 *
 *  The job runs as always, on real slaves, with real results; but units, the
 *  master's work and the network take the time that they are told to, and the
 *  rest of it is slept.  The world is the simulator's (sim/world.h).  Slaves
 *  sleep by themselves; the rest is done by a transport that is put in front of
 *  the real one, so that an ordinary run knows nothing of it.
 *
 *      unit      compute time of a unit at speed 1            required
 *      send      master's time to send a message              default 0
 *      recv      master's time to take a result               default send
 *      wire      time on the wire of a message, either way    default 0
 *      net       bus: one wire for all messages, first come
 *                first served; links: one each way and slave  default bus
 *      blocking  yes: a slot takes its next chunk only when
 *                its result has left the wire                 default no
 *      speeds    of slaves 0, 1, ..., joined by '/'           default 1 each
 *
 *  send, recv and wire are C, a message, or C+U, a message plus each unit. */
#include "common/net/net.h"
#include <stdbool.h>

/** fixed_us + per_unit_us * units */
struct nf_emulate_time {
    int64_t fixed_us, per_unit_us;
};

enum nf_emulate_wires { NF_EMULATE_BUS, NF_EMULATE_LINKS };

enum { NF_EMULATE_SPEEDS_MAX = 256, NF_EMULATE_SPEC_BYTES = 512 };

/** Speeds are counted in these: exact, and the same on every machine. */
#define NF_EMULATE_SPEED_ONE 1000000u

/** Plain data, may be copied. */
struct nf_emulate {
    int64_t unit_us; /**< > 0 */
    struct nf_emulate_time send, recv, wire;
    enum nf_emulate_wires wires;
    bool blocking;
    uint32_t nspeeds; /**< slaves beyond have speed 1 */
    uint32_t speeds[NF_EMULATE_SPEEDS_MAX];
};

/** Parse "unit=33ms,send=0.9ms,...".
 *  @retval NF_ERR_INVAL  *err names the word and what would be right;
 *                        *emulate_p is untouched */
enum nf_status nf_emulate_parse(const char *spec, struct nf_emulate *emulate_p,
                                struct nf_error *err);
/** @return speed of @p slave, in millionths */
uint32_t nf_emulate_speed(const struct nf_emulate *emulate, uint32_t slave);
/** @return fixed_us + per_unit_us * units; at most about 30 years */
int64_t nf_emulate_time_us(const struct nf_emulate_time *time, uint64_t units);

/** The transport in front of another one.  Its nf_net_next() also says
 *  NF_NET_FREE, and its events say in at_us when they happened in the emulated
 *  world, which is a little before they are told. */
struct nf_emulated;

/** @param inner       borrowed until the transport is closed, which closes it
 *  @param emulated_p  set on NF_OK; its nf_net is nf_emulated_net() */
enum nf_status nf_emulated_open(const struct nf_emulate *emulate,
                                struct nf_net *inner,
                                struct nf_emulated **emulated_p,
                                struct nf_error *err);
struct nf_net *nf_emulated_net(struct nf_emulated *emulated);
/** Say NF_NET_FREE once, when @p wake_us has come and the master has taken all
 *  results that are there; INT64_MAX: not.  Replaces what was asked before.
 *  @param deaf  take no results until then */
void nf_emulated_arm(struct nf_emulated *emulated, int64_t wake_us, bool deaf);
#endif
