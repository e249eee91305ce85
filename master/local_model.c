/* What messages between threads of this process cost, measured for jobs whose slaves
 * exchange: a ping-pong between two, of which the middle round trip counts.  Payloads go
 * by reference, so that the time is that of waking a thread, whatever the size; blocks
 * that are put together into one message are copied, and that is timed for itself. */
#include "config.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "common/base/clock.h"
#include "common/group/over_mesh.h"
#include "common/net/mesh.h"
#include "master/engine_internal.h"

enum { ROUNDS = 9, SIZES = 3, PATIENCE_US = 100000, COPIED_BYTES = 2 << 20 };

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

static double middle(double us[ROUNDS])
{
    qsort(us, ROUNDS, sizeof(us[0]), by_size);
    return us[ROUNDS / 2];
}

/* @param sending_us_p  how long the call takes that sends: the other thread
 *                      sleeps, so that is to wake it, too */
static bool time_size(struct nf_mesh *mesh, size_t bytes, double *us_p,
                      double *sending_us_p)
{
    struct nf_blob *payload = nf_blob_create(bytes, NF_BYTES);
    double us[ROUNDS], sending_us[ROUNDS];
    bool going = payload != NULL;

    for (int k = 0; k < ROUNDS && going; k++) {
        int64_t began_us = nf_now_us(), sent_us = 0;

        going = give(mesh, payload);
        sent_us = nf_now_us();
        going = going && take(mesh);
        us[k] = (double)(nf_now_us() - began_us);
        sending_us[k] = (double)(sent_us - began_us);
    }
    nf_blob_unref(payload);
    if (!going)
        return false;
    *us_p = middle(us) > 1 ? middle(us) / 2 : 0.5;
    *sending_us_p = middle(sending_us);
    return true;
}

/* Memory that was in use before, as that of messages mostly was. */
static bool time_copy(double *byte_us_p)
{
    struct nf_blob *from = nf_blob_create(COPIED_BYTES, NF_BYTES);
    struct nf_blob *to = nf_blob_create(COPIED_BYTES, NF_BYTES);
    bool going = from != NULL && to != NULL;
    double us[ROUNDS];

    if (going) {
        memset(from->data, 1, COPIED_BYTES);
        memset(to->data, 2, COPIED_BYTES);
        for (int k = 0; k < ROUNDS; k++) {
            int64_t began_us = nf_now_us();

            memset(from->data, k, 1); /* so that none of the copies is idle */
            memcpy(to->data, from->data, COPIED_BYTES);
            us[k] = (double)(nf_now_us() - began_us);
        }
        *byte_us_p = middle(us) / COPIED_BYTES;
    }
    nf_blob_unref(from);
    nf_blob_unref(to);
    return going;
}

/* Threads that wait for processors: a message takes at least the time of its
 * sending of one of them. */
static double share_us(double sending_us)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);

    return processors > 0 ? sending_us / (double)processors : 0;
}

static bool time_messages(struct nf_mesh *mesh,
                          struct nf_model_sample samples[SIZES],
                          double *sending_us_p)
{
    bool going = true;

    for (int i = 0; i < SIZES && going; i++) {
        double sending_us;

        samples[i].bytes = (double)sizes[i];
        going = time_size(mesh, sizes[i], &samples[i].time_us, &sending_us);
        if (i == 0)
            *sending_us_p = sending_us;
    }
    return going;
}

bool nf_local_model_measure(struct nf_model *model_p)
{
    struct nf_model_sample samples[SIZES];
    struct nf_model model = nf_group_model;
    struct nf_mesh *meshes[2];
    double sending_us = 0;
    pthread_t thread;
    bool going;

    if (nf_mesh_open_local(2, meshes, NULL) != NF_OK)
        return false;
    if (pthread_create(&thread, NULL, echo, meshes[1]) != 0) {
        nf_mesh_close(meshes[1]);
        nf_mesh_close(meshes[0]);
        return false;
    }
    going = time_messages(meshes[0], samples, &sending_us);
    nf_mesh_close(meshes[0]);
    pthread_join(thread, NULL);
    if (!going || !time_copy(&model.copy_byte_us) ||
        nf_model_fit(samples, SIZES, &model, NULL) != NF_OK)
        return false;
    model.nnear = 0; /* this is within a host */
    model.delta = 1; /* what is not copied is in nobody's way */
    /* clocks are of whole microseconds */
    model.occupancy_us = sending_us > 0.5 ? sending_us : 0.5;
    if (model.occupancy_us > model.pieces[0].start_us)
        model.occupancy_us = model.pieces[0].start_us;
    model.share_us = share_us(model.occupancy_us);
    *model_p = model;
    return true;
}
