#ifndef NF_APPS_LAB_LAB_DIR_H
#define NF_APPS_LAB_LAB_DIR_H
/** @file lab_dir.h  A lab's name and its directory.
 *
 *  Everything of a lab that outlives its processes is in one directory:
 *  /run/nowfarm-lab/NAME of root, /tmp/nowfarm-lab-UID/NAME of others, which
 *  stays when they log out.  Who
 *  lives there is told by record locks: pid 1 of the lab holds "lab.lock", the
 *  keeper of a workstation "ws3.lock".  The kernel drops them with the process
 *  and says who holds them, in process ids of whoever asks, so no number in a
 *  file can be out of date or mean a stranger. */
#include <sys/types.h>
#include "nowfarm.h"

/** The longest name is 24 characters. */
enum { LAB_NAME_BYTES = 25, LAB_PATH_BYTES = 160 };

struct lab {
    char name[LAB_NAME_BYTES];
    char root[80];            /**< the directory of all labs of this user */
    char dir[LAB_PATH_BYTES]; /**< of this one, whether it exists or not */
};

/** Fill *lab_p.  @p name NULL or empty: the variable NOWFARM_LAB, or "lab".
 *  @retval NF_ERR_INVAL  not 1 to 24 letters, digits or '-' */
enum nf_status lab_find(const char *name, struct lab *lab_p,
                        struct nf_error *err);

/** Write DIR/@p file to @p path_p. */
void lab_path(const struct lab *lab, const char *file,
              char path_p[LAB_PATH_BYTES]);

/** Who holds @p what ("lab" or a workstation).
 *  @return its process id; 0 if nobody does, that is, the lab is not up */
pid_t lab_holder(const struct lab *lab, const char *what);

/** Hold @p what until this process ends.  It must not open DIR/what.lock again.
 *  @retval NF_ERR_INVAL  somebody else does    @retval NF_ERR_IO */
enum nf_status lab_hold(const struct lab *lab, const char *what,
                        struct nf_error *err);

/** @return whether this process is in the lab itself. */
int lab_is_inside(const struct lab *lab);

/** Make the user's directory if it is missing and lock it: up, down and all
 *  that changes a lab happen one at a time.
 *  @param fd_p  for lab_unlock(); close-on-exec
 *  @retval NF_ERR_IO  @retval NF_ERR_INVAL  the directory is somebody else's */
enum nf_status lab_lock(const struct lab *lab, int *fd_p, struct nf_error *err);
/** Unlock it, and remove it if no lab is left. */
void lab_unlock(const struct lab *lab, int fd);

/** Remove DIR with all that is in it, following no links.  @retval NF_ERR_IO */
enum nf_status lab_remove_dir(const struct lab *lab, struct nf_error *err);

/** Call @p visit for every lab directory of this user; stop at the first
 *  status that is not 0.  @return that status, or 0 */
int lab_each(int (*visit)(const struct lab *lab, void *arg), void *arg);

/** Write @p text to the file at @p path, which must exist unless @p make.
 *  @return 0, or -1 and errno */
int lab_write_file(const char *path, const char *text, int make);
#endif
