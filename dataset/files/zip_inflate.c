/* SPDX-License-Identifier: Apache-2.0 */
/* Members of zip archives that are compressed by deflate (RFC 1951), by zlib. */
#include "zip_directory.h"

#include <zlib.h>

#include "plain_file.h"
#include "status_int.h"

/* Bytes that are read at once, and the most output of one call, whose sizes are unsigned int. */
enum { READ_AT_ONCE = 1 << 15, MOST_AT_ONCE = 1 << 30 };

static sluice_status corrupt(const char *why)
{
    return sli_fail(SLUICE_E_CORRUPT, "cannot decompress it: %s; the file is corrupt", why);
}

/* Decompresses until all output is there and the data end. */
static sluice_status inflate_all(z_stream *zlib, int fd, const zip_member *member, uint64_t at,
                                 uint8_t *to)
{
    uint8_t buffer[READ_AT_ONCE];
    uint64_t packed = member->packed;
    uint64_t made = 0;
    int answer = Z_OK;

    while (answer != Z_STREAM_END) {
        const uint64_t room = member->bytes - made;
        const uInt now = room < MOST_AT_ONCE ? (uInt)room : MOST_AT_ONCE;
        uint8_t more;

        if (zlib->avail_in == 0 && packed > 0) {
            const size_t size = packed < sizeof(buffer) ? (size_t)packed : sizeof(buffer);
            size_t got = 0;
            const sluice_status st = plain_file_read(fd, at, buffer, size, &got);

            if (st != SLUICE_OK || got < size) {
                return st != SLUICE_OK ? st : corrupt("the file ends within it");
            }
            at += size;
            packed -= size;
            zlib->next_in = buffer;
            zlib->avail_in = (uInt)size;
        }
        zlib->next_out = now > 0 ? to + made : &more;
        zlib->avail_out = now > 0 ? now : 1;
        answer = inflate(zlib, Z_NO_FLUSH);
        if (now == 0 && zlib->avail_out == 0) {
            return corrupt("it has more bytes than its directory says");
        }
        made += now > 0 ? now - zlib->avail_out : 0;
        if (answer == Z_MEM_ERROR) {
            return sli_fail(SLUICE_E_NO_MEMORY, "a compressed member of a zip archive");
        }
        if (answer != Z_OK && answer != Z_STREAM_END) {
            return corrupt(zlib->msg != NULL ? zlib->msg : "it ends too early");
        }
    }
    return made == member->bytes && packed == 0 && zlib->avail_in == 0
               ? SLUICE_OK
               : corrupt("it has another length than its directory says");
}

sluice_status zip_member_inflate(int fd, const zip_member *member, uint64_t at, uint8_t *to)
{
    z_stream zlib = {.next_in = NULL};
    sluice_status st;

    if (inflateInit2(&zlib, -MAX_WBITS) != Z_OK) { /* negative: without a header */
        return sli_fail(SLUICE_E_NO_MEMORY, "a compressed member of a zip archive");
    }
    st = inflate_all(&zlib, fd, member, at, to);
    inflateEnd(&zlib);
    if (st == SLUICE_OK && crc32_z(0, to, (size_t)member->bytes) != member->crc) {
        st = corrupt("its CRC differs");
    }
    return st;
}
