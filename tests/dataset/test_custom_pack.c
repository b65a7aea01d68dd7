/* SPDX-License-Identifier: Apache-2.0 */
/* Packs of a program's own source. */
#include <pthread.h>
#include <stdlib.h>

#include "custom_kit.h"
#include "dataset_kit.h"
#include "engine_kit.h"
#include "pack_kit.h"
#include "testing.h"

/* Pictures of the program: user. Labels are a hundred less the index. */
typedef struct album {
    uint8_t *files[CUSTOM_SAMPLES];
    size_t sizes[CUSTOM_SAMPLES];
    bool cannot_begin;
    bool is_stream;
    sluice_source numbered; /* the source by number of that stream */
    atomic_int begun;
    atomic_int ended;
    atomic_int strays; /* calls on another thread than begin's */
} album;

static void open_album(album *a, const char *folder)
{
    memset(a, 0, sizeof(*a));
    for (uint32_t i = 0; i < CUSTOM_SAMPLES; i++) {
        char name[40];
        FILE *file;

        snprintf(name, sizeof(name), "c/%02u.jpg", i);
        make_jpeg(folder, name, 20 + i, 30, i);
        a->files[i] = malloc(100000);
        file = fopen(t_path(folder, name), "rb");
        T_TRUE(file != NULL && a->files[i] != NULL);
        a->sizes[i] = fread(a->files[i], 1, 100000, file);
        fclose(file);
    }
}

static void close_album(album *a)
{
    for (int i = 0; i < CUSTOM_SAMPLES; i++) {
        free(a->files[i]);
    }
}

static sluice_status begin_picture(void *user, void **worker_out)
{
    album *a = user;
    pthread_t *thread = malloc(sizeof(*thread));

    if (a->cannot_begin || thread == NULL) {
        free(thread);
        return sluice_fail(SLUICE_E_IO, "no connection");
    }
    *thread = pthread_self();
    *worker_out = thread;
    atomic_fetch_add(&a->begun, 1);
    return SLUICE_OK;
}

static void end_picture(void *worker, void *user)
{
    album *a = user;

    atomic_fetch_add(&a->strays, !pthread_equal(*(pthread_t *)worker, pthread_self()));
    atomic_fetch_add(&a->ended, 1);
    free(worker);
}

static sluice_status read_picture(sluice_sample *sample, uint64_t index, void *user)
{
    album *a = user;
    void *label;
    sluice_status st = sluice_sample_room(sample, "label", NULL, &label);

    atomic_fetch_add(&a->strays,
                     !pthread_equal(*(pthread_t *)sluice_sample_worker(sample), pthread_self()));
    if (st == SLUICE_OK) {
        *(int32_t *)label = 100 - (int32_t)index;
        st = sluice_sample_lend(sample, "image", NULL, a->files[index], a->sizes[index]);
    }
    return st;
}

static sluice_dataset *album_dataset(album *a, sluice_dtype label, uint32_t version)
{
    const sluice_column_spec columns[] = {
        {.name = "label", .dtype = label},
        {.name = "image", .dtype = SLUICE_ENCODED, .role = SLUICE_ROLE_IMAGE},
    };
    sluice_source source;

    sluice_source_init(&source);
    source.name = "album";
    source.version = version;
    source.columns = columns;
    source.column_count = 2;
    source.count = CUSTOM_SAMPLES;
    source.begin = begin_picture;
    source.end = end_picture;
    source.read = read_picture;
    source.user = a;
    if (a->is_stream) {
        a->numbered = source;
        source = custom_stream_of(&a->numbered);
    }
    return custom_dataset(&source, "shuffle 1");
}

static void check_labels(const char *folder)
{
    engine_run run;
    uint64_t sum = 0;
    uint64_t rows = 0;

    open_own(&run, parsedf("webdataset %s | decode | resize 8,8 | batch 4", folder),
             &(run_options){.workers = 1});
    while (next_batch(&run) == SLUICE_OK) {
        for (uint32_t row = 0; row < 4; row++, rows++) {
            sum += (uint64_t) * (const int32_t *)row_of(&run, 1, row);
        }
    }
    close_run(&run);
    T_EQ(rows, CUSTOM_SAMPLES);
    T_EQ(sum, CUSTOM_SAMPLES * 100 - CUSTOM_SAMPLES * (CUSTOM_SAMPLES - 1) / 2);
}

static void a_source_of_encoded_images_can_be_packed(void)
{
    const char *top = t_folder();
    const char *packed = folder_named(top, "packed");
    album a;
    sluice_dataset *dataset;
    sluice_pack_config config;

    T_NEEDS(can_pack(), "no libarchive");
    open_album(&a, folder_named(top, "src"));
    dataset = album_dataset(&a, SLUICE_I32, 1);
    config = config_of(dataset, packed);
    config.workers = 3;
    T_OK(sluice_pack(&config, NULL));
    T_TRUE(atomic_load(&a.begun) > 0);
    T_EQ(atomic_load(&a.ended), atomic_load(&a.begun));
    T_EQ(atomic_load(&a.strays), 0);
    sluice_dataset_destroy(dataset);
    check_labels(packed);
    dataset = album_dataset(&a, SLUICE_I32, 2);
    config = config_of(dataset, packed);
    T_STATUS(sluice_pack(&config, NULL), SLUICE_E_INVALID); /* of another version */
    sluice_dataset_destroy(dataset);
    close_album(&a);
}

static void a_stream_of_encoded_images_can_be_packed(void)
{
    const char *top = t_folder();
    const char *packed = folder_named(top, "packed");
    album a;
    sluice_dataset *dataset;
    sluice_pack_config config;

    T_NEEDS(can_pack(), "no libarchive");
    open_album(&a, folder_named(top, "src"));
    a.is_stream = true;
    dataset = album_dataset(&a, SLUICE_I32, 1);
    config = config_of(dataset, packed);
    config.workers = 3;
    T_OK(sluice_pack(&config, NULL));
    T_EQ(atomic_load(&a.begun), 1); /* one pass */
    T_EQ(atomic_load(&a.ended), 1);
    sluice_dataset_destroy(dataset);
    check_labels(packed);
    close_album(&a);
}

static void a_worker_that_cannot_begin_ends_the_pack(void)
{
    const char *top = t_folder();
    album a = {.cannot_begin = true};
    sluice_dataset *dataset = album_dataset(&a, SLUICE_I32, 1);
    sluice_pack_config config = config_of(dataset, folder_named(top, "packed"));

    T_NEEDS(can_pack(), "no libarchive");
    T_STATUS(sluice_pack(&config, NULL), SLUICE_E_IO);
    T_CONTAINS(sluice_last_error(), "album: begin() returned E_IO: no connection");
    sluice_dataset_destroy(dataset);
}

const t_test custom_pack_tests[] = {
    T_TEST(a_source_of_encoded_images_can_be_packed),
    T_TEST(a_stream_of_encoded_images_can_be_packed),
    T_TEST(a_worker_that_cannot_begin_ends_the_pack),
    T_END,
};
