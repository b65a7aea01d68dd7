/* SPDX-License-Identifier: Apache-2.0 */
#include "checkpoint.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "alloc_int.h"
#include "log_int.h"
#include "status_int.h"

/* Deepest folder of the user's files that is synced and removed. */
enum { DEEPEST = 16, PATH_SIZE = 4096, NAME_SIZE = 64 };

static const char PREFIX[] = "step-";
static const char PARTIAL[] = ".partial-step"; /* being written */
static const char REMOVED[] = ".removed-step"; /* being removed */
static const char STATE[] = "sluice_state";
static const char DONE[] = "DONE";

static sluice_status fail_io(const char *what, const char *path, const char *name)
{
    return sli_fail_errno(SLUICE_E_IO, errno, "checkpoint: cannot %s %s%s%s", what, path,
                          name[0] != '\0' ? "/" : "", name);
}

/* ---- files -------------------------------------------------------------------------------- */

/* Opens the folder `name` in the folder at_fd; -1 and errno. */
static int open_folder(int at_fd, const char *name)
{
    return openat(at_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
}

/* What is done to each entry of a folder, after its own entries. 0, or -1 and errno. */
typedef int (*entry_fn)(int at_fd, const char *name, bool is_folder);

static int walk(int at_fd, const char *name, entry_fn visit, int depth)
{
    int fd = depth < DEEPEST ? open_folder(at_fd, name) : (errno = ELOOP, -1);
    DIR *entries = fd >= 0 ? fdopendir(fd) : NULL;
    int result = entries != NULL ? 0 : -1;
    struct dirent *entry;

    if (entries == NULL && fd >= 0) {
        close(fd);
    }
    while (result == 0 && (errno = 0, entry = readdir(entries)) != NULL) {
        struct stat info;

        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) {
            continue;
        }
        result = fstatat(fd, entry->d_name, &info, AT_SYMLINK_NOFOLLOW);
        if (result == 0) {
            result = S_ISDIR(info.st_mode) ? walk(fd, entry->d_name, visit, depth + 1)
                                           : visit(fd, entry->d_name, false);
        }
    }
    if (result == 0 && errno != 0) {
        result = -1;
    }
    if (entries != NULL) {
        const int error = errno;

        closedir(entries);
        errno = error;
    }
    return result == 0 ? visit(at_fd, name, true) : result;
}

static int remove_entry(int at_fd, const char *name, bool is_folder)
{
    return unlinkat(at_fd, name, is_folder ? AT_REMOVEDIR : 0);
}

/* Makes sure that a file's bytes, or a folder's names, outlive the power. Links have none. */
static int sync_entry(int at_fd, const char *name, bool is_folder)
{
    int fd = openat(at_fd, name, (is_folder ? O_DIRECTORY : O_NOFOLLOW) | O_RDONLY | O_CLOEXEC);
    int result = -1;

    if (fd >= 0) {
        result = fsync(fd);
        close(fd);
    } else if (errno == ELOOP) {
        result = 0;
    }
    return result;
}

