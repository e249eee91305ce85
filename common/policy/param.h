#ifndef NF_POLICY_PARAM_H
#define NF_POLICY_PARAM_H
/** @file param.h  Texts of policy parameters to values. */
#include "common/policy/policy.h"

/** Parse the value of @p param.
 *  @param value_p  set on NF_OK only
 *  @retval NF_ERR_INVAL  err: "kmin 0: want a count >= 1" */
enum nf_status nf_param_parse(const struct nf_param *param, const char *text,
                              struct nf_param_value *value_p,
                              struct nf_error *err);
/** Set values[] of the table @p params (may be NULL) to the defaults. */
void nf_param_set_defaults(const struct nf_param *params,
                           struct nf_param_value *values);
/** @return the index of name[0..length) in the table, or -1. */
int nf_param_find(const struct nf_param *params, const char *name,
                  size_t length);
#endif
