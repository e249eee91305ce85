/* Frames, lanes and credit.  See link.h for the why. */
#include "config.h"
#include "common/wire/link.h"
#include <string.h>
#include "common/base/alloc.h"
#include "common/base/endian.h"

#define FRAME_MAGIC 0x3146464eu /* "NFF1" */
enum { WINDOW_UNIT_BYTES = 4096 };

struct nf_link_entry {
    struct nf_link_entry *next;
    enum nf_msg_kind kind;
    struct nf_blob *payload;
    size_t body_bytes, body_capacity;
    uint8_t body[];
};

/* ------------------------------------------------------------ headers */

void nf_frame_encode(const struct nf_frame *frame,
                     uint8_t out_p[NF_FRAME_HEADER_BYTES])
{
    nf_store_le32(out_p, FRAME_MAGIC);
    out_p[4] = (uint8_t)frame->kind;
    out_p[5] = (uint8_t)frame->type;
    out_p[6] = frame->converted;
    out_p[7] = (uint8_t)(frame->window_bytes / WINDOW_UNIT_BYTES);
    nf_store_le64(out_p + 8, frame->cookie);
    nf_store_le64(out_p + 16, frame->consumed_bytes);
    nf_store_le64(out_p + 24, frame->offset);
    nf_store_le32(out_p + 32, (uint32_t)frame->body_total_bytes);
    nf_store_le32(out_p + 36, frame->body_bytes + frame->payload_bytes);
    nf_store_le64(out_p + 40, frame->payload_total_bytes);
}

/* Body and payload parts follow from offset, length and the totals. */
static enum nf_status split_length(struct nf_frame *f, uint32_t length)
{
    uint64_t total = f->body_total_bytes + f->payload_total_bytes;
    uint64_t body_left =
        f->offset < f->body_total_bytes ? f->body_total_bytes - f->offset : 0;

    if (f->payload_total_bytes > UINT64_MAX / 2 || f->offset > total ||
        length > total - f->offset)
        return NF_ERR_PROTOCOL;
    f->body_bytes = length < body_left ? length : (uint32_t)body_left;
    f->payload_bytes = length - f->body_bytes;
    return NF_OK;
}

enum nf_status nf_frame_decode(const uint8_t header[NF_FRAME_HEADER_BYTES],
                               struct nf_frame *frame_p)
{
    uint32_t length = nf_load_le32(header + 36);
    size_t element;

    if (nf_load_le32(header) != FRAME_MAGIC || header[4] >= NF_MSG_KINDS ||
        header[5] > NF_INT16 || header[6] > 1)
        return NF_ERR_PROTOCOL;
    frame_p->kind = (enum nf_msg_kind)header[4];
    frame_p->type = (enum nf_type)header[5];
    frame_p->converted = header[6] != 0;
    frame_p->window_bytes = (uint32_t)header[7] * WINDOW_UNIT_BYTES;
    frame_p->cookie = nf_load_le64(header + 8);
    frame_p->consumed_bytes = nf_load_le64(header + 16);
    frame_p->offset = nf_load_le64(header + 24);
    frame_p->body_total_bytes = nf_load_le32(header + 32);
    frame_p->payload_total_bytes = nf_load_le64(header + 40);
    if (length > NF_LINK_FRAME_MAX_BYTES)
        return NF_ERR_PROTOCOL;
    if (split_length(frame_p, length) != NF_OK)
        return NF_ERR_PROTOCOL;
    element = nf_type_bytes(frame_p->type);
    if (frame_p->payload_total_bytes % element != 0 ||
        frame_p->payload_bytes % element != 0)
        return NF_ERR_PROTOCOL;
    return NF_OK;
}

bool nf_msg_is_urgent(enum nf_msg_kind kind)
{
    return kind == NF_MSG_PING || kind == NF_MSG_HEARTBEAT ||
           kind == NF_MSG_REVOKE || kind == NF_MSG_STOP ||
           kind == NF_MSG_LOAN || kind == NF_MSG_DUCT;
}

