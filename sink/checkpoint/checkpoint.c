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

#include "agree.h"
#include "alloc_int.h"
#include "checkpoint_files.h"
#include "file_tree_int.h"
#include "log_int.h"

enum { PATH_SIZE = 4096, NAME_SIZE = 64 };

static const char *const prefixes[CHECKPOINT_KINDS] = {"step-", "best-"};
static const char PARTIAL[] = ".partial-step"; /* being written */
static const char REMOVED[] = ".removed-step"; /* being removed */
static const char STATE[] = "sluice_state";
static const char DONE[] = "DONE";

static sluice_status fail_io(const char *what, const char *path, const char *name)
{
    return sli_fail_errno(SLUICE_E_IO, errno, "checkpoint: cannot %s %s%s%s", what, path,
                          name[0] != '\0' ? "/" : "", name);
}

/* ---- which there are ------------------------------------------------------------------------- */

static void print_name(checkpoint_kind kind, uint64_t step, char name_out[NAME_SIZE])
{
    snprintf(name_out, NAME_SIZE, "%s%012" PRIu64, prefixes[kind], step);
}

/* Does the folder `name` hold this file? */
static bool holds(int folder_fd, const char *name, const char *file)
{
    char path[NAME_SIZE + sizeof(STATE)];

    snprintf(path, sizeof(path), "%.*s/%s", NAME_SIZE - 1, name, file);
    return faccessat(folder_fd, path, F_OK, 0) == 0;
}

/* Is this a checkpoint of ours, done or not? Of which step? Other folders are left alone. */
static bool is_checkpoint(int folder_fd, checkpoint_kind kind, const char *name, uint64_t *step_out)
{
    const size_t length = strlen(prefixes[kind]);
    char own[NAME_SIZE];

    if (strncmp(name, prefixes[kind], length) != 0 || strlen(name) >= NAME_SIZE) {
        return false;
    }
    *step_out = strtoull(name + length, NULL, 10);
    print_name(kind, *step_out, own);
    return strcmp(name, own) == 0 &&
           (holds(folder_fd, name, STATE) || holds(folder_fd, name, DONE));
}

/* The newest older than `before`, complete or, with `any`, not; false when there is none. */
static bool find_newest(int folder_fd, checkpoint_kind kind, uint64_t before, bool any,
                        char name_out[NAME_SIZE], uint64_t *step_out)
{
    int fd = sli_tree_open(folder_fd, ".");
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

        if (is_checkpoint(folder_fd, kind, entry->d_name, &step) && step < before &&
            (!found || step > *step_out) && (any || holds(folder_fd, entry->d_name, DONE))) {
            snprintf(name_out, NAME_SIZE, "%s", entry->d_name);
            *step_out = step;
            found = true;
        }
    }
    closedir(entries);
    return found;
}

/* Removes a checkpoint; its name goes first, so that what a kill leaves of it is known as such. */
static int remove_checkpoint(int folder_fd, const char *name)
{
    if (sli_tree_remove(folder_fd, REMOVED) != 0 ||
        renameat(folder_fd, name, folder_fd, REMOVED) != 0) {
        return -1;
    }
    return sli_tree_remove(folder_fd, REMOVED);
}

/* Removes all of a kind but the newest `keep` complete ones. */
static bool clean_kind(int folder_fd, checkpoint_kind kind, uint32_t keep)
{
    uint64_t before = UINT64_MAX;
    uint32_t complete = 0;
    bool removed = true;
    char name[NAME_SIZE];

    while (removed && find_newest(folder_fd, kind, before, true, name, &before)) {
        const bool is_complete = holds(folder_fd, name, DONE);

        complete += is_complete;
        if (!is_complete || complete > keep) {
            removed = remove_checkpoint(folder_fd, name) == 0;
        }
    }
    return removed;
}

/* Removes what kills have left, too. What cannot be removed is said, and is no error. */
static void clean(int folder_fd, const sluice_checkpointing *checkpoint)
{
    if (sli_tree_remove(folder_fd, PARTIAL) != 0 || sli_tree_remove(folder_fd, REMOVED) != 0 ||
        !clean_kind(folder_fd, CHECKPOINT_STEP, checkpoint->keep) ||
        !clean_kind(folder_fd, CHECKPOINT_BEST, 1)) {
        (void)fail_io("clean up", checkpoint->folder, "");
        sli_log(SLUICE_LOG_WARN, "%s", sluice_last_error());
    }
}

/* ---- writing ------------------------------------------------------------------------------- */

