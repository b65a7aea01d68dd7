/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "source_kit.h"
#include "testing.h"

enum { RECORD = 3074, PLANE = 1024 };

static uint8_t pixel_of(uint32_t seed, uint32_t plane, uint32_t i)
{
    return (uint8_t)(seed + 41 * plane + 3 * i + i / 32);
}

static void make_record(uint8_t *record, uint8_t coarse, uint8_t fine, uint32_t seed)
{
    record[0] = coarse;
    record[1] = fine;
    for (uint32_t p = 0; p < 3; p++) {
        for (uint32_t i = 0; i < PLANE; i++) {
            record[2 + p * PLANE + i] = pixel_of(seed, p, i);
        }
    }
}

/* Record i has the labels i % 20 and 99 - i, and the seed `seed` + i. */
static void write_records(const char *folder, const char *name, uint32_t count, uint32_t seed)
{
    uint8_t *bytes = malloc((size_t)count * RECORD);

    T_TRUE(bytes != NULL);
    for (uint32_t i = 0; i < count; i++) {
        make_record(bytes + (size_t)i * RECORD, (uint8_t)(i % 20), (uint8_t)(99 - i), seed + i);
    }
    t_write_file(t_path(folder, name), bytes, (size_t)count * RECORD);
    free(bytes);
}

static sluice_dataset *open_cifar(const char *folder, const char *split, const char *label)
{
    sluice_dataset *dataset = NULL;

    T_OK(sluice_dataset_parsef(&dataset, "cifar100 %s %s label=%s", folder, split,
                               label != NULL ? label : "fine"));
    T_OK(dataset_open(dataset));
    return dataset;
}

/* `coarse` is -1 where there is no such column. */
static void check_sample(const sluice_dataset *dataset, uint64_t index, uint32_t seed,
                         int32_t want_label, int32_t want_coarse)
{
    sample_io io = {.bytes_read = 0};
    int32_t label = -1;
    int32_t coarse = -1;
    void *const row[SLUICE_MAX_COLUMNS] = {NULL, &label, &coarse};
    sample_data data = {0};

    T_OK(dataset_source(dataset)->read(dataset->source, index, &io, row, &data));
    T_EQ(label, want_label);
    T_EQ(coarse, want_coarse);
    T_TRUE(data.image.width == 32 && data.image.height == 32 && data.image.channels == 3);
    for (uint32_t i = 0; i < PLANE; i++) {
        for (uint32_t c = 0; c < 3; c++) {
            T_EQ(data.image.pixels[i / 32 * data.image.stride + i % 32 * 3 + c],
                 pixel_of(seed, c, i));
        }
    }
    T_EQ(io.bytes_read, RECORD);
    sample_io_free(&io);
}

static void cifar100_reads_planes_and_labels_from_both_places(void)
{
    const char *above = other_folder();
    const char *here = t_folder();
    const char *inner = "cifar-100-binary";

    write_records(here, "train.bin", 25, 10);
    write_records(here, "test.bin", 3, 100);
    write_records(t_path(above, inner), "train.bin", 25, 10);
    write_records(t_path(above, inner), "test.bin", 3, 100);
    for (int place = 0; place < 2; place++) {
        sluice_dataset *dataset = open_cifar(place == 0 ? here : above, "train", NULL);

        T_EQ(dataset->source_count, 25);
        T_STR(name_of(dataset, 24), "train.bin:24");
        for (uint32_t i = 0; i < 25; i++) {
            check_sample(dataset, i, 10 + i, (int32_t)(99 - i), -1);
        }
        T_TRUE(dataset_source(dataset)->memory(dataset->source) < 1000);
        sluice_dataset_destroy(dataset);
        dataset = open_cifar(place == 0 ? here : above, "test", "coarse");
        T_EQ(dataset->source_count, 3);
        check_sample(dataset, 2, 102, 2, -1);
        sluice_dataset_destroy(dataset);
        dataset = open_cifar(place == 0 ? here : above, "test", "both");
        check_sample(dataset, 1, 101, 98, 1);
        sluice_dataset_destroy(dataset);
    }
}

static void the_columns_of_cifar100_follow_from_label(void)
{
    sluice_dataset *dataset = NULL;

    T_OK(sluice_dataset_parse("cifar100 x label=both", &dataset));
    T_EQ(dataset->schema.column_count, 3);
    T_STR(dataset->schema.columns[2].name, "coarse");
    T_EQ(dataset->schema.columns[2].dtype, SLUICE_I32);
    T_EQ(dataset->schema.image, 0);
    sluice_dataset_destroy(dataset);
    T_OK(sluice_dataset_parse("cifar100 x label=coarse", &dataset));
    T_EQ(dataset->schema.column_count, 2);
    T_STR(dataset->schema.columns[1].name, "label");
    sluice_dataset_destroy(dataset);
    T_STATUS(sluice_dataset_parse("cifar100 x label=all", &dataset), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "must be one of fine coarse both");
}

