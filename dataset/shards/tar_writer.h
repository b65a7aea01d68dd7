/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing a tar archive of small files, the same bytes for the same members wherever and whenever:
 * ustar, of nobody, at the beginning of time.
 */
#ifndef SLUICE_TAR_WRITER_H
#define SLUICE_TAR_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sluice/status.h>

typedef struct tar_writer tar_writer;

/* Bytes of a member in an archive: its header, and its contents in whole blocks. */
static inline uint64_t tar_member_bytes(uint64_t size)
{
    return 512 + (size + 511) / 512 * 512;
}

/* Can this build write archives? E_UNSUPPORTED, with what is missing. */
sluice_status tar_writer_check(void);

/* Begins an archive in an open file, which `path` is in messages; both are borrowed. E_NO_MEMORY.
 */
sluice_status tar_writer_open(int fd, const char *path, tar_writer **writer_out);

/* E_IO with the file's path; nothing more can be written then. */
sluice_status tar_writer_add(tar_writer *writer, const char *name, const void *bytes, size_t size);

/* Writes the archive's end, and makes sure that all is on disk. E_IO. */
sluice_status tar_writer_finish(tar_writer *writer, uint64_t *bytes_out);

/* Frees a writer, finished or not. NULL is fine. */
void tar_writer_close(tar_writer *writer);

#endif
