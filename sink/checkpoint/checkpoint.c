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
#include "callback_int.h"
#include "checkpoint_files.h"
#include "descriptor_int.h"
#include "file_tree_int.h"
#include "log_int.h"
#include "status_int.h"

enum { PATH_SIZE = 4096, NAME_SIZE = 64 };

static const char *const prefixes[CHECKPOINT_KINDS] = {"step-", "best-", "early-"};
static const char PARTIAL[] = ".partial-step"; /* prefix of a checkpoint that is being written */
static const char REMOVED[] = ".removed-step"; /* prefix of a checkpoint that is being removed */

static sluice_status fail_io(const char *what, const char *path, const char *name)
{
    return sli_fail_errno(SLUICE_E_IO, errno, "checkpoint: cannot %s %s%s%s", what, path,
                          name[0] != '\0' ? "/" : "", name);
}

/* ---- finding and removing -------------------------------------------------------------------- */

static void print_name(checkpoint_kind kind, uint64_t step, char name_out[NAME_SIZE])
{
    snprintf(name_out, NAME_SIZE, "%s%012" PRIu64, prefixes[kind], step);
}

/* True if the folder `name` contains an entry of this name, of any type. */
static bool holds(int folder_fd, const char *name, const char *file)
{
    char path[NAME_SIZE + sizeof(CHECKPOINT_STATE)];
    struct stat info;

    snprintf(path, sizeof(path), "%.*s/%s", NAME_SIZE - 1, name, file);
    return fstatat(folder_fd, path, &info, AT_SYMLINK_NOFOLLOW) == 0;
}

/* True if `name` is the name of a checkpoint of this kind, complete or not; stores its step.
 * Folders with other names are never touched. */
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
           (holds(folder_fd, name, CHECKPOINT_STATE) || holds(folder_fd, name, CHECKPOINT_DONE));
}

/* Finds the newest checkpoint whose step is below `before`. Considers only complete checkpoints
 * unless `any` is true. Returns false if there is no such checkpoint. */
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
            (!found || step > *step_out) &&
            (any || holds(folder_fd, entry->d_name, CHECKPOINT_DONE))) {
            snprintf(name_out, NAME_SIZE, "%s", entry->d_name);
            *step_out = step;
            found = true;
        }
    }
    closedir(entries);
    return found;
}

/* Removes a checkpoint. Renames its folder first, so that leftovers of a killed process are
 * recognized. */
static int remove_checkpoint(int folder_fd, const char *name)
{
    if (sli_tree_remove(folder_fd, REMOVED) != 0 ||
        renameat(folder_fd, name, folder_fd, REMOVED) != 0) {
        return -1;
    }
    return sli_tree_remove(folder_fd, REMOVED);
}

/* Removes all checkpoints of a kind except the newest `keep` complete ones. */
static bool clean_kind(int folder_fd, checkpoint_kind kind, uint32_t keep)
{
    uint64_t before = UINT64_MAX;
    uint32_t complete = 0;
    bool removed = true;
    char name[NAME_SIZE];

    while (removed && find_newest(folder_fd, kind, before, true, name, &before)) {
        const bool is_complete = holds(folder_fd, name, CHECKPOINT_DONE);

        complete += is_complete;
        if (!is_complete || complete > keep) {
            removed = remove_checkpoint(folder_fd, name) == 0;
        }
    }
    return removed;
}

/* Finds the newest complete checkpoint whose step is below `before` to resume from. Returns false
 * if there is no such checkpoint. */
static bool find_last(int folder_fd, uint64_t before, char name_out[NAME_SIZE], uint64_t *step_out,
                      bool *early_out)
{
    uint64_t early_step = 0;
    char early[NAME_SIZE];
    const bool found = find_newest(folder_fd, CHECKPOINT_STEP, before, false, name_out, step_out);

    *early_out = find_newest(folder_fd, CHECKPOINT_EARLY, before, false, early, &early_step) &&
                 (!found || early_step > *step_out);
    if (*early_out) {
        memcpy(name_out, early, sizeof(early));
        *step_out = early_step;
    }
    return found || *early_out;
}

/* Removes all early checkpoints except the one that a run would resume from. */
static bool clean_early(int folder_fd)
{
    uint64_t last = 0;
    uint64_t before = UINT64_MAX;
    char name[NAME_SIZE];
    bool keeps = false;
    bool removed = true;

    (void)find_last(folder_fd, UINT64_MAX, name, &last, &keeps);
    while (removed && find_newest(folder_fd, CHECKPOINT_EARLY, before, true, name, &before)) {
        if (!keeps || before != last) {
            removed = remove_checkpoint(folder_fd, name) == 0;
        }
    }
    return removed;
}

