/* What a lab is made of, in memory and as JSON. */
#include "config.h"
#include "apps/lab/lab_config.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "common/base/error.h"
#include "common/base/units.h"

void lab_host_name(unsigned index, char name_p[LAB_HOST_BYTES])
{
    snprintf(name_p, LAB_HOST_BYTES, "ws%u", index % 1000);
}

void lab_host_address(unsigned index, char address_p[LAB_ADDRESS_BYTES])
{
    snprintf(address_p, LAB_ADDRESS_BYTES, "10.77.0.%u", 10 + index % 1000);
}

enum nf_status lab_host_index(const struct lab *lab,
                              const struct lab_config *config, const char *name,
                              unsigned *index_p, struct nf_error *err)
{
    char canonical[LAB_HOST_BYTES];
    uint64_t index;

    if (strncmp(name, "ws", 2) == 0 &&
        nf_parse_count(name + 2, 0, config->nhosts - 1, &index) == NF_OK) {
        lab_host_name((unsigned)index, canonical);
        if (strcmp(canonical, name) == 0) {
            *index_p = (unsigned)index;
            return NF_OK;
        }
    }
    return nf_fail(err, NF_ERR_INVAL,
                   "lab %s has no host \"%.40s\": it has ws0 to ws%u",
                   lab->name, name, config->nhosts - 1);
}

static json_t *limit_to_json(bool is_limited, json_t *value)
{
    if (is_limited)
        return value;
    json_decref(value);
    return json_null();
}

static json_t *host_to_json(const struct lab_host *host, unsigned index)
{
    char name[LAB_HOST_BYTES], address[LAB_ADDRESS_BYTES];

    lab_host_name(index, name);
    lab_host_address(index, address);
    return json_pack(
        "{s:s, s:s, s:o, s:I, s:o, s:b}", "host", name, "address", address,
        "rate_bps",
        limit_to_json(host->rate_bps > 0,
                      json_integer((json_int_t)host->rate_bps)),
        "latency_us", (json_int_t)host->latency_us, "cpu_percent",
        limit_to_json(host->cpu_percent > 0, json_real(host->cpu_percent)),
        "cut", (int)host->cut);
}

json_t *lab_config_to_json(const struct lab_config *config)
{
    json_t *hosts = json_array();

    for (unsigned i = 0; i < config->nhosts; i++)
        if (json_array_append_new(hosts, host_to_json(&config->hosts[i], i)) !=
            0) {
            json_decref(hosts);
            return NULL;
        }
    return json_pack(
        "{s:s, s:o, s:i, s:b, s:o}", "kind", config->hub ? "hub" : "switch",
        "medium_bps",
        limit_to_json(config->hub,
                      json_integer((json_int_t)config->medium_bps)),
        "frames", (int)config->frames,
        "private_tmp", (int)config->private_tmp, "hosts", hosts);
}

enum nf_status lab_config_save(const struct lab *lab,
                               const struct lab_config *config,
                               struct nf_error *err)
{
    char path[LAB_PATH_BYTES], fresh[LAB_PATH_BYTES];
    json_t *object = lab_config_to_json(config);
    int rc;

    if (object == NULL)
        return nf_fail(err, NF_ERR_NOMEM, "out of memory");
    lab_path(lab, "config.json", path);
    lab_path(lab, "config.new", fresh);
    rc = json_dump_file(object, fresh, JSON_INDENT(1));
    json_decref(object);
    if (rc == 0 && rename(fresh, path) == 0)
        return NF_OK;
    return nf_fail(err, NF_ERR_IO, "cannot write %s: %s", path,
                   strerror(errno));
}

static bool load_host(json_t *object, struct lab_host *host_p)
{
    json_t *rate, *cpu;
    json_int_t latency_us;
    int cut;

    if (json_unpack(object, "{s:o, s:I, s:o, s:b}", "rate_bps", &rate,
                    "latency_us", &latency_us, "cpu_percent", &cpu, "cut",
                    &cut) != 0)
        return false;
    host_p->rate_bps = (uint64_t)json_integer_value(rate);
    host_p->latency_us = latency_us;
    host_p->cpu_percent = json_number_value(cpu);
    host_p->cut = cut != 0;
    return true;
}

static bool load(json_t *object, struct lab_config *config_p)
{
    const char *kind;
    json_t *medium, *hosts;
    int private_tmp, frames;

    memset(config_p, 0, sizeof(*config_p));
    if (json_unpack(object, "{s:s, s:o, s:i, s:b, s:o}", "kind", &kind,
                    "medium_bps", &medium, "frames", &frames, "private_tmp",
                    &private_tmp, "hosts", &hosts) != 0 ||
        frames < 1 || frames > LAB_MAX_FRAMES ||
        json_array_size(hosts) < 1 || json_array_size(hosts) > LAB_MAX_HOSTS)
        return false;
    config_p->hub = strcmp(kind, "hub") == 0;
    config_p->medium_bps = (uint64_t)json_integer_value(medium);
    config_p->frames = (unsigned)frames;
    config_p->private_tmp = private_tmp != 0;
    config_p->nhosts = (unsigned)json_array_size(hosts);
    for (unsigned i = 0; i < config_p->nhosts; i++)
        if (!load_host(json_array_get(hosts, i), &config_p->hosts[i]))
            return false;
    return true;
}

enum nf_status lab_config_load(const struct lab *lab,
                               struct lab_config *config_p,
                               struct nf_error *err)
{
    char path[LAB_PATH_BYTES];
    json_error_t why;
    json_t *object;
    bool loaded;

    lab_path(lab, "config.json", path);
    if (lab_holder(lab, "lab") == 0)
        return nf_fail(err, NF_ERR_UNREACHABLE,
                       "lab %s is not up (nowfarm lab up N)", lab->name);
    object = json_load_file(path, 0, &why);
    loaded = object != NULL && load(object, config_p);
    json_decref(object);
    if (loaded)
        return NF_OK;
    return nf_fail(err, NF_ERR_IO, "%s is damaged (nowfarm lab down)", path);
}
