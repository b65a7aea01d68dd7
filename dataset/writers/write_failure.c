/* SPDX-License-Identifier: Apache-2.0 */
#include "write_failure.h"

#include <errno.h>

#include "status_int.h"

sluice_status sample_write_failed(const char *file, int error)
{
    return sli_fail_errno(SLUICE_E_IO, error, "cannot write %s%s", file,
                          error == ENOSPC || error == EDQUOT
                              ? "; make room and run the same command again to continue"
                              : "");
}
