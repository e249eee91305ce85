/* odd_slave: a nowfarm-slave on a host whose doubles are not like those of others,
 * as it would be if it were built for x87. */
#include "config.h"
#include "common/base/doubles.h"

bool nf_doubles_are_plain(void)
{
    return false;
}
