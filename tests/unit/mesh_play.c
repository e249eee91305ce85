/* What the scenes of test_mesh_pvm have in common. */
#include "config.h"
#include "tests/unit/mesh_play.h"
#include <pvm3.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>
#include "common/base/clock.h"

uint32_t ahead[OWN_TASKS_MOST];

struct nf_mesh *open_mesh(uint64_t id)
{
    const struct nf_mesh_terms terms = { .id = id, .timeout_us = PATIENCE_US };
    struct nf_error err = { NF_OK, "" };
    struct nf_mesh *mesh = NULL;

    if (nf_mesh_open_pvm(tids, ntasks, &terms, &mesh, &err) != NF_OK)
        fprintf(stderr, "task %u: %s\n", me, err.text);
    CHECK(mesh != NULL && mesh->rank == me && mesh->ranks == ntasks);
    return mesh;
}

void say(struct nf_mesh *mesh, uint32_t to, uint32_t word,
         struct nf_blob *payload)
{
    const struct nf_mesh_message m = {
        .head = (const uint8_t *)&word,
        .head_bytes = sizeof(word),
        .payload = payload,
    };

    CHECK(nf_mesh_send(mesh, to, &m) == NF_OK);
}

uint32_t word_of(const struct nf_mesh_event *event)
{
    uint32_t word = UINT32_MAX;

    CHECK(event->kind == NF_MESH_MESSAGE &&
          event->message.head_bytes == sizeof(word));
    memcpy(&word, event->message.head, sizeof(word));
    return word;
}

struct nf_mesh_event next(struct nf_mesh *mesh)
{
    int64_t until_us = nf_now_us() + PATIENCE_US;
    struct nf_mesh_event event;
    enum nf_status status;

    while ((status = nf_mesh_next(mesh, &event)) == NF_WAIT) {
        CHECK(nf_now_us() < until_us);
        nf_mesh_wait(mesh, 1000000);
    }
    CHECK(status == NF_OK);
    return event;
}

void hear(struct nf_mesh *mesh, uint32_t from, uint32_t word)
{
    struct nf_mesh_event event = next(mesh);

    CHECK(event.kind == NF_MESH_MESSAGE);
    CHECK(event.member == from);
    CHECK(word_of(&event) == word);
    nf_blob_unref(event.message.payload);
}

void note_ahead(const struct nf_mesh_event *event)
{
    CHECK(ahead[event->member] == 0);
    ahead[event->member] = word_of(event) + 1;
}

/* The other one may have done so before, and have begun to meet us. */
void drain(struct nf_mesh *mesh, uint32_t to)
{
    struct nf_mesh_event event;

    while (nf_mesh_backlog_bytes(mesh, to) > 0) {
        enum nf_status status = nf_mesh_next(mesh, &event);

        CHECK(status >= NF_OK);
        if (status == NF_OK && event.kind == NF_MESH_MESSAGE)
            note_ahead(&event);
        if (nf_mesh_backlog_bytes(mesh, to) > 0)
            CHECK(nf_mesh_wait(mesh, PATIENCE_US) == NF_OK);
    }
}

/* All wait for all. */
void meet(struct nf_mesh *mesh, uint32_t word)
{
    uint32_t got = 1;

    for (uint32_t i = 0; i < mesh->ranks; i++) {
        if (i == mesh->rank)
            continue;
        say(mesh, i, word, NULL);
        got += ahead[i] == word + 1;
        ahead[i] = 0;
    }
    while (got < mesh->ranks) {
        struct nf_mesh_event event = next(mesh);

        if (event.kind == NF_MESH_LEFT)
            continue; /* who has met all may go */
        if (word_of(&event) == word)
            got++;
        else
            note_ahead(&event);
    }
}

enum { TAG_WORD = 33, WORD_US = 120000000 };

void tell(uint32_t to)
{
    pvm_initsend(PvmDataRaw);
    CHECK(pvm_send(tids[to], TAG_WORD) == 0);
}

/* Who fails says nothing more. */
void await_word(uint32_t from)
{
    struct timeval limit = { .tv_sec = slowed_us(WORD_US) / 1000000 };

    CHECK(pvm_trecv(tids[from], TAG_WORD, &limit) > 0);
}

void await_stop(pid_t pid)
{
    char path[64], text[256] = "";

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    do {
        FILE *file = fopen(path, "r");

        usleep(10000);
        CHECK(file != NULL && fgets(text, sizeof(text), file) != NULL);
        fclose(file);
    } while (strstr(text, ") T ") == NULL);
}
