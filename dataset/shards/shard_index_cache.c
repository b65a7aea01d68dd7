/* SPDX-License-Identifier: Apache-2.0 */
/* Finds and stores index files: next to the shard, or in an index folder. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "alloc_int.h"
#include "index_file.h"
#include "log_int.h"
#include "rng_int.h"
#include "shard_index.h"
#include "status_int.h"
#include "text_int.h"

static bool are_default(const shard_fields *fields)
{
    return strcmp(fields->image, shard_default_fields.image) == 0 &&
           strcmp(fields->label, shard_default_fields.label) == 0;
}

static uint64_t hash_of(const shard_fields *fields)
{
    return sli_mix_in(sli_hash_text(fields->image), sli_hash_text(fields->label));
}

sluice_status shard_index_path(const char *shard, const shard_fields *fields, char **path_out)
{
    sli_text text = {0};

    sli_text_add(&text, "%s", shard);
    if (!are_default(fields)) {
        sli_text_add(&text, ".%016llx", (unsigned long long)hash_of(fields));
    }
    sli_text_add(&text, ".sluice");
    return sli_text_take(&text, path_out);
}

/* True if the index is bound to this file; the last sample decides for an index by content. */
static bool is_of_shard(const shard_index *index, int fd, const struct stat *shard)
{
    return shard_index_is_by_content(index)
               ? shard_sample_check(fd, index, index->count - 1) == SLUICE_OK
               : index->stamp == shard_stamp(shard);
}

static sluice_status of_another(const char *path)
{
    return sli_fail(SLUICE_E_CORRUPT,
                    "the index %s is of another shard, or of another version of this one", path);
}

/* Reads the index file at a path. END_OF_DATA: there is no usable index at that path. */
static sluice_status try_read(const char *path, int fd, const struct stat *shard,
                              const shard_fields *fields, bool *is_other_out,
                              shard_index *index_out)
{
    sluice_status st;

    if (access(path, F_OK) != 0) {
        return SLUICE_END_OF_DATA;
    }
    st = shard_index_read(path, (uint64_t)shard->st_size, fields, index_out);
    if (st == SLUICE_OK && !is_of_shard(index_out, fd, shard)) {
        shard_index_free(index_out);
        st = of_another(path);
    }
    if (st != SLUICE_OK && st != SLUICE_E_NO_MEMORY) {
        sli_log(SLUICE_LOG_INFO, "%s; it is not used", sluice_last_error());
        *is_other_out = true;
        return SLUICE_END_OF_DATA;
    }
    return st;
}

/* Candidate paths of an index file, in order of preference; NULL: unused entry. */
typedef struct index_places {
    char *paths[2];
    char *folder;  /* folder of paths[1]; created only when an index is written there */
    bool is_named; /* the caller named the folder */
} index_places;

static void free_places(index_places *places)
{
    sli_free(places->paths[0]);
    sli_free(places->paths[1]);
    sli_free(places->folder);
}

/* beside: an index may be next to the shard. */
static sluice_status find_places(const char *shard, const shard_fields *fields, const char *folder,
                                 bool beside, index_places *places)
{
    sluice_status st = SLUICE_OK;

    memset(places, 0, sizeof(*places));
    places->is_named = folder != NULL;
    if (folder == NULL) {
        st = beside ? shard_index_path(shard, fields, &places->paths[0]) : SLUICE_OK;
        if (st == SLUICE_OK) {
            st = index_cache_folder(&places->folder);
        }
    } else {
        places->folder = sli_strdup(folder);
        st = places->folder == NULL ? sli_fail(SLUICE_E_NO_MEMORY, "the index of %s", shard)
                                    : SLUICE_OK;
    }
    if (st == SLUICE_OK && places->folder[0] != '\0') {
        st = index_path_in(places->folder, shard, hash_of(fields), &places->paths[1]);
    }
    if (st != SLUICE_OK) {
        free_places(places);
    }
    return st;
}

/* Writes a new index to the first candidate path that is writable; false if no path is. */
static bool store_index(const shard_index *index, const char *shard, const shard_fields *fields,
                        index_places *places)
{
    for (int i = 0; i < 2; i++) {
        if (places->paths[i] == NULL) {
            continue;
        }
        if (i == 1) {
            index_make_folders(places->folder);
        }
        if (shard_index_write(index, fields, false, places->paths[i]) == SLUICE_OK) {
            sli_log(SLUICE_LOG_INFO, "the index of %s, %llu samples, is kept in %s", shard,
                    (unsigned long long)index->count, places->paths[i]);
            return true;
        }
        sli_log(SLUICE_LOG_INFO, "%s", sluice_last_error());
    }
    sli_log(SLUICE_LOG_INFO, "the index of %s is kept in memory only", shard);
    return false;
}

