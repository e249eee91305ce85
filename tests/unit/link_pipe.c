/* Two links back to back; see link_pipe.h. */
#include "config.h"
#include "tests/unit/link_pipe.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/rng.h"

static void must(bool condition, const char *what)
{
    if (condition)
        return;
    fprintf(stderr, "link_pipe: %s\n", what);
    abort();
}

void pipe_open(struct pipe_pair *pair, uint64_t cookie, uint64_t limit_bytes)
{
    memset(pair, 0, sizeof(*pair));
    for (int i = 0; i < 2; i++) {
        nf_link_init(&pair->ends[i].link, cookie, limit_bytes);
        pair->ends[i].peer = &pair->ends[1 - i];
    }
}

void pipe_set_windows(struct pipe_pair *pair, uint32_t first_bytes,
                      uint32_t second_bytes)
{
    nf_link_set_window(&pair->ends[0].link, first_bytes);
    nf_link_set_window(&pair->ends[1].link, second_bytes);
}

uint32_t pipe_frame_most(uint32_t window_bytes)
{
    uint32_t quarter = window_bytes / 4;

    if (quarter < NF_LINK_FRAME_BYTES)
        return NF_LINK_FRAME_BYTES;
    return quarter < NF_LINK_FRAME_MAX_BYTES ? quarter
                                             : NF_LINK_FRAME_MAX_BYTES;
}

void pipe_close(struct pipe_pair *pair)
{
    for (int i = 0; i < 2; i++) {
        while (pair->ends[i].in.head != NULL)
            pipe_lose(&pair->ends[i]);
        nf_link_fini(&pair->ends[i].link);
    }
}

static void put(struct pipe_end *end, const struct nf_link_out *out)
{
    const struct nf_frame *f = &out->frame;
    struct pipe_way *way = &end->peer->in;
    struct pipe_frame *frame =
        malloc(sizeof(*frame) + f->body_bytes + f->payload_bytes);

    must(frame != NULL, "out of memory");
    must(f->body_bytes + f->payload_bytes <=
             pipe_frame_most(end->link.window_bytes),
         "a frame is too big");
    must(f->payload_bytes % nf_type_bytes(f->type) == 0,
         "a frame cuts an element");
    frame->next = NULL;
    frame->cost = (uint64_t)f->body_bytes + f->payload_bytes +
                  NF_FRAME_HEADER_BYTES + NF_LINK_FRAME_COST_BYTES;
    nf_frame_encode(f, frame->header);
    if (f->body_bytes > 0)
        memcpy(frame->bytes, out->body, f->body_bytes);
    if (f->payload_bytes > 0)
        memcpy(frame->bytes + f->body_bytes, out->payload, f->payload_bytes);
    if (way->tail != NULL)
        way->tail->next = frame;
    else
        way->head = frame;
    way->tail = frame;
    way->held_bytes += frame->cost;
    if (way->held_bytes > way->most_bytes)
        way->most_bytes = way->held_bytes;
    nf_link_sent(&end->link, out);
}

int pipe_flush(struct pipe_end *end, int most)
{
    struct nf_link_out out;
    int count = 0;

    while (count < most && nf_link_next(&end->link, &out) == NF_OK) {
        put(end, &out);
        count++;
    }
    if (count < most && nf_link_owes_confirmation(&end->link)) {
        nf_link_confirm(&end->link, &out);
        put(end, &out);
        count++;
    }
    return count;
}

void pipe_lose(struct pipe_end *end)
{
    struct pipe_frame *frame = end->in.head;

    end->in.head = frame->next;
    if (end->in.head == NULL)
        end->in.tail = NULL;
    end->in.held_bytes -= frame->cost;
    free(frame);
}

