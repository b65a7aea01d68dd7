/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a tar archive of small files: in ustar format, without owners and with modification time
 * 0, so that the same members always give the same bytes.
 */
#ifndef SLUICE_TAR_WRITER_H
#define SLUICE_TAR_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sluice/status.h>

typedef struct tar_writer tar_writer;

/*
 * Returns the bytes that a member occupies in an archive: its header block, and its contents
 * rounded up to whole blocks.
 */
static inline uint64_t tar_member_bytes(uint64_t size)
{
    return 512 + (size + 511) / 512 * 512;
}

/*
 * Checks that this build can write archives. E_UNSUPPORTED: it cannot; the message names what is
 * missing.
 */
sluice_status tar_writer_check(void);

/*
 * Begins an archive in the open file fd. `path` is used in messages. Both are borrowed. Returns
 * E_NO_MEMORY on failure.
 */
sluice_status tar_writer_open(int fd, const char *path, tar_writer **writer_out);

/*
 * Adds a member, of `head` and then `bytes`; either may be empty. E_IO, with the file's path in the
 * message: a write failed, and the writer is unusable afterwards.
 */
sluice_status tar_writer_add(tar_writer *writer, const char *name, const void *head,
                             size_t head_size, const void *bytes, size_t size);

/* Writes the end of the archive; the caller syncs the file. Returns E_IO on failure. */
sluice_status tar_writer_finish(tar_writer *writer, uint64_t *bytes_out);

/* Frees a writer, finished or not. Accepts NULL. */
void tar_writer_close(tar_writer *writer);

#endif