/* ---------------------------------------------------------------- life */

void nf_link_init(struct nf_link *link, uint64_t cookie, uint64_t limit_bytes)
{
    memset(link, 0, sizeof(*link));
    link->cookie = cookie;
    link->limit_bytes = limit_bytes;
    link->window_bytes = link->peer_window_bytes = NF_LINK_WINDOW_BYTES;
    link->frame_bytes = NF_LINK_FRAME_BYTES;
}

static uint32_t frame_bytes_of(uint32_t window_bytes)
{
    return window_bytes / 4 < NF_LINK_FRAME_BYTES       ? NF_LINK_FRAME_BYTES
           : window_bytes / 4 > NF_LINK_FRAME_MAX_BYTES ? NF_LINK_FRAME_MAX_BYTES
                                                        : window_bytes / 4;
}

void nf_link_set_window(struct nf_link *link, uint32_t window_bytes)
{
    if (window_bytes < NF_LINK_WINDOW_BYTES)
        window_bytes = NF_LINK_WINDOW_BYTES;
    if (window_bytes > NF_LINK_WINDOW_MAX_BYTES)
        window_bytes = NF_LINK_WINDOW_MAX_BYTES;
    link->window_bytes = window_bytes;
    link->frame_bytes = frame_bytes_of(window_bytes);
}

static void free_entry(struct nf_link_entry *entry)
{
    nf_blob_unref(entry->payload);
    nf_free(entry);
}

static void free_lane(struct nf_link_lane *lane)
{
    while (lane->head != NULL) {
        struct nf_link_entry *entry = lane->head;

        lane->head = entry->next;
        free_entry(entry);
    }
    lane->tail = NULL;
}

void nf_link_purge(struct nf_link *link)
{
    struct nf_link_entry *begun =
        link->sent_offset > 0 ? link->normal.head : NULL;

    if (begun != NULL)
        link->normal.head = begun->next;
    free_lane(&link->urgent);
    free_lane(&link->normal);
    link->queued_bytes = 0;
    link->nnormal = begun != NULL;
    if (begun == NULL)
        return;
    begun->next = NULL;
    link->normal.head = link->normal.tail = begun;
    link->queued_bytes = begun->body_bytes +
                         (begun->payload != NULL ? begun->payload->bytes : 0) -
                         link->sent_offset;
}

void nf_link_fini(struct nf_link *link)
{
    link->sent_offset = 0;
    nf_link_purge(link);
    nf_free(link->spare);
    nf_body_fini(&link->body);
    nf_body_fini(&link->urgent_body);
    nf_blob_unref(link->payload);
    nf_link_init(link, link->cookie, link->limit_bytes);
}

/* ----------------------------------------------------------------- out */

static struct nf_link_entry *new_entry(struct nf_link *link, size_t body_bytes)
{
    struct nf_link_entry *entry = link->spare;
    size_t capacity = body_bytes < 128 ? 128 : body_bytes;

    if (entry != NULL && entry->body_capacity >= body_bytes) {
        link->spare = NULL;
        return entry;
    }
    entry = nf_malloc(sizeof(*entry) + capacity);
    if (entry != NULL)
        entry->body_capacity = capacity;
    return entry;
}

/* One sign of life behind another: a peer that does not read must not pile
 * them up for as long as it is silent. */
static bool says_nothing_new(const struct nf_link_lane *lane,
                             enum nf_msg_kind kind)
{
    return (kind == NF_MSG_PING || kind == NF_MSG_HEARTBEAT) &&
           lane->tail != NULL && lane->tail->kind == kind;
}

enum nf_status nf_link_queue(struct nf_link *link, const struct nf_msg *msg)
{
    bool urgent = nf_msg_is_urgent(msg->kind);
    struct nf_link_lane *lane = urgent ? &link->urgent : &link->normal;
    struct nf_link_entry *entry;

