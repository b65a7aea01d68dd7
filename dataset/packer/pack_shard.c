/* SPDX-License-Identifier: Apache-2.0 */
#include "pack_shard.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "alloc_int.h"
#include "descriptor_int.h"
#include "log_int.h"
#include "plain_file.h"
#include "shard_index.h"

void pack_shard_name(uint32_t number, const char *end, char *name)
{
    snprintf(name, PACK_SHARD_NAME_SIZE, "shard-%06" PRIu32 "%s", number, end);
}

/* Writes the contents of a label member. Returns its size. */
static size_t label_text(const packed_sample *sample, char *text, size_t size)
{
    return (size_t)snprintf(text, size, "%" PRId32, sample->label);
}

uint64_t pack_shard_takes(const packed_sample *sample)
{
    char label[16];
    uint64_t bytes = 0;

    if (sample->file.data != NULL) {
        bytes = tar_member_bytes(sample->file.size);
        bytes += sample->has_label ? tar_member_bytes(label_text(sample, label, sizeof(label))) : 0;
    }
    return bytes;
}

/* Returns "FOLDER/NAME"; the caller frees it by sli_free(). */
static sluice_status make_path(const pack_folder *folder, const char *name, char **path_out)
{
    const size_t size = strlen(folder->path) + strlen(name) + 2;
    char *path = sli_calloc(size, 1);

    if (path == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "a path");
    }
    snprintf(path, size, "%s/%s", folder->path, name);
    *path_out = path;
    return SLUICE_OK;
}

sluice_status pack_shard_begin(pack_shard *shard, const pack_folder *folder, uint32_t number)
{
    char name[PACK_SHARD_NAME_SIZE];
    sluice_status st;

    memset(shard, 0, sizeof(*shard));
    if (number >= PACK_SHARD_MOST) {
        return sli_fail(SLUICE_E_INVALID, "more than %d shards; make them larger", PACK_SHARD_MOST);
    }
    shard->folder = folder;
    shard->number = number;
    pack_shard_name(number, ".tar" PACK_PART, name);
    st = make_path(folder, name, &shard->path);
    if (st != SLUICE_OK) {
        return st;
    }
    /* O_RDWR, since the index is built by reading the archive back. */
    shard->fd = sli_openat(folder->fd, name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666, NULL);
    if (shard->fd < 0) {
        st = pack_folder_failed(folder, "make", name, errno);
        sli_free(shard->path);
        return st;
    }
    shard->is_open = true;
    pack_lines_begin(&shard->lines);
    st = tar_writer_open(shard->fd, shard->path, &shard->tar);
    if (st != SLUICE_OK) {
        pack_shard_drop(shard);
    }
    return st;
}

sluice_status pack_shard_add(pack_shard *shard, const char *key, const packed_sample *sample)
{
    char name[PACK_KEY_SIZE + PACK_FIELD_SIZE];
    char label[16];
    sluice_status st = SLUICE_OK;

    if (sample->file.data != NULL) {
        snprintf(name, sizeof(name), "%s.%s", key, sample->field);
        st = tar_writer_add(shard->tar, name, sample->file.data, sample->file.size);
        if (st == SLUICE_OK && sample->has_label) {
            snprintf(name, sizeof(name), "%s.cls", key);
            st = tar_writer_add(shard->tar, name, label, label_text(sample, label, sizeof(label)));
        }
    }
    shard->bytes += pack_shard_takes(sample);
    pack_lines_add(&shard->lines, key, sample);
    return st;
}

/* Frees the resources of an open shard. */
static void release_shard(pack_shard *shard)
{
    tar_writer_close(shard->tar);
    close(shard->fd);
    sli_text_free(&shard->lines);
    sli_free(shard->path);
    memset(shard, 0, sizeof(*shard));
}

void pack_shard_drop(pack_shard *shard)
{
    char name[PACK_SHARD_NAME_SIZE];

    if (shard->is_open) {
        pack_shard_name(shard->number, ".tar" PACK_PART, name);
        (void)unlinkat(shard->folder->fd, name, 0);
        release_shard(shard);
    }
}

/* Builds the shard's index by reading the archive back, and writes it. */
static sluice_status write_index(pack_shard *shard)
{
    char name[PACK_SHARD_NAME_SIZE];
    char *archive = NULL;
    char *path = NULL;
    shard_index index;
    sluice_status st;

    pack_shard_name(shard->number, ".tar", name);
    st = make_path(shard->folder, name, &archive);
    if (st == SLUICE_OK) {
        st = shard_index_path(archive, &shard_default_fields, &path);
    }
    if (st == SLUICE_OK) {
        st = shard_index_build(shard->fd, shard->path, &shard_default_fields, true, &index);
        if (st == SLUICE_OK) {
            st = shard_index_write(&index, &shard_default_fields, true, path);
            shard_index_free(&index);
        }
    }
    sli_free(path);
    sli_free(archive);
    return st;
}

