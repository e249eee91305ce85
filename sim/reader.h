#ifndef NF_SIM_READER_H
#define NF_SIM_READER_H
/** @file reader.h  Values of platform files; see common/json/reader.h. */
#include "common/json/reader.h"
#include "sim/world.h"

/** 2 or "1/4". */
enum nf_status nf_reader_ratio(struct nf_json_reader *reader,
                               const json_t *value, struct nf_ratio *ratio_p);
/** A time, or [time, time a unit]. */
enum nf_status nf_reader_line(struct nf_json_reader *reader,
                              const json_t *value, struct nf_line *line_p);
#endif
