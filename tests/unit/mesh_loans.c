/* Scenes of test_mesh_pvm in which payloads are read from their sender's memory.  Where
 * the system does not allow that there is nothing to play. */
#include "config.h"
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/net/mesh_pvm.h"
#include "tests/unit/link_pipe.h"
#include "tests/unit/mesh_lending.h"
#include "tests/unit/mesh_play.h"

enum { BYTES = LENT_BYTES, PART_BYTES = 100 << 10, TIMES = 6 };

bool can_read(void)
{
    static const uint64_t word = 4711;
    const struct nf_memory_lent lent = {
        .mark = { (uint32_t)getpid(), (uintptr_t)&word, word }
    };

    return nf_memory_read(&lent, 0, NULL, 0) == NF_OK;
}

static bool all_lend(const struct nf_mesh *mesh)
{
    const struct mesh_pvm *p = (const struct mesh_pvm *)mesh;
    bool all = true;

    for (uint32_t i = 0; i < mesh->ranks; i++)
        all = all && (i == me || p->members[i].lends);
    return all;
}

struct nf_mesh *open_lending(void)
{
    struct nf_mesh *mesh = open_mesh(1);
    int64_t until_us = nf_now_us() + PATIENCE_US;
    struct nf_mesh_event event;

    while (!all_lend(mesh)) {
        CHECK(nf_now_us() < until_us);
        if (nf_mesh_next(mesh, &event) == NF_OK)
            note_ahead(&event); /* of the meeting */
        else if (!all_lend(mesh))
            nf_mesh_wait(mesh, 100000);
    }
    meet(mesh, 99);
    return mesh;
}

/* Every second part of a blob, from its end on. */
static struct nf_blob *chain_of(struct nf_blob *blob, uint32_t parts)
{
    struct nf_blob *chain = nf_blob_chain(parts, NF_BYTES);

    CHECK(chain != NULL);
    for (uint32_t i = parts; i-- > 0;) {
        const struct nf_blob_part part = {
            (const uint8_t *)blob->data + (size_t)2 * i * PART_BYTES, PART_BYTES,
            blob
        };

        nf_blob_add(chain, &part);
    }
    return chain;
}

static bool is_chain_of(const struct nf_blob *came, const struct nf_blob *blob,
                        uint32_t parts)
{
    const uint8_t *at = came->data;
    bool same = came->bytes == (size_t)parts * PART_BYTES;

    for (uint32_t i = parts; same && i-- > 0; at += PART_BYTES)
        same = memcmp(at, (const uint8_t *)blob->data + (size_t)2 * i * PART_BYTES,
                      PART_BYTES) == 0;
    return same;
}

void hear_payload(struct nf_mesh *mesh, uint32_t word,
                  const struct nf_blob *whole, uint32_t parts)
{
    struct nf_mesh_event event = next(mesh);

    CHECK(word_of(&event) == word && event.message.payload != NULL);
    if (parts > 0)
        CHECK(is_chain_of(event.message.payload, whole, parts));
    else
        CHECK(pipe_payload_is(event.message.payload, 1, BYTES, NF_FLOAT64));
    nf_blob_unref(event.message.payload);
}

/* Smaller ones are lent if there is much of them, and none below 64 KiB. */
static void lend_in_bulk(struct nf_mesh *mesh, uint32_t word)
{
    static const struct {
        size_t bytes;
        bool in_bulk, lent;
    } tries[] = {
        { 65536, true, true },   { 65535, true, false },
        { 262143, true, true },  { 262143, false, false },
        { 262144, false, true },
    };
    enum { TRIES = sizeof(tries) / sizeof(*tries) };
    const struct mesh_pvm *p = (const struct mesh_pvm *)mesh;

    for (uint32_t i = 0; i < TRIES; i++) {
        struct nf_blob *payload = pipe_payload(i, tries[i].bytes, NF_BYTES);
        const uint32_t now = word + i;
        const struct nf_mesh_message m = {
            .head = (const uint8_t *)&now,
            .head_bytes = sizeof(now),
            .payload = payload,
            .in_bulk = tries[i].in_bulk,
        };
        uint64_t before = p->nloans;

        CHECK(nf_mesh_send(mesh, 1 - me, &m) == NF_OK);
        CHECK((p->nloans > before) == tries[i].lent);
        nf_blob_unref(payload);
    }
    for (uint32_t i = 0; i < TRIES; i++) {
        struct nf_mesh_event event = next(mesh);

        CHECK(word_of(&event) == word + i);
        CHECK(pipe_payload_is(event.message.payload, i, tries[i].bytes, NF_BYTES));
        nf_blob_unref(event.message.payload);
    }
    drain(mesh, 1 - me);
}

