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
#include "write_failure.h"

/* The name of the file of a shard. */
static void name_file(const pack_folder *folder, uint32_t number, char *name)
{
    pack_shard_name(number, folder->writer->end, name);
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

/* Frees the resources of an open shard. */
static void release_shard(pack_shard *shard)
{
    shard->folder->writer->close(shard->writer);
    close(shard->file.fd);
    sli_text_free(&shard->lines);
    sli_free(shard->path);
    sli_free(shard->name);
    memset(shard, 0, sizeof(*shard));
}

void pack_shard_drop(pack_shard *shard)
{
    char name[PACK_SHARD_NAME_SIZE];
    char part[PACK_SHARD_NAME_SIZE + sizeof(PACK_PART)];

    if (shard->is_open) {
        name_file(shard->folder, shard->number, name);
        snprintf(part, sizeof(part), "%s" PACK_PART, name);
        (void)unlinkat(shard->folder->fd, part, 0);
        release_shard(shard);
    }
}

/* Makes the temporary file of a shard, and the paths of it. */
static sluice_status make_file(pack_shard *shard, const pack_folder *folder, uint32_t number)
{
    char name[PACK_SHARD_NAME_SIZE];
    char part[PACK_SHARD_NAME_SIZE + sizeof(PACK_PART)];
    sluice_status st;

    name_file(folder, number, name);
    snprintf(part, sizeof(part), "%s" PACK_PART, name);
    st = make_path(folder, name, &shard->name);
    if (st == SLUICE_OK) {
        st = make_path(folder, part, &shard->path);
    }
    if (st != SLUICE_OK) {
        return st;
    }
    /* O_RDWR, since an index may be built by reading the file back. */
    shard->file.fd =
        sli_openat(folder->fd, part, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666, NULL);
    return shard->file.fd >= 0 ? SLUICE_OK : pack_folder_failed(folder, "make", part, errno);
}

sluice_status pack_shard_begin(pack_shard *shard, const pack_folder *folder,
                               const kept_columns *kept, uint64_t limit, uint32_t number)
{
    sluice_status st;

    memset(shard, 0, sizeof(*shard));
    if (number >= PACK_SHARD_MOST) {
        return sli_fail(SLUICE_E_INVALID, "more than %d shards; make them larger", PACK_SHARD_MOST);
    }
    st = make_file(shard, folder, number);
    if (st != SLUICE_OK) {
        sli_free(shard->path);
        sli_free(shard->name);
        return st;
    }
    shard->folder = folder;
    shard->number = number;
    shard->is_open = true;
    shard->file.path = shard->path;
    shard->file.name = shard->name;
    shard->file.kept = kept;
    shard->file.shard_bytes = limit;
    pack_lines_begin(&shard->lines);
    st = folder->writer->open(&shard->file, &shard->writer);
    if (st != SLUICE_OK) {
        pack_shard_drop(shard);
    }
    return st;
}

sluice_status pack_shard_add(pack_shard *shard, const char *key, const packed_sample *sample)
{
    sluice_status st = SLUICE_OK;

    if (!pack_is_left_out(sample->fate)) {
        st = shard->folder->writer->add(shard->writer, key, sample->values.values);
    }
    if (st == SLUICE_E_UNSUPPORTED) {
        return sli_fail_quoting(st, "cannot write sample %.300s: %.700s", sample->name,
                                sluice_last_error());
    }
    shard->bytes += sample->takes;
    pack_lines_add(&shard->lines, key, sample);
    return st;
}

sluice_status pack_shard_finish(pack_shard *shard, uint64_t next, uint64_t *tar_bytes_out)
{
    char name[PACK_SHARD_NAME_SIZE];
    char *lines = NULL;
    const sample_writer *writer = shard->folder->writer;
    sluice_status st = writer->finish(shard->writer, tar_bytes_out);

    if (st == SLUICE_OK && fsync(shard->file.fd) != 0) {
        st = file_write_failed(shard->path, errno);
    }
    if (st == SLUICE_OK) {
        pack_lines_end(&shard->lines, *tar_bytes_out, next);
        st = sli_text_take(&shard->lines, &lines);
    }
    if (st == SLUICE_OK) {
        pack_shard_name(shard->number, ".tsv", name);
        st = pack_folder_write(shard->folder, name, lines);
    }
    if (st == SLUICE_OK && shard->folder->has_indexes) {
        st = writer->write_index(&shard->file);
    }
    if (st == SLUICE_OK) {
        name_file(shard->folder, shard->number, name);
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
    const sample_writer *writer = folder->writer;
    sluice_status st = SLUICE_OK;

    for (; st == SLUICE_OK; number++) {
        char names[3][PACK_SHARD_NAME_SIZE + PACK_SHARD_NAME_SIZE] = {"", "", ""};

        name_file(folder, number, names[2]);
        if (faccessat(folder->fd, names[2], F_OK, AT_SYMLINK_NOFOLLOW) != 0) {
            break;
        }
        pack_shard_name(number, ".tsv", names[1]);
        if (writer->index_end != NULL) {
            snprintf(names[0], sizeof(names[0]), "%.*s%s", PACK_SHARD_NAME_SIZE, names[2],
                     writer->index_end);
        }
        for (size_t i = 0; st == SLUICE_OK && i < 3; i++) {
            st = names[i][0] != '\0' ? pack_folder_remove(folder, names[i]) : SLUICE_OK;
        }
    }
    return st;
}

/* ---- reading -------------------------------------------------------------------------------- */

/* Finds whether a file exists and is not empty; else a warning says what writes it again. */
static sluice_status find_file(const pack_folder *folder, const char *name, const char *shard,
                               bool *has_out)
{
    struct stat info;

    if (fstatat(folder->fd, name, &info, 0) != 0) {
        if (errno != ENOENT) {
            return pack_folder_failed(folder, "look at", name, errno);
        }
        info.st_size = 0;
    }
    *has_out = info.st_size > 0;
    if (!*has_out) {
        sli_log(SLUICE_LOG_WARN,
                "%s/%s is missing or empty; the same `sluice convert` writes %s and all files "
                "after it again",
                folder->path, name, shard);
    }
    return SLUICE_OK;
}

/* Checks that the files listed in a file exist. */
static sluice_status find_listed(const pack_folder *folder, const char *shard, bool *has_out)
{
    char *text = NULL;
    sluice_status st = pack_folder_read(folder, shard, &text);

    for (char *line = text; st == SLUICE_OK && *has_out && line != NULL && *line != '\0';) {
        char *end = line + strcspn(line, "\n");
        const bool is_last = *end == '\0';

        *end = '\0';
        line[strcspn(line, "\t")] = '\0';
        st = find_file(folder, line, shard, has_out);
        line = is_last ? end : end + 1;
    }
    sli_free(text);
    return st;
}

/* Finds whether the file of a conversion has the files that its format puts beside it. */
static sluice_status has_files_beside(const pack_folder *folder, uint32_t number, bool *has_out)
{
    const sample_writer *writer = folder->writer;
    char name[PACK_SHARD_NAME_SIZE];
    char beside[PACK_SHARD_NAME_SIZE + PACK_SHARD_NAME_SIZE];

    *has_out = true;
    name_file(folder, number, name);
    if (writer->lists_files) {
        return find_listed(folder, name, has_out);
    }
    if (writer->index_end == NULL || writer->write_index != NULL) { /* that is of packs */
        return SLUICE_OK;
    }
    snprintf(beside, sizeof(beside), "%s%s", name, writer->index_end);
    return find_file(folder, beside, name, has_out);
}

sluice_status pack_shard_has_index(const pack_folder *folder, uint32_t number, bool *has_out)
{
    char name[PACK_SHARD_NAME_SIZE];
    char *path = NULL;
    shard_index index;
    uint64_t size;
    int fd = -1;
    sluice_status st;

    if (!folder->has_indexes) {
        return has_files_beside(folder, number, has_out);
    }
    name_file(folder, number, name);
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
    name_file(folder, number, name);
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
