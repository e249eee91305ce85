#ifndef NF_TESTS_UNIT_OWN_PVM_H
#define NF_TESTS_UNIT_OWN_PVM_H
/** @file own_pvm.h  A virtual machine that is the test's own. */
#include <CUnit/Basic.h>
#include <CUnit/CUnit.h>

/** Its folder, which PVM_TMP names. */
extern char own_pvm_folder[];

/** Start it, run the tests, and halt it: no machine outlives the test.
 *  @return what main is to return, as of nf_unit.h; 77, PVM can't be had */
int own_pvm_run(CU_SuiteInfo *suites);
#endif
