#ifndef NF_TESTS_GOLDEN_SPEC_H
#define NF_TESTS_GOLDEN_SPEC_H
/** @file golden_spec.h  Policies of tests/golden/policies.json as the command
 *  line wants them. */
#include <jansson.h>
#include "common/policy/policy.h"

/** @param name    "awf", and for other rows the name of a policy
 *  @param params  {"variant": "B", "tD": 5000, ...}
 *  @param spec    "awf-b:td=5000us" */
void golden_spec(const char *name, const json_t *params,
                 char spec[NF_POLICY_SPEC_BYTES]);
#endif
