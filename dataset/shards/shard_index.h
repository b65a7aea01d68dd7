/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What samples a tar archive in WebDataset layout holds, and where. Consecutive members whose names
 * are equal up to the first dot of the base name are one sample; the rest of the name, in lower
 * case, is a field of it: "cat/7.jpg" and "cat/7.cls" are the fields jpg and cls of cat/7.
 *
 * An index is made by a walk over the archive's headers and kept in a file, so that the next run
 * need not walk. It is checked before use and is never needed: whatever is wrong with it, the
 * archive is walked again.
 */
#ifndef SLUICE_SHARD_INDEX_H
#define SLUICE_SHARD_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sluice/status.h>

/* Which fields make a sample: those of the image, the best first, and that of the label. */
typedef struct shard_fields {
    const char *image; /* "jpg,jpeg,png,ppm" */
    const char *label; /* "cls" */
} shard_fields;

extern const shard_fields shard_default_fields;

enum {
    SHARD_HAS_LABEL = 1,
    SHARD_BAD_LABEL = 2, /* there is one, and it is no number */
    SHARD_HAS_CRC = 4,
    SHARD_DUPLICATE = 8 /* its image or its label is there twice: nobody can say which is meant */
};

/* A sample with an image. */
typedef struct shard_sample {
    uint64_t offset; /* of the image's bytes in the shard */
    uint64_t size;
    uint32_t name; /* offset in names of the image's member: KEY.FIELD */
    int32_t label;
    uint32_t crc; /* CRC-32C of the image's bytes */
    uint32_t flags;
} shard_sample;

enum { SHARD_SEEN_SIZE = 120, SHARD_FIRST_SIZE = 256 };

typedef struct shard_index {
    uint64_t shard_size;
    shard_sample *samples; /* in the archive's order */
    uint64_t count;
    size_t capacity;
    char *names; /* each with its zero */
    size_t names_size;
    size_t names_capacity;
    uint64_t imageless;                     /* samples that have none of the image's fields */
    char first_imageless[SHARD_FIRST_SIZE]; /* the key of the first; cut when it is longer */
    uint64_t passed_over;                   /* links, special and sparse files */
    bool has_more;                          /* bytes follow the archive's end */
    bool lacks_end;                         /* it has no end: it may be cut off */
    bool is_unkept;                         /* a folder was named to keep it in, which it is not */
    char seen[SHARD_SEEN_SIZE];             /* fields that were met, "cls,jpg"; the first few */
} shard_index;

void shard_index_free(shard_index *index);

/*
 * Walks the shard that fd has open. with_crc: reads all images, too, to know their checksums.
 * path is for messages. E_CORRUPT, E_UNSUPPORTED no archive or a damaged one; E_IO, E_NO_MEMORY.
 */
sluice_status shard_index_build(int fd, const char *path, const shard_fields *fields, bool with_crc,
                                shard_index *index_out);

/* A sample's name in the archive, "cat/7.jpg"; and the length of the key in it, "cat/7". */
static inline const char *shard_sample_name(const shard_index *index, uint64_t sample)
{
    return index->names + index->samples[sample].name;
}
size_t shard_key_length(const char *name);

/* ---- in a file (shard_index_file.c) -------------------------------------------------------- */

/*
 * Writes an index as a whole or not at all: under a temporary name first, which is renamed. synced:
 * it is safe on the disk then, which takes milliseconds; without, one that a crash of the system
 * leaves damaged is known by its checksum. E_IO.
 */
sluice_status shard_index_write(const shard_index *index, const shard_fields *fields, bool synced,
                                const char *path);

/*
 * Reads the index in a file, for a shard of that size. E_IO it cannot be read; E_CORRUPT it is no
 * index, damaged, or not of this shard and these fields; E_NO_MEMORY.
 */
sluice_status shard_index_read(const char *path, uint64_t shard_size, const shard_fields *fields,
                               shard_index *index_out);

/* ---- kept somewhere (shard_index_cache.c) -------------------------------------------------- */

/*
 * Where the index of a shard lies: beside it, as SHARD.sluice (SHARD.HASH.sluice for fields that
 * are not the default). E_NO_MEMORY; the text is freed by sli_free().
 */
sluice_status shard_index_path(const char *shard, const shard_fields *fields, char **path_out);

/*
 * The index of a shard that fd has open: read if there is one that is not older than the shard,
 * else built and kept for the next time, beside the shard or in ${XDG_CACHE_HOME:-~/.cache}/sluice,
 * or, with a folder, there. folder: NULL as said; "none" builds it and keeps nothing; else where
 * indexes are kept, and is_unkept says where that failed. Fails only where shard_index_build()
 * does.
 */
sluice_status shard_index_obtain(int fd, const char *shard, const shard_fields *fields,
                                 const char *folder, shard_index *index_out);

#endif
