#ifndef NF_TESTS_UNIT_APP_OPERATIONS_H
#define NF_TESTS_UNIT_APP_OPERATIONS_H
/** @file app_operations.h  What applications count for their model of time. */
#include "apps/app.h"

/** @param settings  options and their values; the last option is NULL
 *  @return the operations of such a job, -1 if it cannot be opened */
double operations_of(const struct nf_app_kind *kind,
                     const char *const settings[][2]);
#endif
