/* SPDX-License-Identifier: Apache-2.0 */
#include "write_failure.h"

#include <errno.h>

#include "status_int.h"

const char *write_advice(int error)
{
    return error == ENOSPC || error == EDQUOT
               ? "; make room and run the same command again to continue"
               : "";
}

sluice_status file_write_failed(const char *path, int error)
{
    return sli_fail_errno(SLUICE_E_IO, error, "cannot write %s%s", path, write_advice(error));
}
