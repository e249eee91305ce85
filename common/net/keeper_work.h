#ifndef NF_NET_KEEPER_WORK_H
#define NF_NET_KEEPER_WORK_H
/** @file keeper_work.h  The workers of the keeper: each function is the life of
 *  one forked process, which answers on @p socket and then exits.  Requests
 * come as fields f[0], f[1], ... of one datagram. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DATAGRAM_BYTES = 60000, FIELDS_MAX = 8 };

/** Send one datagram. */
void nf_keeper_post(int to, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/** Print tids in hexadecimal, joined by commas. */
void nf_keeper_print_tids(const int *tids, uint32_t count, char *text,
                          size_t size);

/** f: spawn ID HOST COUNT PROGRAM ADDRESS.  Stays as the parent of the slaves
 *  and passes on what they print. */
void nf_keeper_work_spawn(int socket, char **f);
/** f: add LINE, or remove HOST. */
void nf_keeper_work_host(int socket, char **f);
/** f: kill TID. */
void nf_keeper_work_kill(int socket, char **f);
/** Halt, whoever uses it. */
void nf_keeper_work_halt_now(int socket);
/** Connect, or start a pvmd; says "running", "started" or "error TEXT". */
void nf_keeper_work_start(int socket, bool may_start);
/** Kill the slaves that our workers spawned, wherever they are; says "ended". */
void nf_keeper_work_end_slaves(int socket, bool flag);
/** Halt, unless tasks of other programs are on this host; says "gone", "busy",
 *  or "orphans": it is worth asking again in a while.
 *  @param patient  give tasks a second to end */
void nf_keeper_work_halt(int socket, bool patient);
/** Wait, a second at most, until the pvmd's file is gone. */
void nf_keeper_await_halted(void);
#endif