/* Opens the folder of all checkpoints, which rank 0 makes when it is missing. */
static sluice_status open_store(const train_run *run, int *fd_out)
{
    const char *folder = run->config.checkpoint.folder;

    if (run->config.rank == 0 && mkdir(folder, 0777) != 0 && errno != EEXIST) {
        return fail_io("make", folder, "");
    }
    *fd_out = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return *fd_out >= 0 ? SLUICE_OK : fail_io("open", folder, "");
}

/* Rank 0 makes an empty partial folder, which the others then see. */
static sluice_status begin_partial(const train_run *run, int store_fd)
{
    const sluice_checkpointing *checkpoint = &run->config.checkpoint;

    clean(store_fd, checkpoint);
    return mkdirat(store_fd, PARTIAL, 0777) == 0 ? SLUICE_OK
                                                 : fail_io("make", checkpoint->folder, PARTIAL);
}

/* The user's files of this rank, and all of them to disk. */
static sluice_status save(const train_run *run, int store_fd, const sluice_model *model,
                          const char *path)
{
    const uint64_t failures = sli_fail_count();
    sluice_status st;

    if (faccessat(store_fd, PARTIAL, F_OK, 0) != 0) {
        return sli_fail_errno(SLUICE_E_IO, errno,
                              "checkpoint: rank %u does not see %s, which rank 0 has made; the "
                              "folder must be one that all ranks share",
                              run->config.rank, path);
    }
    st = model->save(model->user, path, run->config.rank, run->config.world);
    if (st < 0) {
        return sli_fail_from(st, failures, "checkpoint: model.save returned %s for %s",
                             sluice_status_name(st), path);
    }
    return sli_tree_sync(store_fd, PARTIAL) == 0 ? SLUICE_OK : fail_io("sync", path, "");
}

/* The list of files, and the state, into the partial folder. */
static sluice_status describe(const train_run *run, int store_fd, const char *path)
{
    sluice_status st = checkpoint_files_write(store_fd, PARTIAL, path);
    sli_text text = {0};
    char *lines = NULL;
    int fd;

    if (st != SLUICE_OK) {
        return st;
    }
    train_state_print(&run->state, &text);
    st = sli_text_take(&text, &lines);
    if (st != SLUICE_OK) {
        return st;
    }
    fd = sli_tree_open(store_fd, PARTIAL);
    if (fd < 0 || sli_tree_write_file(fd, STATE, lines, strlen(lines)) != 0 || fsync(fd) != 0) {
        st = fail_io("write", path, STATE);
    }
    if (fd >= 0) {
        close(fd);
    }
    sluice_string_free(lines);
    return st;
}

/* Gives the partial folder its name, and then its DONE. */
static sluice_status complete(const train_run *run, int store_fd, checkpoint_kind kind)
{
    const char *folder = run->config.checkpoint.folder;
    char name[NAME_SIZE];
    uint64_t step;
    int fd;
    sluice_status st = SLUICE_OK;

    print_name(kind, run->state.step, name);
    if (is_checkpoint(store_fd, kind, name, &step) && remove_checkpoint(store_fd, name) != 0) {
        return fail_io("replace", folder, name);
    }
    if (renameat(store_fd, PARTIAL, store_fd, name) != 0 || fsync(store_fd) != 0) {
        return fail_io("complete", folder, name);
    }
    fd = sli_tree_open(store_fd, name);
    if (fd < 0 || sli_tree_write_file(fd, DONE, "", 0) != 0 || fsync(fd) != 0) {
        st = fail_io("complete", folder, name);
    }
    if (fd >= 0) {
        close(fd);
    }
    return st;
}

/* What rank 0 does when all have saved. */
static sluice_status seal(const train_run *run, int store_fd, checkpoint_kind kind,
                          const char *path)
{
    sluice_status st = describe(run, store_fd, path);

    if (st == SLUICE_OK) {
        st = complete(run, store_fd, kind);
    }
    if (st == SLUICE_OK) {
        clean(store_fd, &run->config.checkpoint);
    }
    return st;
}

