/* Fuzzing hosts files.  One is either refused with one printable line or it is
 * a list of different hosts, each with a line for PVM that is read back as the
 * same host.
 *
 * With libFuzzer: see tests/fuzz/local.am.  Without: `fuzz_hosts FILE...`
 * replays inputs, and `fuzz_hosts` alone makes its own from fixed seeds. */
#include "config.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "master/hosts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void must(int condition, const char *what)
{
    if (!condition) {
        fprintf(stderr, "fuzz_hosts: %s\n", what);
        abort();
    }
}

static void check_refusal(enum nf_status status, const struct nf_error *err)
{
    must(status == NF_ERR_INVAL && err->status == status, "status");
    must(err->text[0] != '\0', "no reason");
    for (const char *c = err->text; *c != '\0'; c++)
        must((unsigned char)*c >= ' ', "the reason is more than one line");
}

static void check_host(const struct nf_host *host)
{
    struct nf_host again;
    size_t length = strlen(host->name);

    must(host->slaves <= 4096 && host->slots <= 4096, "counts");
    must(strncmp(host->line, host->name, length) == 0 &&
             (host->line[length] == '\0' || host->line[length] == ' '),
         "the line does not begin with the name");
    must(strpbrk(host->line, "\r\n\t#") == NULL, "more than a line");
    must(nf_host_parse(host->line, &again, NULL) == NF_OK,
         "its line is refused");
    must(strcmp(again.name, host->name) == 0 &&
             strcmp(again.line, host->line) == 0,
         "its line is another host");
}

static void try_line(const uint8_t *data, size_t bytes)
{
    char *line = malloc(bytes + 1);
    struct nf_host host;
    struct nf_error err = { .status = NF_OK };
    enum nf_status status;

    must(line != NULL, "out of memory");
    if (bytes > 0)
        memcpy(line, data, bytes);
    line[bytes] = '\0';
    status = nf_host_parse(line, &host, &err);
    if (status != NF_OK)
        check_refusal(status, &err);
    else if (host.name[0] != '\0')
        check_host(&host);
    free(line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    char path[64];
    struct nf_hosts hosts = { NULL, 0 };
    struct nf_error err = { .status = NF_OK };
    enum nf_status status;

    must(fd >= 0 && write(fd, data, bytes) == (ssize_t)bytes, "memfd");
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    status = nf_hosts_read(path, &hosts, &err);
    close(fd);
    if (status != NF_OK)
        check_refusal(status, &err);
    must((status == NF_OK) == (hosts.count > 0), "how many");
    for (size_t i = 0; i < hosts.count; i++) {
        check_host(&hosts.list[i]);
        for (size_t j = 0; j < i && j < 64; j++)
            must(strcmp(hosts.list[i].name, hosts.list[j].name) != 0,
                 "one is there twice");
    }
    nf_hosts_fini(&hosts);
    try_line(data, bytes);
    return 0;
}

#ifndef NF_LIBFUZZER
#include "tests/fuzz/fuzz_text.h"

static const char *const texts[] = {
    "# hosts\nws1\nws2 slaves=2 slots=4\nws3\tep=/opt/nowfarm/bin # why\n",
    "localhost\n127.0.0.1 slots=3\nws-1.example.org sp=1000 wd=/tmp dx=/x\n",
    "ws1\r\n\r\nws2 lo=me bx=/a slaves=4096\r\n",
};

int main(int argc, char **argv)
{
    return fuzz_text_main(argc, argv, texts, sizeof(texts) / sizeof(texts[0]));
}
#endif
