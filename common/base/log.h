#ifndef NF_BASE_LOG_H
#define NF_BASE_LOG_H
/** @file log.h  Log lines on standard error (or where the sink sends them).
 *  Volume: error and warn a few a run; info one per slave or job event; debug
 *  one per lease; trace one per message.  Pure code never logs. */

enum nf_log_level {
    NF_LOG_ERROR,
    NF_LOG_WARN,
    NF_LOG_INFO,
    NF_LOG_DEBUG,
    NF_LOG_TRACE,
};

/** Lines above this level are not printed; default NF_LOG_WARN, or the level
 *  named by the environment variable NOWFARM_LOG. */
void nf_log_set_level(enum nf_log_level level);
enum nf_log_level nf_log_get_level(void);

/** Replace the sink; NULL restores standard error.  The sink gets one line
 *  without newline, and may be called from any thread. */
void nf_log_set_sink(void (*sink)(enum nf_log_level level, const char *line));

/** Write one line, lower case, no final newline. */
void nf_log(enum nf_log_level level, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
#endif
