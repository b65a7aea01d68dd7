/* SPDX-License-Identifier: Apache-2.0 */
/* A source of user code: what its two kinds share, by number (source_custom.c) and as a stream. */
#ifndef SLUICE_CUSTOM_SOURCE_H
#define SLUICE_CUSTOM_SOURCE_H

#include <stdatomic.h>

#include "custom_sample.h"
#include "source.h"
#include "source_custom.h"

struct custom_source {
    char name[CUSTOM_NAME_SIZE];
    sluice_source of; /* copy of the caller's struct; its name and columns point to the caller's
                         memory, so they must not be used */
    custom_columns columns;
    int image; /* index of the first declared image column; -1: no image */
    bool guards;
    bool is_owned;     /* the stage of a dataset owns it */
    atomic_bool begun; /* a stream without open_pass() has begun its only pass */
};

/* Operations of both kinds (source_ops). */
sluice_status custom_source_open(const void *args, void **source_out);
void custom_source_close(void *source);
void custom_source_name(const void *source, uint64_t index, char *text, size_t size);
uint64_t custom_source_memory(const void *source);

/* The operations of a source with next() (custom_stream.c). */
extern const source_ops custom_stream_ops;

#endif
