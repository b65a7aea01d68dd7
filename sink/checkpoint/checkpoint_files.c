/* SPDX-License-Identifier: Apache-2.0 */
#include "checkpoint_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "alloc_int.h"
#include "crc32c_int.h"
#include "descriptor_int.h"
#include "file_tree_int.h"
#include "rng_int.h"
#include "status_int.h"
#include "text_int.h"

/* Maximum size of a list in bytes; a larger file is not a valid list. Bytes of a file that are
 * summed at once. */
enum { LIST_MOST = 64 << 20, CHUNK = 256 << 10, PART_SIZE = 32 };

/* ---- the library's own files ----------------------------------------------------------------- */

static const char *name_kind(mode_t mode)
{
    return S_ISLNK(mode) ? "a symbolic link" : S_ISDIR(mode) ? "a folder" : "a special file";
}

sluice_status checkpoint_file_check(int fd, const char *path, const char *file, size_t *size_out)
{
    struct stat info;

    if (fstatat(fd, file, &info, AT_SYMLINK_NOFOLLOW) != 0) {
        return sli_fail_errno(SLUICE_E_CORRUPT, errno, "cannot read %s/%s", path, file);
    }
    if (!S_ISREG(info.st_mode)) {
        return sli_fail(SLUICE_E_CORRUPT, "%s/%s is %s, and must be a regular file", path, file,
                        name_kind(info.st_mode));
    }
    *size_out = (size_t)info.st_size;
    return SLUICE_OK;
}

sluice_status checkpoint_file_read(int fd, const char *path, const char *file, size_t most,
                                   char **text_out)
{
    size_t size = 0;
    char *text = NULL;
    const sluice_status st = checkpoint_file_check(fd, path, file, &size);

    if (st != SLUICE_OK) {
        return st;
    }
    if (sli_tree_read_file(fd, file, most, &text, &size) != 0) {
        return sli_fail_errno(errno == ENOMEM ? SLUICE_E_NO_MEMORY : SLUICE_E_CORRUPT, errno,
                              "cannot read %s/%s", path, file);
    }
    if (strlen(text) != size) {
        sli_free(text);
        return sli_fail(SLUICE_E_CORRUPT, "%s/%s is corrupt: a zero byte in a text file", path,
                        file);
    }
    *text_out = text;
    return SLUICE_OK;
}

/* True if this is a name of the list or of a rank's part of it. */
static bool is_list(const char *name)
{
    return strncmp(name, CHECKPOINT_LIST, sizeof(CHECKPOINT_LIST) - 1) == 0;
}

static bool is_own(const char *name)
{
    return strcmp(name, CHECKPOINT_DONE) == 0 || strcmp(name, CHECKPOINT_STATE) == 0 ||
           is_list(name);
}

sluice_status checkpoint_files_check_saved(int at_fd, const char *name, const char *path)
{
    const int fd = sli_tree_open(at_fd, name);
    DIR *entries = fd >= 0 ? fdopendir(fd) : NULL;
    sluice_status st = SLUICE_OK;

    if (entries == NULL) {
        st = sli_fail_errno(SLUICE_E_IO, errno, "checkpoint: cannot list %s", path);
        if (fd >= 0) {
            close(fd);
        }
        return st;
    }
    for (struct dirent *entry; st == SLUICE_OK && (entry = readdir(entries)) != NULL;) {
        if (is_own(entry->d_name)) {
            st = sli_fail(SLUICE_E_INVALID,
                          "checkpoint: model.save has written %s/%.200s: the names DONE, "
                          "sluice_state and sluice_files* are those of the library's own files; "
                          "save under another name",
                          path, entry->d_name);
        }
    }
    closedir(entries);
    return st;
}

/* ---- checksums ------------------------------------------------------------------------------- */

