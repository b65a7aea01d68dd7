/* SPDX-License-Identifier: Apache-2.0 */
/* Tar archives made byte by byte, and by the program tar. */
#ifndef SLUICE_TAR_KIT_H
#define SLUICE_TAR_KIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sluice/status.h>

/* An archive on its way; starts as {0}. */
typedef struct tar_maker {
    uint8_t *bytes;
    size_t size;
} tar_maker;

/* Adds a member; returns where its header is. Its name is cut to 100 bytes. */
size_t tar_add(tar_maker *tar, const char *name, char type, const void *data, size_t size);

/* A file that holds this text. */
void tar_add_text(tar_maker *tar, const char *name, const char *text);

/* Several of them, "NAME=TEXT NAME=TEXT"; neither has blanks in it. */
void tar_add_texts(tar_maker *tar, const char *list);

/* A pax header (type x or g) of these records, "KEY=VALUE" with their lengths put before them. */
size_t tar_add_pax(tar_maker *tar, char type, const char *const *records, size_t count);

/* Writes a field of the header, and its checksum anew. */
void tar_set(tar_maker *tar, size_t header, size_t at, const void *bytes, size_t size);
void tar_seal(tar_maker *tar, size_t header);

/* Any bytes; blocks of zeros, two of which end an archive. */
void tar_add_bytes(tar_maker *tar, const void *bytes, size_t size);
void tar_add_zeros(tar_maker *tar, size_t blocks);
void tar_free(tar_maker *tar);

/* The bytes as an open file without a name. */
int bytes_file(const void *bytes, size_t size);

/* What a walk has found. */
typedef struct walked {
    sluice_status st;
    unsigned members;
    char names[8000]; /* each with a line's end */
    char bytes[8000]; /* of all members, one after another */
    uint64_t links;
    uint64_t specials;
    uint64_t sparse;
    bool has_more;
    bool lacks_end;
} walked;

/* Walks over an archive, which messages call x.tar. */
walked walk_fd(int fd, uint64_t size);
walked walk_bytes(const void *bytes, size_t size);

/* Writes the archive, with its end, to a file. */
void tar_write(tar_maker *tar, const char *path);

/* Runs a command of the shell, such as tar; what fails fails the test. */
void shell(const char *format, ...) SLUICE_PRINTF(1, 2);

#endif
