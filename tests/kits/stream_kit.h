/* SPDX-License-Identifier: Apache-2.0 */
/* Shards of small images that decode, read in sequence, and pipes that a test writes to. */
#ifndef SLUICE_STREAM_KIT_H
#define SLUICE_STREAM_KIT_H

#include "engine_kit.h"
#include "tar_kit.h"
#include "thread_int.h"

/* Adds samples first to first + count - 1: images of one grey of their own, and their numbers. */
void add_images(tar_maker *tar, int first, int count);

/* A shard of them. */
void make_image_shard(const char *path, int first, int count);

/* `webdataset WHAT | decode | center_crop 2 | batch BATCH`, @ in it the path. */
sluice_dataset *stream_dataset(const char *what, const char *path, const char *batch);

/* Two shards in the folder, of `count` samples together. */
void make_two(const char *folder, int count);

/* All of options->passes passes of them by their indexes; stages as " | skip 3", of order. */
tape tape_by_index(const char *stages, const char *folder, const char *batch,
                   const run_options *options);

/* What a stream gives is what the same shards give by their indexes. */
void check_stream(const char *what, const char *stages, const char *folder, const char *batch,
                  const run_options *options);

/* Is there libarchive, which decompresses shards? */
bool can_decompress(void);

/* Only gzip, which zlib decompresses. */
bool can_gunzip(void);

/* A thread that writes bytes to a fifo and closes it. */
typedef struct fifo_writer {
    char path[400];
    const uint8_t *bytes;
    size_t size;
    sli_thread thread;
} fifo_writer;

/* Makes the fifo; the bytes stay the caller's until fifo_join(). */
void fifo_write(fifo_writer *writer, const char *path, const void *bytes, size_t size);
void fifo_join(fifo_writer *writer);

#endif