/* Reads a file and sums it. Returns 0, or -1 with errno. */
static int sum_file(int at_fd, const char *name, uint8_t *chunk, uint64_t *bytes_out,
                    uint32_t *sum_out)
{
    const int flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
    const int fd = sli_openat(at_fd, name, flags, 0, NULL);
    ssize_t got = fd >= 0 ? 1 : -1;
    uint64_t bytes = 0;
    uint32_t sum = 0;
    int error;

    while (got > 0 || (got < 0 && fd >= 0 && errno == EINTR)) {
        got = read(fd, chunk, CHUNK);
        if (got > 0) {
            sum = sli_crc32c(sum, chunk, (size_t)got);
            bytes += (uint64_t)got;
        }
    }
    error = errno;
    if (fd >= 0) {
        close(fd);
    }
    errno = error;
    *bytes_out = bytes;
    *sum_out = sum;
    return got == 0 ? 0 : -1;
}

/* ---- writing --------------------------------------------------------------------------------- */

typedef struct list_writer {
    sli_text text;
    uint8_t *chunk;
    const char *path;
    uint32_t rank;
    uint32_t world;
    uint64_t files;       /* of all ranks */
    sluice_status status; /* with a text, of the entry that ended the walk */
} list_writer;

/* The rank that sums a file. */
static uint32_t rank_of(const char *path, uint32_t world)
{
    return (uint32_t)(sli_hash_text(path) % world);
}

static int add_file(void *user, const sli_tree_entry *entry)
{
    list_writer *w = user;
    uint64_t bytes;
    uint32_t sum;

    if (!entry->is_file || is_list(entry->path)) {
        return 0;
    }
    if (strchr(entry->path, '\n') != NULL) {
        w->status = sli_fail(SLUICE_E_INVALID,
                             "checkpoint: model.save has written a file with a newline in its "
                             "name into %s: %.200s",
                             w->path, entry->path);
        return 1;
    }
    w->files++;
    if (rank_of(entry->path, w->world) != w->rank) {
        return 0;
    }
    if (sum_file(entry->at_fd, entry->name, w->chunk, &bytes, &sum) != 0) {
        w->status = sli_fail_errno(SLUICE_E_IO, errno, "checkpoint: cannot read %s/%.200s", w->path,
                                   entry->path);
        return 1;
    }
    sli_text_add(&w->text, "%08" PRIx32 " %" PRIu64 " %s\n", sum, bytes, entry->path);
    return 0;
}

/* Makes the lines of a rank's share. */
static sluice_status make_part(int at_fd, const char *name, const char *path, uint32_t rank,
                               uint32_t world, checkpoint_part *part)
{
    list_writer w = {.chunk = sli_calloc(1, CHUNK), .path = path, .rank = rank, .world = world};

    if (w.chunk == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "checkpoint: a list of files");
    }
    w.status = SLUICE_OK;
    if (sli_tree_walk(at_fd, name, add_file, &w) != 0 && w.status == SLUICE_OK) {
        w.status = sli_fail_errno(SLUICE_E_IO, errno, "checkpoint: cannot list %s", path);
    }
    sli_free(w.chunk);
    if (w.status != SLUICE_OK) {
        sli_text_free(&w.text);
        return w.status;
    }
    part->files = w.files;
    sli_text_add(&w.text, "%s", "");
    return sli_text_take(&w.text, &part->lines);
}

static sluice_status write_list(int at_fd, const char *name, const char *path, const char *list,
                                const char *lines)
{
    const int fd = sli_tree_open(at_fd, name);
    sluice_status st = SLUICE_OK;

    if (fd < 0 || sli_tree_write_file(fd, list, lines, strlen(lines)) != 0) {
        st = sli_fail_errno(SLUICE_E_IO, errno, "checkpoint: cannot write %s/%s", path, list);
    }
    if (fd >= 0) {
        close(fd);
    }
    return st;
}

static void name_part(uint32_t rank, char name_out[PART_SIZE])
{
    snprintf(name_out, PART_SIZE, "%s.%" PRIu32, CHECKPOINT_LIST, rank);
}