/* True if the shard is as it was before its index was built. */
static bool is_unchanged(int fd, const char *shard, const struct stat *before)
{
    struct stat now;

    if (fstat(fd, &now) == 0 && shard_stamp(&now) == shard_stamp(before)) {
        return true;
    }
    sli_log(SLUICE_LOG_WARN,
            "%s was changed while its index was built: the index is not stored, and samples of "
            "this run may be wrong; start again when the shard is complete",
            shard);
    return false;
}

/* ---- packs ---------------------------------------------------------------------------------- */

/* Fails unless an index that was read is the pack's index of the open shard. */
static sluice_status check_packed(int fd, const char *path, const shard_index *index)
{
    sluice_status st = SLUICE_OK;

    if (index->count > 0 && !shard_index_is_by_content(index)) {
        return sli_fail(SLUICE_E_CORRUPT,
                        "the index %s has no checksums: it is not the one that `sluice pack` wrote",
                        path);
    }
    if (index->count > 0) {
        st = shard_sample_check(fd, index, index->count - 1);
    }
    return st == SLUICE_E_CORRUPT ? of_another(path) : st;
}

sluice_status shard_index_read_packed(int fd, const char *shard, shard_index *index_out)
{
    struct stat info;
    shard_index index;
    char *path = NULL;
    sluice_status st;

    if (fstat(fd, &info) != 0) {
        return sli_fail_errno(SLUICE_E_IO, errno, "cannot stat %s", shard);
    }
    st = shard_index_path(shard, &shard_default_fields, &path);
    if (st == SLUICE_OK && access(path, F_OK) != 0 && errno == ENOENT) {
        st = sli_fail(SLUICE_E_CORRUPT, "the index %s is missing", path);
    }
    if (st == SLUICE_OK) {
        st = shard_index_read(path, (uint64_t)info.st_size, &shard_default_fields, &index);
    }
    if (st == SLUICE_E_UNSUPPORTED) {
        st = SLUICE_E_CORRUPT;
    }
    if (st == SLUICE_OK) {
        st = check_packed(fd, path, &index);
        if (st == SLUICE_OK) {
            *index_out = index;
        } else {
            shard_index_free(&index);
        }
    }
    sli_free(path);
    return st;
}

/* Adds to the last error what the user can do. */
static sluice_status no_packed_index(sluice_status status)
{
    if (status != SLUICE_E_CORRUPT) {
        return status;
    }
    return sli_fail_quoting(
        status,
        "%.800s; the index of a pack has the checksums of its images and is not "
        "rebuilt: copy it from another copy of the pack, or run the same `sluice pack` "
        "again; webdataset index=none reads the pack without checksums",
        sluice_last_error());
}

/* ---- finding an index ----------------------------------------------------------------------- */

/* Reads an index from one of the places, or builds and stores one. */
static sluice_status find_or_build(int fd, const char *shard, const shard_fields *fields,
                                   index_places *places, shard_index *index_out)
{
    struct stat info;
    bool is_other = false;
    sluice_status st = SLUICE_END_OF_DATA;

    if (fstat(fd, &info) != 0) {
        return sli_fail_errno(SLUICE_E_IO, errno, "cannot stat %s", shard);
    }
    for (int i = 0; i < 2 && st == SLUICE_END_OF_DATA; i++) {
        if (places->paths[i] != NULL) {
            st = try_read(places->paths[i], fd, &info, fields, &is_other, index_out);
        }
    }
    if (st == SLUICE_END_OF_DATA) {
        index_await_tick(&info);
        st = shard_index_build(fd, shard, fields, false, index_out);
        if (st == SLUICE_OK) {
            index_out->is_remade = is_other;
            index_out->is_unkept = is_unchanged(fd, shard, &info) &&
                                   !store_index(index_out, shard, fields, places) &&
                                   places->is_named;
        }
    }
    return st;
}

sluice_status shard_index_obtain(int fd, const char *shard, const shard_fields *fields,
                                 const char *folder, bool is_packed, shard_index *index_out)
{
    index_places places;
    sluice_status st;

    if (is_packed && folder == NULL && are_default(fields)) {
        return no_packed_index(shard_index_read_packed(fd, shard, index_out));
    }
    if (folder != NULL && strcmp(folder, "none") == 0) {
        st = shard_index_build(fd, shard, fields, false, index_out);
    } else {
        st = find_places(shard, fields, folder, !is_packed, &places);
        if (st == SLUICE_OK) {
            st = find_or_build(fd, shard, fields, &places, index_out);
            free_places(&places);
        }
    }
    if (st == SLUICE_OK) {
        index_out->is_unchecked = is_packed;
    }
    return st;
}
