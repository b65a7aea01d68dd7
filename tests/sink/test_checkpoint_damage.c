/* SPDX-License-Identifier: Apache-2.0 */
/* Checkpoints of which something has changed since they were written, and files that save must not
 * write. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "checkpoint.h"
#include "checkpoint_files.h"
#include "log_kit.h"
#include "testing.h"
#include "train_kit.h"

/* ---- a store without a run ------------------------------------------------------------------- */

static const char *saved_name; /* file that save writes; "": none; ending in '/': a folder */

static sluice_status save(void *user, const char *folder, uint32_t rank, uint32_t world)
{
    const size_t length = strlen(saved_name);

    (void)user;
    (void)rank;
    (void)world;
    if (length > 0 && saved_name[length - 1] == '/') {
        mkdir(t_path(folder, saved_name), 0777);
    } else if (length > 0) {
        t_write_file(t_path(folder, saved_name), "0.25 0.5", 8);
    }
    return SLUICE_OK;
}

static sluice_status load(void *user, const char *folder, uint32_t rank, uint32_t world)
{
    (void)folder;
    (void)rank;
    (void)world;
    ++*(int *)user;
    return SLUICE_OK;
}

/* A store with checkpoints of steps 40 and 50. */
typedef struct store_kit {
    char folder[300];
    int loads;
    sluice_model model;
    rank_group ranks;
    checkpoint_store store;
    train_state state;
} store_kit;

static void init(store_kit *k)
{
    memset(k, 0, sizeof(*k));
    snprintf(k->folder, sizeof(k->folder), "%s/c", t_folder());
    k->model.user = &k->loads;
    k->model.save = save;
    k->model.load = load;
    k->ranks.own.world = 1;
    k->store = (checkpoint_store){k->folder, 3, &k->ranks, &k->model};
    k->state.seed = 7;
    k->state.batch_size = 2;
    k->state.world = 1;
    k->state.position = (sli_position){1, 24};
    k->state.data.samples = 200;
    k->state.data.names = 12;
    k->state.data.stages = (char *)(uintptr_t) "shuffle";
    saved_name = "weights";
    for (k->state.step = 40; k->state.step <= 50; k->state.step += 10) {
        T_OK(checkpoint_write(&k->store, CHECKPOINT_STEP, &k->state));
    }
}

/* Resumes; the state is then the checkpoint's. */
static sluice_status resume(store_kit *k)
{
    bool early;

    k->state.step = 0;
    k->loads = 0;
    return checkpoint_load(&k->store, &k->state, &early);
}

static const char *file_of(const store_kit *k, const char *name)
{
    static char path[400];

    snprintf(path, sizeof(path), "%s/step-000000000050/%s", k->folder, name);
    return path;
}

static void check_refused(store_kit *k, const char *name, const char *why)
{
    T_STATUS(resume(k), SLUICE_E_CORRUPT);
    T_EQ(k->loads, 0);
    T_EQ(k->state.step, 0);
    T_CONTAINS(sluice_last_error(), "cannot resume from ");
    T_CONTAINS(sluice_last_error(), name);
    T_CONTAINS(sluice_last_error(), why);
    T_CONTAINS(sluice_last_error(),
               "remove the folder step-000000000050 to resume from step-000000000040");
}

static void check_resumes(store_kit *k, uint64_t step)
{
    T_OK(resume(k));
    T_EQ(k->state.step, step);
    T_EQ(k->loads, 1);
}

static char *bytes_of(const char *path, size_t *size_out)
{
    char *bytes = malloc(4096);
    FILE *file = fopen(path, "rb");

    T_TRUE(bytes != NULL && file != NULL);
    *size_out = fread(bytes, 1, 4096, file);
    fclose(file);
    return bytes;
}

/* ---- damage ---------------------------------------------------------------------------------- */

/* Writes the file with each bit flipped, and each digit replaced by each other digit. */
static void every_flip_is_refused(store_kit *k, const char *name)
{
    char path[400];
    size_t size;
    char *bytes;

    snprintf(path, sizeof(path), "%s", file_of(k, name));
    bytes = bytes_of(path, &size);
    for (size_t i = 0; i < size; i++) {
        const char was = bytes[i];

        for (int bit = 0; bit < 8; bit++) {
            bytes[i] = (char)(was ^ 1 << bit);
            t_write_file(path, bytes, size);
            check_refused(k, name, "");
        }
        for (char digit = '0'; was >= '0' && was <= '9' && digit <= '9'; digit++) {
            bytes[i] = digit;
            t_write_file(path, bytes, size);
            if (digit != was) {
                check_refused(k, name, "");
            }
        }
        bytes[i] = was;
    }
    t_write_file(path, bytes, size);
    check_resumes(k, 50);
    free(bytes);
}

