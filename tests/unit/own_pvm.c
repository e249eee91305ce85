#include "config.h"
#include "tests/unit/own_pvm.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "common/net/vm.h"
#include "tests/unit/nf_unit.h"

char own_pvm_folder[] = "/tmp/nf-pvm.XXXXXX";

/* @return 0, or what main is to return */
static int begin(void)
{
    struct nf_error err = { NF_OK, "" };

    if (mkdtemp(own_pvm_folder) == NULL)
        return 99;
    setenv("PVM_TMP", own_pvm_folder, 1);
    setenv("PVM_ALLOW_ROOT", "1", 1); /* pvmd refuses root without it */
    if (getenv("PVM_ROOT") == NULL && access("/usr/lib/pvm3", F_OK) == 0)
        setenv("PVM_ROOT", "/usr/lib/pvm3", 1);
    unsetenv("PVM_VMID");
    unsetenv("NOWFARM_ENCODING");
    unsetenv("NOWFARM_ROUTE");
    if (nf_vm_hold(&err) == NF_OK)
        return 0;
    fprintf(stderr, "skipped: %s\n", err.text);
    rmdir(own_pvm_folder);
    return 77;
}

static void end(void)
{
    DIR *dir = opendir(own_pvm_folder);
    struct dirent *entry;

    nf_vm_release();
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        char path[512];

        snprintf(path, sizeof(path), "%s/%s", own_pvm_folder, entry->d_name);
        unlink(path);
    }
    if (dir != NULL)
        closedir(dir);
    rmdir(own_pvm_folder);
}

int own_pvm_run(CU_SuiteInfo *suites)
{
    int status = begin();

    if (status != 0)
        return status;
    status = nf_unit_main(suites);
    end();
    return status;
}