static void check_cifar_fails(const char *folder, sluice_status want, const char *words)
{
    const int before = open_files();
    sluice_dataset *dataset = NULL;

    T_OK(sluice_dataset_parsef(&dataset, "cifar100 %s test", folder));
    T_STATUS(dataset_open(dataset), want);
    T_CONTAINS(sluice_last_error(), words);
    T_CONTAINS(sluice_last_error(), folder);
    sluice_dataset_destroy(dataset);
    T_EQ(open_files(), before);
}

static void damaged_cifar100_files_are_refused(void)
{
    const char *folder = t_folder();

    check_cifar_fails(t_path(folder, "missing"), SLUICE_E_IO, "No such file");
    check_cifar_fails(folder, SLUICE_E_IO, "cannot open test.bin");
    check_cifar_fails(folder, SLUICE_E_IO, "its folder cifar-100-binary");
    t_write_file(t_path(folder, "test.bin"), "", 0);
    check_cifar_fails(folder, SLUICE_E_CORRUPT, "must be a multiple of 3074 bytes");
    write_records(folder, "test.bin", 2, 0);
    T_EQ(truncate(t_path(folder, "test.bin"), 2 * RECORD - 1), 0);
    check_cifar_fails(folder, SLUICE_E_CORRUPT, "binary version of CIFAR-100");
    T_EQ(unlink(t_path(folder, "test.bin")), 0);
    T_EQ(mkfifo(t_path(folder, "test.bin"), 0600), 0);
    check_cifar_fails(folder, SLUICE_E_CORRUPT, "test.bin");
}

static void bad_records_of_cifar100_are_bad_samples(void)
{
    const char *folder = t_folder();
    uint8_t bytes[3 * RECORD];
    sluice_dataset *dataset;

    make_record(bytes, 19, 99, 0);
    make_record(bytes + RECORD, 20, 0, 0);
    make_record(bytes + 2 * RECORD, 0, 100, 0);
    t_write_file(t_path(folder, "test.bin"), bytes, sizeof(bytes));
    dataset = open_cifar(folder, "test", "both");
    T_EQ(label_of(dataset, 0), 99);
    check_read_fails(dataset, 1, SLUICE_E_CORRUPT, "label is 20, and must be 0 to 19");
    check_read_fails(dataset, 2, SLUICE_E_CORRUPT, "label is 100, and must be 0 to 99");
    /* Cut while it is open. */
    T_EQ(truncate(t_path(folder, "test.bin"), RECORD + 100), 0);
    check_read_fails(dataset, 1, SLUICE_E_CORRUPT, "the file ends within the record");
    sluice_dataset_destroy(dataset);
}

static void classes_of_cifar100_are_those_of_its_labels(void)
{
    char folder[300];
    sluice_dataset *dataset;
    char *name = NULL;

    snprintf(folder, sizeof(folder), "%s", t_folder());
    write_records(folder, "test.bin", 1, 0);
    dataset = open_cifar(folder, "test", "both");
    check_class(dataset, 0, "apple");
    check_class(dataset, 41, "lawn_mower");
    check_class(dataset, 99, "worm");
    T_STATUS(sluice_dataset_class_name(dataset, 100, &name), SLUICE_E_INVALID);
    sluice_dataset_destroy(dataset);
    dataset = open_cifar(folder, "test", "coarse");
    check_class(dataset, 0, "aquatic_mammals");
    check_class(dataset, 19, "vehicles_2");
    T_STATUS(sluice_dataset_class_name(dataset, 20, &name), SLUICE_E_INVALID);
    sluice_dataset_destroy(dataset);
}

static void labels_are_read_without_their_image(void)
{
    const char *folder = t_folder();
    sample_io io = {.bytes_read = 0};
    int32_t fine = -1;
    int32_t coarse = -1;
    void *const row[3] = {NULL, &fine, &coarse};
    sluice_dataset *dataset;

    write_records(folder, "train.bin", 5, 30);
    dataset = open_cifar(folder, "train", "both");
    for (uint64_t i = 0; i < 5; i++) {
        T_OK(dataset_source(dataset)->read_plain(dataset->source, i, &io, row));
        T_EQ(fine, label_of(dataset, i));
        T_TRUE(coarse >= 0 && coarse < 20);
        T_EQ(io.bytes_read, 2 * (i + 1));
    }
    sample_io_free(&io);
    sluice_dataset_destroy(dataset);
}

const t_test source_cifar100_tests[] = {
    T_TEST(cifar100_reads_planes_and_labels_from_both_places),
    T_TEST(the_columns_of_cifar100_follow_from_label),
    T_TEST(damaged_cifar100_files_are_refused),
    T_TEST(bad_records_of_cifar100_are_bad_samples),
    T_TEST(labels_are_read_without_their_image),
    T_TEST(classes_of_cifar100_are_those_of_its_labels),
    T_END,
};
