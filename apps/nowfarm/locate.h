#ifndef NF_APPS_NOWFARM_LOCATE_H
#define NF_APPS_NOWFARM_LOCATE_H
/** @file locate.h  Where our other programs are. */
#include <stddef.h>
#include "nowfarm.h"

/** The absolute path of nowfarm-slave: the one named by NOWFARM_SLAVE_PROGRAM,
 *  in the build tree of this program, beside this program, or where it is
 *  installed.
 *  @param bytes  size of @p path_p, PATH_MAX or more
 *  @retval NF_ERR_INVAL  NOWFARM_SLAVE_PROGRAM is no absolute path */
enum nf_status locate_slave(char *path_p, size_t bytes, struct nf_error *err);

/** The path of nowfarm-lab: in the build tree of this program, or where it is
 *  installed.  @param bytes  as above */
void locate_lab(char *path_p, size_t bytes);

/** The path of nowfarm-fft: in the build tree of this program, beside it, or where
 *  it is installed.  @param bytes  as above */
void locate_fft(char *path_p, size_t bytes);
#endif
