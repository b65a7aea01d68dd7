/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that keep the index of another file for later runs: where they are, and how they are read
 * and written as a whole. What they hold is up to their users.
 */
#ifndef SLUICE_INDEX_FILE_H
#define SLUICE_INDEX_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sluice/status.h>

struct stat;

/*
 * Waits until a write to the file would change its stamp: the times of a file have the resolution
 * of the kernel's tick, of at most 10 ms. It is a wait for files that have just been written only.
 */
void index_await_tick(const struct stat *info);

/* Returns ${XDG_CACHE_HOME:-~/.cache}/sluice, or "" if the environment defines neither. The caller
 * frees it by sli_free(). E_NO_MEMORY. */
sluice_status index_cache_folder(char **folder_out);

/*
 * Returns the path of the index of `file` in an index folder; `hash` tells indexes of one file from
 * each other. Files of the same name in different folders get different paths. The caller frees it
 * by sli_free(). E_NO_MEMORY.
 */
sluice_status index_path_in(const char *folder, const char *file, uint64_t hash, char **path_out);

/*
 * Creates a folder and its parents. Errors are ignored here: writing a file to the folder reports
 * them.
 */
void index_make_folders(char *path);

/*
 * Writes an index atomically: to a temporary file, which is then renamed. If `synced` is set, the
 * call also waits until the file is on disk, which takes milliseconds. Otherwise a system crash may
 * leave a corrupt file, which its checksum reveals. Returns E_IO or E_NO_MEMORY on failure.
 */
sluice_status index_file_write(const char *path, const void *bytes, size_t size, bool synced);

/*
 * Reads an index, whose bytes the caller frees by sli_free(). E_CORRUPT: it is no regular file, has
 * fewer than `least` bytes, or became shorter while it was read. Also returns E_IO and E_NO_MEMORY.
 */
sluice_status index_file_read(const char *path, size_t least, uint8_t **bytes_out,
                              size_t *size_out);

#endif
