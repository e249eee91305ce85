#ifndef NF_MASTER_HOSTS_H
#define NF_MASTER_HOSTS_H
/** @file hosts.h  The hosts file: which workstations, how many slaves on each.
 *
 *      # one host a line; a number sign starts a comment
 *      ws1
 *      ws2  slaves=2 slots=4       # two slave tasks, four threads each
 *      ws3  ep=/opt/nowfarm/bin    # other words go to PVM (hostfile(5))
 */
#include <stdbool.h>
#include "nowfarm.h"

struct nf_host {
    char name[64];
    char line[256];      /**< for PVM: the name and PVM's own options */
    uint32_t slaves;     /**< 0: not said */
    uint32_t slots;      /**< 0: not said */
};

struct nf_hosts {
    struct nf_host *list;
    size_t count;
};

/** Read one line: a name, then words.
 *  @param host_p  its name is empty if the line is blank or a comment
 *  @retval NF_ERR_INVAL  err names the word that is wrong */
enum nf_status nf_host_parse(const char *line, struct nf_host *host_p,
                             struct nf_error *err);

/** @retval NF_ERR_INVAL  err names the file and the number of the bad line; or
 *                        no host in it
 *  @param hosts_p  free with nf_hosts_fini */
enum nf_status nf_hosts_read(const char *path, struct nf_hosts *hosts_p,
                             struct nf_error *err);
void nf_hosts_fini(struct nf_hosts *hosts);

/** How many slaves host @p i of @p count gets when @p slaves are spread evenly:
 *  the first ones get one more. */
uint32_t nf_hosts_share(uint32_t slaves, size_t count, size_t i);
#endif