enum nf_status pipe_read(struct pipe_end *end, struct nf_msg *msg_p,
                         bool *empty_p)
{
    const struct pipe_frame *frame = end->in.head;
    struct nf_frame f;
    struct nf_link_in in;
    enum nf_status status;

    *empty_p = frame == NULL;
    if (frame == NULL)
        return NF_WAIT;
    status = nf_frame_decode(frame->header, &f);
    if (status == NF_OK)
        status = nf_link_accept(&end->link, &f, &in);
    if (status != NF_OK)
        return status;
    if (f.body_bytes > 0)
        memcpy(in.body, frame->bytes, f.body_bytes);
    if (f.payload_bytes > 0)
        memcpy(in.payload, frame->bytes + f.body_bytes, f.payload_bytes);
    status = nf_link_finish(&end->link, &in, msg_p);
    pipe_lose(end);
    return status;
}

void pipe_fill(uint64_t seed, uint8_t *data, size_t bytes)
{
    struct nf_rng rng = { .state = seed };
    size_t i = 0;

    for (; i + 8 <= bytes; i += 8) {
        uint64_t r = nf_rng_next(&rng);

        memcpy(data + i, &r, 8);
    }
    for (; i < bytes; i++)
        data[i] = (uint8_t)nf_rng_next(&rng);
}

struct nf_blob *pipe_payload(uint64_t seed, size_t bytes, enum nf_type type)
{
    struct nf_blob *blob;

    bytes -= bytes % nf_type_bytes(type);
    blob = nf_blob_create(bytes, type);
    must(blob != NULL, "out of memory");
    pipe_fill(seed, blob->data, bytes);
    return blob;
}

struct nf_blob *pipe_scatter(struct nf_blob *whole, struct nf_rng *rng)
{
    enum { PARTS = 20 };
    size_t element = nf_type_bytes(whole->type), left = whole->bytes;
    struct nf_blob *chain = nf_blob_chain(PARTS, whole->type);
    struct nf_blob *room = nf_blob_create(whole->bytes, whole->type);
    const uint8_t *from = whole->data;

    must(chain != NULL && room != NULL, "out of memory");
    for (int i = 1; left > 0; i++) {
        size_t bytes = (1 + nf_rng_below(rng, left / element)) * element;
        uint8_t *to;

        bytes = i == PARTS ? left : bytes;
        left -= bytes;
        to = (uint8_t *)room->data + left; /* the first ones are the last */
        memcpy(to, from, bytes);
        from += bytes;
        nf_blob_add(chain, &(struct nf_blob_part){ to, bytes, room });
    }
    nf_blob_unref(room);
    nf_blob_unref(whole);
    return chain;
}

bool pipe_payload_is(const struct nf_blob *blob, uint64_t seed, size_t bytes,
                     enum nf_type type)
{
    uint8_t *want;
    bool same;

    bytes -= bytes % nf_type_bytes(type);
    if (blob == NULL || bytes == 0)
        return bytes == 0 && (blob == NULL || blob->bytes == 0);
    want = malloc(bytes);
    must(want != NULL, "out of memory");
    pipe_fill(seed, want, bytes);
    same = blob->bytes == bytes && blob->type == type &&
           memcmp(blob->data, want, bytes) == 0;
    free(want);
    return same;
}

void pipe_say(struct nf_link *link, enum nf_msg_kind kind, size_t body_bytes,
              size_t payload_bytes)
{
    struct nf_msg msg = { .kind = kind, .body_bytes = body_bytes };
    uint8_t *body = calloc(1, body_bytes + 1);

    must(body != NULL, "out of memory");
    msg.body = body;
    if (payload_bytes > 0)
        msg.payload = pipe_payload(1, payload_bytes, NF_FLOAT64);
    must(nf_link_queue(link, &msg) == NF_OK, "a message is not queued");
    nf_blob_unref(msg.payload);
    free(body);
}

enum nf_msg_kind pipe_next_kind(struct pipe_end *end)
{
    struct nf_msg msg;
    bool empty = false;

    while (!empty) {
        enum nf_status status = pipe_read(end, &msg, &empty);

        if (status == NF_OK) {
            nf_blob_unref(msg.payload);
            return msg.kind;
        }
        must(status == NF_WAIT, "a frame is refused");
    }
    return NF_MSG_NONE;
}
