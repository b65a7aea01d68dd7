/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arguments of webdataset, and code that is shared by its two readers: with an index
 * (source_webdataset.c) and sequential (source_webstream.c).
 */
#ifndef SLUICE_WEBDATASET_ARGS_H
#define SLUICE_WEBDATASET_ARGS_H

#include "file_list.h"
#include "source.h"
#include "stage.h"

typedef struct web_args {
    const char *shards;
    const char *image;
    const char *label;
    const char *index;
    uint32_t cache;
    uint32_t access;     /* 0: auto, 1: stream */
    const char *fields;  /* the list of fields (web_fields.h); "": image and label */
    const char *classes; /* file of the names of a column of kind class; "": none */
    uint64_t max_sample; /* limit on the bytes of an image in a stream */
} web_args;

/* Limit on the bytes of any image, which bounds memory. */
extern const uint64_t WEB_MOST_BYTES;

/* The default of max_sample. */
#define WEB_STREAM_BYTES (UINT64_C(256) << 20)

/* The kind of files in a list of shards. */
extern const file_list_kind web_list_kind;

/* The part of a path after its last slash. */
const char *web_base_of(const char *path);

/* Checks the arguments of the stage, a web_args, before its shards are opened. */
sluice_status web_args_check(void *opaque);

/* True if the source has a label column. */
bool web_is_labelled(const web_args *args);

/*
 * Checks a sample by its flags (shard_index.h) and the size of its image. E_CORRUPT: an ambiguous
 * image or label, or no valid label; E_IO: more than WEB_MOST_BYTES.
 */
sluice_status web_check_sample(uint32_t flags, uint64_t size, bool labelled, const char *shard);

/*
 * Determines whether shards with these arguments are read sequentially. Returns the errors of
 * file_list_make().
 */
sluice_status web_is_stream(const web_args *args, bool *is_stream_out);

/* The operations of the sequential reader. */
extern const source_ops web_stream_ops;

/* The operations for fields=, and the source_stage_ops.schema for it (source_webfields.c). */
extern const source_ops web_fields_ops;
sluice_status web_source_schema(const void *source, stage_schema *schema);

#endif
