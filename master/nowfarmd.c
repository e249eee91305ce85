/* nowfarmd: takes jobs from clients and runs them one after the other, or a few
 * at a time.  Start: options, configuration, socket, database, virtual machine;
 * each may fail with one line, and then nothing has been started.  After that
 * everything happens in one loop. */
#include "config.h"
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <popt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "common/base/alloc.h"
#include "common/base/error.h"
#include "common/base/fds.h"
#include "common/base/log.h"
#include "common/net/vm.h"
#include "master/endpoint.h"
#include "master/jobs.h"
#include "master/requests.h"

enum { PRIORITIES = 2, PATH_BYTES = 4096, NSIGNALS = 4 };

struct daemon {
    char *config_path, *socket_option, *runner_option; /* popt's, by malloc */
    struct nf_settings settings;
    char socket_path[NF_ENDPOINT_BYTES];
    int lock_fd, listen_fd;
    struct event_base *base;
    struct event *signals[NSIGNALS];
    struct nf_store *store;
    struct nf_jobs *jobs;
    struct nf_control *control;
    bool holds_vm;
    int exit_status;
};

/* --- the runner's program ---------------------------------------------- */

/* nowfarm beside nowfarmd: in the same directory, in ../bin of sbin, or in the
 * build tree; else where it was to be installed. */
static enum nf_status find_runner(char path_p[PATH_BYTES], struct nf_error *err)
{
    static const char *const places[] = { "nowfarm", "../bin/nowfarm",
                                          "../apps/nowfarm/nowfarm" };
    char self[PATH_BYTES];
    ssize_t bytes = readlink("/proc/self/exe", self, sizeof(self) - 1);
    char *slash;

    self[bytes < 0 ? 0 : bytes] = '\0';
    slash = strrchr(self, '/');
    for (size_t i = 0; slash != NULL && i < sizeof(places) / sizeof(places[0]);
         i++) {
        snprintf(slash + 1, sizeof(self) - (size_t)(slash + 1 - self), "%s",
                 places[i]);
        if (access(self, X_OK) == 0) {
            memcpy(path_p, self, sizeof(self));
            return NF_OK;
        }
    }
    snprintf(path_p, PATH_BYTES, "%s", NF_BINDIR "/nowfarm");
    if (access(path_p, X_OK) == 0)
        return NF_OK;
    return nf_fail(err, NF_ERR_INVAL,
                   "no program nowfarm beside nowfarmd nor in %s: set runner "
                   "in the configuration",
                   NF_BINDIR);
}

static enum nf_status set_runner(struct daemon *daemon,
                                 struct nf_settings *settings,
                                 struct nf_error *err)
{
    char path[PATH_BYTES];
    struct stat info;

    if (daemon->runner_option != NULL) {
        if (daemon->runner_option[0] != '/')
            return nf_fail(err, NF_ERR_INVAL,
                           "--runner %s: want an absolute path",
                           daemon->runner_option);
        snprintf(path, sizeof(path), "%s", daemon->runner_option);
    } else if (settings->runner != NULL) {
        snprintf(path, sizeof(path), "%s", settings->runner);
    } else if (find_runner(path, err) != NF_OK) {
        return NF_ERR_INVAL;
    }
    if (stat(path, &info) != 0 || access(path, X_OK) != 0)
        return nf_fail(err, NF_ERR_INVAL, "runner %s: %s", path,
                       strerror(errno));
    if (!S_ISREG(info.st_mode))
        return nf_fail(err, NF_ERR_INVAL, "runner %s: not a program", path);
    nf_free(settings->runner);
    settings->runner = nf_strdup(path);
    return settings->runner == NULL
               ? nf_fail(err, NF_ERR_NOMEM, "out of memory")
               : NF_OK;
}

/* --- events ------------------------------------------------------------ */

static void on_stopped(void *user)
{
    struct daemon *daemon = user;

    event_base_loopbreak(daemon->base);
}

/* SIGTERM, SIGINT: stop in order; a second one: stop at once. */
static void on_stop_signal(evutil_socket_t signo, short what, void *arg)
{
    struct daemon *daemon = arg;
    bool again = daemon->jobs->stopping;

    (void)what;
    nf_log(NF_LOG_INFO, "signal %d: stopping%s", (int)signo,
           again ? " at once" : "");
    daemon->exit_status =
        signo == SIGINT ? nf_exit_status(NF_ERR_INTERRUPTED) : 0;
    nf_jobs_stop(daemon->jobs, again ? 0 : NF_JOBS_STOP_GRACE_US, on_stopped,
                 daemon);
}

static bool differs(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a != b : strcmp(a, b) != 0;
}

