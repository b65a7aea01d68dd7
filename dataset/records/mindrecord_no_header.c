/* SPDX-License-Identifier: Apache-2.0 */
/* MindRecord files, whose headers are JSON, in a build without jansson. */
#include "mindrecord_header.h"
#include "status_int.h"

sluice_status mindrecord_header_read(int fd, uint64_t size, mindrecord_header *header_out)
{
    (void)fd, (void)size;
    *header_out = (mindrecord_header){0};
    return sli_fail(SLUICE_E_UNSUPPORTED,
                    "this build has no jansson to read JSON; install libjansson-dev and build "
                    "again");
}
