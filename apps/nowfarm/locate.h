#ifndef NF_APPS_NOWFARM_LOCATE_H
#define NF_APPS_NOWFARM_LOCATE_H
/** @file locate.h  Where our other programs are. */
#include <stddef.h>

/** The absolute path of nowfarm-slave: the one named by NOWFARM_SLAVE_PROGRAM,
 *  in the build tree of this program, beside this program, or where it is
 *  installed. */
void locate_slave(char *path_p, size_t bytes);
#endif
