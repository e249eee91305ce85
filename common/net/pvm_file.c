/* The file by which tasks find the local pvmd, and whether it is stale. */
#include "config.h"
#include <arpa/inet.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include "common/net/pvm.h"

const char *nf_pvm_folder(void)
{
    const char *folder = getenv("PVM_TMP");

    return folder != NULL && *folder != '\0' ? folder : "/tmp";
}

void nf_pvm_socket_file(char *path_p, size_t bytes)
{
    const char *name = getenv("PVM_VMID");
    bool named = name != NULL && *name != '\0';

    snprintf(path_p, bytes, "%s/pvmd.%ld%s%s", nf_pvm_folder(), (long)getuid(),
             named ? "." : "", named ? name : "");
}

/* The address in PVM's file: of a local socket, or "IP:PORT" in hexadecimal. */
static bool address_answers(const char *text)
{
    union {
        struct sockaddr any;
        struct sockaddr_un local;
        struct sockaddr_in inet;
    } to = { .any = { 0 } };
    socklen_t bytes = sizeof(to.local);
    unsigned ip, port;
    int fd, code;

    if (text[0] == '/' && strlen(text) < sizeof(to.local.sun_path)) {
        to.local.sun_family = AF_UNIX;
        memcpy(to.local.sun_path, text, strlen(text) + 1);
    } else if (sscanf(text, "%x:%x", &ip, &port) == 2) {
        to.inet.sin_family = AF_INET;
        to.inet.sin_addr.s_addr = htonl(ip);
        to.inet.sin_port = htons((uint16_t)port);
        bytes = sizeof(to.inet);
    } else {
        return false;
    }
    fd = socket(to.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return true; /* unknown: let libpvm find out */
    code = connect(fd, &to.any, bytes);
    close(fd);
    return code == 0;
}

bool nf_pvm_answers(void)
{
    char path[PATH_MAX], text[256] = "";
    FILE *file;

    nf_pvm_socket_file(path, sizeof(path));
    file = fopen(path, "r");
    if (file == NULL)
        return false;
    if (fgets(text, sizeof(text), file) == NULL)
        text[0] = '\0';
    fclose(file);
    text[strcspn(text, "\n")] = '\0';
    return address_answers(text);
}