/* SIGHUP.  A configuration that is wrong changes nothing. */
static void on_reload_signal(evutil_socket_t signo, short what, void *arg)
{
    struct daemon *daemon = arg;
    struct nf_settings settings = { 0 };
    struct nf_error err;
    enum nf_status status;

    (void)signo;
    (void)what;
    status = nf_settings_load(daemon->config_path,
                              NF_SYSCONFDIR "/nowfarm.conf", &settings, &err);
    if (status == NF_OK)
        status = set_runner(daemon, &settings, &err);
    if (status == NF_OK) {
        status = nf_jobs_configure(daemon->jobs, &settings);
        nf_fail(&err, status, "out of memory");
    }
    if (status != NF_OK) {
        nf_log(NF_LOG_ERROR, "not reloaded: %s", err.text);
        nf_settings_fini(&settings);
        return;
    }
    nf_log_set_level(settings.log_level);
    if (differs(settings.socket, daemon->settings.socket) ||
        differs(settings.state_dir, daemon->settings.state_dir) ||
        settings.keep_vm != daemon->settings.keep_vm)
        nf_log(NF_LOG_WARN, "socket, state_dir and keep_vm change at the next "
                            "start only");
    nf_log(NF_LOG_INFO, "configuration reloaded");
    nf_settings_fini(&settings);
    nf_jobs_pump(daemon->jobs);
}

static void on_child_signal(evutil_socket_t signo, short what, void *arg)
{
    struct daemon *daemon = arg;

    (void)signo;
    (void)what;
    nf_jobs_reap(daemon->jobs);
}

static enum nf_status add_signals(struct daemon *daemon, struct nf_error *err)
{
    static const struct {
        int signo;
        event_callback_fn callback;
    } table[NSIGNALS] = {
        { SIGTERM, on_stop_signal },
        { SIGINT, on_stop_signal },
        { SIGHUP, on_reload_signal },
        { SIGCHLD, on_child_signal },
    };

    for (int i = 0; i < NSIGNALS; i++) {
        daemon->signals[i] =
            event_new(daemon->base, table[i].signo, EV_SIGNAL | EV_PERSIST,
                      table[i].callback, daemon);
        if (daemon->signals[i] == NULL ||
            event_priority_set(daemon->signals[i], 0) != 0 ||
            event_add(daemon->signals[i], NULL) != 0)
            return nf_fail(err, NF_ERR_NOMEM, "cannot watch signals");
    }
    return NF_OK;
}

/* --- start and end ----------------------------------------------------- */

/* mkdir -p, 0700 for what is new. */
static enum nf_status make_directory(const char *path, struct nf_error *err)
{
    char part[PATH_BYTES];
    struct stat info;

    snprintf(part, sizeof(part), "%s", path);
    for (char *slash = strchr(part + 1, '/'); slash != NULL;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(part, 0700); /* what is wrong shows at the last one */
        *slash = '/';
    }
    if (mkdir(part, 0700) != 0 && errno != EEXIST)
        return nf_fail(err, NF_ERR_INVAL, "state directory %s: %s", path,
                       strerror(errno));
    if (stat(part, &info) != 0 || !S_ISDIR(info.st_mode))
        return nf_fail(err, NF_ERR_INVAL, "state directory %s: not a directory",
                       path);
    return NF_OK;
}

static enum nf_status open_store(struct daemon *daemon, struct nf_error *err)
{
    char path[PATH_BYTES];
    enum nf_status status = make_directory(daemon->settings.state_dir, err);

    if (status != NF_OK)
        return status;
    if (snprintf(path, sizeof(path), "%s/jobs.db",
                 daemon->settings.state_dir) >= (int)sizeof(path))
        return nf_fail(err, NF_ERR_INVAL, "state_dir: the path is too long");
    return nf_store_open(path, &daemon->store, err);
}

static enum nf_status open_base(struct daemon *daemon, struct nf_error *err)
{
    daemon->base = event_base_new();
    if (daemon->base == NULL ||
        event_base_priority_init(daemon->base, PRIORITIES) != 0)
        return nf_fail(err, NF_ERR_NOMEM, "cannot make an event loop");
    return NF_OK;
}

static enum nf_status open_control(struct daemon *daemon, struct nf_error *err)
{
    const struct nf_control_hooks hooks = { nf_requests_handle,
                                            nf_requests_hangup, daemon->jobs };
    int fd = daemon->listen_fd;

    daemon->listen_fd = -1; /* taken */
    daemon->control =
        nf_control_create(daemon->base, fd, &nf_control_default_limits, &hooks);
    if (daemon->control == NULL)
        return nf_fail(err, NF_ERR_NOMEM, "out of memory");
    nf_jobs_attach(daemon->jobs, daemon->control);
    return NF_OK;
}