    if (msg->body_bytes > (urgent ? NF_LINK_URGENT_BODY_BYTES : UINT32_MAX) ||
        (urgent && msg->payload != NULL))
        return NF_ERR_RANGE;
    if (says_nothing_new(lane, msg->kind))
        return NF_OK;
    entry = new_entry(link, msg->body_bytes);
    if (entry == NULL)
        return NF_ERR_NOMEM;
    entry->next = NULL;
    entry->kind = msg->kind;
    entry->payload = nf_blob_ref(msg->payload);
    entry->body_bytes = msg->body_bytes;
    if (msg->body_bytes > 0)
        memcpy(entry->body, msg->body, msg->body_bytes);
    if (lane->tail != NULL)
        lane->tail->next = entry;
    else
        lane->head = entry;
    lane->tail = entry;
    link->nnormal += !urgent;
    link->queued_bytes +=
        entry->body_bytes + (entry->payload ? entry->payload->bytes : 0);
    return NF_OK;
}

uint64_t nf_frame_cost_bytes(const struct nf_frame *frame)
{
    return (uint64_t)frame->body_bytes + frame->payload_bytes +
           NF_FRAME_HEADER_BYTES + NF_LINK_FRAME_COST_BYTES;
}

static uint64_t confirmable_bytes(const struct nf_link *link)
{
    return link->consumed_bytes - link->withheld_bytes;
}

/* What of a payload lies together from `at` on.
 * @param bytes_p  so many bytes */
static const uint8_t *find_payload(struct nf_link *link,
                                   const struct nf_blob *payload, uint64_t at,
                                   uint64_t *bytes_p)
{
    *bytes_p = payload != NULL ? payload->bytes - at : 0;
    if (*bytes_p == 0)
        return NULL;
    if (!nf_blob_is_chain(payload))
        return (const uint8_t *)payload->data + at;
    if (at == 0) {
        link->part = 0;
        link->part_at = 0;
    }
    while (at - link->part_at >= payload->parts[link->part].bytes)
        link->part_at += payload->parts[link->part++].bytes;
    at -= link->part_at;
    *bytes_p = payload->parts[link->part].bytes - at;
    return payload->parts[link->part].data + at;
}

/* The frame of `entry` that starts at `offset`. */
static void cut_frame(struct nf_link *link, const struct nf_link_entry *entry,
                      uint64_t offset, struct nf_link_out *out_p)
{
    struct nf_frame *f = &out_p->frame;
    const struct nf_blob *payload = entry->payload;
    uint64_t rest, payload_at, together;

    out_p->queued = true;
    f->kind = entry->kind;
    f->type = payload != NULL ? payload->type : NF_BYTES;
    f->converted = false;
    f->cookie = link->cookie;
    f->consumed_bytes = confirmable_bytes(link);
    f->window_bytes = link->window_bytes;
    f->offset = offset;
    f->body_total_bytes = entry->body_bytes;
    f->payload_total_bytes = payload != NULL ? payload->bytes : 0;
    rest = offset < entry->body_bytes ? entry->body_bytes - offset : 0;
    f->body_bytes =
        rest < link->frame_bytes ? (uint32_t)rest : link->frame_bytes;
    payload_at = offset > entry->body_bytes ? offset - entry->body_bytes : 0;
    out_p->payload = find_payload(link, payload, payload_at, &together);
    /* whole elements only, so that every frame converts by itself */
    f->payload_bytes = (link->frame_bytes - f->body_bytes) & ~7u;
    if (together < f->payload_bytes)
        f->payload_bytes = (uint32_t)together;
    out_p->body = entry->body + (offset < entry->body_bytes ? offset : 0);
}

enum nf_status nf_link_next(struct nf_link *link, struct nf_link_out *out_p)
{
    uint64_t flying = link->sent_bytes - link->confirmed_bytes;

    if (link->urgent.head != NULL &&
        flying <= link->window_bytes + NF_LINK_URGENT_BYTES) {
        cut_frame(link, link->urgent.head, 0, out_p);
        return NF_OK;
    }
    if (link->normal.head == NULL)
        return NF_WAIT;
    cut_frame(link, link->normal.head, link->sent_offset, out_p);
    if (flying > 0 &&
        flying + nf_frame_cost_bytes(&out_p->frame) > link->window_bytes)
        return NF_WAIT;
    return NF_OK;
}