/* Removes leftovers of killed processes and, if `old`, replaced checkpoints. If that fails, logs a
 * warning and continues. */
static void clean_store(const checkpoint_store *store, int folder_fd, bool old)
{
    if (sli_tree_remove(folder_fd, PARTIAL) != 0 || sli_tree_remove(folder_fd, REMOVED) != 0 ||
        !clean_kind(folder_fd, CHECKPOINT_STEP, old ? store->keep : UINT32_MAX) ||
        !clean_kind(folder_fd, CHECKPOINT_BEST, old ? 1 : UINT32_MAX) ||
        (old ? !clean_early(folder_fd) : !clean_kind(folder_fd, CHECKPOINT_EARLY, UINT32_MAX))) {
        (void)fail_io("clean up", store->folder, "");
        sli_log(SLUICE_LOG_WARN, "%s", sluice_last_error());
    }
}

/* ---- writing ------------------------------------------------------------------------------- */

/* Opens the folder that contains all checkpoints. Rank 0 creates the folder if it is missing. */
static sluice_status open_store(const checkpoint_store *store, int *fd_out)
{
    const char *folder = store->folder;

    if (store->ranks->own.rank == 0 && mkdir(folder, 0777) != 0 && errno != EEXIST) {
        return fail_io("make", folder, "");
    }
    *fd_out = sli_openat(AT_FDCWD, folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0, NULL);
    return *fd_out >= 0 ? SLUICE_OK : fail_io("open", folder, "");
}

/* Creates the empty partial folder that all ranks write to. Called by rank 0 only. */
static sluice_status begin_partial(const checkpoint_store *store, int store_fd)
{
    clean_store(store, store_fd, true);
    return mkdirat(store_fd, PARTIAL, 0777) == 0 ? SLUICE_OK
                                                 : fail_io("make", store->folder, PARTIAL);
}

/* Calls model.save for this rank's files, then syncs the whole partial folder to disk. */
static sluice_status save_model(const checkpoint_store *store, int store_fd, const char *path)
{
    const uint64_t failures = sli_fail_count();
    sluice_status st;

    if (faccessat(store_fd, PARTIAL, F_OK, 0) != 0) {
        return sli_fail_errno(SLUICE_E_IO, errno,
                              "checkpoint: rank %u does not see %s, which rank 0 has made; the "
                              "folder must be one that all ranks share",
                              store->ranks->own.rank, path);
    }
    st = store->model->save(store->model->user, path, store->ranks->own.rank,
                            store->ranks->own.world);
    st = sli_callback_status(st, failures, "checkpoint %s: model.save", path);
    if (st < 0) {
        return st;
    }
    st = checkpoint_files_check_saved(store_fd, PARTIAL, path);
    if (st != SLUICE_OK) {
        return st;
    }
    return sli_tree_sync(store_fd, PARTIAL) == 0 ? SLUICE_OK : fail_io("sync", path, "");
}

/* Writes the state into the partial folder. */
static sluice_status write_state(int store_fd, const train_state *state, const char *path)
{
    sluice_status st;
    sli_text text = {0};
    char *lines = NULL;
    int fd;

    train_state_print(state, &text);
    st = sli_text_take(&text, &lines);
    if (st != SLUICE_OK) {
        return st;
    }
    fd = sli_tree_open(store_fd, PARTIAL);
    if (fd < 0 || sli_tree_write_file(fd, CHECKPOINT_STATE, lines, strlen(lines)) != 0 ||
        fsync(fd) != 0) {
        st = fail_io("write", path, CHECKPOINT_STATE);
    }
    if (fd >= 0) {
        close(fd);
    }
    sluice_string_free(lines);
    return st;
}

/* Renames the partial folder to its final name, then creates DONE in it. */
static sluice_status complete_partial(const checkpoint_store *store, int store_fd,
                                      checkpoint_kind kind, uint64_t step)
{
    const char *folder = store->folder;
    char name[NAME_SIZE];
    uint64_t named;
    int fd;
    sluice_status st = SLUICE_OK;

    print_name(kind, step, name);
    if (is_checkpoint(store_fd, kind, name, &named) && remove_checkpoint(store_fd, name) != 0) {
        return fail_io("replace", folder, name);
    }
    if (renameat(store_fd, PARTIAL, store_fd, name) != 0 || fsync(store_fd) != 0) {
        return fail_io("complete", folder, name);
    }
    fd = sli_tree_open(store_fd, name);
    if (fd < 0 || sli_tree_write_file(fd, CHECKPOINT_DONE, "", 0) != 0 || fsync(fd) != 0) {
        st = fail_io("complete", folder, name);
    }
    if (fd >= 0) {
        close(fd);
    }
    return st;
}

