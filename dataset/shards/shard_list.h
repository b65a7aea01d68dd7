/* SPDX-License-Identifier: Apache-2.0 */
/* Which files a text of shards means. */
#ifndef SLUICE_SHARD_LIST_H
#define SLUICE_SHARD_LIST_H

#include <stddef.h>

#include <sluice/status.h>

typedef struct shard_list {
    char **paths;
    size_t count;
    size_t capacity;
} shard_list;

/*
 * A list with commas of: a file or a fifo; "-", the standard input; a folder, of which all *.tar
 * are meant; a pattern with ranges in braces, {000000..000123}, and wildcards of the shell, * ? [
 * ]. What exists under its very name is never taken for a pattern. Files of a folder or of a
 * wildcard come in byte order. E_INVALID a bad range, or nothing that matches; E_UNSUPPORTED what
 * is neither; E_IO, E_NO_MEMORY.
 */
sluice_status shard_list_make(const char *text, shard_list *list_out);
void shard_list_free(shard_list *list);

#endif