static enum nf_status start(struct daemon *daemon, struct nf_error *err)
{
    struct nf_settings *settings = &daemon->settings;
    enum nf_status status = nf_settings_load(
        daemon->config_path, NF_SYSCONFDIR "/nowfarm.conf", settings, err);

    if (status != NF_OK)
        return status;
    nf_log_set_level(settings->log_level);
    status = set_runner(daemon, settings, err);
    if (status == NF_OK)
        status = nf_endpoint_path(daemon->socket_option, settings->socket,
                                  daemon->socket_path, err);
    if (status == NF_OK)
        status = nf_endpoint_listen(daemon->socket_path, &daemon->lock_fd,
                                    &daemon->listen_fd, err);
    if (status == NF_OK)
        status = open_store(daemon, err);
    if (status == NF_OK && settings->keep_vm) {
        status = nf_vm_hold(err);
        daemon->holds_vm = status == NF_OK;
    }
    if (status == NF_OK)
        status = open_base(daemon, err);
    if (status == NF_OK)
        status =
            nf_jobs_create(daemon->base, daemon->store, daemon->socket_path,
                           settings, &daemon->jobs, err);
    if (status == NF_OK)
        status = open_control(daemon, err);
    if (status == NF_OK)
        status = add_signals(daemon, err);
    return status;
}

/* In the reverse order of start(); works wherever that stopped. */
static void finish(struct daemon *daemon)
{
    nf_jobs_destroy(daemon->jobs);
    if (daemon->control != NULL)
        nf_control_flush(daemon->control);
    nf_control_destroy(daemon->control);
    for (int i = 0; i < NSIGNALS; i++)
        if (daemon->signals[i] != NULL)
            event_free(daemon->signals[i]);
    if (daemon->base != NULL)
        event_base_free(daemon->base);
    nf_store_close(daemon->store);
    if (daemon->holds_vm)
        nf_vm_release();
    if (daemon->listen_fd >= 0)
        close(daemon->listen_fd);
    if (daemon->lock_fd >= 0) { /* only then is the socket ours */
        unlink(daemon->socket_path);
        close(daemon->lock_fd);
    }
    nf_settings_fini(&daemon->settings);
    free(daemon->config_path);
    free(daemon->socket_option);
    free(daemon->runner_option);
    libevent_global_shutdown();
}

/* @return whether to go on; else *exit_p. */
static bool parse_options(int argc, const char **argv, struct daemon *daemon,
                          int *exit_p)
{
    int version = 0;
    struct poptOption options[] = {
        { "config", 'c', POPT_ARG_STRING, &daemon->config_path, 0,
          "read settings from FILE, see nowfarm.conf(5)", "FILE" },
        { "socket", 's', POPT_ARG_STRING, &daemon->socket_option, 0,
          "listen at PATH", "PATH" },
        { "runner", '\0', POPT_ARG_STRING, &daemon->runner_option, 0,
          "run jobs with this nowfarm", "PROGRAM" },
        { "version", 'V', POPT_ARG_NONE, &version, 0, "print the version",
          NULL },
        POPT_AUTOHELP POPT_TABLEEND
    };
    poptContext context = poptGetContext("nowfarmd", argc, argv, options, 0);
    int result = poptGetNextOpt(context);
    const char *rest = poptPeekArg(context);

    *exit_p = nf_exit_status(NF_ERR_INVAL);
    if (result < -1)
        fprintf(stderr, "nowfarmd: %s: %s\n",
                poptBadOption(context, POPT_BADOPTION_NOALIAS),
                poptStrerror(result));
    else if (rest != NULL)
        fprintf(stderr, "nowfarmd: %s: want options only, see --help\n", rest);
    else if (version)
        *exit_p = printf("nowfarmd %s\n", nf_version()) < 0;
    else
        *exit_p = -1;
    poptFreeContext(context);
    return *exit_p == -1;
}

int main(int argc, char **argv)
{
    struct daemon daemon = { .lock_fd = -1, .listen_fd = -1 };
    struct nf_error err = { .text = "" };
    int exit_status;

    if (!nf_fds_open_standard())
        return 1;
    if (!parse_options(argc, (const char **)argv, &daemon, &exit_status)) {
        finish(&daemon);
        return exit_status;
    }
    signal(SIGPIPE, SIG_IGN);
    umask(077);
    if (start(&daemon, &err) != NF_OK) {
        fprintf(stderr, "nowfarmd: %s\n", err.text);
        finish(&daemon);
        return nf_exit_status(err.status);
    }
    nf_log(NF_LOG_INFO, "nowfarmd %s listens at %s", nf_version(),
           daemon.socket_path);
    nf_jobs_pump(daemon.jobs);
    event_base_dispatch(daemon.base);
    finish(&daemon);
    return daemon.exit_status;
}
