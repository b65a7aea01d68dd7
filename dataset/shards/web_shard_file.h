/* SPDX-License-Identifier: Apache-2.0 */
/* The file of a shard, for random access to its samples. */
#ifndef SLUICE_WEB_SHARD_FILE_H
#define SLUICE_WEB_SHARD_FILE_H

#include <sys/stat.h>

#include "descriptor_int.h"
#include "source.h"

typedef struct web_shard_file {
    const char *path;
    uint64_t first;     /* number of its first sample in the dataset */
    uint64_t version;   /* of the file, when it was opened first */
    bool drops;         /* drop a sample's pages from the page cache after it is read */
    sli_held_file held; /* cached descriptor; while it is closed, the file is opened for each
                           sample */
} web_shard_file;

/*
 * Opens a shard. `interrupt` cancels a wait for a free file descriptor; NULL: the wait cannot be
 * cancelled. Returns E_IO if the shard cannot be opened or is not a regular file.
 */
sluice_status web_shard_open(const char *path, const sli_interrupt *interrupt, int *fd_out,
                             struct stat *info_out);

/*
 * Takes ownership of the descriptor of an opened shard, of which web_shard_open() returned `info`.
 * The struct must not move afterwards.
 */
void web_shard_hold(web_shard_file *file, const char *path, int fd, const struct stat *info,
                    bool drops);

/*
 * Finds the file of a sample among `count` structs of `size` bytes, which begin with a
 * web_shard_file and are in the order of their samples. *index becomes the number of the sample in
 * its file.
 */
void *web_shard_find(void *files, size_t count, size_t size, uint64_t *index);

/*
 * Returns a descriptor of the shard: the held one, with *lent_out true, or one opened for this
 * sample. Either is returned by web_shard_give_back(). Returns E_IO if the file was changed or
 * replaced since the shard was first opened.
 */
sluice_status web_shard_borrow(web_shard_file *file, const sample_io *io, bool *lent_out,
                               int *fd_out);
void web_shard_give_back(web_shard_file *file, bool lent, int fd);

/* Reads `size` bytes at an offset. Returns E_IO on a read error or at a premature end of file. */
sluice_status web_shard_read(const web_shard_file *file, int fd, uint64_t offset, void *to,
                             size_t size);

#endif
