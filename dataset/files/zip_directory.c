/* SPDX-License-Identifier: Apache-2.0 */
#include "zip_directory.h"

#include <string.h>

#include "alloc_int.h"
#include "plain_file.h"
#include "status_int.h"

/* Sizes of the fixed parts of records; variable parts follow those of members and of the end. */
enum {
    LOCAL_SIZE = 30,
    MEMBER_SIZE = 46,
    END_SIZE = 22,
    LOCATOR64_SIZE = 20,
    END64_SIZE = 56,
    MOST_COMMENT = 65535
};

static const uint32_t LOCAL_MAGIC = 0x04034B50;
static const uint32_t MEMBER_MAGIC = 0x02014B50;
static const uint32_t END_MAGIC = 0x06054B50;
static const uint32_t LOCATOR64_MAGIC = 0x07064B50;
static const uint32_t END64_MAGIC = 0x06064B50;

enum { METHOD_STORED = 0, METHOD_DEFLATE = 8 };

/* Bits of the flags: encrypted; the directory is encrypted, too. */
enum { FLAG_ENCRYPTED = 1 << 0, FLAG_MASKED = 1 << 13 };

/* deflate makes at most this many bytes of one. */
enum { MOST_INFLATED = 1032 };

/* A field of 32 bits whose value is in the zip64 field. */
static const uint32_t IN_ZIP64 = 0xFFFFFFFF;

static uint16_t u16_at(const uint8_t *bytes)
{
    return (uint16_t)(bytes[0] | bytes[1] << 8);
}

static uint32_t u32_at(const uint8_t *bytes)
{
    return u16_at(bytes) | (uint32_t)u16_at(bytes + 2) << 16;
}

static uint64_t u64_at(const uint8_t *bytes)
{
    return u32_at(bytes) | (uint64_t)u32_at(bytes + 4) << 32;
}

static sluice_status corrupt(const char *why)
{
    return sli_fail(SLUICE_E_CORRUPT, "the zip archive is truncated or corrupt: %s", why);
}

bool zip_begins(const uint8_t *bytes, size_t size)
{
    return size >= 4 && (u32_at(bytes) == LOCAL_MAGIC || u32_at(bytes) == END_MAGIC);
}

static sluice_status read_exactly(int fd, uint64_t at, void *bytes, size_t size)
{
    size_t got = 0;
    const sluice_status st = plain_file_read(fd, at, bytes, size, &got);

    return st == SLUICE_OK && got < size ? corrupt("it ends within a record") : st;
}

/* ---- the directory --------------------------------------------------------------------------- */

/* Where the directory is. */
typedef struct directory_place {
    uint64_t at;
    uint64_t bytes;
    uint64_t count;
    uint64_t end; /* offset of the record that follows it */
} directory_place;

/* Replaces what a 32-bit end record says by the zip64 end record, if there is one. */
static sluice_status find_zip64(int fd, uint64_t end_at, directory_place *place)
{
    uint8_t locator[LOCATOR64_SIZE];
    uint8_t end[END64_SIZE];
    uint64_t at;
    sluice_status st;

    if (end_at < LOCATOR64_SIZE) {
        return SLUICE_OK;
    }
    st = read_exactly(fd, end_at - LOCATOR64_SIZE, locator, sizeof(locator));
    if (st != SLUICE_OK || u32_at(locator) != LOCATOR64_MAGIC) {
        return st;
    }
    at = u64_at(locator + 8);
    if (u32_at(locator + 16) > 1 || u32_at(locator + 4) != 0) {
        return sli_fail(SLUICE_E_UNSUPPORTED, "the zip archive consists of several files");
    }
    if (end_at < LOCATOR64_SIZE + END64_SIZE || at > end_at - LOCATOR64_SIZE - END64_SIZE) {
        return corrupt("its zip64 record is not where it must be");
    }
    st = read_exactly(fd, at, end, sizeof(end));
    if (st != SLUICE_OK) {
        return st;
    }
    if (u32_at(end) != END64_MAGIC || u32_at(end + 16) != 0 || u32_at(end + 20) != 0 ||
        u64_at(end + 24) != u64_at(end + 32)) {
        return corrupt("its zip64 record is not one");
    }
    *place = (directory_place){u64_at(end + 48), u64_at(end + 40), u64_at(end + 32), at};
    return SLUICE_OK;
}

