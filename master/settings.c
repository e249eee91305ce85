/* nowfarm.conf, read by libconfuse.  The library reports errors to a function
 * without a context, so the one being read has its error kept in a static
 * variable: configuration is read by one thread, at start and on SIGHUP. */
#include "config.h"
#include "master/settings.h"
#include <confuse.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "common/base/alloc.h"
#include "common/base/error.h"
#include "common/model/network_file.h"
#include "common/policy/policy.h"
#include "master/hosts.h"

static struct nf_error *current_err; /* its status NF_OK: no error yet */

static const char *const level_names[] = { "error", "warn", "info", "debug",
                                           "trace" };

/* The first error counts: the next ones follow from it. */
static void keep_error(cfg_t *cfg, const char *format, va_list args)
{
    char text[NF_ERROR_TEXT_BYTES];

    if (current_err == NULL || current_err->status != NF_OK)
        return;
    vsnprintf(text, sizeof(text), format, args);
    nf_fail(current_err, NF_ERR_INVAL, "%s:%d: %s",
            cfg->filename != NULL ? cfg->filename : "nowfarm.conf", cfg->line,
            text);
}

static int check_range(cfg_t *cfg, cfg_opt_t *option, long lo, long hi)
{
    long value = cfg_opt_getnint(option, cfg_opt_size(option) - 1);

    if (value >= lo && value <= hi)
        return 0;
    cfg_error(cfg, "%s = %ld: want %ld to %ld", cfg_opt_name(option), value, lo,
              hi);
    return -1;
}

static int check_max_running(cfg_t *cfg, cfg_opt_t *option)
{
    return check_range(cfg, option, 1, NF_MAX_RUNNING_MOST);
}

static int check_keep_jobs(cfg_t *cfg, cfg_opt_t *option)
{
    return check_range(cfg, option, 1, NF_KEEP_JOBS_MOST);
}

static int check_path(cfg_t *cfg, cfg_opt_t *option)
{
    const char *path = cfg_opt_getnstr(option, cfg_opt_size(option) - 1);

    if (path[0] == '/' ||
        (strncmp(path, "~/", 2) == 0 && getenv("HOME") != NULL))
        return 0;
    cfg_error(cfg, "%s = \"%s\": want an absolute path (or ~/...)",
              cfg_opt_name(option), path);
    return -1;
}

static int check_program(cfg_t *cfg, cfg_opt_t *option)
{
    const char *path = cfg_opt_getnstr(option, cfg_opt_size(option) - 1);

    if (check_path(cfg, option) != 0)
        return -1;
    if (path[0] == '~' || access(path, X_OK) == 0)
        return 0;
    cfg_error(cfg, "%s = \"%s\": %s", cfg_opt_name(option), path,
              strerror(errno));
    return -1;
}

static int check_hosts(cfg_t *cfg, cfg_opt_t *option)
{
    const char *path = cfg_opt_getnstr(option, cfg_opt_size(option) - 1);
    struct nf_hosts hosts;
    struct nf_error why;

    if (check_path(cfg, option) != 0)
        return -1;
    if (path[0] == '~')
        return 0;
    if (nf_hosts_read(path, &hosts, &why) == NF_OK) {
        nf_hosts_fini(&hosts);
        return 0;
    }
    cfg_error(cfg, "%s", why.text);
    return -1;
}

static int check_network(cfg_t *cfg, cfg_opt_t *option)
{
    const char *path = cfg_opt_getnstr(option, cfg_opt_size(option) - 1);
    struct nf_network network;
    struct nf_error why;

    if (check_path(cfg, option) != 0)
        return -1;
    if (path[0] == '~')
        return 0;
    if (nf_network_read(path, &network, &why) == NF_OK) {
        nf_network_fini(&network);
        return 0;
    }
    cfg_error(cfg, "network: %s", why.text);
    return -1;
}

