/* SPDX-License-Identifier: Apache-2.0 */
/* Indexes of image files on disk: for the file as it is only, whatever happens to the records. */
#include "index_store.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sluice/log.h>

#include "alloc_int.h"
#include "descriptor_int.h"
#include "jpeg_maker.h"
#include "log_kit.h"
#include "source_kit.h"
#include "testing.h"

static index_store *open_store(const char *folder)
{
    index_store *store = NULL;

    T_OK(index_store_open(folder, 100, &store));
    return store;
}

static index_key key_of(uint64_t i)
{
    return (index_key){i * 0x9E3779B97F4A7C15U, 1000 + i, (uint32_t)i * 1000000007};
}

/* The bytes of image i's index. */
static bool keep(index_store *store, uint64_t i)
{
    const index_key key = key_of(i);
    image_index index = {.size = 50 + i % 7, .is_made = true};
    bool kept;

    T_OK(image_buffer_reserve(&index.bytes, index.size));
    memset(index.bytes.data, (int)i + 1, index.size);
    kept = index_store_keep(store, &key, &index);
    image_buffer_free(&index.bytes);
    return kept;
}

/* Is image i's index there? If one is, it is the right one. */
static bool is_kept(index_store *store, uint64_t i)
{
    const index_key key = key_of(i);
    image_index index = {.size = 1};
    bool kept;

    index_store_find(store, &key, &index);
    kept = index.size > 0;
    if (kept) {
        T_EQ(index.size, 50 + i % 7);
        for (size_t k = 0; k < index.size; k++) {
            T_EQ(index.bytes.data[k], (uint8_t)(i + 1));
        }
    }
    image_buffer_free(&index.bytes);
    return kept;
}

static uint8_t *read_file(const char *path, size_t *size_out)
{
    FILE *file = fopen(path, "rb");
    uint8_t *bytes = malloc(1 << 20);

    T_TRUE(file != NULL);
    *size_out = fread(bytes, 1, 1 << 20, file);
    fclose(file);
    return bytes;
}

static void what_is_kept_is_found_again(void)
{
    char folder[300];
    index_store *store = NULL;
    image_index index = {0};
    const index_key key = key_of(3);
    index_key other = key;

    snprintf(folder, sizeof(folder), "%s", t_path(t_folder(), "made"));
    store = open_store(folder);
    index_store_find(store, &key, &index);
    T_EQ(index.size, 0);
    T_TRUE(index.wanted && !index.is_refused);
    for (uint64_t i = 0; i < 20; i++) {
        T_TRUE(keep(store, i));
        T_TRUE(is_kept(store, i));
    }
    index_store_close(store);
    store = open_store(folder);
    for (uint64_t i = 0; i < 20; i++) {
        T_TRUE(is_kept(store, i));
    }
    other.size++;
    index_store_find(store, &other, &index);
    T_TRUE(index.size == 0 && index.wanted && index.is_refused);
    other = key;
    other.crc++;
    index_store_find(store, &other, &index);
    T_TRUE(index.size == 0 && index.wanted && index.is_refused);
    index.is_used = true;
    index_store_find(store, &key, &index);
    T_TRUE(index.size > 0 && !index.wanted && !index.is_refused && !index.is_used);
    image_buffer_free(&index.bytes);
    index_store_close(store);
}

/* No index, for good: neither is it looked for nor made again. */
static void a_file_without_an_index_is_remembered(void)
{
    const char *folder = t_folder();
    index_store *store = open_store(folder);
    const index_key key = key_of(1);
    const index_key wrong = key_of(2);
    image_index index = {.is_made = true};

    T_TRUE(!index_store_keep(store, &key, &index)); /* there is none to keep */
    keep(store, 2);
    index = (image_index){.is_wrong = true, .size = 9};
    T_TRUE(!index_store_keep(store, &wrong, &index));
    for (int i = 0; i < 2; i++) {
        index_store_find(store, &key, &index);
        T_TRUE(index.size == 0 && !index.wanted && !index.is_refused);
        index_store_find(store, &wrong, &index);
        T_TRUE(index.size == 0 && !index.wanted && !index.is_refused);
        index_store_close(store);
        store = open_store(folder);
    }
    index_store_close(store);
    image_buffer_free(&index.bytes);
}

