/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The samples of a tar archive in WebDataset layout, with their offsets. Consecutive members whose
 * names are equal up to the first dot of the base name are one sample; the rest of the name, in
 * lower case, is its field: "cat/7.jpg" and "cat/7.cls" are the fields jpg and cls of sample cat/7.
 *
 * An index is built by a walk over the archive's headers, and kept in a file for later runs. It is
 * checked before use. An index that is missing, damaged or stale is rebuilt.
 */
#ifndef SLUICE_SHARD_INDEX_H
#define SLUICE_SHARD_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sluice/status.h>

/* The fields of a sample: those of the image, the preferred one first, and that of the label. */
typedef struct shard_fields {
    const char *image; /* "jpg,jpeg,png,ppm" */
    const char *label; /* "cls" */
} shard_fields;

extern const shard_fields shard_default_fields;

enum {
    SHARD_HAS_LABEL = 1,
    SHARD_BAD_LABEL = 2, /* the label is not a number */
    SHARD_HAS_CRC = 4,
    SHARD_DUPLICATE = 8 /* two images or two labels of the same field: ambiguous */
};

/* A sample with an image. */
typedef struct shard_sample {
    uint64_t offset; /* of the image's bytes in the shard */
    uint64_t size;
    uint32_t name; /* offset in names of the image's member name, KEY.FIELD */
    int32_t label;
    uint32_t crc; /* CRC-32C of the image's bytes */
    uint32_t flags;
} shard_sample;

enum { SHARD_SEEN_SIZE = 120, SHARD_FIRST_SIZE = 256 };

typedef struct shard_index {
    uint64_t shard_size;
    shard_sample *samples; /* in the order of the archive */
    uint64_t count;
    size_t capacity;
    char *names; /* each with its terminating zero */
    size_t names_size;
    size_t names_capacity;
    uint64_t imageless;                     /* samples that have none of the image's fields */
    char first_imageless[SHARD_FIRST_SIZE]; /* the key of the first, maybe shortened */
    uint64_t passed_over;                   /* links, special and sparse files */
    bool has_more;                          /* bytes follow the archive's end */
    bool lacks_end;                         /* no end-of-archive block: the file may be truncated */
    bool is_unkept;                         /* the index could not be written to the folder that
                                               was given for it */
    char seen[SHARD_SEEN_SIZE];             /* the first few fields found, "cls,jpg" */
} shard_index;

void shard_index_free(shard_index *index);

/*
 * Walks the open shard fd. with_crc: also reads all images, for their checksums. path is used in
 * messages. E_CORRUPT, E_UNSUPPORTED: not an archive, or a damaged one; E_IO, E_NO_MEMORY.
 */
sluice_status shard_index_build(int fd, const char *path, const shard_fields *fields, bool with_crc,
                                shard_index *index_out);

/* A sample's member name, "cat/7.jpg", and the length of the key in it, "cat/7". */
static inline const char *shard_sample_name(const shard_index *index, uint64_t sample)
{
    return index->names + index->samples[sample].name;
}
size_t shard_key_length(const char *name);

/* ---- index files (shard_index_file.c) ------------------------------------------------------ */

/*
 * Writes an index atomically: under a temporary name, which is then renamed. synced: waits until it
 * is on disk, which takes milliseconds; else a crash of the system may leave a damaged file, which
 * its checksum detects. E_IO.
 */
sluice_status shard_index_write(const shard_index *index, const shard_fields *fields, bool synced,
                                const char *path);

/*
 * Reads an index file, for a shard of that size. E_IO: it cannot be read; E_CORRUPT: it is not an
 * index, is damaged, or belongs to another shard or other fields; E_NO_MEMORY.
 */
sluice_status shard_index_read(const char *path, uint64_t shard_size, const shard_fields *fields,
                               shard_index *index_out);

/* ---- index folders (shard_index_cache.c) --------------------------------------------------- */

/*
 * The path of a shard's index file beside the shard: SHARD.sluice, or SHARD.HASH.sluice for fields
 * other than the default. E_NO_MEMORY; the text is freed by sli_free().
 */
sluice_status shard_index_path(const char *shard, const shard_fields *fields, char **path_out);

/*
 * Returns the index of the open shard fd: reads it if there is one that is not older than the
 * shard, else builds and stores it. folder NULL: beside the shard, or in
 * ${XDG_CACHE_HOME:-~/.cache}/sluice. folder "none": builds it and stores nothing. Other folders:
 * in that folder; is_unkept is set where that fails. Errors are those of shard_index_build(), and
 * E_IO, E_NO_MEMORY.
 */
sluice_status shard_index_obtain(int fd, const char *shard, const shard_fields *fields,
                                 const char *folder, shard_index *index_out);

#endif
