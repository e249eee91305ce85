#ifndef NF_APPS_NOWFARM_COMMANDS_SIM_H
#define NF_APPS_NOWFARM_COMMANDS_SIM_H
/** @file commands_sim.h  The simulations of `nowfarm sim`, one file each.
 *  argv[0] is what help calls it, "nowfarm sim farm"; each returns the exit
 *  status. */

/** A job in virtual time on a platform file. */
int nf_sim_farm(int argc, const char **argv);
/** Multicast on a mesh with wormhole routing. */
int nf_sim_mesh(int argc, const char **argv);
/** All-to-all exchanges on a torus with wormhole routing. */
int nf_sim_torus(int argc, const char **argv);
/** Multicast on random networks of workstations that differ. */
int nf_sim_hnow(int argc, const char **argv);
#endif
