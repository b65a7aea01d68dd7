/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The samples of a tar archive in WebDataset layout, with their offsets. Consecutive members whose
 * names are equal up to the first dot of the base name are one sample; the rest of the name, in
 * lower case, is its field: "cat/7.jpg" and "cat/7.cls" are the fields jpg and cls of sample cat/7.
 *
 * An index is built by walking over the archive's headers, and stored in a file for later runs. The
 * file is checked before use; if it is missing, corrupt or stale, the index is rebuilt. That of a
 * pack is never rebuilt, since a rebuilt one has no CRCs of the images that were packed. An index
 * is bound to its shard in one of two ways:
 *
 * - By the shard's stamp, which changes with every replacement of, and every write to, the file. A
 *   copy has another stamp, so it gets a new index.
 * - By content, if it has the CRCs of all images, as those of packs. Key, label and CRC of a sample
 *   are compared with the shard whenever the sample is read, so an index is valid for copies, too.
 */
#ifndef SLUICE_SHARD_INDEX_H
#define SLUICE_SHARD_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sluice/status.h>

struct stat;

/* The field names of the image, in order of preference, and the field name of the label. */
typedef struct shard_fields {
    const char *image; /* comma-separated, for example "jpg,jpeg,png,ppm" */
    const char *label; /* for example "cls" */
} shard_fields;

extern const shard_fields shard_default_fields;

enum {
    SHARD_HAS_LABEL = 1,
    SHARD_BAD_LABEL = 2, /* the label is not a number */
    SHARD_HAS_CRC = 4,
    SHARD_DUPLICATE = 8 /* ambiguous: two images, or two labels, with the same field */
};

/* A sample of the index; it always has an image. */
typedef struct shard_sample {
    uint64_t offset; /* offset of the image's bytes in the shard */
    uint64_t size;
    uint32_t name; /* offset of the image's member name, KEY.FIELD, in index->names */
    int32_t label;
    uint32_t crc; /* CRC-32C of the image's bytes */
    uint32_t flags;
} shard_sample;

enum { SHARD_SEEN_SIZE = 120, SHARD_FIRST_SIZE = 256 };

typedef struct shard_index {
    uint64_t shard_size;
    uint64_t stamp;        /* shard_stamp() of the file */
    shard_sample *samples; /* in archive order; only samples with an image */
    uint64_t count;
    size_t capacity;
    char *names; /* the images' member names, each zero-terminated */
    size_t names_size;
    size_t names_capacity;
    uint64_t imageless; /* number of samples that have none of the image fields */
    char first_imageless[SHARD_FIRST_SIZE]; /* key of the first sample without an image, truncated
                                               if it is long */
    uint64_t passed_over; /* number of skipped members: links, special files and sparse files */
    bool has_more;        /* data follow the end of the archive */
    bool lacks_end;       /* there is no end-of-archive block, so the file may be
                             truncated */
    bool is_unkept;       /* the index could not be written to the folder that the
                             caller named */
    bool is_remade;       /* a stored index was corrupt, or of another version of the shard */
    bool is_unchecked;    /* the shard is of a pack, but this index has no CRCs of its samples */
    char seen[SHARD_SEEN_SIZE]; /* field names found, in lower case, for example "cls,jpg"; "..." at
                                   the end stands for those without room */
} shard_index;

void shard_index_free(shard_index *index);

/*
 * Builds the index of the open shard fd. with_crc: also reads all images and stores their CRCs.
 * path is used in messages. E_CORRUPT: the shard is not a tar archive, or is corrupt.
 * E_UNSUPPORTED: it is compressed. Also returns E_IO and E_NO_MEMORY.
 */
sluice_status shard_index_build(int fd, const char *path, const shard_fields *fields, bool with_crc,
                                shard_index *index_out);

/*
 * Returns the member name of a sample's image, such as "cat/7.jpg". The sample's key is the first
 * shard_key_length() bytes of the name, such as "cat/7".
 */