/* Both ways at once, in order with what goes by the link. */
void play_lent(void)
{
    enum { PARTS = 100 };
    struct nf_blob *payload = pipe_payload(1, BYTES, NF_FLOAT64), *chain;
    struct nf_blob *small = pipe_payload(2, 3000, NF_BYTES);
    struct nf_mesh *mesh;
    uint64_t moved_bytes;

    if (!can_read())
        return;
    mesh = open_lending();
    chain = chain_of(payload, PARTS);
    moved_bytes = nf_mesh_moved_bytes(mesh);
    for (uint32_t i = 0; i < TIMES; i++) {
        say(mesh, 1 - me, 3 * i, payload);
        say(mesh, 1 - me, 3 * i + 1, small);
        say(mesh, 1 - me, 3 * i + 2, chain);
    }
    CHECK(nf_mesh_backlog_bytes(mesh, 1 - me) >= TIMES * (size_t)BYTES);
    CHECK(atomic_load(&payload->refs) >= 1 + TIMES);
    for (uint32_t i = 0; i < TIMES; i++) {
        hear_payload(mesh, 3 * i, payload, 0);
        hear(mesh, 1 - me, 3 * i + 1);
        hear_payload(mesh, 3 * i + 2, payload, PARTS);
    }
    drain(mesh, 1 - me);
    CHECK(nf_mesh_moved_bytes(mesh) - moved_bytes >= 2 * TIMES * (size_t)BYTES);
    CHECK(atomic_load(&chain->refs) == 1);
    nf_blob_unref(chain);
    CHECK(atomic_load(&payload->refs) == 1);
    meet(mesh, 98);
    lend_in_bulk(mesh, 3 * TIMES);
    meet(mesh, 100);
    nf_mesh_close(mesh);
    nf_blob_unref(payload);
    nf_blob_unref(small);
}

static void unmap(void *data)
{
    munmap(data, BYTES);
}