/* Completes the checkpoint on rank 0, once all ranks have saved and summed. */
static sluice_status seal_partial(const checkpoint_store *store, int store_fd, checkpoint_kind kind,
                                  const train_state *state, checkpoint_part *part, const char *path)
{
    train_state written = *state;
    sluice_status st = checkpoint_files_write(store_fd, PARTIAL, path, store->ranks->own.world,
                                              part, &written.files);

    if (st == SLUICE_OK) {
        st = write_state(store_fd, &written, path);
    }
    if (st == SLUICE_OK) {
        st = complete_partial(store, store_fd, kind, state->step);
    }
    if (st == SLUICE_OK) {
        clean_store(store, store_fd, true);
    }
    return st;
}

static sluice_status write_into(const checkpoint_store *store, int store_fd, checkpoint_kind kind,
                                const train_state *state)
{
    const char *folder = store->folder;
    const sluice_ranks *own = &store->ranks->own;
    checkpoint_part part = {0};
    char path[PATH_SIZE];
    sluice_status st = SLUICE_OK;

    if (snprintf(path, sizeof(path), "%s/%s", folder, PARTIAL) >= (int)sizeof(path)) {
        return sli_fail(SLUICE_E_INVALID, "checkpoint: the folder's name is too long: %.200s...",
                        folder);
    }
    if (own->rank == 0) {
        st = begin_partial(store, store_fd);
    }
    if (st == SLUICE_OK) {
        st = agree_barrier(store->ranks);
    }
    if (st == SLUICE_OK) {
        st = save_model(store, store_fd, path);
    }
    if (st == SLUICE_OK) {
        st = agree_barrier(store->ranks);
    }
    if (st == SLUICE_OK) {
        st = checkpoint_files_sum(store_fd, PARTIAL, path, own->rank, own->world, &part);
    }
    if (st == SLUICE_OK) {
        st = agree_barrier(store->ranks);
    }
    if (st == SLUICE_OK && own->rank == 0) {
        st = seal_partial(store, store_fd, kind, state, &part, path);
    }
    sluice_string_free(part.lines);
    return st == SLUICE_OK ? agree_barrier(store->ranks) : st;
}

sluice_status checkpoint_write(const checkpoint_store *store, checkpoint_kind kind,
                               const train_state *state)
{
    int store_fd = -1;
    sluice_status st = SLUICE_OK;

    if (store->ranks->own.rank == 0) {
        st = open_store(store, &store_fd);
    }
    if (st == SLUICE_OK) {
        st = agree_barrier(store->ranks); /* now the folder exists */
    }
    if (st == SLUICE_OK && store->ranks->own.rank > 0) {
        st = open_store(store, &store_fd);
    }
    if (st == SLUICE_OK) {
        st = write_into(store, store_fd, kind, state);
    }
    if (store_fd >= 0) {
        close(store_fd);
    }
    return st;
}

/* ---- loading ------------------------------------------------------------------------------- */

/* A checkpoint to load. */
typedef struct loaded_checkpoint {
    int store_fd;
    char name[NAME_SIZE];
    char path[PATH_SIZE];
    uint64_t step; /* by its name */
    bool early;
} loaded_checkpoint;

/* Reads the state, and checks that the checkpoint is complete. */
static sluice_status read_state(const loaded_checkpoint *from, train_state *state_out)
{
    const int fd = sli_tree_open(from->store_fd, from->name);
    size_t size;
    char *text = NULL;
    sluice_status st;

    if (fd < 0) {
        return fail_io("open", from->path, "");
    }
    st = checkpoint_file_check(fd, from->path, CHECKPOINT_DONE, &size);
    if (st == SLUICE_OK) {
        st = checkpoint_file_read(fd, from->path, CHECKPOINT_STATE, TRAIN_STATE_SIZE, &text);
    }
    close(fd);
    if (st == SLUICE_OK) {
        st = train_state_parse(text, "sluice_state", state_out);
    }
    sli_free(text);
    if (st == SLUICE_OK && state_out->step != from->step) {
        st = sli_fail(SLUICE_E_CORRUPT,
                      "sluice_state is of step %" PRIu64 ", which is not that of its folder",
                      state_out->step);
        train_state_free(state_out);
    }
    return st;
}