static inline const char *shard_sample_name(const shard_index *index, uint64_t sample)
{
    return index->names + index->samples[sample].name;
}
size_t shard_key_length(const char *name);

/*
 * True if a member's name has a key and a field. Other members, such as ".hidden", "README" and
 * "__meta__", belong to no sample.
 */
bool shard_has_field(const char *name, size_t key_length);

/* A hash of a file's size, its times of modification and of change (ns), and its inode. */
uint64_t shard_stamp(const struct stat *info);

/* True if the index has samples, and the CRCs of all. */
bool shard_index_is_by_content(const shard_index *index);

/*
 * Compares a sample of an index by content with the open shard fd: the header before the image, and
 * the label after it, if it has one. E_CORRUPT: they differ. E_IO: the shard cannot be read. Error
 * texts do not name the shard.
 */
sluice_status shard_sample_check(int fd, const shard_index *index, uint64_t sample);

/* Number of bytes of the shard from the header before a sample's image to the end of the label. */
uint64_t shard_sample_extent(const shard_sample *sample);

/* Parses an int32_t; blanks before and after the number are skipped. */
bool shard_parse_label(const char *text, size_t size, int32_t *label_out);

/* ---- index files (shard_index_file.c) ------------------------------------------------------ */

/*
 * Writes an index atomically: to a temporary file, which is then renamed. If `synced` is set, the
 * call also waits until the file is on disk, which takes milliseconds. Otherwise a system crash may
 * leave a corrupt file, which its checksum reveals. Returns E_IO or E_NO_MEMORY on failure.
 */
sluice_status shard_index_write(const shard_index *index, const shard_fields *fields, bool synced,
                                const char *path);

/*
 * Reads the index file of a shard of shard_size bytes; the caller compares stamp or content. E_IO:
 * the file cannot be read; E_CORRUPT: it is not an index, is corrupt, of an unknown version, or was
 * built for another shard or other fields; E_UNSUPPORTED: it is of version 1, which has no stamp,
 * and is not bound by content. Also returns E_NO_MEMORY.
 */
sluice_status shard_index_read(const char *path, uint64_t shard_size, const shard_fields *fields,
                               shard_index *index_out);

/* ---- index folders (shard_index_cache.c) --------------------------------------------------- */

/*
 * Returns the path of the index file next to a shard: SHARD.sluice for the default fields, else
 * SHARD.HASH.sluice. The caller frees it by sli_free(). Returns E_NO_MEMORY on failure.
 */
sluice_status shard_index_path(const char *shard, const shard_fields *fields, char **path_out);

/*
 * Returns the index of the open shard fd: a stored index if it is bound to this file, else one that
 * is built now and stored. is_packed: the shard is of a pack; with folder NULL and the default
 * fields its index is then the pack's or an error, E_CORRUPT, and nothing is stored next to it.
 *
 * The index is stored in `folder`; is_unkept is set if that fails. An index of a shard that changes
 * meanwhile is not stored, which is logged. With folder NULL it is stored
 * next to the shard or, failing that, in ${XDG_CACHE_HOME:-~/.cache}/sluice. With folder "none" it
 * is built but not stored. Returns the errors of shard_index_build(), E_IO or E_NO_MEMORY.
 */
sluice_status shard_index_obtain(int fd, const char *shard, const shard_fields *fields,
                                 const char *folder, bool is_packed, shard_index *index_out);

/*
 * Reads the index that `sluice pack` wrote next to the open shard fd. E_CORRUPT: it is missing, is
 * corrupt, has no CRCs, or is of another shard. Also returns E_IO and E_NO_MEMORY.
 */
sluice_status shard_index_read_packed(int fd, const char *shard, shard_index *index_out);

/* Adds the names of `more` that `seen` does not have; both are as shard_index.seen. */
void shard_seen_merge(char seen[SHARD_SEEN_SIZE], const char *more);

#endif