static void a_changed_record_is_not_used(void)
{
    const char *folder = t_folder();
    index_store *store = open_store(folder);
    uint8_t *bytes;
    size_t size;
    int lost = 0;

    keep(store, 4);
    keep(store, 5);
    index_store_close(store);
    bytes = read_file(t_path(folder, "places-00.sluice"), &size);
    T_EQ(size, 16 + 2 * 40 + 54 + 55);
    for (size_t at = 0; at < size; at++) {
        bytes[at] ^= (uint8_t)(1U << at % 8);
        t_write_file(t_path(folder, "places-00.sluice"), bytes, size);
        bytes[at] ^= (uint8_t)(1U << at % 8);
        store = open_store(folder);
        lost += !is_kept(store, 4);
        lost += !is_kept(store, 5);
        keep(store, 4);
        T_TRUE(is_kept(store, 4));
        index_store_close(store);
    }
    T_TRUE(lost >= (int)size); /* each byte belongs to one of them, or to both */
    free(bytes);
}

/* As a process that was killed leaves it: what is whole is found, and it goes on behind that. */
static void a_file_may_end_anywhere(void)
{
    const char *folder = t_folder();
    index_store *store = open_store(folder);
    uint8_t *bytes;
    size_t size;

    keep(store, 4);
    keep(store, 5);
    index_store_close(store);
    bytes = read_file(t_path(folder, "places-00.sluice"), &size);
    for (size_t n = 0; n < size; n++) {
        t_write_file(t_path(folder, "places-00.sluice"), bytes, n);
        store = open_store(folder);
        T_EQ(is_kept(store, 4), n >= 16 + 40 + 54);
        T_EQ(is_kept(store, 5), 0);
        keep(store, 6);
        index_store_close(store);
        store = open_store(folder);
        T_EQ(is_kept(store, 4), n >= 16 + 40 + 54);
        T_TRUE(is_kept(store, 6));
        index_store_close(store);
    }
    free(bytes);
}

static void several_processes_share_a_folder(void)
{
    const char *folder = t_folder();
    index_store *one = open_store(folder);
    index_store *two = open_store(folder);

    keep(one, 1);
    keep(two, 2);
    keep(one, 3);
    T_TRUE(is_kept(one, 3) && !is_kept(one, 2));
    index_store_close(one);
    index_store_close(two);
    one = open_store(folder);
    T_TRUE(is_kept(one, 1) && is_kept(one, 2) && is_kept(one, 3));
    index_store_close(one);
}

static void a_folder_that_cannot_be_written_to_is_read(void)
{
    const char *folder = t_folder();
    index_store *store = open_store(folder);
    int status;
    pid_t child;

    keep(store, 1);
    index_store_close(store);
    T_EQ(chmod(folder, 0555), 0);
    T_EQ(chmod(t_path(folder, "places-00.sluice"), 0444), 0);
    fflush(NULL);
    child = fork();
    if (child == 0) {
        const index_key key = key_of(2);
        image_index index = {0};

        /* The folder that it is in is nobody's to look into. */
        if (chdir(folder) != 0 || !become_nobody() ||
            index_store_open(".", 100, &store) != SLUICE_OK || !is_kept(store, 1)) {
            _exit(1);
        }
        index_store_find(store, &key, &index);
        _exit(index.wanted || keep(store, 2) || is_kept(store, 2) ? 2 : 0);
    }
    T_TRUE(waitpid(child, &status, 0) == child);
    T_EQ(chmod(folder, 0755), 0);
    T_EQ(status, 0);
}

/* In a child whose files may have so many bytes: a store is opened, and takes no index. */
static void open_on_full_disk(const char *folder, rlim_t most)
{
    const struct rlimit limit = {most, most};
    int status;
    pid_t child;

    fflush(NULL);
    child = fork();
    if (child == 0) {
        index_store *store;
        const char *log;
        bool kept;

        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &limit);
        kit_log_start(NULL, NULL);
        store = open_store(folder);
        kept = keep(store, 1) || is_kept(store, 1);
        index_store_close(store);
        log = kit_log_stop();
        _exit(kept ? 1 : strstr(log, "File too large") == NULL ? 2 : 0);
    }
    T_TRUE(waitpid(child, &status, 0) == child);
    T_EQ(status, 0);
}