/* Finds the end record, behind which only a comment may be. */
static sluice_status find_end(int fd, uint64_t size, directory_place *place)
{
    const uint64_t most = END_SIZE + MOST_COMMENT;
    const size_t length = (size_t)(size < most ? size : most);
    uint8_t *tail = sli_calloc(1, length + 1);
    const uint8_t *end = NULL;
    uint64_t end_at = 0;
    sluice_status st;

    if (tail == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "the directory of a zip archive");
    }
    st = read_exactly(fd, size - length, tail, length);
    for (size_t i = length; st == SLUICE_OK && end == NULL && i >= END_SIZE; i--) {
        const uint8_t *record = tail + i - END_SIZE;

        if (u32_at(record) == END_MAGIC && u16_at(record + 20) == length - i) {
            end = record;
            end_at = size - length + (uint64_t)(record - tail);
        }
    }
    if (st == SLUICE_OK && end == NULL) {
        st = corrupt("it has no directory at its end");
    }
    if (st == SLUICE_OK) {
        *place = (directory_place){u32_at(end + 16), u32_at(end + 12), u16_at(end + 10), end_at};
        if (u16_at(end + 4) != u16_at(end + 6) || u16_at(end + 8) != u16_at(end + 10)) {
            st = sli_fail(SLUICE_E_UNSUPPORTED, "the zip archive consists of several files");
        }
    }
    sli_free(tail);
    return st == SLUICE_OK ? find_zip64(fd, end_at, place) : st;
}

/* Takes the values that 32 bits do not hold from the member's zip64 field, in their order. */
static sluice_status widen(const uint8_t *extra, size_t size, zip_member *member)
{
    uint64_t *const values[] = {&member->bytes, &member->packed, &member->at};

    while (size >= 4 && u16_at(extra) != 1) {
        const size_t field = 4 + (size_t)u16_at(extra + 2);

        if (field > size) {
            return corrupt("an extra field is longer than its record");
        }
        extra += field;
        size -= field;
    }
    if (size >= 4) {
        if (u16_at(extra + 2) > size - 4) {
            return corrupt("an extra field is longer than its record");
        }
        size = u16_at(extra + 2);
        extra += 4;
    } else {
        size = 0;
    }
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        if (*values[i] != IN_ZIP64) {
            continue;
        }
        if (size < 8) {
            return corrupt("a zip64 field is missing");
        }
        *values[i] = u64_at(extra);
        extra += 8;
        size -= 8;
    }
    return SLUICE_OK;
}

/* Parses one record of the directory. *at is its offset there, and then that of the next one. */
static sluice_status parse_member(const uint8_t *bytes, size_t size, size_t *at, zip_member *member)
{
    const uint8_t *record = bytes + *at;
    const size_t rest = size - *at;
    size_t name;
    size_t extra;
    size_t comment;

    if (rest < MEMBER_SIZE || u32_at(record) != MEMBER_MAGIC) {
        return corrupt("a record of its directory is not one");
    }
    name = u16_at(record + 28);
    extra = u16_at(record + 30);
    comment = u16_at(record + 32);
    if (name + extra + comment > rest - MEMBER_SIZE) {
        return corrupt("its directory ends within a record");
    }
    *member = (zip_member){
        .name = (const char *)record + MEMBER_SIZE,
        .name_length = name,
        .flags = u16_at(record + 8),
        .method = u16_at(record + 10),
        .crc = u32_at(record + 16),
        .packed = u32_at(record + 20),
        .bytes = u32_at(record + 24),
        .at = u32_at(record + 42),
    };
    *at += MEMBER_SIZE + name + extra + comment;
    if (memchr(member->name, '\0', name) != NULL) {
        return corrupt("a name in its directory has a zero byte");
    }
    return widen(record + MEMBER_SIZE + name, extra, member);
}

static sluice_status parse_members(zip_directory *directory, size_t size)
{
    sluice_status st = SLUICE_OK;
    size_t at = 0;

    for (size_t i = 0; i < directory->count && st == SLUICE_OK; i++) {
        st = parse_member(directory->bytes, size, &at, &directory->members[i]);
    }
    return st == SLUICE_OK && at != size ? corrupt("bytes after the records of its directory") : st;
}

