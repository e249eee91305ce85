#ifndef NF_TESTS_UNIT_OWN_PVM_H
#define NF_TESTS_UNIT_OWN_PVM_H
/** @file own_pvm.h  A virtual machine that is the test's own. */

/** Its folder, which PVM_TMP names. */
extern char own_pvm_folder[];

/** Start it.  @return 0, or what main is to return: 77, PVM can't be had */
int own_pvm_begin(void);
/** The file of this program, for tests that start themselves as tasks; under
 *  valgrind "/proc/self/exe" is valgrind. */
const char *own_program(void);
/** No machine outlives the test. */
void own_pvm_end(void);
#endif