static void a_flipped_bit_or_digit_is_refused(void)
{
    static const char *const names[] = {"sluice_state", "sluice_files", "weights"};
    store_kit k;

    init(&k);
    for (size_t i = 0; i < COUNT(names); i++) {
        every_flip_is_refused(&k, names[i]);
    }
}

static void a_file_of_another_length_is_refused(void)
{
    static const char *const names[] = {"sluice_state", "sluice_files", "weights"};
    store_kit k;

    init(&k);
    for (size_t i = 0; i < COUNT(names); i++) {
        char path[400];
        size_t size;
        char *bytes;

        snprintf(path, sizeof(path), "%s", file_of(&k, names[i]));
        bytes = bytes_of(path, &size);
        for (size_t length = 0; length < size; length++) {
            t_write_file(path, bytes, length);
            check_refused(&k, names[i], "");
        }
        memcpy(bytes + size, "\0\n1", 3);
        t_write_file(path, bytes, size + 1);
        check_refused(&k, names[i], "");
        t_write_file(path, bytes + size + 1, 2);
        check_refused(&k, names[i], "");
        t_write_file(path, bytes, size);
        free(bytes);
    }
    check_resumes(&k, 50);
}

/* What stands in the place of a file, and how the message calls it. */
static void replace(const char *path, int kind)
{
    T_EQ(unlink(path), 0);
    if (kind == 0) {
        T_EQ(symlink("/dev/null", path), 0);
    } else if (kind == 1) {
        T_EQ(symlink("nothing", path), 0);
    } else if (kind == 2) {
        T_EQ(mkdir(path, 0777), 0);
    } else {
        T_EQ(mkfifo(path, 0666), 0);
    }
}

static void links_folders_and_fifos_are_refused(void)
{
    static const char *const names[] = {"DONE", "sluice_state", "sluice_files", "weights"};
    static const char *const kinds[] = {"a symbolic link", "a symbolic link", "a folder",
                                        "a special file"};
    store_kit k;

    init(&k);
    for (size_t i = 0; i < COUNT(names); i++) {
        char path[400];
        size_t size;
        char *bytes;

        snprintf(path, sizeof(path), "%s", file_of(&k, names[i]));
        bytes = bytes_of(path, &size);
        for (int kind = 0; kind < (int)COUNT(kinds); kind++) {
            replace(path, kind);
            check_refused(&k, names[i], kinds[kind]);
            T_EQ(remove(path), 0);
            t_write_file(path, bytes, size);
        }
        free(bytes);
    }
    check_resumes(&k, 50);
}

static void files_of_another_checkpoint_are_refused(void)
{
    store_kit k;
    char other[400];

    init(&k);
    snprintf(other, sizeof(other), "%s/step-000000000040/sluice_state", k.folder);
    T_EQ(rename(other, file_of(&k, "sluice_state")), 0);
    check_refused(&k, "sluice_state", "is of step 40");
}

/* Before, the cleanup of the next run had removed all but the newest. */
static void a_damaged_checkpoint_keeps_the_previous_one(void)
{
    store_kit k;

    init(&k);
    k.store.keep = 1;
    t_write_file(file_of(&k, "sluice_state"), "", 0);
    check_refused(&k, "sluice_state", "");
    T_EQ(rename(t_path(k.folder, "step-000000000050"), t_path(k.folder, "kept")), 0);
    check_resumes(&k, 40);
}

static void without_a_previous_one_a_copy_is_the_remedy(void)
{
    store_kit k;

    init(&k);
    T_EQ(rename(t_path(k.folder, "step-000000000040"), t_path(k.folder, "kept")), 0);
    t_write_file(file_of(&k, "sluice_files"), "", 0);
    T_STATUS(resume(&k), SLUICE_E_CORRUPT);
    T_CONTAINS(sluice_last_error(), "restore it from a copy, or name another folder");
}

/* Each file is summed by one rank, and each size is checked by all. */
static void ranks_share_the_sums(void)
{
    store_kit k;
    uint32_t refused = 0;

    init(&k);
    t_write_file(file_of(&k, "weights"), "0.25 0.6", 8);
    for (k.ranks.own.rank = 0; k.ranks.own.rank < 3; k.ranks.own.rank++) {
        k.ranks.own.world = 3;
        refused += resume(&k) == SLUICE_E_CORRUPT;
    }
    T_EQ(refused, 1);
}