sluice_status zip_directory_read(int fd, uint64_t size, zip_directory *directory_out)
{
    zip_directory directory = {.members = NULL};
    directory_place place = {.at = 0};
    sluice_status st = find_end(fd, size, &place);

    if (st != SLUICE_OK) {
        return st;
    }
    if (place.at > place.end || place.bytes != place.end - place.at ||
        place.count > place.bytes / MEMBER_SIZE) {
        return corrupt("its directory is not where its end record says");
    }
    if (place.bytes > ZIP_MOST_DIRECTORY || place.count > ZIP_MOST_MEMBERS) {
        return sli_fail(SLUICE_E_UNSUPPORTED,
                        "the zip archive has %llu members, and must have at most %d",
                        (unsigned long long)place.count, ZIP_MOST_MEMBERS);
    }
    directory.at = place.at;
    directory.count = (size_t)place.count;
    directory.bytes = sli_calloc(1, (size_t)place.bytes + 1);
    directory.members = sli_calloc(directory.count + 1, sizeof(*directory.members));
    if (directory.bytes == NULL || directory.members == NULL) {
        st = sli_fail(SLUICE_E_NO_MEMORY, "the directory of a zip archive");
    }
    if (st == SLUICE_OK) {
        st = read_exactly(fd, place.at, directory.bytes, (size_t)place.bytes);
    }
    if (st == SLUICE_OK) {
        st = parse_members(&directory, (size_t)place.bytes);
    }
    if (st != SLUICE_OK) {
        zip_directory_free(&directory);
        return st;
    }
    *directory_out = directory;
    return SLUICE_OK;
}

void zip_directory_free(zip_directory *directory)
{
    sli_free(directory->members);
    sli_free(directory->bytes);
    *directory = (zip_directory){.members = NULL};
}

/* ---- members --------------------------------------------------------------------------------- */

bool zip_member_is_deflated(const zip_member *member)
{
    return member->method == METHOD_DEFLATE;
}

static const char *method_name(uint16_t method)
{
    switch (method) {
    case 9:
        return "deflate64";
    case 12:
        return "bzip2";
    case 14:
        return "LZMA";
    case 93:
        return "zstd";
    case 95:
        return "xz";
    case 99:
        return "an encryption by AES";
    default:
        return "a method that is not known";
    }
}

static sluice_status check_method(const zip_member *member)
{
    if ((member->flags & (FLAG_ENCRYPTED | FLAG_MASKED)) != 0) {
        return sli_fail(SLUICE_E_UNSUPPORTED, "it is encrypted");
    }
    if (member->method != METHOD_STORED && member->method != METHOD_DEFLATE) {
        return sli_fail(SLUICE_E_UNSUPPORTED,
                        "it is compressed by %s (method %u), and must be stored or deflated, as "
                        "np.savez and np.savez_compressed do",
                        method_name(member->method), member->method);
    }
    if (member->method == METHOD_STORED ? member->packed != member->bytes
                                        : member->bytes / MOST_INFLATED > member->packed) {
        return corrupt("the lengths of a member cannot be");
    }
    return SLUICE_OK;
}

sluice_status zip_member_find(int fd, const zip_directory *directory, const zip_member *member,
                              uint64_t *at_out)
{
    uint8_t local[LOCAL_SIZE];
    uint64_t at;
    sluice_status st = check_method(member);

    if (st != SLUICE_OK) {
        return st;
    }
    if (directory->at < LOCAL_SIZE || member->at > directory->at - LOCAL_SIZE) {
        return corrupt("a member is not before its directory");
    }
    st = read_exactly(fd, member->at, local, sizeof(local));
    if (st != SLUICE_OK) {
        return st;
    }
    if (u32_at(local) != LOCAL_MAGIC || u16_at(local + 8) != member->method ||
        u16_at(local + 26) != member->name_length) {
        return corrupt("a member does not begin where its directory says");
    }
    at = member->at + LOCAL_SIZE + u16_at(local + 26) + u16_at(local + 28);
    if (at > directory->at || member->packed > directory->at - at) {
        return corrupt("a member does not end before its directory");
    }
    *at_out = at;
    return SLUICE_OK;
}
