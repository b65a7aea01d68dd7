/* SPDX-License-Identifier: Apache-2.0 */
#include "tar_kit.h"

#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tar_reader.h"
#include "testing.h"

enum { BLOCK = 512 };

void tar_add_bytes(tar_maker *tar, const void *bytes, size_t size)
{
    tar->bytes = realloc(tar->bytes, tar->size + size + 1);
    T_TRUE(tar->bytes != NULL);
    if (size > 0) {
        memcpy(tar->bytes + tar->size, bytes, size);
    }
    tar->size += size;
}

void tar_add_zeros(tar_maker *tar, size_t blocks)
{
    static const uint8_t zeros[BLOCK];

    for (size_t i = 0; i < blocks; i++) {
        tar_add_bytes(tar, zeros, BLOCK);
    }
}

void tar_seal(tar_maker *tar, size_t header)
{
    uint8_t *bytes = tar->bytes + header;
    unsigned sum = 0;
    char text[16];

    memset(bytes + 148, ' ', 8);
    for (int i = 0; i < BLOCK; i++) {
        sum += bytes[i];
    }
    snprintf(text, sizeof(text), "%06o", sum);
    memcpy(bytes + 148, text, 7);
}

void tar_set(tar_maker *tar, size_t header, size_t at, const void *bytes, size_t size)
{
    memcpy(tar->bytes + header + at, bytes, size);
    tar_seal(tar, header);
}

size_t tar_add(tar_maker *tar, const char *name, char type, const void *data, size_t size)
{
    static const uint8_t zeros[BLOCK];
    const size_t at = tar->size;
    const size_t length = strlen(name);
    char header[BLOCK] = {0};

    memcpy(header, name, length < 100 ? length : 100);
    snprintf(header + 100, 8, "0000644");
    snprintf(header + 124, 12, "%011zo", size);
    header[156] = type;
    memcpy(header + 257,
           "ustar\0"
           "00",
           8);
    tar_add_bytes(tar, header, BLOCK);
    tar_seal(tar, at);
    tar_add_bytes(tar, data, size);
    tar_add_bytes(tar, zeros, (BLOCK - size % BLOCK) % BLOCK);
    return at;
}

void tar_add_text(tar_maker *tar, const char *name, const char *text)
{
    tar_add(tar, name, '0', text, strlen(text));
}

void tar_add_texts(tar_maker *tar, const char *list)
{
    while (*list != '\0') {
        char member[200];
        const size_t length = strcspn(list, " ");
        const size_t name = strcspn(list, "=");

        T_TRUE(name < length && length < sizeof(member));
        memcpy(member, list, length);
        member[name] = '\0';
        tar_add(tar, member, '0', member + name + 1, length - name - 1);
        list += length + strspn(list + length, " ");
    }
}

size_t tar_add_pax(tar_maker *tar, char type, const char *const *records, size_t count)
{
    char *text = calloc(1, 100000);
    size_t length = 0;
    size_t at;

    for (size_t i = 0; i < count; i++) {
        const size_t body = strlen(records[i]) + 2; /* the blank and the line's end */
        size_t whole = body + 1;

        while (whole != body + (size_t)snprintf(NULL, 0, "%zu", whole)) {
            whole++;
        }
        length += (size_t)snprintf(text + length, 100000 - length, "%zu %s\n", whole, records[i]);
    }
    at = tar_add(tar, "PaxHeaders/x", type, text, length);
    free(text);
    return at;
}

void tar_free(tar_maker *tar)
{
    free(tar->bytes);
    *tar = (tar_maker){NULL, 0};
}

int bytes_file(const void *bytes, size_t size)
{
    int fd = memfd_create("bytes", MFD_CLOEXEC);

    T_TRUE(fd >= 0);
    T_EQ(pwrite(fd, bytes, size, 0), size);
    return fd;
}

void tar_write(tar_maker *tar, const char *path)
{
    tar_add_zeros(tar, 2);
    t_write_file(path, tar->bytes, tar->size);
    tar_free(tar);
}

void shell(const char *format, ...)
{
    char command[4000];
    va_list args;

    va_start(args, format);
    vsnprintf(command, sizeof(command), format, args);
    va_end(args);
    if (system(command) != 0) {
        T_FAIL_("this fails: %s", command);
    }
}

walked walk_fd(int fd, uint64_t size)
{
    static tar_reader reader;
    walked found = {0};
    size_t length = 0;
    size_t at = 0;

    tar_begin(&reader, fd, size, "x.tar");
    for (;;) {
        tar_member member;

        found.st = tar_next(&reader, &member);
        if (found.st != SLUICE_OK) {
            break;
        }
        found.members++;
        T_TRUE(member.offset <= size && member.size <= size - member.offset);
        length += (size_t)snprintf(found.names + length, sizeof(found.names) - length, "%s\n",
                                   member.name);
        if (member.size < sizeof(found.bytes) - at) {
            T_OK(tar_read(&reader, member.offset, found.bytes + at, (size_t)member.size));
            at += (size_t)member.size;
        }
        T_TRUE(length < sizeof(found.names) && found.members < 10000);
    }
    found.links = reader.links;
    found.specials = reader.specials;
    found.sparse = reader.sparse;
    found.has_more = reader.has_more;
    found.lacks_end = reader.lacks_end;
    tar_end(&reader);
    return found;
}

walked walk_bytes(const void *bytes, size_t size)
{
    int fd = bytes_file(bytes, size);
    walked found = walk_fd(fd, size);

    close(fd);
    return found;
}