static int write_file(int at_fd, const char *name, const char *bytes, size_t size)
{
    int fd = openat(at_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    int result = fd >= 0 ? 0 : -1;

    while (result == 0 && size > 0) {
        ssize_t written = write(fd, bytes, size);

        if (written < 0 && errno != EINTR) {
            result = -1;
        } else if (written > 0) {
            bytes += written;
            size -= (size_t)written;
        }
    }
    if (result == 0) {
        result = fsync(fd);
    }
    if (fd >= 0) {
        const int error = errno;

        close(fd);
        errno = error;
    }
    return result;
}

/* ---- which there are --------------------------------------------------------------------------
 */

static void print_name(uint64_t step, char name_out[NAME_SIZE])
{
    snprintf(name_out, NAME_SIZE, "%s%012" PRIu64, PREFIX, step);
}

/* Does the folder `name` hold this file? */
static bool holds(int folder_fd, const char *name, const char *file)
{
    char path[NAME_SIZE + sizeof(STATE)];

    snprintf(path, sizeof(path), "%.*s/%s", NAME_SIZE - 1, name, file);
    return faccessat(folder_fd, path, F_OK, 0) == 0;
}

/* Is this a checkpoint of ours, done or not? Of which step? Other folders are left alone. */
static bool is_checkpoint(int folder_fd, const char *name, uint64_t *step_out)
{
    char own[NAME_SIZE];

    if (strncmp(name, PREFIX, sizeof(PREFIX) - 1) != 0 || strlen(name) >= NAME_SIZE) {
        return false;
    }
    *step_out = strtoull(name + sizeof(PREFIX) - 1, NULL, 10);
    print_name(*step_out, own);
    return strcmp(name, own) == 0 &&
           (holds(folder_fd, name, STATE) || holds(folder_fd, name, DONE));
}

/* The newest older than `before`, complete or, with `any`, not; false when there is none. */
static bool find_newest(int folder_fd, uint64_t before, bool any, char name_out[NAME_SIZE],
                        uint64_t *step_out)
{
    int fd = open_folder(folder_fd, ".");
    DIR *entries = fd >= 0 ? fdopendir(fd) : NULL;
    bool found = false;

    if (entries == NULL) {
        if (fd >= 0) {
            close(fd);
        }
        return false;
    }
    for (struct dirent *entry; (entry = readdir(entries)) != NULL;) {
        uint64_t step;

        if (is_checkpoint(folder_fd, entry->d_name, &step) && step < before &&
            (!found || step > *step_out) && (any || holds(folder_fd, entry->d_name, DONE))) {
            snprintf(name_out, NAME_SIZE, "%s", entry->d_name);
            *step_out = step;
            found = true;
        }
    }
    closedir(entries);
    return found;
}

static int remove_if_there(int folder_fd, const char *name)
{
    return faccessat(folder_fd, name, F_OK, 0) != 0 ? 0 : walk(folder_fd, name, remove_entry, 0);
}

/* Removes a checkpoint; its name goes first, so that what a kill leaves of it is known as such. */
static int remove_checkpoint(int folder_fd, const char *name)
{
    if (remove_if_there(folder_fd, REMOVED) != 0 ||
        renameat(folder_fd, name, folder_fd, REMOVED) != 0) {
        return -1;
    }
    return walk(folder_fd, REMOVED, remove_entry, 0);
}

/*
 * Removes what kills have left, and all complete ones but the newest `keep`. What cannot be removed
 * is said, and is no error.
 */
static void clean(int folder_fd, const char *folder, uint32_t keep)
{
    bool removed =
        remove_if_there(folder_fd, PARTIAL) == 0 && remove_if_there(folder_fd, REMOVED) == 0;
    uint64_t before = UINT64_MAX;
    uint32_t complete = 0;
    char name[NAME_SIZE];

    while (removed && find_newest(folder_fd, before, true, name, &before)) {
        const bool is_complete = holds(folder_fd, name, DONE);

        complete += is_complete;
        if (!is_complete || complete > keep) {
            removed = remove_checkpoint(folder_fd, name) == 0;
        }
    }
    if (!removed) {
        (void)fail_io("clean up", folder, "");
        sli_log(SLUICE_LOG_WARN, "%s", sluice_last_error());
    }
}

/* ---- writing ------------------------------------------------------------------------------- */

/* The user's files and the state into the partial folder, and all of it to disk. */
static sluice_status fill(int folder_fd, const char *folder, const sluice_model *model,
                          const train_state *state)
{
    const uint64_t failures = sli_fail_count();
    char path[PATH_SIZE];
    sli_text text = {0};
    char *lines = NULL;
    sluice_status st;
    int fd;

    if (snprintf(path, sizeof(path), "%s/%s", folder, PARTIAL) >= (int)sizeof(path)) {
        return sli_fail(SLUICE_E_INVALID, "checkpoint: the folder's name is too long: %.200s...",
                        folder);
    }
    st = model->save(model->user, path, 0, 1);
    if (st < 0) {
        return sli_fail_from(st, failures, "checkpoint: model.save returned %s for %s",
                             sluice_status_name(st), path);
    }
    train_state_print(state, &text);
    st = sli_text_take(&text, &lines);
    if (st != SLUICE_OK) {
        return st;
    }
    fd = open_folder(folder_fd, PARTIAL);
    if (fd < 0 || write_file(fd, STATE, lines, strlen(lines)) != 0) {
        st = fail_io("write", path, STATE);
    }
    if (fd >= 0) {
        close(fd);
    }
    sluice_string_free(lines);
    if (st == SLUICE_OK && walk(folder_fd, PARTIAL, sync_entry, 0) != 0) {
        st = fail_io("sync", path, "");
    }
    return st;
}

/* Gives the partial folder its name, and then its DONE. */
static sluice_status complete(int folder_fd, const char *folder, uint64_t step)
{
    char name[NAME_SIZE];
    int fd;
    sluice_status st = SLUICE_OK;

    print_name(step, name);
    if (is_checkpoint(folder_fd, name, &step) && remove_checkpoint(folder_fd, name) != 0) {
        return fail_io("replace", folder, name);
    }
    if (renameat(folder_fd, PARTIAL, folder_fd, name) != 0 || fsync(folder_fd) != 0) {
        return fail_io("complete", folder, name);
    }
    fd = open_folder(folder_fd, name);
    if (fd < 0 || write_file(fd, DONE, "", 0) != 0 || fsync(fd) != 0) {
        st = fail_io("complete", folder, name);
    }
    if (fd >= 0) {
        close(fd);
    }
    return st;
}

sluice_status checkpoint_write(const char *folder, uint32_t keep, const sluice_model *model,
                               const train_state *state)
{
    sluice_status st = SLUICE_OK;
    int folder_fd;

    if (mkdir(folder, 0777) != 0 && errno != EEXIST) {
        return fail_io("make", folder, "");
    }
    folder_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder_fd < 0) {
        return fail_io("open", folder, "");
    }
    clean(folder_fd, folder, keep);
    if (mkdirat(folder_fd, PARTIAL, 0777) != 0) {
        st = fail_io("make", folder, PARTIAL);
    }
    if (st == SLUICE_OK) {
        st = fill(folder_fd, folder, model, state);
    }
    if (st == SLUICE_OK) {
        st = complete(folder_fd, folder, state->step);
    }
    if (st == SLUICE_OK) {
        clean(folder_fd, folder, keep);
    }
    close(folder_fd);
    return st;
}