static int check_policy(cfg_t *cfg, cfg_opt_t *option)
{
    const char *spec = cfg_opt_getnstr(option, cfg_opt_size(option) - 1);
    struct nf_policy policy;
    struct nf_error why;

    if (nf_policy_parse(spec, &policy, &why) == NF_OK)
        return 0;
    cfg_error(cfg, "%s", why.text);
    return -1;
}

static int level_find(const char *name)
{
    for (int i = 0; i <= NF_LOG_TRACE; i++)
        if (strcmp(name, level_names[i]) == 0)
            return i;
    return -1;
}

static int check_level(cfg_t *cfg, cfg_opt_t *option)
{
    const char *name = cfg_opt_getnstr(option, cfg_opt_size(option) - 1);

    if (level_find(name) >= 0)
        return 0;
    cfg_error(cfg, "log = \"%s\": want error, warn, info, debug or trace",
              name);
    return -1;
}

static cfg_t *create_parser(void)
{
    cfg_opt_t options[] = {
        CFG_STR("socket", NULL, CFGF_NONE),
        CFG_STR("state_dir", NULL, CFGF_NONE),
        CFG_STR("runner", NULL, CFGF_NONE),
        CFG_STR("policy", NULL, CFGF_NONE),
        CFG_STR("hosts", NULL, CFGF_NONE),
        CFG_STR("network", NULL, CFGF_NONE),
        CFG_INT("max_running", 1, CFGF_NONE),
        CFG_INT("keep_jobs", 1000, CFGF_NONE),
        CFG_STR("log", NULL, CFGF_NONE),
        CFG_BOOL("keep_vm", cfg_true, CFGF_NONE),
        CFG_END(),
    };
    cfg_t *cfg = cfg_init(options, CFGF_NONE);

    if (cfg == NULL)
        return NULL;
    cfg_set_error_function(cfg, keep_error);
    cfg_set_validate_func(cfg, "socket", check_path);
    cfg_set_validate_func(cfg, "state_dir", check_path);
    cfg_set_validate_func(cfg, "runner", check_program);
    cfg_set_validate_func(cfg, "policy", check_policy);
    cfg_set_validate_func(cfg, "hosts", check_hosts);
    cfg_set_validate_func(cfg, "network", check_network);
    cfg_set_validate_func(cfg, "max_running", check_max_running);
    cfg_set_validate_func(cfg, "keep_jobs", check_keep_jobs);
    cfg_set_validate_func(cfg, "log", check_level);
    return cfg;
}

/* The scanner of libconfuse ends the process when it cannot read (a directory,
 * say), so what it gets is looked at before. */
static enum nf_status check_file(const char *path, struct nf_error *err)
{
    struct stat info;

    if (stat(path, &info) != 0 || access(path, R_OK) != 0)
        return nf_fail(err, NF_ERR_INVAL, "configuration %s: %s", path,
                       strerror(errno));
    if (!S_ISREG(info.st_mode))
        return nf_fail(err, NF_ERR_INVAL, "configuration %s: not a file", path);
    return NF_OK;
}

static enum nf_status parse(cfg_t *cfg, const char *path, struct nf_error *err)
{
    struct nf_error why = { .status = NF_OK };
    int result;

    if (check_file(path, err) != NF_OK)
        return NF_ERR_INVAL;
    current_err = &why;
    result = cfg_parse(cfg, path);
    current_err = NULL;
    if (result == CFG_SUCCESS)
        return NF_OK;
    if (why.status == NF_OK)
        nf_fail(&why, NF_ERR_INVAL, "configuration %s: cannot be read", path);
    return nf_fail(err, NF_ERR_INVAL, "%s", why.text);
}

/* A copy of a string setting, with $HOME for ~; NULL if it is not set. */
static char *copy_string(cfg_t *cfg, const char *name, bool *failed)
{
    const char *value = cfg_getstr(cfg, name);
    const char *home = getenv("HOME");
    size_t bytes;
    char *copy;

    if (value == NULL || value[0] == '\0')
        return NULL;
    if (value[0] == '~')
        value++;
    else
        home = NULL;
    bytes = strlen(value) + (home == NULL ? 0 : strlen(home)) + 1;
    copy = nf_malloc(bytes);
    if (copy != NULL)
        snprintf(copy, bytes, "%s%s", home == NULL ? "" : home, value);
    *failed = *failed || copy == NULL;
    return copy;
}

