#include "config.h"
#include "tests/unit/app_operations.h"

double operations_of(const struct nf_app_kind *kind,
                     const char *const settings[][2])
{
    const struct nf_app_request request = { .out = NULL };
    struct nf_app app;
    void *state = NULL;
    double count = -1;
    enum nf_status status = kind->create(&state, NULL);

    for (size_t i = 0; status == NF_OK && settings[i][0] != NULL; i++)
        status = kind->set(state, settings[i][0], settings[i][1], NULL);
    if (status == NF_OK && kind->open(state, &request, &app, NULL) == NF_OK)
        count = kind->operations(state);
    kind->destroy(state);
    return count;
}
