/* SPDX-License-Identifier: Apache-2.0 */
/* Stubs that replace decompressor.c in builds without libarchive. */
#include "decompressor.h"

#include "status_int.h"

sluice_status decompressor_open(raw_feed *raw, compression format, const uint8_t *bytes,
                                size_t size, decompressor **decompressor_out)
{
    (void)bytes;
    (void)size;
    (void)decompressor_out;
    return sli_fail(SLUICE_E_UNSUPPORTED,
                    "%s is compressed (%s), and this build has no libarchive to decompress it",
                    raw->path, compression_name(format));
}

sluice_status decompressor_read(decompressor *d, void *to, size_t size, size_t *got_out)
{
    (void)d;
    (void)to;
    (void)size;
    (void)got_out;
    return SLUICE_E_UNSUPPORTED;
}

void decompressor_close(decompressor *d)
{
    (void)d;
}
