#ifndef NF_APPS_FIGURES_H
#define NF_APPS_FIGURES_H
/** @file figures.h  The few numbers that a job's result consists of, when it is
 *  not a file: for the report and for --out. */
#include <stddef.h>
#include <stdint.h>
#include "nowfarm.h"

enum nf_figure_kind { NF_FIGURE_REAL, NF_FIGURE_COUNT, NF_FIGURE_TEXT };

struct nf_app_figure {
    const char *name; /**< [a-z0-9_]+, static */
    enum nf_figure_kind kind;
    double real;      /**< NF_FIGURE_REAL */
    uint64_t count;   /**< NF_FIGURE_COUNT */
    const char *text; /**< NF_FIGURE_TEXT: plain ASCII, no quotes */
};

/** The most figures of an application. */
#define NF_APP_FIGURES 16
/** Bytes of a figure's value as text, NUL included. */
#define NF_FIGURE_BYTES 64

/** The value as text, reals with the 17 digits that give the same double when
 *  read.  @return text */
const char *nf_figure_print(const struct nf_app_figure *figure,
                            char text[NF_FIGURE_BYTES]);

/** Write them to @p path, completely or not at all: as a JSON object if its
 *  name ends with ".json", else a line "NAME VALUE" each.
 *  @retval NF_ERR_INVAL, NF_ERR_IO, NF_ERR_NOMEM  as nf_output_open() */
enum nf_status nf_figures_write(const char *path,
                                const struct nf_app_figure *figures,
                                uint32_t count, struct nf_error *err);
#endif
