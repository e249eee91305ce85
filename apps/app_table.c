#include "config.h"
#include "apps/app.h"
#include <string.h>

#define NF_APP_ENTRY(n) &nf_app_##n,
const struct nf_app_kind *const nf_app_table[] = { NF_APP_LIST(NF_APP_ENTRY)
                                                       NULL };

const struct nf_app_kind *nf_app_find(const char *name)
{
    for (size_t i = 0; nf_app_table[i] != NULL; i++)
        if (strcmp(nf_app_table[i]->name, name) == 0)
            return nf_app_table[i];
    return NULL;
}
