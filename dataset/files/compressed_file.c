/* SPDX-License-Identifier: Apache-2.0 */
#include "compressed_file.h"

#include "compression.h"
#include "plain_file.h"
#include "status_int.h"

sluice_status compressed_file_refuse(int fd, const char *path)
{
    uint8_t head[COMPRESSION_MAGIC];
    compression format;
    size_t got = 0;
    sluice_status st;

    if (path != NULL && !compression_has_suffix(path)) {
        return SLUICE_OK;
    }
    st = plain_file_read(fd, 0, head, sizeof(head), &got);
    if (st != SLUICE_OK) {
        return st;
    }
    format = compression_of(head, got);
    return format == COMPRESSION_NONE
               ? SLUICE_OK
               : sli_fail(SLUICE_E_UNSUPPORTED,
                          "the file is compressed by %s, and is not decompressed here: decompress "
                          "it first",
                          compression_name(format));
}