/* A rank with an old listing of the folder leaves files out: rank 0 sums all. */
static void a_part_that_lacks_files_is_made_up_for(void)
{
    const char *folder = t_folder();
    checkpoint_check check = {.has_sums = true, .world = 1};
    checkpoint_part part = {0};
    char name[40];
    int fd;

    for (int i = 0; i < 16; i++) {
        snprintf(name, sizeof(name), "x/part-%d", i);
        t_write_file(t_path(folder, name), name, strlen(name));
    }
    fd = open(folder, O_RDONLY | O_DIRECTORY);
    for (int lacks = 0; lacks < 2; lacks++) {
        size_t size;
        char *list;

        T_OK(checkpoint_files_sum(fd, "x", "x", 1, 2, &part));
        T_TRUE(part.lines == NULL && access(t_path(folder, "x/sluice_files.1"), F_OK) == 0);
        if (lacks == 1) {
            t_write_file(t_path(folder, "x/sluice_files.1"), "", 0);
        }
        T_OK(checkpoint_files_sum(fd, "x", "x", 0, 2, &part));
        T_OK(checkpoint_files_write(fd, "x", "x", 2, &part, &check.sum));
        sluice_string_free(part.lines);
        part.lines = NULL;
        T_EQ(access(t_path(folder, "x/sluice_files.1"), F_OK), -1);
        list = bytes_of(t_path(folder, "x/sluice_files"), &size);
        T_EQ(size, 10 * strlen("01234567 8 part-0\n") + 6 * strlen("01234567 9 part-10\n"));
        free(list);
        T_OK(checkpoint_files_check(fd, "x", "x", &check));
    }
    close(fd);
}

/* ---- the version before ---------------------------------------------------------------------- */

static const char state_2[] =
    "sluice_state 2\nstep 50\npass 1\ndone 24\nseed 7\nbatch 2\nworld 1\nbest_name 0\nbest_step "
    "0\nbest_value 0\nsamples 200\nnames 12\nstages shuffle\n";

static void a_state_of_version_2_is_read_and_that_is_said(void)
{
    store_kit k;

    init(&k);
    t_write_file(file_of(&k, "sluice_state"), state_2, sizeof(state_2) - 1);
    t_write_file(file_of(&k, "sluice_files"), "8 weights\n", 10);
    kit_log_start(NULL, NULL);
    check_resumes(&k, 50);
    T_CONTAINS(kit_log_stop(), "sluice_state is of version 2, without checksums");
    T_EQ(kit_log_count(SLUICE_LOG_WARN), 1);
    T_EQ(k.state.position.done, 24);
    T_EQ(truncate(file_of(&k, "weights"), 7), 0);
    check_refused(&k, "weights has 7 bytes, and must have 8", "");
}

/* ---- names of the library's files ------------------------------------------------------------ */

static void save_must_not_write_the_files_of_the_library(void)
{
    static const char *const names[] = {"DONE",          "sluice_state",  "sluice_files",  "DONE/",
                                        "sluice_state/", "sluice_files/", "sluice_files.1"};
    store_kit k;

    init(&k);
    k.state.step = 60;
    for (size_t i = 0; i < COUNT(names); i++) {
        saved_name = names[i];
        T_STATUS(checkpoint_write(&k.store, CHECKPOINT_STEP, &k.state), SLUICE_E_INVALID);
        T_CONTAINS(sluice_last_error(), "model.save has written ");
        T_CONTAINS(sluice_last_error(), "save under another name");
    }
    saved_name = "a\nb";
    T_STATUS(checkpoint_write(&k.store, CHECKPOINT_STEP, &k.state), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "newline");
    check_resumes(&k, 50);
    saved_name = "inner/DONE";
    k.state.step = 60;
    T_OK(checkpoint_write(&k.store, CHECKPOINT_STEP, &k.state));
    check_resumes(&k, 60);
    saved_name = "";
    k.state.step = 70;
    T_OK(checkpoint_write(&k.store, CHECKPOINT_STEP, &k.state));
    check_resumes(&k, 70);
}

const t_test checkpoint_damage_tests[] = {
    T_TEST(a_flipped_bit_or_digit_is_refused),
    T_TEST(a_file_of_another_length_is_refused),
    T_TEST(links_folders_and_fifos_are_refused),
    T_TEST(files_of_another_checkpoint_are_refused),
    T_TEST(a_damaged_checkpoint_keeps_the_previous_one),
    T_TEST(without_a_previous_one_a_copy_is_the_remedy),
    T_TEST(ranks_share_the_sums),
    T_TEST(a_part_that_lacks_files_is_made_up_for),
    T_TEST(a_state_of_version_2_is_read_and_that_is_said),
    T_TEST(save_must_not_write_the_files_of_the_library),
    T_END,
};
