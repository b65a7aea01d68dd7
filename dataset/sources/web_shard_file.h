/* SPDX-License-Identifier: Apache-2.0 */
/* The file of a shard whose samples are read in any order. */
#ifndef SLUICE_WEB_SHARD_FILE_H
#define SLUICE_WEB_SHARD_FILE_H

#include "descriptor_int.h"
#include "source.h"

typedef struct web_shard_file {
    const char *path;
    uint64_t size;
    bool drops;         /* samples leave the page cache once they are read */
    sli_held_file held; /* kept open unless descriptors are short; then opened for each sample */
} web_shard_file;

/*
 * Opens a shard. `interrupt` ends a wait for a free descriptor; NULL: nothing does. E_IO: it cannot
 * be opened, or is no plain file.
 */
sluice_status web_shard_open(const char *path, const sli_interrupt *interrupt, int *fd_out,
                             uint64_t *size_out);

/* Takes the descriptor of an opened shard. The struct must not move from then on. */
void web_shard_hold(web_shard_file *file, const char *path, int fd, uint64_t size, bool drops);

/*
 * A descriptor of the shard: borrowed if one is held, else opened for this sample. E_IO: the file's
 * size has changed since it was opened first.
 */
sluice_status web_shard_borrow(web_shard_file *file, const sample_io *io, bool *lent_out,
                               int *fd_out);
void web_shard_give_back(web_shard_file *file, bool lent, int fd);

/* Reads bytes at an offset. E_IO: also where the file ends before them. */
sluice_status web_shard_read(const web_shard_file *file, int fd, uint64_t offset, void *to,
                             size_t size);

#endif
