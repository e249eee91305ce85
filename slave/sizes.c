/* Sizes in runs.  O(runs) to write and to read. */
#include "config.h"
#include "slave/sizes.h"
#include <string.h>

enum { NUMBER_MOST = 10 }; /* bytes of 64 bits */

static void put_number(struct nf_sizes *sizes, uint64_t number)
{
    uint8_t bytes[NUMBER_MOST];
    size_t n = 0;

    for (; number > 0x7f; number >>= 7)
        bytes[n++] = (uint8_t)(number | 0x80);
    bytes[n++] = (uint8_t)number;
    if (nf_buf_append(&sizes->out, bytes, n) != NF_OK)
        sizes->nomem = true;
}

static void put_run(struct nf_sizes *sizes)
{
    if (sizes->run == 0)
        return;
    put_number(sizes, sizes->bytes);
    put_number(sizes, sizes->run);
    sizes->run = 0;
}

static void add(struct nf_sizes *sizes, uint64_t bytes, uint64_t count)
{
    if (count == 0)
        return;
    if (bytes != sizes->bytes)
        put_run(sizes);
    sizes->bytes = bytes;
    sizes->run += count;
    sizes->upto += count;
}

void nf_sizes_put(struct nf_sizes *sizes, uint64_t at, uint64_t bytes)
{
    if (bytes == 0)
        return;
    add(sizes, 0, at - sizes->upto);
    add(sizes, bytes, 1);
}

enum nf_status nf_sizes_end(struct nf_sizes *sizes)
{
    put_run(sizes);
    return sizes->nomem ? NF_ERR_NOMEM : NF_OK;
}

void nf_sizes_fini(struct nf_sizes *sizes)
{
    nf_buf_fini(&sizes->out);
    memset(sizes, 0, sizeof(*sizes));
}

struct nf_blob *nf_sizes_take(struct nf_sizes *sizes)
{
    struct nf_blob *blob = NULL;

    if (nf_sizes_end(sizes) == NF_OK)
        blob = nf_blob_create(sizes->out.bytes, NF_BYTES);
    if (blob != NULL && sizes->out.bytes > 0)
        memcpy(blob->data, sizes->out.data, sizes->out.bytes);
    nf_buf_reset(&sizes->out);
    *sizes = (struct nf_sizes){ .out = sizes->out };
    return blob;
}

struct nf_blob *nf_sizes_of(const uint64_t *bytes, uint64_t count)
{
    struct nf_sizes sizes = { .upto = 0 };
    struct nf_blob *blob;

    for (uint64_t i = 0; i < count; i++)
        nf_sizes_put(&sizes, i, bytes[i]);
    blob = nf_sizes_take(&sizes);
    nf_sizes_fini(&sizes);
    return blob;
}

/* @return false: it does not end, or is too large */
static bool get_number(struct nf_sizes_reader *reader, uint64_t *number_p)
{
    uint64_t number = 0;

    for (unsigned shift = 0; shift < 64 && reader->at < reader->end;
         shift += 7) {
        uint64_t bits = *reader->at & 0x7f;

        if (shift == 63 && bits > 1)
            return false;
        number |= bits << shift;
        if ((*reader->at++ & 0x80) == 0) {
            *number_p = number;
            return true;
        }
    }
    return false;
}

uint64_t nf_sizes_next(struct nf_sizes_reader *reader, uint64_t most,
                       uint64_t *bytes_p)
{
    uint64_t count = most;

    if (reader->left == 0 && reader->at == reader->end) {
        *bytes_p = 0;
        return most;
    }
    if (reader->left == 0 &&
        (!get_number(reader, &reader->bytes) ||
         !get_number(reader, &reader->left) || reader->left == 0))
        return 0;
    if (count > reader->left)
        count = reader->left;
    reader->left -= count;
    *bytes_p = reader->bytes;
    return count;
}

bool nf_sizes_at_end(const struct nf_sizes_reader *reader)
{
    return reader->left == 0 && reader->at == reader->end;
}

bool nf_sizes_begins(const struct nf_blob *sizes, uint64_t count,
                     uint64_t *at_p)
{
    struct nf_sizes_reader reader = nf_sizes_read(sizes->data, sizes->bytes);
    uint64_t sum = 0, bytes;

    for (uint64_t i = 0; i < count;) {
        uint64_t run = nf_sizes_next(&reader, count - i, &bytes);

        if (run == 0)
            return false;
        for (uint64_t end = i + run; i < end; i++) {
            at_p[i] = sum;
            sum += bytes;
        }
    }
    at_p[count] = sum;
    return nf_sizes_at_end(&reader);
}