static void pop(struct nf_link *link, struct nf_link_lane *lane)
{
    struct nf_link_entry *entry = lane->head;

    lane->head = entry->next;
    if (lane->head == NULL)
        lane->tail = NULL;
    if (link->spare == NULL && entry->body_capacity <= 4096) {
        nf_blob_unref(entry->payload);
        entry->payload = NULL;
        link->spare = entry;
    } else {
        free_entry(entry);
    }
}

void nf_link_sent(struct nf_link *link, const struct nf_link_out *out)
{
    const struct nf_frame *f = &out->frame;
    uint64_t end = f->offset + f->body_bytes + f->payload_bytes;

    link->told_bytes = f->consumed_bytes;
    link->sent_bytes += nf_frame_cost_bytes(f);
    if (!out->queued)
        return;
    link->queued_bytes -= (uint64_t)f->body_bytes + f->payload_bytes;
    if (nf_msg_is_urgent(f->kind)) {
        pop(link, &link->urgent);
    } else if (end == f->body_total_bytes + f->payload_total_bytes) {
        pop(link, &link->normal);
        link->nnormal--;
        link->sent_offset = 0;
    } else {
        link->sent_offset = end;
    }
}

uint32_t nf_link_confirm_bytes(uint32_t window_bytes)
{
    uint32_t half = window_bytes / 2, quarter = window_bytes / 4;
    uint32_t frame_bytes = frame_bytes_of(half) + NF_FRAME_HEADER_BYTES +
                           NF_LINK_FRAME_COST_BYTES;

    return half > quarter + frame_bytes ? half - frame_bytes : quarter;
}

bool nf_link_owes_confirmation(const struct nf_link *link)
{
    /* early enough that the peer need not stop, if we keep up */
    uint32_t most = nf_link_confirm_bytes(link->peer_window_bytes);

    if (link->holding && most > NF_LINK_URGENT_BYTES / 4)
        most = NF_LINK_URGENT_BYTES / 4; /* all that urgent frames may use */
    return confirmable_bytes(link) - link->told_bytes >= most;
}

void nf_link_hold(struct nf_link *link, bool hold)
{
    link->holding = hold;
    if (!hold)
        link->withheld_bytes = 0;
}

void nf_link_confirm(struct nf_link *link, struct nf_link_out *out_p)
{
    memset(out_p, 0, sizeof(*out_p));
    out_p->frame.cookie = link->cookie;
    out_p->frame.consumed_bytes = confirmable_bytes(link);
    out_p->frame.window_bytes = link->window_bytes;
}

void nf_link_signal(struct nf_link *link, enum nf_msg_kind kind,
                    struct nf_link_out *out_p)
{
    nf_link_confirm(link, out_p);
    out_p->frame.kind = kind;
}

/* ------------------------------------------------------------------ in */

static enum nf_status body_reserve(struct nf_body *body, size_t bytes)
{
    uint8_t *data;

    body->bytes = bytes;
    if (bytes <= body->capacity)
        return NF_OK;
    data = nf_realloc(body->data, bytes);
    if (data == NULL)
        return NF_ERR_NOMEM;
    body->data = data;
    body->capacity = bytes;
    return NF_OK;
}

static enum nf_status begin(struct nf_link *link, const struct nf_frame *f)
{
    enum nf_status status;

    /* the totals do not overflow: nf_frame_decode has seen to that */
    if (f->offset != 0 ||
        f->body_total_bytes + f->payload_total_bytes > link->limit_bytes)
        return NF_ERR_PROTOCOL;
    status = body_reserve(&link->body, (size_t)f->body_total_bytes);
    if (status != NF_OK)
        return status;
    if (f->payload_total_bytes > 0) {
        link->payload = nf_blob_create((size_t)f->payload_total_bytes, f->type);
        if (link->payload == NULL)
            return NF_ERR_NOMEM;
    }
    link->assembling = true;
    link->kind = f->kind;
    link->body_total_bytes = f->body_total_bytes;
    link->got_bytes = 0;
    return NF_OK;
}