static void a_full_disk_is_named_and_no_file_without_a_record_is_left(void)
{
    const char *folder = t_folder();
    index_store *store;

    open_on_full_disk(folder, 0); /* not even the head */
    T_EQ(rmdir(folder), 0);
    open_on_full_disk(folder, 30);
    T_EQ(rmdir(folder), 0);
    store = open_store(folder);
    keep(store, 2);
    index_store_close(store);
    open_on_full_disk(folder, 30);
    store = open_store(folder);
    T_TRUE(is_kept(store, 2) && !is_kept(store, 1));
    index_store_close(store);
    T_EQ(unlink(t_path(folder, "places-00.sluice")), 0);
    T_EQ(rmdir(folder), 0);
}

/* Files of other processes are closed where descriptors run out: their images are decoded without
 * an index, and none is made anew. */
static void a_file_that_was_closed_has_no_indexes(void)
{
    const char *folder = t_folder();
    index_store *one = open_store(folder);
    index_store *two;
    const index_key key = key_of(1);
    image_index index = {0};

    keep(one, 1);
    two = open_store(folder);
    keep(two, 2);
    T_TRUE(is_kept(two, 1) && is_kept(two, 2));
    T_EQ(sli_held_files_drop(), 1);
    T_TRUE(!is_kept(two, 1) && is_kept(two, 2));
    index_store_find(two, &key, &index);
    T_TRUE(!index.wanted && !index.is_refused);
    index_store_close(one);
    index_store_close(two);
}

static void folders_that_cannot_be_had_are_named(void)
{
    const char *folder = t_folder();
    index_store *store = NULL;

    t_write_file(t_path(folder, "file"), "x", 1);
    T_STATUS(index_store_open(t_path(folder, "file"), 1, &store), SLUICE_E_IO);
    T_CONTAINS(sluice_last_error(), "file");
    T_STATUS(index_store_open(t_path(folder, "no/such"), 1, &store), SLUICE_E_IO);
    T_CONTAINS(sluice_last_error(), "no/such");
    for (int64_t n = 0; n < 10; n++) {
        sluice_status st;

        sli_alloc_fail_after(n);
        st = index_store_open(folder, 1, &store);
        sli_alloc_fail_after(-1);
        if (st == SLUICE_OK) {
            index_store_close(store);
            T_TRUE(n > 1);
            break;
        }
        T_STATUS(st, SLUICE_E_NO_MEMORY);
    }
}

/* Opening a pipe would wait for its other end. */
static void pipes_in_the_folder_are_left_alone(void)
{
    const char *folder = t_folder();
    index_store *store = NULL;

    T_EQ(mkfifo(t_path(folder, "places-00.sluice"), 0600), 0);
    T_EQ(mkfifo(t_path(folder, "places-07.sluice"), 0600), 0);
    T_OK(index_store_open(folder, 10, &store));
    keep(store, 3);
    T_TRUE(is_kept(store, 3));
    index_store_close(store);
}

/* Of images that it was not opened for there is no end; the memory stays what it was. */
static void more_images_than_expected_do_no_harm(void)
{
    const char *folder = t_folder();
    index_store *store = NULL;
    uint64_t memory;
    int kept = 0;

    T_OK(index_store_open(folder, 1, &store));
    memory = index_store_memory(store);
    for (uint64_t i = 0; i < 200; i++) {
        keep(store, i);
        kept += is_kept(store, i);
    }
    T_EQ(index_store_memory(store), memory);
    T_TRUE(kept >= 16 && kept < 200);
    index_store_close(store);
}

static void *keep_many(void *arg)
{
    for (uint64_t i = 0; i < 40; i++) {
        keep(arg, i);
        is_kept(arg, (i * 7) % 40);
    }
    return NULL;
}

