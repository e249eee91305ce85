#ifndef NF_TESTS_UNIT_EXEC_MEMORY_H
#define NF_TESTS_UNIT_EXEC_MEMORY_H
/** @file exec_memory.h  What an executor has in its memory. */
#include "common/group/exec.h"

/** All-to-all: messages with blocks that have to go on are at most twice as
 *  large as these, and the executor's books say so. */
bool exec_holds_little(const struct nf_exec *exec);
/** Bytes of messages that it has taken and not given back, and of those that it
 *  has combined into. */
uint64_t exec_kept_bytes(const struct nf_exec *exec);
#endif