static bool continues(const struct nf_link *link, const struct nf_frame *f)
{
    uint64_t payload = link->payload != NULL ? link->payload->bytes : 0;

    return f->kind == link->kind && f->offset == link->got_bytes &&
           f->body_total_bytes == link->body_total_bytes &&
           f->payload_total_bytes == payload &&
           (link->payload == NULL || f->type == link->payload->type);
}

static enum nf_status accept_urgent(struct nf_link *link,
                                    struct nf_link_in *in_p)
{
    const struct nf_frame *f = &in_p->frame;

    if (f->offset != 0 || f->payload_total_bytes != 0 ||
        f->body_bytes != f->body_total_bytes)
        return NF_ERR_PROTOCOL;
    in_p->body = NULL;
    in_p->payload = NULL;
    if (body_reserve(&link->urgent_body, f->body_bytes) != NF_OK)
        return NF_ERR_NOMEM;
    in_p->body = link->urgent_body.data;
    return NF_OK;
}

enum nf_status nf_link_accept(struct nf_link *link,
                              const struct nf_frame *frame,
                              struct nf_link_in *in_p)
{
    enum nf_status status;
    uint64_t payload_at;

    if (frame->cookie != link->cookie ||
        frame->consumed_bytes > link->sent_bytes)
        return NF_ERR_PROTOCOL;
    in_p->frame = *frame;
    in_p->body = in_p->payload = NULL;
    if (frame->kind == NF_MSG_NONE)
        return frame->body_total_bytes + frame->payload_total_bytes == 0
                   ? NF_OK
                   : NF_ERR_PROTOCOL;
    if (nf_msg_is_urgent(frame->kind))
        return accept_urgent(link, in_p);
    if (!link->assembling) {
        status = begin(link, frame);
        if (status != NF_OK)
            return status;
    } else if (!continues(link, frame)) {
        return NF_ERR_PROTOCOL;
    }
    if (frame->body_bytes > 0)
        in_p->body = link->body.data + frame->offset;
    payload_at = frame->offset > frame->body_total_bytes
                     ? frame->offset - frame->body_total_bytes
                     : 0;
    if (frame->payload_bytes > 0)
        in_p->payload = (uint8_t *)link->payload->data + payload_at;
    return NF_OK;
}

enum nf_status nf_link_finish(struct nf_link *link, const struct nf_link_in *in,
                              struct nf_msg *msg_p)
{
    const struct nf_frame *f = &in->frame;

    link->consumed_bytes += nf_frame_cost_bytes(f);
    if (link->holding && f->kind != NF_MSG_NONE && !nf_msg_is_urgent(f->kind))
        link->withheld_bytes += nf_frame_cost_bytes(f);
    if (f->consumed_bytes > link->confirmed_bytes)
        link->confirmed_bytes = f->consumed_bytes;
    /* no window is outside of this: keep to what was said before */
    if (f->window_bytes >= NF_LINK_WINDOW_BYTES &&
        f->window_bytes <= NF_LINK_WINDOW_MAX_BYTES)
        link->peer_window_bytes = f->window_bytes;
    if (f->kind == NF_MSG_NONE)
        return NF_WAIT;
    msg_p->kind = f->kind;
    msg_p->body_bytes = (size_t)f->body_total_bytes;
    msg_p->payload = NULL;
    if (nf_msg_is_urgent(f->kind)) {
        msg_p->body = link->urgent_body.data;
        return NF_OK;
    }
    link->got_bytes += (uint64_t)f->body_bytes + f->payload_bytes;
    if (link->got_bytes < f->body_total_bytes + f->payload_total_bytes)
        return NF_WAIT;
    msg_p->body = link->body.data;
    msg_p->payload = link->payload;
    link->payload = NULL;
    link->assembling = false;
    return NF_OK;
}
