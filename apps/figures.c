#include "config.h"
#include "apps/figures.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "apps/output.h"

const char *nf_figure_print(const struct nf_app_figure *figure,
                            char text[NF_FIGURE_BYTES])
{
    switch (figure->kind) {
    case NF_FIGURE_REAL:
        snprintf(text, NF_FIGURE_BYTES, "%.17g", figure->real);
        break;
    case NF_FIGURE_COUNT:
        snprintf(text, NF_FIGURE_BYTES, "%" PRIu64, figure->count);
        break;
    case NF_FIGURE_TEXT:
        snprintf(text, NF_FIGURE_BYTES, "%s", figure->text);
        break;
    }
    return text;
}

/* JSON knows no NaN. */
static const char *json_value(const struct nf_app_figure *figure,
                              char text[NF_FIGURE_BYTES])
{
    if (figure->kind == NF_FIGURE_REAL && !isfinite(figure->real))
        return "null";
    return nf_figure_print(figure, text);
}

enum nf_status nf_figures_write(const char *path,
                                const struct nf_app_figure *figures,
                                uint32_t count, struct nf_error *err)
{
    char all[NF_APP_FIGURES * (2 * NF_FIGURE_BYTES) + 8];
    char value[NF_FIGURE_BYTES];
    size_t length = strlen(path), used = 0;
    int json = length >= 5 && strcmp(path + length - 5, ".json") == 0;

    if (json)
        used += (size_t)snprintf(all, sizeof(all), "{\n");
    for (uint32_t i = 0; i < count; i++) {
        const char *quote =
            json && figures[i].kind == NF_FIGURE_TEXT ? "\"" : "";

        used +=
            (size_t)snprintf(all + used, sizeof(all) - used,
                             json ? "  \"%s\": %s%s%s%s\n" : "%s %s%s%s%s\n",
                             figures[i].name, quote,
                             json ? json_value(&figures[i], value)
                                  : nf_figure_print(&figures[i], value),
                             quote, json && i + 1 < count ? "," : "");
    }
    if (json)
        used += (size_t)snprintf(all + used, sizeof(all) - used, "}\n");
    return nf_output_write_whole(path, all, used, err);
}
