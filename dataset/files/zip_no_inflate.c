/* SPDX-License-Identifier: Apache-2.0 */
/* A build without zlib: deflated members are refused. */
#include "zip_directory.h"

#include "status_int.h"

sluice_status zip_member_inflate(int fd, const zip_member *member, uint64_t at, uint8_t *to)
{
    (void)fd;
    (void)member;
    (void)at;
    (void)to;
    return sli_fail(SLUICE_E_UNSUPPORTED,
                    "it is compressed, and this build of Sluice cannot decompress it: it was built "
                    "without zlib; save it by np.savez, or rebuild Sluice with this library");
}