sluice_status checkpoint_files_sum(int at_fd, const char *name, const char *path, uint32_t rank,
                                   uint32_t world, checkpoint_part *part)
{
    char file[PART_SIZE];
    sluice_status st = make_part(at_fd, name, path, rank, world, part);

    if (st != SLUICE_OK || rank == 0) {
        return st;
    }
    name_part(rank, file);
    st = write_list(at_fd, name, path, file, part->lines);
    sluice_string_free(part->lines);
    part->lines = NULL;
    return st;
}

/* Adds the lines of the other ranks, and removes their files. */
static sluice_status join_parts(int fd, const char *path, uint32_t world, checkpoint_part *part)
{
    sli_text text = {0};
    sluice_status st = SLUICE_OK;

    sli_text_add(&text, "%s", part->lines);
    for (uint32_t rank = 1; st == SLUICE_OK && rank < world; rank++) {
        char file[PART_SIZE];
        char *lines = NULL;

        name_part(rank, file);
        st = checkpoint_file_read(fd, path, file, LIST_MOST, &lines);
        if (st == SLUICE_OK && unlinkat(fd, file, 0) != 0) {
            st = sli_fail_errno(SLUICE_E_IO, errno, "checkpoint: cannot remove %s/%s", path, file);
        }
        sli_text_add(&text, "%s", lines != NULL ? lines : "");
        sli_free(lines);
    }
    if (st != SLUICE_OK) {
        sli_text_free(&text);
        return st;
    }
    sluice_string_free(part->lines);
    part->lines = NULL;
    return sli_text_take(&text, &part->lines);
}

static uint64_t count_lines(const char *lines)
{
    uint64_t count = 0;

    for (; (lines = strchr(lines, '\n')) != NULL; lines++) {
        count++;
    }
    return count;
}

sluice_status checkpoint_files_write(int at_fd, const char *name, const char *path, uint32_t world,
                                     checkpoint_part *part, uint64_t *sum_out)
{
    const int fd = sli_tree_open(at_fd, name);
    sluice_status st = fd >= 0
                           ? join_parts(fd, path, world, part)
                           : sli_fail_errno(SLUICE_E_IO, errno, "checkpoint: cannot open %s", path);

    if (fd >= 0) {
        close(fd);
    }
    if (st == SLUICE_OK && count_lines(part->lines) != part->files) {
        sluice_string_free(part->lines); /* a rank had an old listing of the folder */
        part->lines = NULL;
        st = make_part(at_fd, name, path, 0, 1, part);
    }
    if (st == SLUICE_OK) {
        *sum_out = sli_crc32c(0, part->lines, strlen(part->lines));
        st = write_list(at_fd, name, path, CHECKPOINT_LIST, part->lines);
    }
    return st;
}

/* ---- checking -------------------------------------------------------------------------------- */

typedef struct listed_file {
    uint32_t sum;
    uint64_t bytes;
    const char *path;
} listed_file;

/* Parses a number and the space after it, and advances the text. */
static bool take_number(char **text, uint64_t base, uint64_t *number_out)
{
    static const char digits[] = "0123456789abcdef";
    char *at = *text;
    uint64_t number = 0;

    for (; *at != '\0' && *at != ' '; at++) {
        const char *digit = strchr(digits, *at);

        if (digit == NULL || (uint64_t)(digit - digits) >= base ||
            __builtin_mul_overflow(number, base, &number) ||
            __builtin_add_overflow(number, (uint64_t)(digit - digits), &number)) {
            return false;
        }
    }
    if (at == *text || *at != ' ') {
        return false;
    }
    *text = at + 1;
    *number_out = number;
    return true;
}

