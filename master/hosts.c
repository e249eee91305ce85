/* The hosts file.  Errors name the line, because nobody finds them otherwise.
 */
#include "config.h"
#include "master/hosts.h"
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "common/base/alloc.h"
#include "common/base/error.h"
#include "common/base/units.h"

static const char *const pvm_words[] = { "ep=", "dx=", "lo=", "wd=",
                                         "sp=", "bx=", NULL };

static bool is_pvm_word(const char *word)
{
    for (size_t i = 0; pvm_words[i] != NULL; i++)
        if (strncmp(word, pvm_words[i], 3) == 0 && word[3] != '\0')
            return true;
    return false;
}

static bool is_host_name(const char *name)
{
    if (strlen(name) >= sizeof(((struct nf_host *)0)->name) ||
        !isalnum((unsigned char)name[0]))
        return false;
    for (const char *c = name; *c != '\0'; c++)
        if (!isalnum((unsigned char)*c) && strchr(".-_", *c) == NULL)
            return false;
    return true;
}

static enum nf_status read_word(struct nf_host *host, const char *word,
                                struct nf_error *err)
{
    uint64_t value;
    size_t used = strlen(host->line);

    if (strncmp(word, "slaves=", 7) == 0 || strncmp(word, "slots=", 6) == 0) {
        const char *text = strchr(word, '=') + 1;

        if (nf_parse_count(text, 1, 4096, &value) != NF_OK)
            return nf_fail(err, NF_ERR_INVAL,
                           "\"%.80s\": want a count from 1 to 4096", word);
        *(word[2] == 'a' ? &host->slaves : &host->slots) = (uint32_t)value;
        return NF_OK;
    }
    if (!is_pvm_word(word))
        return nf_fail(
            err, NF_ERR_INVAL,
            "\"%.80s\": want slaves=N, slots=N or PVM's ep=, dx=, lo=, "
            "wd=, sp=, bx=",
            word);
    if (used + strlen(word) + 2 > sizeof(host->line))
        return nf_fail(err, NF_ERR_INVAL, "line too long");
    snprintf(host->line + used, sizeof(host->line) - used, " %s", word);
    return NF_OK;
}

/* PVM knows this host by its own name; under "localhost" it would look for
 * another one, and reject it after a while. */
static const char *name_of(const char *word, char *own, size_t bytes)
{
    if (strcmp(word, "localhost") != 0 && strncmp(word, "127.", 4) != 0)
        return word;
    if (gethostname(own, bytes) != 0 || memchr(own, '\0', bytes) == NULL)
        return word;
    return own;
}

/* One line, its comment removed; *host_p->name stays empty for a blank one. */
static enum nf_status read_line(char *text, struct nf_host *host_p,
                                struct nf_error *err)
{
    char *rest, *word, own[sizeof(host_p->name)];
    enum nf_status status = NF_OK;

    memset(host_p, 0, sizeof(*host_p));
    text[strcspn(text, "#")] = '\0';
    word = strtok_r(text, " \t\r\n", &rest);
    if (word == NULL)
        return NF_OK;
    if (!is_host_name(word))
        return nf_fail(err, NF_ERR_INVAL, "\"%.80s\" is not a host name", word);
    snprintf(host_p->name, sizeof(host_p->name), "%s",
             name_of(word, own, sizeof(own)));
    snprintf(host_p->line, sizeof(host_p->line), "%s", host_p->name);
    while (status == NF_OK && (word = strtok_r(NULL, " \t\r\n", &rest)) != NULL)
        status = read_word(host_p, word, err);
    return status;
}

enum nf_status nf_host_parse(const char *line, struct nf_host *host_p,
                             struct nf_error *err)
{
    char *text = nf_strdup(line);
    enum nf_status status;

    if (text == NULL)
        return nf_fail(err, NF_ERR_NOMEM, "out of memory");
    status = read_line(text, host_p, err);
    nf_free(text);
    return status;
}

static enum nf_status add(struct nf_hosts *hosts, const struct nf_host *host,
                          struct nf_error *err)
{
    struct nf_host *list;

    for (size_t i = 0; i < hosts->count; i++)
        if (strcmp(hosts->list[i].name, host->name) == 0)
            return nf_fail(err, NF_ERR_INVAL, "host %s is there twice",
                           host->name);
    list = nf_realloc(hosts->list, (hosts->count + 1) * sizeof(*list));
    if (list == NULL)
        return nf_fail(err, NF_ERR_NOMEM, "out of memory");
    hosts->list = list;
    list[hosts->count++] = *host;
    return NF_OK;
}

static enum nf_status read_stream(FILE *file, const char *path,
                                  struct nf_hosts *hosts_p,
                                  struct nf_error *err)
{
    char *text = NULL;
    size_t capacity = 0;
    ssize_t bytes;
    struct nf_host host;
    enum nf_status status = NF_OK;

    for (unsigned number = 1;
         status == NF_OK && (bytes = getline(&text, &capacity, file)) >= 0;
         number++) {
        if (strlen(text) != (size_t)bytes)
            status = nf_fail(err, NF_ERR_INVAL, "not a text file");
        else
            status = read_line(text, &host, err);
        if (status == NF_OK && host.name[0] != '\0')
            status = add(hosts_p, &host, err);
        if (status != NF_OK)
            nf_fail_prefix(err, "%s:%u", path, number);
    }
    free(text);
    if (status == NF_OK && ferror(file))
        status = nf_fail(err, NF_ERR_INVAL, "%s: %s", path, strerror(errno));
    if (status == NF_OK && hosts_p->count == 0)
        status = nf_fail(err, NF_ERR_INVAL,
                         "%s: no host in it (want one name a line)", path);
    return status;
}

enum nf_status nf_hosts_read(const char *path, struct nf_hosts *hosts_p,
                             struct nf_error *err)
{
    struct nf_hosts hosts = { NULL, 0 };
    struct stat st;
    enum nf_status status;
    /* opening a pipe would wait for somebody to write to it */
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;

    if (file == NULL && fd >= 0)
        close(fd);
    if (file == NULL)
        return nf_fail(err, NF_ERR_INVAL, "hosts file %s: %s", path,
                       strerror(errno));
    if (fstat(fileno(file), &st) != 0 || !S_ISREG(st.st_mode))
        status = nf_fail(err, NF_ERR_INVAL, "hosts file %s: not a file", path);
    else
        status = read_stream(file, path, &hosts, err);
    fclose(file);
    if (status != NF_OK)
        nf_hosts_fini(&hosts);
    else
        *hosts_p = hosts;
    return status;
}

void nf_hosts_fini(struct nf_hosts *hosts)
{
    nf_free(hosts->list);
    hosts->list = NULL;
    hosts->count = 0;
}

uint32_t nf_hosts_share(uint32_t slaves, size_t count, size_t i)
{
    return (uint32_t)(slaves / count + (i < slaves % count));
}
