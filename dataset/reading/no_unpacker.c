/* SPDX-License-Identifier: Apache-2.0 */
/* In place of unpacker.c where there is no libarchive: a compressed shard is no archive then. */
#include "unpacker.h"

#include "status_int.h"

bool unpacker_knows(const uint8_t *bytes, size_t size)
{
    return (size >= 2 && bytes[0] == 0x1F && bytes[1] == 0x8B) ||
           (size >= 4 && bytes[0] == 0x28 && bytes[1] == 0xB5 && bytes[2] == 0x2F);
}

sluice_status unpacker_open(raw_feed *raw, const uint8_t *bytes, size_t size,
                            unpacker **unpacker_out)
{
    (void)bytes;
    (void)size;
    (void)unpacker_out;
    return sli_fail(SLUICE_E_UNSUPPORTED,
                    "%s is compressed, and this build has no libarchive to unpack it", raw->path);
}

sluice_status unpacker_read(unpacker *u, void *to, size_t size, size_t *got_out)
{
    (void)u;
    (void)to;
    (void)size;
    (void)got_out;
    return SLUICE_E_UNSUPPORTED;
}

void unpacker_close(unpacker *u)
{
    (void)u;
}
