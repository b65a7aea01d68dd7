/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "source_kit.h"
#include "testing.h"

enum { RECORD = 3073, PLANE = 1024 };

/* A record whose planes tell where they are: plane p, place i holds seed + 37 p + i. */
static void make_record(uint8_t *record, uint8_t label, uint32_t seed)
{
    record[0] = label;
    for (uint32_t p = 0; p < 3; p++) {
        for (uint32_t i = 0; i < PLANE; i++) {
            record[1 + p * PLANE + i] = (uint8_t)(seed + 37 * p + i + i / 32 * 5);
        }
    }
}

static void write_records(const char *folder, const char *name, uint32_t count, uint32_t seed)
{
    uint8_t *bytes = malloc((size_t)count * RECORD);

    T_TRUE(bytes != NULL);
    for (uint32_t i = 0; i < count; i++) {
        make_record(bytes + (size_t)i * RECORD, (uint8_t)((seed + i) % 10), seed + i);
    }
    t_write_file(t_path(folder, name), bytes, (size_t)count * RECORD);
    free(bytes);
}

static void write_cifar(const char *folder)
{
    for (uint32_t i = 1; i <= 5; i++) {
        char name[32];

        snprintf(name, sizeof(name), "data_batch_%u.bin", i);
        write_records(folder, name, i, i * 10);
    }
    write_records(folder, "test_batch.bin", 4, 100);
}

static sluice_dataset *open_cifar(const char *folder, const char *split)
{
    sluice_dataset *dataset = NULL;

    T_OK(sluice_dataset_parsef(&dataset, "cifar10 %s %s", folder, split));
    T_OK(dataset_open(dataset));
    return dataset;
}

static void check_cifar_sample(const sluice_dataset *dataset, uint64_t index, uint32_t seed)
{
    sample_io io = {.bytes_read = 0};
    uint8_t record[RECORD];
    sample_data data;
    int32_t label = -1;

    make_record(record, (uint8_t)(seed % 10), seed);
    T_OK(read_sample(dataset, index, &io, &label, &data));
    T_EQ(label, seed % 10);
    CU_ASSERT_PTR_NULL(data.bytes);
    T_TRUE(data.image.width == 32 && data.image.height == 32 && data.image.channels == 3);
    for (uint32_t y = 0; y < 32; y++) {
        for (uint32_t x = 0; x < 32; x++) {
            for (uint32_t c = 0; c < 3; c++) {
                T_EQ(data.image.pixels[y * data.image.stride + x * 3 + c],
                     record[1 + c * PLANE + y * 32 + x]);
            }
        }
    }
    T_EQ(io.bytes_read, RECORD);
    sample_io_free(&io);
}

static void cifar10_reads_planes_and_labels_from_both_places(void)
{
    const char *above = other_folder();
    const char *here = t_folder();
    sluice_dataset *dataset;

    write_cifar(here);
    write_cifar(t_path(above, "cifar-10-batches-bin"));
    for (int place = 0; place < 2; place++) {
        uint64_t index = 0;

        dataset = open_cifar(place == 0 ? here : above, "train");
        T_EQ(dataset->source_count, 15);
        for (uint32_t file = 1; file <= 5; file++) {
            for (uint32_t i = 0; i < file; i++) {
                char name[64];

                snprintf(name, sizeof(name), "data_batch_%u.bin:%u", file, i);
                T_STR(name_of(dataset, index), name);
                check_cifar_sample(dataset, index++, file * 10 + i);
            }
        }
        sluice_dataset_destroy(dataset);
        dataset = open_cifar(place == 0 ? here : above, "test");
        T_EQ(dataset->source_count, 4);
        T_STR(name_of(dataset, 3), "test_batch.bin:3");
        check_cifar_sample(dataset, 3, 103);
        T_TRUE(dataset_source(dataset)->memory(dataset->source) < 1000);
        sluice_dataset_destroy(dataset);
    }
}

static void check_cifar_fails(const char *folder, const char *split, sluice_status want,
                              const char *words)
{
    const int before = open_files();
    sluice_dataset *dataset = NULL;

    T_OK(sluice_dataset_parsef(&dataset, "cifar10 %s %s", folder, split));
    T_STATUS(dataset_open(dataset), want);
    T_CONTAINS(sluice_last_error(), words);
    T_CONTAINS(sluice_last_error(), folder);
    sluice_dataset_destroy(dataset);
    T_EQ(open_files(), before);
}

