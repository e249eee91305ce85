#ifndef NF_APPS_LAB_LAB_CONFIG_H
#define NF_APPS_LAB_LAB_CONFIG_H
/** @file lab_config.h  What a lab is made of: DIR/config.json, written at up
 *  and rewritten with every change. */
#include <jansson.h>
#include <stdbool.h>
#include "apps/lab/lab_dir.h"

/** ws0 and at most 200 more; the network is 10.77.0.0/24. */
enum { LAB_MAX_HOSTS = 201, LAB_MAX_FRAMES = 16, LAB_ADDRESS_BYTES = 16, LAB_HOST_BYTES = 12 };

struct lab_host {
    uint64_t rate_bps;  /**< of its link, each way; 0: no limit */
    int64_t latency_us; /**< added to what it sends */
    double cpu_percent; /**< of one core; 0: no quota */
    bool cut;           /**< its cable is pulled */
};

struct lab_config {
    bool hub;            /**< one shared half-duplex medium, not a switch */
    bool private_tmp;    /**< a /tmp for each host */
    uint64_t medium_bps; /**< rate of the hub's medium */
    unsigned frames;     /**< that links let through at a time, if so many take
                              longer than what is let through in any case */
    unsigned nhosts;
    struct lab_host hosts[LAB_MAX_HOSTS];
};

/** "ws3" */
void lab_host_name(unsigned index, char name_p[LAB_HOST_BYTES]);
/** "10.77.0.13" */
void lab_host_address(unsigned index, char address_p[LAB_ADDRESS_BYTES]);
/** The index of the host called @p name.
 *  @retval NF_ERR_INVAL  no such host */
enum nf_status lab_host_index(const struct lab *lab,
                              const struct lab_config *config, const char *name,
                              unsigned *index_p, struct nf_error *err);

/** @retval NF_ERR_IO  @retval NF_ERR_NOMEM */
enum nf_status lab_config_save(const struct lab *lab,
                               const struct lab_config *config,
                               struct nf_error *err);
/** @retval NF_ERR_UNREACHABLE  the lab has none: it is not up
 *  @retval NF_ERR_IO           it is damaged */
enum nf_status lab_config_load(const struct lab *lab,
                               struct lab_config *config_p,
                               struct nf_error *err);
/** As JSON; what is not limited is null.
 *  @return a new reference, NULL: out of memory */
json_t *lab_config_to_json(const struct lab_config *config);
#endif
