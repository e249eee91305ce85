#ifndef NF_APPS_NOWFARM_COMMANDS_TREE_H
#define NF_APPS_NOWFARM_COMMANDS_TREE_H
/** @file commands_tree.h  The subcommands about multicast trees; see
 * commands.h.
 */

/** List every tree. */
int nf_cmd_trees(int argc, const char **argv);
/** Build one, say when each node is ready, and draw it. */
int nf_cmd_tree(int argc, const char **argv);
#endif