/* ---- loading ------------------------------------------------------------------------------- */

static sluice_status read_state(int folder_fd, const char *path, const char *name,
                                train_state *state_out)
{
    char *text = sli_calloc(1, TRAIN_STATE_SIZE + 1);
    char file[NAME_SIZE + sizeof(STATE)];
    sluice_status st = SLUICE_OK;
    size_t size = 0;
    ssize_t got = 1;
    int fd;

    if (text == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "checkpoint: the state in %s", path);
    }
    snprintf(file, sizeof(file), "%s/%s", name, STATE);
    fd = openat(folder_fd, file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    while (fd >= 0 && got > 0 && size < TRAIN_STATE_SIZE) {
        got = read(fd, text + size, TRAIN_STATE_SIZE - size);
        size += got > 0 ? (size_t)got : 0;
    }
    if (fd < 0 || got < 0) {
        st = fail_io("read", path, STATE);
    }
    if (fd >= 0) {
        close(fd);
    }
    st = st == SLUICE_OK ? train_state_parse(text, state_out) : st;
    sli_free(text);
    return st;
}

/* An error about a checkpoint, with what to do about it. */
static sluice_status does_not_fit(sluice_status status, const char *path)
{
    char why[SLI_ERROR_SIZE];

    snprintf(why, sizeof(why), "%s", sluice_last_error());
    return sli_fail(status,
                    "cannot resume from %s: %.600s; restore what it was, or name another folder",
                    path, why);
}

static sluice_status load(int folder_fd, const char *path, const char *name,
                          const sluice_model *model, train_state *mine)
{
    train_state kept;
    uint64_t failures;
    sluice_status st = read_state(folder_fd, path, name, &kept);

    if (st != SLUICE_OK) {
        return does_not_fit(st, path);
    }
    st = train_state_compare(&kept, mine);
    if (st == SLUICE_OK) {
        mine->step = kept.step;
        mine->place = kept.place;
        mine->batch_size = kept.batch_size;
        mine->world = kept.world;
    }
    train_state_free(&kept);
    if (st != SLUICE_OK) {
        return does_not_fit(st, path);
    }
    failures = sli_fail_count();
    st = model->load(model->user, path, 0, 1);
    return st < 0 ? sli_fail_from(st, failures, "cannot resume from %s: model.load returned %s",
                                  path, sluice_status_name(st))
                  : SLUICE_OK;
}

sluice_status checkpoint_load(const char *folder, uint32_t keep, const sluice_model *model,
                              train_state *mine)
{
    int folder_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    char name[NAME_SIZE];
    char path[PATH_SIZE];
    sluice_status st = SLUICE_END_OF_DATA;
    uint64_t step = 0;

    if (folder_fd < 0) {
        return errno == ENOENT ? SLUICE_END_OF_DATA : fail_io("open", folder, "");
    }
    clean(folder_fd, folder, keep);
    if (find_newest(folder_fd, UINT64_MAX, false, name, &step)) {
        snprintf(path, sizeof(path), "%s/%s", folder, name);
        st = load(folder_fd, path, name, model, mine);
    }
    close(folder_fd);
    return st;
}

bool checkpoint_is_there(const char *folder)
{
    int folder_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    char name[NAME_SIZE];
    uint64_t step = 0;
    bool found = false;

    if (folder_fd >= 0) {
        found = find_newest(folder_fd, UINT64_MAX, false, name, &step);
        close(folder_fd);
    }
    return found;
}
