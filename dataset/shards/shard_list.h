/* SPDX-License-Identifier: Apache-2.0 */
/* Expands a list of shards into paths. */
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
 * Expands a comma-separated list. An entry is a file or a FIFO; "-", standard input; a folder,
 * which means all *.tar in it; or a pattern with ranges in braces, {000000..000123}, and the
 * shell's wildcards * ? [ ]. An existing path is never interpreted as a pattern. Files of a folder
 * or a wildcard are sorted by bytes. E_INVALID: a bad range, or no match; E_UNSUPPORTED: not a
 * file, folder or FIFO; E_IO, E_NO_MEMORY.
 */
sluice_status shard_list_make(const char *text, shard_list *list_out);
void shard_list_free(shard_list *list);

#endif