/* In memory that is not there any more when nobody has it. */
static struct nf_blob *mapped_payload(void)
{
    void *data = mmap(NULL, BYTES, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct nf_blob *blob;

    CHECK(data != MAP_FAILED);
    memset(data, 1, BYTES);
    blob = nf_blob_wrap(data, BYTES, NF_BYTES, unmap);
    CHECK(blob != NULL);
    return blob;
}

/* What was not read is dropped, as if it had never been sent. */
void play_lent_back(void)
{
    struct nf_blob *payload = mapped_payload();
    struct nf_mesh *mesh;

    if (!can_read())
        return;
    mesh = open_lending();
    if (me == 0) {
        struct nf_blob *other = pipe_payload(1, BYTES, NF_FLOAT64);

        say(mesh, 1, 1, payload);
        say(mesh, 1, 2, other);
        CHECK(atomic_load(&payload->refs) == 2);
        nf_mesh_drop(mesh);
        CHECK(nf_mesh_backlog_bytes(mesh, 1) == 0);
        CHECK(atomic_load(&payload->refs) == 1);
        CHECK(atomic_load(&other->refs) == 1);
        nf_blob_unref(payload); /* this memory is not there any more */
        memset(other->data, 9, BYTES);
        say(mesh, 1, 3, NULL);
        tell(1);
        nf_blob_unref(other);
    } else {
        await_word(0);
        hear(mesh, 0, 3);
        nf_blob_unref(payload);
    }
    meet(mesh, 5);
    nf_mesh_close(mesh);
}

/* Bytes that are only lent to the payload are lent on; their owner may have them back,
 * of all who have not read them. */
void play_lent_lent(void)
{
    static uint8_t bytes[1 << 20];
    struct nf_blob *wrapped = nf_blob_wrap(bytes, sizeof(bytes), NF_BYTES, NULL);
    struct nf_blob *payload = pipe_payload(1, BYTES, NF_FLOAT64);
    struct nf_mesh *mesh;
    size_t backlog_bytes;

    if (!can_read())
        return;
    mesh = open_lending();
    if (me == 0) {
        say(mesh, 1, 1, payload);
        say(mesh, 1, 2, wrapped);
        say(mesh, 1, 3, payload);
        say(mesh, 1, 4, wrapped);
        CHECK(atomic_load(&wrapped->refs) == 3);
        backlog_bytes = nf_mesh_backlog_bytes(mesh, 1);
        nf_mesh_take_back(mesh, wrapped);
        CHECK(nf_mesh_backlog_bytes(mesh, 1) == backlog_bytes - 2 * sizeof(bytes));
        CHECK(atomic_load(&wrapped->refs) == 1);
        CHECK(atomic_load(&payload->refs) == 3);
        memset(bytes, 1, sizeof(bytes));
        say(mesh, 1, 5, wrapped);
        CHECK(atomic_load(&wrapped->refs) == 2);
        tell(1);
        drain(mesh, 1);
        CHECK(atomic_load(&wrapped->refs) == 1);
    } else {
        struct nf_mesh_event event;

        await_word(0);
        hear_payload(mesh, 1, payload, 0);
        hear_payload(mesh, 3, payload, 0);
        event = next(mesh);
        CHECK(word_of(&event) == 5 && event.message.payload->bytes == sizeof(bytes));
        for (size_t i = 0; i < sizeof(bytes); i++)
            CHECK(((uint8_t *)event.message.payload->data)[i] == 1);
        nf_blob_unref(event.message.payload);
    }
    meet(mesh, 6);
    nf_mesh_close(mesh);
    nf_blob_unref(wrapped);
    nf_blob_unref(payload);
}

/* The way to a reader breaks, and it lives: the bytes may change before anybody hears of
 * that, and it must not believe them. */
void play_lent_cut(void)
{
    static uint8_t bytes[1 << 20];
    struct nf_blob *wrapped = nf_blob_wrap(bytes, sizeof(bytes), NF_BYTES, NULL);
    struct nf_mesh *mesh;
    struct nf_mesh_event event;

    if (!can_read())
        return;
    mesh = open_lending();
    if (me == 0) {
        say(mesh, 1, 1, wrapped);
        CHECK(atomic_load(&wrapped->refs) == 2);
        nf_mesh_space_cut(tids[1]);
        CHECK(nf_mesh_backlog_bytes(mesh, 1) == 0);
        CHECK(atomic_load(&wrapped->refs) == 2);
        memset(bytes, 9, sizeof(bytes));
        tell(1);
        await_word(1);
    } else {
        await_word(0);
        for (int turn = 0; turn < 100; turn++) {
            CHECK(nf_mesh_next(mesh, &event) == NF_WAIT);
            usleep(1000);
        }
        tell(0);
    }
    nf_mesh_close(mesh);
    CHECK(atomic_load(&wrapped->refs) == 1);
    nf_blob_unref(wrapped);
}

struct mesh_ground ground;

uint8_t *find_ground(void *self, uint32_t member, const uint8_t *head,
                            size_t head_bytes, size_t bytes)
{
    CHECK(self == &ground && member == 1 - me && bytes == BYTES);
    CHECK(head_bytes > 0 && head != NULL);
    return ground.asked++ < ground.most ? ground.to : NULL;
}

/* They go where the reader wants them, and nowhere else once it does not. */
void play_lent_landed(void)
{
    struct nf_blob *payload = pipe_payload(1, BYTES, NF_FLOAT64);
    struct nf_mesh *mesh;
    struct nf_mesh_event event;

    if (!can_read())
        return;
    mesh = open_lending();
    if (me == 0) {
        for (uint32_t word = 1; word <= 3; word++)
            say(mesh, 1, word, payload);
        drain(mesh, 1);
    } else {
        mesh->landing = (struct nf_mesh_landing){ .self = &ground,
                                                  .find = find_ground };
        ground.to = ground.bytes;
        ground.most = INT_MAX;
        event = next(mesh);
        CHECK(word_of(&event) == 1 && ground.asked > 1);
        CHECK(event.message.payload->data == ground.bytes);
        CHECK(nf_blob_is_borrowed(event.message.payload));
        CHECK(pipe_payload_is(event.message.payload, 1, BYTES, NF_FLOAT64));
        nf_blob_unref(event.message.payload);
        memset(ground.bytes, 7, BYTES);
        ground.asked = 0;
        ground.most = 1;
        hear_payload(mesh, 2, payload, 0);
        CHECK(ground.asked == 2 && ground.bytes[BYTES - 1] == 7);
        mesh->landing.find = NULL;
        hear_payload(mesh, 3, payload, 0);
    }
    meet(mesh, 7);
    nf_mesh_close(mesh);
    nf_blob_unref(payload);
}

/* Memory that nobody can read so is sent, and where it can't be put so it is copied. */
void play_lent_nowhere(void)
{
    static uint8_t plain[1 << 20];
    struct nf_blob *payload;
    void *closed;
    struct nf_mesh *mesh;
    struct nf_mesh_event event;

    /* to valgrind it is an error to ask for what the system refuses */
    if (!can_read() || getenv("NF_VALGRIND") != NULL)
        return;
    payload = pipe_payload(1, BYTES, NF_FLOAT64);
    closed = mmap(NULL, BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(closed != MAP_FAILED);
    CHECK(nf_memory_may_read(plain, sizeof(plain)));
    CHECK(!nf_memory_may_read(closed, BYTES));
    mesh = open_lending();
    if (me == 0) {
        say(mesh, 1, 1, payload);
        drain(mesh, 1);
    } else {
        ground.to = closed;
        ground.asked = 0;
        ground.most = INT_MAX;
        mesh->landing = (struct nf_mesh_landing){ .self = &ground,
                                                  .find = find_ground };
        event = next(mesh);
        CHECK(word_of(&event) == 1 && ground.asked == 1);
        CHECK(!nf_blob_is_borrowed(event.message.payload));
        CHECK(pipe_payload_is(event.message.payload, 1, BYTES, NF_FLOAT64));
        nf_blob_unref(event.message.payload);
        mesh->landing.find = NULL;
    }
    meet(mesh, 8);
    nf_mesh_close(mesh);
    nf_blob_unref(payload);
    munmap(closed, BYTES);
}

static void await_death(pid_t pid)
{
    char path[64], text[256];
    bool dead = false;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    while (!dead) {
        FILE *file = fopen(path, "r");

        dead = file == NULL || fgets(text, sizeof(text), file) == NULL ||
               strstr(text, ") Z ") != NULL || strstr(text, ") X ") != NULL;
        if (file != NULL)
            fclose(file);
        usleep(10000);
    }
}

/* Of scenes in which task 1 dies, where the system lets nobody read: it dies all the
 * same.  @return whether that was all */
static bool dies_unread(void)
{
    if (can_read())
        return false;
    if (me == 1)
        raise(SIGKILL);
    return true;
}

/* Who lends and dies has said neither that nor what follows. */
void play_lent_death(void)
{
    struct nf_blob *payload = pipe_payload(1, BYTES, NF_FLOAT64);
    struct nf_mesh *mesh;
    struct nf_mesh_event event;
    uint32_t pid;

    if (dies_unread())
        return;
    mesh = open_lending();
    if (me == 1) {
        say(mesh, 0, (uint32_t)getpid(), NULL);
        say(mesh, 0, 1, payload);
        say(mesh, 0, 2, NULL);
        raise(SIGKILL);
    }
    event = next(mesh);
    pid = word_of(&event);
    await_death((pid_t)pid);
    event = next(mesh);
    CHECK(event.kind == NF_MESH_LEFT && event.member == 1);
    nf_mesh_close(mesh);
    nf_blob_unref(payload);
}

/* Who dies, or goes, without having read gives all back. */
void play_lent_unread(void)
{
    struct nf_blob *payload = pipe_payload(1, BYTES, NF_FLOAT64);
    struct nf_mesh *mesh;
    struct nf_mesh_event event;

    if (dies_unread())
        return;
    mesh = open_lending();
    if (me == 1) {
        await_word(0);
        raise(SIGKILL);
    }
    say(mesh, 1, 1, payload);
    CHECK(nf_mesh_backlog_bytes(mesh, 1) >= BYTES);
    tell(1);
    event = next(mesh);
    CHECK(event.kind == NF_MESH_LEFT && event.member == 1);
    CHECK(nf_mesh_backlog_bytes(mesh, 1) == 0);
    CHECK(atomic_load(&payload->refs) == 1);
    nf_mesh_close(mesh);
    nf_blob_unref(payload);
}

void play_lent_closed(void)
{
    struct nf_blob *payload = pipe_payload(1, BYTES, NF_FLOAT64);
    struct nf_mesh *mesh;
    struct nf_mesh_event event;

    if (!can_read())
        return;
    mesh = open_lending();
    if (me == 1) {
        await_word(0);
    } else {
        say(mesh, 1, 1, payload);
        tell(1);
        event = next(mesh);
        CHECK(event.kind == NF_MESH_LEFT && event.member == 1);
        CHECK(atomic_load(&payload->refs) == 1);
    }
    nf_mesh_close(mesh);
    nf_blob_unref(payload);
}

/* The reader has made its subset before it hears how to know the other's memory, who makes
 * its own after it hears that it may lend. */
void play_lent_subset(void)
{
    static const uint32_t both[] = { 0, 1 };
    struct nf_blob *payload = pipe_payload(1, BYTES, NF_FLOAT64);
    struct nf_mesh *mesh, *sub;
    struct nf_mesh_event event;
    int64_t until_us = nf_now_us() + PATIENCE_US;

    if (!can_read())
        return;
    setenv("NOWFARM_LOANS", "no", 1);
    mesh = open_mesh(1);
    meet(mesh, 1);
    if (me == 1) {
        CHECK(nf_mesh_subset(mesh, both, 2, 6, &sub, NULL) == NF_OK);
        unsetenv("NOWFARM_LOANS");
        tell(0);
        hear_payload(sub, 2, payload, 0);
    } else {
        struct mesh_member *other = &((struct mesh_pvm *)mesh)->members[1];

        await_word(1);
        unsetenv("NOWFARM_LOANS");
        other->shown = false;
        nf_mesh_pvm_touch((struct mesh_pvm *)mesh, 1);
        while (!other->lends) {
            CHECK(nf_now_us() < until_us);
            CHECK(nf_mesh_next(mesh, &event) == NF_WAIT);
            if (!other->lends)
                nf_mesh_wait(mesh, 100000);
        }
        CHECK(nf_mesh_subset(mesh, both, 2, 6, &sub, NULL) == NF_OK);
        say(sub, 1, 2, payload);
        CHECK(((struct mesh_pvm *)sub)->members[1].loans != NULL);
        drain(sub, 1);
    }
    meet(sub, 3);
    nf_mesh_close(mesh);
    nf_mesh_close(sub);
    nf_blob_unref(payload);
}