static void damaged_cifar10_files_are_refused(void)
{
    const char *folder = t_folder();

    check_cifar_fails(t_path(folder, "missing"), "test", SLUICE_E_IO, "No such file");
    check_cifar_fails(folder, "test", SLUICE_E_IO, "cannot open test_batch.bin");
    write_cifar(folder);
    T_EQ(unlink(t_path(folder, "data_batch_4.bin")), 0);
    check_cifar_fails(folder, "train", SLUICE_E_IO, "cannot open data_batch_4.bin");
    T_EQ(mkdir(t_path(folder, "data_batch_4.bin"), 0700), 0);
    check_cifar_fails(folder, "train", SLUICE_E_CORRUPT, "data_batch_4.bin");
    t_write_file(t_path(folder, "test_batch.bin"), "", 0);
    check_cifar_fails(folder, "test", SLUICE_E_CORRUPT, "must be a multiple of 3073 bytes");
    write_records(folder, "test_batch.bin", 2, 0);
    T_EQ(truncate(t_path(folder, "test_batch.bin"), 2 * RECORD - 1), 0);
    check_cifar_fails(folder, "test", SLUICE_E_CORRUPT, "binary version of CIFAR-10");
    T_EQ(unlink(t_path(folder, "test_batch.bin")), 0);
    T_EQ(mkfifo(t_path(folder, "test_batch.bin"), 0600), 0);
    check_cifar_fails(folder, "test", SLUICE_E_CORRUPT, "test_batch.bin");
}

/* What may not be opened is not looked for in the other place. */
static void cifar10_says_why_a_file_cannot_be_opened(void)
{
    const char *folder = t_folder();
    char up[1024];

    write_cifar(folder);
    snprintf(up, sizeof(up), "%s/..", folder);
    T_EQ(chmod(up, 0755) | chmod(folder, 0755) | chmod(t_path(folder, "test_batch.bin"), 0), 0);
    T_NEEDS(become_nobody(), "root cannot become anybody else here");
    check_cifar_fails(folder, "test", SLUICE_E_IO, "Permission denied");
    become_oneself();
}

static void bad_records_of_cifar10_are_bad_samples(void)
{
    const char *folder = t_folder();
    uint8_t bytes[3 * RECORD];
    sluice_dataset *dataset;

    make_record(bytes, 9, 0);
    make_record(bytes + RECORD, 10, 0);
    make_record(bytes + 2 * RECORD, 255, 0);
    t_write_file(t_path(folder, "test_batch.bin"), bytes, sizeof(bytes));
    dataset = open_cifar(folder, "test");
    T_EQ(label_of(dataset, 0), 9);
    check_read_fails(dataset, 1, SLUICE_E_CORRUPT, "label is 10, and must be 0 to 9");
    check_read_fails(dataset, 2, SLUICE_E_CORRUPT, "label is 255, and must be 0 to 9");
    /* Cut while it is open. */
    T_EQ(truncate(t_path(folder, "test_batch.bin"), RECORD + 100), 0);
    check_read_fails(dataset, 1, SLUICE_E_CORRUPT, "the file ends within the record");
    check_read_fails(dataset, 2, SLUICE_E_CORRUPT, "the file ends within the record");
    sluice_dataset_destroy(dataset);
}

static void classes_have_their_names(void)
{
    char folder[300];
    sluice_dataset *dataset;
    char *name = NULL;

    snprintf(folder, sizeof(folder), "%s", t_folder());
    write_cifar(folder);
    dataset = open_cifar(folder, "test");
    T_OK(sluice_dataset_class_name(dataset, 3, &name));
    T_STR(name, "cat");
    sluice_string_free(name);
    T_OK(sluice_dataset_class_name(dataset, 9, &name));
    T_STR(name, "truck");
    sluice_string_free(name);
    T_STATUS(sluice_dataset_class_name(dataset, 10, &name), SLUICE_E_INVALID);
    T_OK(sluice_dataset_sample_name(dataset, 3, &name));
    T_STR(name, "test_batch.bin:3");
    sluice_string_free(name);
    sluice_dataset_destroy(dataset);
}

/* weights, balance and filters need the label only. */
static void a_label_is_read_without_its_image(void)
{
    const char *folder = t_folder();
    sample_io io = {.bytes_read = 0};
    int32_t label = -1;
    void *const row[2] = {NULL, &label};
    sluice_dataset *dataset;

    write_cifar(folder);
    dataset = open_cifar(folder, "train");
    for (uint64_t i = 0; i < dataset->source_count; i++) {
        T_OK(dataset_source(dataset)->read_plain(dataset->source, i, &io, row));
        T_EQ(label, label_of(dataset, i));
        T_EQ(io.bytes_read, i + 1);
    }
    sample_io_free(&io);
    sluice_dataset_destroy(dataset);
}

const t_test source_cifar10_tests[] = {
    T_TEST(cifar10_reads_planes_and_labels_from_both_places),
    T_TEST(damaged_cifar10_files_are_refused),
    T_TEST(cifar10_says_why_a_file_cannot_be_opened),
    T_TEST(bad_records_of_cifar10_are_bad_samples),
    T_TEST(a_label_is_read_without_its_image),
    T_TEST(classes_have_their_names),
    T_END,
};