/* $XDG_`variable`/`tail`, or ~/`home_dir`/`tail`; "" if neither is known. */
static void user_path(const char *variable, const char *home_dir,
                      const char *tail, char path_p[512])
{
    const char *base = getenv(variable), *home = getenv("HOME");
    int bytes = 0;

    path_p[0] = '\0';
    if (base != NULL && base[0] == '/')
        bytes = snprintf(path_p, 512, "%s/%s", base, tail);
    else if (home != NULL && home[0] == '/')
        bytes = snprintf(path_p, 512, "%s/%s/%s", home, home_dir, tail);
    if (bytes >= 512)
        path_p[0] = '\0';
}

static enum nf_status take(cfg_t *cfg, struct nf_settings *settings,
                           struct nf_error *err)
{
    const char *level = cfg_getstr(cfg, "log");
    bool failed = false;
    char path[512];

    settings->socket = copy_string(cfg, "socket", &failed);
    settings->state_dir = copy_string(cfg, "state_dir", &failed);
    settings->runner = copy_string(cfg, "runner", &failed);
    settings->policy = copy_string(cfg, "policy", &failed);
    settings->hosts = copy_string(cfg, "hosts", &failed);
    settings->network = copy_string(cfg, "network", &failed);
    settings->max_running = (uint32_t)cfg_getint(cfg, "max_running");
    settings->keep_jobs = (uint32_t)cfg_getint(cfg, "keep_jobs");
    settings->keep_vm = cfg_getbool(cfg, "keep_vm") == cfg_true;
    settings->log_level = level != NULL ? (enum nf_log_level)level_find(level)
                          : getenv("NOWFARM_LOG") != NULL ? nf_log_get_level()
                                                          : NF_LOG_INFO;
    if (settings->state_dir == NULL && !failed) {
        user_path("XDG_STATE_HOME", ".local/state", "nowfarm", path);
        if (path[0] == '\0')
            return nf_fail(err, NF_ERR_INVAL,
                           "no HOME and no XDG_STATE_HOME: set state_dir in "
                           "the configuration");
        settings->state_dir = nf_strdup(path);
        failed = settings->state_dir == NULL;
    }
    return failed ? nf_fail(err, NF_ERR_NOMEM, "out of memory") : NF_OK;
}

enum nf_status nf_settings_load(const char *path, const char *fallback,
                                struct nf_settings *settings_p,
                                struct nf_error *err)
{
    struct nf_settings settings = { 0 };
    cfg_t *cfg = create_parser();
    enum nf_status status = NF_OK;
    char usual[512];

    if (cfg == NULL)
        return nf_fail(err, NF_ERR_NOMEM, "out of memory");
    user_path("XDG_CONFIG_HOME", ".config", "nowfarm/nowfarm.conf", usual);
    if (path == NULL && usual[0] != '\0' && access(usual, F_OK) == 0)
        path = usual;
    if (path == NULL && fallback != NULL && access(fallback, F_OK) == 0)
        path = fallback;
    if (path != NULL)
        status = parse(cfg, path, err);
    if (status == NF_OK)
        status = take(cfg, &settings, err);
    cfg_free(cfg);
    if (status != NF_OK) {
        nf_settings_fini(&settings);
        return status;
    }
    *settings_p = settings;
    return NF_OK;
}

void nf_settings_fini(struct nf_settings *settings)
{
    nf_free(settings->socket);
    nf_free(settings->state_dir);
    nf_free(settings->runner);
    nf_free(settings->policy);
    nf_free(settings->hosts);
    nf_free(settings->network);
    memset(settings, 0, sizeof(*settings));
}