static void threads_share_a_store(void)
{
    const char *folder = t_folder();
    index_store *store = open_store(folder);
    pthread_t threads[4];

    for (int i = 0; i < 4; i++) {
        T_EQ(pthread_create(&threads[i], NULL, keep_many, store), 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
    }
    for (uint64_t i = 0; i < 40; i++) {
        T_TRUE(is_kept(store, i));
    }
    index_store_close(store);
}

/* ---- from the folder's side ------------------------------------------------------------------ */

static char told[300];

static void catch_info(sluice_log_level level, const char *message, void *user)
{
    (void)user;
    if (level == SLUICE_LOG_INFO && strstr(message, "indexes found") != NULL) {
        snprintf(told, sizeof(told), "%s", message);
    }
}

/* All samples of the folder once; a hash of what a crop of them is. */
static uint64_t read_all(const char *folder, const char *index, int passes)
{
    sluice_dataset *dataset = NULL;
    uint64_t hash = 0;
    uint8_t pixels[32 * 32 * 3];
    int32_t label;
    void *const columns[2] = {pixels, &label};

    T_OK(index != NULL ? sluice_dataset_parsef(&dataset, "image_folder %s index=%s", folder, index)
                       : sluice_dataset_parsef(&dataset, "image_folder %s", folder));
    T_OK(sluice_dataset_add(dataset, "decode | random_resized_crop 32 scale=0.1,0.3 | batch 1"));
    for (int pass = 0; pass < passes; pass++) {
        for (uint64_t i = 0; i < 6; i++) {
            T_OK(sluice_dataset_get(dataset, 0, 0, i, columns, NULL));
            for (size_t k = 0; k < sizeof(pixels); k++) {
                hash = (hash ^ pixels[k]) * 1099511628211U;
            }
        }
    }
    sluice_dataset_destroy(dataset);
    return hash;
}

static void later_passes_use_the_index_and_see_the_same_pixels(void)
{
    char folder[300];
    char index[300];
    char names[6][400];

    snprintf(folder, sizeof(folder), "%s", t_path(t_folder(), "images"));
    snprintf(index, sizeof(index), "%s", t_path(t_folder(), "index"));
    for (uint32_t i = 0; i < 6; i++) {
        const jpeg_recipe recipe = {.width = 300 + i * 11,
                                    .height = 200,
                                    .sampling = {i % 2 == 0 ? 0x22 : 0x11},
                                    .progressive = i == 5,
                                    .seed = i};
        size_t size;
        uint8_t *bytes = jpeg_make(&recipe, &size);

        snprintf(names[i], sizeof(names[i]), "%s/%c/%u.jpg", folder, 'a' + (int)(i / 3), i);
        t_write_file(names[i], bytes, size);
        free(bytes);
    }
    sluice_log_set_level(SLUICE_LOG_INFO);
    sluice_log_set_callback(catch_info, NULL);
    T_EQ(read_all(folder, index, 3), read_all(folder, NULL, 3));
    T_CONTAINS(told, "10 indexes found, 5 made, 0 refused");
    T_EQ(read_all(folder, index, 1), read_all(folder, NULL, 1));
    T_CONTAINS(told, "5 indexes found, 0 made, 0 refused");
    {
        /* The file is a copy, and another has become another image. */
        const struct timespec times[2] = {{0, UTIME_OMIT}, {5, 7}};
        const jpeg_recipe recipe = {.width = 310, .height = 250, .seed = 77};
        size_t size;
        uint8_t *bytes = jpeg_make(&recipe, &size);

        T_EQ(utimensat(AT_FDCWD, names[3], times, 0), 0);
        t_write_file(names[2], bytes, size);
        free(bytes);
    }
    T_EQ(read_all(folder, index, 2), read_all(folder, NULL, 2));
    T_CONTAINS(told, "9 indexes found, 1 made, 1 refused");
    {
        const char *file = t_path(index, "places-00.sluice");
        size_t size;
        uint8_t *bytes = read_file(file, &size);

        bytes[16 + 40 + 30] ^= 1; /* in the first index, of image 0 */
        t_write_file(file, bytes, size);
        free(bytes);
    }
    T_EQ(read_all(folder, index, 1), read_all(folder, NULL, 1));
    T_CONTAINS(told, "4 indexes found, 1 made, 1 refused");
    sluice_log_set_callback(NULL, NULL);
    sluice_log_set_level(SLUICE_LOG_WARN);
}

const t_test index_store_tests[] = {
    T_TEST(what_is_kept_is_found_again),
    T_TEST(a_file_without_an_index_is_remembered),
    T_TEST(a_changed_record_is_not_used),
    T_TEST(a_file_may_end_anywhere),
    T_TEST(several_processes_share_a_folder),
    T_TEST(a_folder_that_cannot_be_written_to_is_read),
    T_TEST(a_full_disk_is_named_and_no_file_without_a_record_is_left),
    T_TEST(a_file_that_was_closed_has_no_indexes),
    T_TEST(folders_that_cannot_be_had_are_named),
    T_TEST(pipes_in_the_folder_are_left_alone),
    T_TEST(more_images_than_expected_do_no_harm),
    T_TEST(threads_share_a_store),
    T_TEST(later_passes_use_the_index_and_see_the_same_pixels),
    T_END,
};
