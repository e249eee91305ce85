/* The table of applications of nowfarm-fft: one. */
#include "config.h"
#include <string.h>
#include "apps/fft/fft.h"

const struct nf_app_kind *const nf_app_table[] = { &nf_app_fft, NULL };

const struct nf_app_kind *nf_app_find(const char *name)
{
    return strcmp(name, nf_app_fft.name) == 0 ? &nf_app_fft : NULL;
}
