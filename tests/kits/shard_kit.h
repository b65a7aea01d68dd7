/* SPDX-License-Identifier: Apache-2.0 */
/* A small shard, and indexes of it. */
#ifndef SLUICE_SHARD_KIT_H
#define SLUICE_SHARD_KIT_H

#include "dataset_state.h"
#include "shard_index.h"
#include "tar_kit.h"

/*
 * Three images (a/1.jpg, label -3; a/2.png without one; a/4.ppm, whose label is no number), a
 * sample a/3 without an image, a link, and something behind the archive's end.
 */
void make_members(tar_maker *tar);

void check_same_index(const shard_index *a, const shard_index *b);

/*
 * A shard of samples 0 to count - 1: 000.jpg and 000.cls and so on, whose images hold "NAME-NUMBER"
 * and whose labels are their numbers.
 */
void make_web_shard(const char *path, const char *name, int count);

/* The dataset of a text in which @ stands for a path; opened; or not to be opened, with this. */
sluice_dataset *web_dataset(const char *text, const char *path);
sluice_dataset *open_web(const char *text, const char *path);
void check_web_fails(const char *text, const char *path, sluice_status want, const char *words);

/* The sample has this name, its image these bytes, and its label is that. */
void check_web_sample(const sluice_dataset *dataset, uint64_t index, const char *name,
                      const char *text, int32_t label);

/* Writes a number into the bytes of an index's file, and makes its checksum right again. */
void put_in_index(uint8_t *bytes, size_t size, size_t at, uint64_t number, size_t width);

/* All of a file, which is smaller than there is room for. */
size_t read_file_bytes(const char *path, uint8_t *bytes, size_t room);

#endif