/* Adds the checkpoint's path and a remedy to its error text. */
static sluice_status does_not_fit(sluice_status status, const loaded_checkpoint *from)
{
    char name[NAME_SIZE];
    uint64_t step = 0;
    bool early;
    const bool corrupt = status == SLUICE_E_CORRUPT || status == SLUICE_E_IO;

    if (corrupt && find_last(from->store_fd, from->step, name, &step, &early)) {
        return sli_fail_quoting(
            status,
            "cannot resume from %s: %.600s; restore it from a copy, or remove the "
            "folder %s to resume from %s",
            from->path, sluice_last_error(), from->name, name);
    }
    return sli_fail_quoting(status, "cannot resume from %s: %.600s; %s, or name another folder",
                            from->path, sluice_last_error(),
                            corrupt ? "restore it from a copy"
                            : status == SLUICE_E_UNSUPPORTED
                                ? "continue with the version that wrote it"
                                : "restore the earlier value");
}

/* Checks the listed files, of which the ranks share the reading. */
static sluice_status check_files(const checkpoint_store *store, const loaded_checkpoint *from,
                                 const train_state *kept)
{
    const checkpoint_check check = {kept->version > TRAIN_STATE_UNSUMMED, kept->files,
                                    store->ranks->own.rank, store->ranks->own.world};

    if (!check.has_sums && check.rank == 0) {
        sli_log(SLUICE_LOG_WARN,
                "%s/%s is of version %" PRIu64 ", without checksums: only the sizes of the files "
                "are checked; the next checkpoint has checksums",
                from->path, CHECKPOINT_STATE, kept->version);
    }
    return checkpoint_files_check(from->store_fd, from->name, from->path, &check);
}

/* Checks that the stored state fits this run, then copies it into the run's state. */
static sluice_status take_state(const checkpoint_store *store, const loaded_checkpoint *from,
                                train_state *state)
{
    train_state kept;
    sluice_status st = read_state(from, &kept);

    if (st == SLUICE_OK) {
        st = train_state_compare(&kept, state);
        if (st == SLUICE_OK) {
            st = check_files(store, from, &kept);
        }
        if (st == SLUICE_OK) {
            train_state_take(state, &kept);
        }
        train_state_free(&kept);
    }
    return st == SLUICE_OK ? st : does_not_fit(st, from);
}

static sluice_status load_checkpoint(const checkpoint_store *store, loaded_checkpoint *from,
                                     train_state *state)
{
    const uint64_t failures = sli_fail_count();
    sluice_status st;

    snprintf(from->path, sizeof(from->path), "%s/%s", store->folder, from->name);
    st = take_state(store, from, state);
    if (st == SLUICE_OK) {
        st = agree_barrier(store->ranks); /* each rank has checked its part of the files */
    }
    if (st != SLUICE_OK) {
        return st;
    }
    st = store->model->load(store->model->user, from->path, store->ranks->own.rank,
                            store->ranks->own.world);
    st = sli_callback_status(st, failures, "cannot resume from %s: model.load", from->path);
    return st < 0 ? st : SLUICE_OK;
}

sluice_status checkpoint_load(const checkpoint_store *store, train_state *state, bool *early_out)
{
    const int store_fd =
        sli_openat(AT_FDCWD, store->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0, NULL);
    loaded_checkpoint from = {.store_fd = store_fd};
    bool found = false;
    sluice_status st;

    if (store_fd < 0 && errno != ENOENT) {
        return fail_io("open", store->folder, "");
    }
    if (store_fd >= 0 && store->ranks->own.rank == 0) {
        clean_store(store, store_fd, false); /* the newest may be corrupt: keeps the others */
    }
    st = agree_barrier(store->ranks); /* rank 0 has finished removing folders */
    if (st == SLUICE_OK && store_fd >= 0) {
        found = find_last(store_fd, UINT64_MAX, from.name, &from.step, &from.early);
    }
    if (st == SLUICE_OK) {
        st = agree_on_step(store->ranks, found ? from.step : UINT64_MAX, from.early);
    }
    if (st == SLUICE_OK) {
        st = found ? load_checkpoint(store, &from, state) : SLUICE_END_OF_DATA;
        *early_out = from.early;
    }
    if (store_fd >= 0) {
        close(store_fd);
    }
    return st;
}

bool checkpoint_is_there(const char *folder)
{
    int store_fd = sli_openat(AT_FDCWD, folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0, NULL);
    char name[NAME_SIZE];
    uint64_t step = 0;
    bool early;
    bool found = false;

    if (store_fd >= 0) {
        found = find_last(store_fd, UINT64_MAX, name, &step, &early);
        close(store_fd);
    }
    return found;
}
