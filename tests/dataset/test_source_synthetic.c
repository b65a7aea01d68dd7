/* SPDX-License-Identifier: Apache-2.0 */
#include "source_kit.h"
#include "testing.h"

static sluice_dataset *open_synthetic(uint64_t samples, uint32_t height, uint32_t width,
                                      uint32_t channels, uint32_t classes)
{
    sluice_dataset *dataset = NULL;

    T_OK(sluice_dataset_parsef(&dataset, "synthetic %llu %u,%u,%u %u", (unsigned long long)samples,
                               height, width, channels, classes));
    T_OK(dataset_open(dataset));
    return dataset;
}

static void synthetic_samples_are_functions_of_their_index(void)
{
    sluice_dataset *few = open_synthetic(10, 5, 7, 3, 4);
    sluice_dataset *many = open_synthetic(1000000000000000, 5, 7, 3, 4);
    sample_io ios[2] = {{.bytes_read = 0}};
    sample_data a;
    sample_data b;
    int32_t label = -1;

    T_EQ(few->source_count, 10);
    for (uint64_t i = 10; i-- > 0;) {
        T_OK(read_sample(few, i, &ios[0], &label, &a));
        T_EQ(label, i % 4);
        label = -1;
        T_OK(dataset_source(few)->read_plain(few->source, i, &ios[0], (void *[]){NULL, &label}));
        T_EQ(label, i % 4);
        T_TRUE(a.image.height == 5 && a.image.width == 7 && a.image.channels == 3);
        T_EQ(a.image.stride, 21);
        CU_ASSERT_PTR_NULL(a.bytes);
        T_OK(read_sample(many, i, &ios[1], NULL, &b));
        T_EQ(memcmp(a.image.pixels, b.image.pixels, 105), 0);
        T_OK(read_sample(many, i + 1, &ios[1], NULL, &b));
        T_TRUE(memcmp(a.image.pixels, b.image.pixels, 8) != 0);
    }
    T_OK(read_sample(many, 999999999999999, &ios[1], &label, &b));
    T_EQ(label, 999999999999999 % 4);
    T_STR(name_of(many, 999999999999999), "synthetic/999999999999999");
    T_EQ(ios[0].bytes_read, 0);
    image_buffer_free(&ios[0].bytes);
    image_buffer_free(&ios[1].bytes);
    sluice_dataset_destroy(few);
    sluice_dataset_destroy(many);
}

static void synthetic_pixels_take_all_values(void)
{
    sluice_dataset *dataset = open_synthetic(1, 64, 64, 1, 1);
    sample_io io = {.bytes_read = 0};
    uint32_t counts[256] = {0};
    sample_data data;

    T_OK(read_sample(dataset, 0, &io, NULL, &data));
    for (int i = 0; i < 4096; i++) {
        counts[data.image.pixels[i]]++;
    }
    for (int i = 0; i < 256; i++) {
        T_TRUE(counts[i] > 0 && counts[i] < 64);
    }
    sample_io_free(&io);
    sluice_dataset_destroy(dataset);
}

static void no_synthetic_samples_are_no_data(void)
{
    sluice_dataset *dataset = NULL;

    T_OK(sluice_dataset_parse("synthetic 0 1,1,1 1", &dataset));
    T_STATUS(dataset_open(dataset), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "no valid data in the dataset");
    sluice_dataset_destroy(dataset);
}

const t_test source_synthetic_tests[] = {
    T_TEST(synthetic_samples_are_functions_of_their_index),
    T_TEST(synthetic_pixels_take_all_values),
    T_TEST(no_synthetic_samples_are_no_data),
    T_END,
};