/* Removes the next line from the text and parses it; false if the line is not in its form. */
static bool take_line(char **text, bool has_sums, listed_file *file_out)
{
    char *at = *text;
    char *end = strchr(at, '\n');
    uint64_t sum = 0;

    if (end == NULL) {
        return false;
    }
    if ((has_sums && (!take_number(&at, 16, &sum) || sum > UINT32_MAX)) ||
        !take_number(&at, 10, &file_out->bytes) || at >= end) {
        return false;
    }
    *end = '\0';
    *text = end + 1;
    file_out->sum = (uint32_t)sum;
    file_out->path = at;
    return true;
}

static sluice_status check_size(int fd, const char *path, const listed_file *file)
{
    struct stat info;

    if (fstatat(fd, file->path, &info, AT_SYMLINK_NOFOLLOW) != 0) {
        return sli_fail_errno(SLUICE_E_CORRUPT, errno, "%s/%.200s is missing", path, file->path);
    }
    if (!S_ISREG(info.st_mode)) {
        return sli_fail(SLUICE_E_CORRUPT, "%s/%.200s is %s, and must be a regular file", path,
                        file->path, name_kind(info.st_mode));
    }
    if ((uint64_t)info.st_size != file->bytes) {
        return sli_fail(SLUICE_E_CORRUPT, "%s/%.200s has %lld bytes, and must have %" PRIu64, path,
                        file->path, (long long)info.st_size, file->bytes);
    }
    return SLUICE_OK;
}

static sluice_status check_sum(int fd, const char *path, const listed_file *file, uint8_t *chunk)
{
    uint64_t bytes;
    uint32_t sum;

    if (sum_file(fd, file->path, chunk, &bytes, &sum) != 0) {
        return sli_fail_errno(SLUICE_E_IO, errno, "cannot read %s/%.200s", path, file->path);
    }
    if (sum != file->sum) {
        return sli_fail(SLUICE_E_CORRUPT,
                        "%s/%.200s is corrupt: its checksum is %08" PRIx32 ", must be %08" PRIx32,
                        path, file->path, sum, file->sum);
    }
    return SLUICE_OK;
}

/* Checks the files of all lines; overwrites the text. */
static sluice_status check_lines(int fd, const char *path, const checkpoint_check *check,
                                 char *text, uint8_t *chunk)
{
    sluice_status st = SLUICE_OK;

    for (char *next = text; st == SLUICE_OK && *next != '\0';) {
        listed_file file;

        if (!take_line(&next, check->has_sums, &file)) {
            return sli_fail(SLUICE_E_CORRUPT, "%s/%s is corrupt, at \"%.20s\"", path,
                            CHECKPOINT_LIST, next);
        }
        st = check_size(fd, path, &file);
        if (st == SLUICE_OK && check->has_sums && rank_of(file.path, check->world) == check->rank) {
            st = check_sum(fd, path, &file, chunk);
        }
    }
    return st;
}

sluice_status checkpoint_files_check(int at_fd, const char *name, const char *path,
                                     const checkpoint_check *check)
{
    uint8_t *chunk = sli_calloc(1, CHUNK);
    char *text = NULL;
    const int fd = sli_tree_open(at_fd, name);
    sluice_status st;

    if (chunk == NULL) {
        st = sli_fail(SLUICE_E_NO_MEMORY, "a check of files");
    } else if (fd < 0) {
        st = sli_fail_errno(SLUICE_E_CORRUPT, errno, "cannot open %s", path);
    } else {
        st = checkpoint_file_read(fd, path, CHECKPOINT_LIST, LIST_MOST, &text);
    }
    if (st == SLUICE_OK && check->has_sums && sli_crc32c(0, text, strlen(text)) != check->sum) {
        st = sli_fail(SLUICE_E_CORRUPT, "%s/%s is corrupt: its checksum is not that in %s", path,
                      CHECKPOINT_LIST, CHECKPOINT_STATE);
    }
    if (st == SLUICE_OK) {
        st = check_lines(fd, path, check, text, chunk);
    }
    sli_free(text);
    sli_free(chunk);
    if (fd >= 0) {
        close(fd);
    }
    return st;
}
