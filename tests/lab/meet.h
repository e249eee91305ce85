#ifndef NF_TESTS_LAB_MEET_H
#define NF_TESTS_LAB_MEET_H
/** @file meet.h  How members of a group find each other: by files.  Both end
 * the process with 99 if that fails. */
#include <stdint.h>

/** Write this task's tid to FOLDER/tid.RANK. */
void lab_tell_tid(const char *folder, uint32_t rank);
/** Wait for those of all.  @param tids  [count], written */
void lab_find_tids(const char *folder, uint32_t count, int *tids);
#endif
