#ifndef NF_APPS_NOWFARM_GANTT_H
#define NF_APPS_NOWFARM_GANTT_H
/** @file gantt.h  The forms in which `nowfarm gantt` shows a timeline.  Each
 *  writes a whole file to @p to and leaves errors to ferror(). */
#include <stdio.h>
#include "apps/nowfarm/timeline.h"

/** A picture.  @retval NF_ERR_NOMEM */
enum nf_status gantt_svg(FILE *to, const struct timeline *timeline);
/** Chrome's trace event format, which Perfetto reads.  @retval NF_ERR_NOMEM */
enum nf_status gantt_chrome(FILE *to, const struct timeline *timeline);
/** Paje, which ViTE reads.  @retval NF_ERR_NOMEM */
enum nf_status gantt_paje(FILE *to, const struct timeline *timeline);
#endif