static sluice_status write_into(train_run *run, int store_fd, checkpoint_kind kind,
                                const sluice_model *model)
{
    const char *folder = run->config.checkpoint.folder;
    const bool leads = run->config.rank == 0;
    char path[PATH_SIZE];
    sluice_status st = SLUICE_OK;

    if (snprintf(path, sizeof(path), "%s/%s", folder, PARTIAL) >= (int)sizeof(path)) {
        return sli_fail(SLUICE_E_INVALID, "checkpoint: the folder's name is too long: %.200s...",
                        folder);
    }
    if (leads) {
        st = begin_partial(run, store_fd);
    }
    if (st == SLUICE_OK) {
        st = agree_barrier(run);
    }
    if (st == SLUICE_OK) {
        st = save(run, store_fd, model, path);
    }
    if (st == SLUICE_OK) {
        st = agree_barrier(run);
    }
    if (st == SLUICE_OK && leads) {
        st = seal(run, store_fd, kind, path);
    }
    return st == SLUICE_OK ? agree_barrier(run) : st;
}

sluice_status checkpoint_write(train_run *run, checkpoint_kind kind, const sluice_model *model)
{
    int store_fd = -1;
    sluice_status st = SLUICE_OK;

    if (run->config.rank == 0) {
        st = open_store(run, &store_fd);
    }
    if (st == SLUICE_OK) {
        st = agree_barrier(run); /* rank 0 has made it */
    }
    if (st == SLUICE_OK && run->config.rank > 0) {
        st = open_store(run, &store_fd);
    }
    if (st == SLUICE_OK) {
        st = write_into(run, store_fd, kind, model);
    }
    if (store_fd >= 0) {
        close(store_fd);
    }
    return st;
}

/* ---- loading ------------------------------------------------------------------------------- */

static sluice_status read_state(int store_fd, const char *path, const char *name,
                                train_state *state_out)
{
    char file[NAME_SIZE + sizeof(STATE)];
    char *text = NULL;
    sluice_status st;

    snprintf(file, sizeof(file), "%s/%s", name, STATE);
    if (sli_tree_read_file(store_fd, file, TRAIN_STATE_SIZE, &text) != 0) {
        return fail_io("read", path, STATE);
    }
    st = train_state_parse(text, state_out);
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

/* Compares what is kept with this run; it is where the run goes on then. */
static sluice_status take_state(train_run *run, int store_fd, const char *path, const char *name)
{
    train_state kept;
    sluice_status st = read_state(store_fd, path, name, &kept);

    if (st == SLUICE_OK) {
        st = train_state_compare(&kept, &run->state);
        if (st == SLUICE_OK) {
            train_state_take(&run->state, &kept);
        }
        train_state_free(&kept);
    }
    if (st == SLUICE_OK) {
        st = checkpoint_files_check(store_fd, name, path);
    }
    return st == SLUICE_OK ? st : does_not_fit(st, path);
}

static sluice_status load(train_run *run, int store_fd, const char *name, const sluice_model *model)
{
    const uint64_t failures = sli_fail_count();
    char path[PATH_SIZE];
    sluice_status st;

    snprintf(path, sizeof(path), "%s/%s", run->config.checkpoint.folder, name);
    st = take_state(run, store_fd, path, name);
    if (st != SLUICE_OK) {
        return st;
    }
    st = model->load(model->user, path, run->config.rank, run->config.world);
    return st < 0 ? sli_fail_from(st, failures, "cannot resume from %s: model.load returned %s",
                                  path, sluice_status_name(st))
                  : SLUICE_OK;
}

sluice_status checkpoint_load(train_run *run, const sluice_model *model)
{
    const sluice_checkpointing *checkpoint = &run->config.checkpoint;
    int store_fd = open(checkpoint->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    char name[NAME_SIZE];
    uint64_t step = 0;
    bool found = false;
    sluice_status st;

    if (store_fd < 0 && errno != ENOENT) {
        return fail_io("open", checkpoint->folder, "");
    }
    if (store_fd >= 0 && run->config.rank == 0) {
        clean(store_fd, checkpoint);
    }
    st = agree_barrier(run); /* nothing goes away any more */
    if (st == SLUICE_OK && store_fd >= 0) {
        found = find_newest(store_fd, CHECKPOINT_STEP, UINT64_MAX, false, name, &step);
    }
    if (st == SLUICE_OK) {
        st = agree_on_step(run, found ? step : UINT64_MAX);
    }
    if (st == SLUICE_OK) {
        st = found ? load(run, store_fd, name, model) : SLUICE_END_OF_DATA;
    }
    if (store_fd >= 0) {
        close(store_fd);
    }
    return st;
}

bool checkpoint_is_there(const char *folder)
{
    int store_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    char name[NAME_SIZE];
    uint64_t step = 0;
    bool found = false;

    if (store_fd >= 0) {
        found = find_newest(store_fd, CHECKPOINT_STEP, UINT64_MAX, false, name, &step);
        close(store_fd);
    }
    return found;
}
