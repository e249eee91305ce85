/* What messages between threads of this process cost, measured when a report needs it: a
 * ping-pong between two, of which the middle round trip counts.  Payloads go by reference,
 * so that the time is that of waking a thread, whatever the size. */
#include "config.h"
#include <pthread.h>
#include <stdlib.h>
#include "common/base/clock.h"
#include "common/group/over_mesh.h"
#include "common/net/mesh.h"
#include "master/engine_internal.h"

enum { ROUNDS = 9, SIZES = 3, PATIENCE_US = 100000 };

static const size_t sizes[SIZES] = { 8, 64 << 10, 4 << 20 };

/* @return whether one came in time; it is dropped */
static bool take(struct nf_mesh *mesh)
{
    int64_t until_us = nf_now_us() + PATIENCE_US;
    struct nf_mesh_event event;
    enum nf_status status;

    while ((status = nf_mesh_next(mesh, &event)) == NF_WAIT)
        if (nf_now_us() > until_us || nf_mesh_wait(mesh, PATIENCE_US) < 0)
            return false;
    if (status != NF_OK || event.kind != NF_MESH_MESSAGE)
        return false;
    nf_blob_unref(event.message.payload);
    return true;
}

static bool give(struct nf_mesh *mesh, struct nf_blob *payload)
{
    const struct nf_mesh_message message = { .head = (const uint8_t *)"",
                                             .head_bytes = 1,
                                             .payload = payload };

    return nf_mesh_send(mesh, 1 - mesh->rank, &message) == NF_OK;
}

/* The other thread: sends back as much as came, which is known. */
static void *echo(void *arg)
{
    struct nf_mesh *mesh = arg;
    bool going = true;

    for (int i = 0; i < SIZES && going; i++) {
        struct nf_blob *payload = nf_blob_create(sizes[i], NF_BYTES);

        going = payload != NULL;
        for (int k = 0; k < ROUNDS && going; k++)
            going = take(mesh) && give(mesh, payload);
        nf_blob_unref(payload);
    }
    nf_mesh_close(mesh);
    return NULL;
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static bool time_size(struct nf_mesh *mesh, size_t bytes, double *us_p)
{
    struct nf_blob *payload = nf_blob_create(bytes, NF_BYTES);
    double us[ROUNDS];
    bool going = payload != NULL;

    for (int k = 0; k < ROUNDS && going; k++) {
        int64_t began_us = nf_now_us();

        going = give(mesh, payload) && take(mesh);
        us[k] = (double)(nf_now_us() - began_us);
    }
    nf_blob_unref(payload);
    if (!going)
        return false;
    qsort(us, ROUNDS, sizeof(us[0]), by_size);
    *us_p = us[ROUNDS / 2] > 1 ? us[ROUNDS / 2] / 2 : 0.5;
    return true;
}

bool nf_local_model_measure(struct nf_model *model_p)
{
    struct nf_model_sample samples[SIZES];
    struct nf_model model = nf_group_model;
    struct nf_mesh *meshes[2];
    pthread_t thread;
    bool going = true;

    if (nf_mesh_open_local(2, meshes, NULL) != NF_OK)
        return false;
    if (pthread_create(&thread, NULL, echo, meshes[1]) != 0) {
        nf_mesh_close(meshes[1]);
        nf_mesh_close(meshes[0]);
        return false;
    }
    for (int i = 0; i < SIZES && going; i++) {
        samples[i].bytes = (double)sizes[i];
        going = time_size(meshes[0], sizes[i], &samples[i].time_us);
    }
    nf_mesh_close(meshes[0]);
    pthread_join(thread, NULL);
    if (!going || nf_model_fit(samples, SIZES, &model, NULL) != NF_OK)
        return false;
    model.delta = 1; /* what is not copied is in nobody's way */
    model.occupancy_us = model.pieces[0].start_us / 4;
    *model_p = model;
    return true;
}