sluice_status pack_shard_finish(pack_shard *shard, uint64_t next, uint64_t *tar_bytes_out)
{
    char name[PACK_SHARD_NAME_SIZE];
    char *lines = NULL;
    sluice_status st = tar_writer_finish(shard->tar, tar_bytes_out);

    if (st == SLUICE_OK) {
        pack_lines_end(&shard->lines, *tar_bytes_out, next);
        st = sli_text_take(&shard->lines, &lines);
    }
    if (st == SLUICE_OK) {
        pack_shard_name(shard->number, ".tsv", name);
        st = pack_folder_write(shard->folder, name, lines);
    }
    if (st == SLUICE_OK) {
        st = write_index(shard);
    }
    if (st == SLUICE_OK) {
        pack_shard_name(shard->number, ".tar", name);
        st = pack_folder_publish(shard->folder, name);
    }
    sluice_string_free(lines);
    if (st == SLUICE_OK) {
        release_shard(shard);
    }
    return st;
}

/* ---- removing -------------------------------------------------------------------------------- */

sluice_status pack_shard_remove_from(const pack_folder *folder, uint32_t number)
{
    static const char *const ends[] = {".tar.sluice", ".tsv", ".tar"};
    char name[PACK_SHARD_NAME_SIZE];
    sluice_status st = SLUICE_OK;

    for (; st == SLUICE_OK; number++) {
        pack_shard_name(number, ".tar", name);
        if (faccessat(folder->fd, name, F_OK, AT_SYMLINK_NOFOLLOW) != 0) {
            break;
        }
        for (size_t i = 0; st == SLUICE_OK && i < sizeof(ends) / sizeof(ends[0]); i++) {
            pack_shard_name(number, ends[i], name);
            st = pack_folder_remove(folder, name);
        }
    }
    return st;
}

/* ---- reading -------------------------------------------------------------------------------- */

sluice_status pack_shard_has_index(const pack_folder *folder, uint32_t number, bool *has_out)
{
    char name[PACK_SHARD_NAME_SIZE];
    char *path = NULL;
    shard_index index;
    uint64_t size;
    int fd = -1;
    sluice_status st;

    pack_shard_name(number, ".tar", name);
    st = make_path(folder, name, &path);
    if (st == SLUICE_OK) {
        st = plain_file_open(path, NULL, &fd, &size);
    }
    if (st == SLUICE_OK) {
        st = shard_index_read_packed(fd, path, &index);
        close(fd);
    }
    sli_free(path);
    *has_out = st == SLUICE_OK;
    if (st == SLUICE_OK) {
        shard_index_free(&index);
    } else if (st == SLUICE_E_CORRUPT) {
        sli_log(SLUICE_LOG_WARN, "%s; %s and all shards after it are packed again",
                sluice_last_error(), name);
        st = SLUICE_OK;
    }
    return st;
}

static void ignore_line(void *arg, const pack_line *line)
{
    (void)arg;
    (void)line;
}

/*
 * Reads a list as two copies, since parsing modifies the text. *text_out is NULL if the list does
 * not exist.
 */
static sluice_status read_list(const pack_folder *folder, uint32_t number, char **text_out,
                               char **copy_out)
{
    char name[PACK_SHARD_NAME_SIZE];
    sluice_status st;

    pack_shard_name(number, ".tsv", name);
    st = pack_folder_read(folder, name, text_out);
    if (st == SLUICE_OK && *text_out != NULL) {
        *copy_out = sli_strdup(*text_out);
        if (*copy_out == NULL) {
            st = sli_fail(SLUICE_E_NO_MEMORY, "the list of a shard");
        }
    }
    return st;
}

sluice_status pack_shard_read(const pack_folder *folder, uint32_t number,
                              void (*each)(void *arg, const pack_line *line), void *arg,
                              uint64_t *tar_bytes_out, uint64_t *next_out)
{
    char name[PACK_SHARD_NAME_SIZE];
    struct stat info;
    char *text = NULL;
    char *copy = NULL;
    uint64_t tar_bytes = 0;
    uint64_t next = 0;
    sluice_status st;

    *next_out = 0;
    pack_shard_name(number, ".tar", name);
    if (fstatat(folder->fd, name, &info, 0) != 0) {
        return errno == ENOENT ? SLUICE_OK : pack_folder_failed(folder, "look at", name, errno);
    }
    st = read_list(folder, number, &text, &copy);
    if (st == SLUICE_OK && text != NULL &&
        pack_lines_read(copy, ignore_line, NULL, &tar_bytes, &next) &&
        (uint64_t)info.st_size == tar_bytes) {
        (void)pack_lines_read(text, each, arg, tar_bytes_out, next_out);
    }
    sli_free(text);
    sli_free(copy);
    return st;
}
