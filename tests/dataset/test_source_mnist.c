/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine_kit.h"
#include "idx_kit.h"
#include "source_kit.h"
#include "stream_kit.h"
#include "tar_kit.h"
#include "testing.h"

enum { PIXELS = 5 * 4, HEAD = 16, LABEL_HEAD = 8 };

static sluice_dataset *open_mnist(const char *files, const char *part)
{
    sluice_dataset *dataset = NULL;

    T_OK(sluice_dataset_parsef(&dataset, "mnist %s %s", files, part != NULL ? part : "train"));
    T_OK(dataset_open(dataset));
    return dataset;
}

static void check_fails(const char *files, const char *part, sluice_status want, const char *words)
{
    const int before = open_files();
    sluice_dataset *dataset = NULL;

    T_STATUS(sluice_dataset_parsef(&dataset, "mnist %s %s", files, part != NULL ? part : "train"),
             want);
    CU_ASSERT_PTR_NULL(dataset);
    T_CONTAINS(sluice_last_error(), words);
    T_EQ(strncmp(sluice_last_error(), "mnist: ", 7), 0);
    T_EQ(open_files(), before);
}

static void check_images(const sluice_dataset *dataset, uint32_t count, uint32_t seed)
{
    sample_io io = {.bytes_read = 0};

    T_EQ(dataset->source_count, count);
    for (uint32_t n = 0; n < count; n++) {
        sample_data data;
        int32_t label = -1;

        T_OK(read_sample(dataset, n, &io, &label, &data));
        T_EQ(label, (seed + n) % 10);
        T_TRUE(data.image.height == 5 && data.image.width == 4 && data.image.channels == 1);
        for (uint32_t i = 0; i < PIXELS; i++) {
            T_EQ(data.image.pixels[i / 4 * data.image.stride + i % 4], idx_pixel(seed, n, i));
        }
    }
    sample_io_free(&io);
}

static void check_part(const char *dir, const char *part, uint32_t count, uint32_t seed,
                       const char *name)
{
    sluice_dataset *dataset = open_mnist(dir, part);

    check_images(dataset, count, seed);
    T_STR(name_of(dataset, count - 1), name);
    sluice_dataset_destroy(dataset);
}

static void parts_are_found_in_a_folder(void)
{
    const char *above = other_folder();
    const char *here = t_folder();

    idx_write_pair(here, "train-", 7, 1);
    idx_write_pair(here, "t10k-", 3, 5);
    idx_write_pair(t_path(above, "raw"), "train-", 2, 8);
    idx_write_pair(t_path(above, "raw"), "emnist-letters-test-", 4, 9);
    check_part(here, NULL, 7, 1, "train-images-idx3-ubyte:6");
    check_part(here, "train", 7, 1, "train-images-idx3-ubyte:6");
    check_part(here, "test", 3, 5, "t10k-images-idx3-ubyte:2");
    check_part(above, "train", 2, 8, "train-images-idx3-ubyte:1");
    check_part(above, "test", 4, 9, "emnist-letters-test-images-idx3-ubyte:3");
}

static void names_may_have_a_dot(void)
{
    const char *folder = t_folder();

    idx_write_pair(folder, "t10k-", 3, 5);
    shell("cd %s && mv t10k-images-idx3-ubyte t10k-images.idx3-ubyte && "
          "mv t10k-labels-idx1-ubyte t10k-labels.idx1-ubyte",
          folder);
    check_part(folder, "test", 3, 5, "t10k-images.idx3-ubyte:2");
}

static void files_are_given_by_name(void)
{
    const char *folder = t_folder();
    char files[800];
    sluice_dataset *dataset;
    sample_io io = {.bytes_read = 0};
    sample_data data;

    idx_write_pair(folder, "mine-", 6, 2);
    snprintf(files, sizeof(files), "%s/mine-images-idx3-ubyte,%s/mine-labels-idx1-ubyte", folder,
             folder);
    check_part(files, NULL, 6, 2, "mine-images-idx3-ubyte:5");
    /* Images alone have no label. */
    snprintf(files, sizeof(files), "%s/mine-images-idx3-ubyte", folder);
    dataset = open_mnist(files, NULL);
    T_EQ(dataset->schema.column_count, 1);
    check_fails(files, "test", SLUICE_E_INVALID, "split=test chooses files of a folder");
    T_OK(read_sample(dataset, 5, &io, NULL, &data));
    T_EQ(data.image.pixels[0], idx_pixel(2, 5, 0));
    sample_io_free(&io);
    sluice_dataset_destroy(dataset);
    snprintf(files, sizeof(files), "%s/mine-images-idx3-ubyte,%s/x,%s/y", folder, folder, folder);
    t_write_file(t_path(folder, "x"), "", 0);
    t_write_file(t_path(folder, "y"), "", 0);
    check_fails(files, NULL, SLUICE_E_INVALID, "3 files: must be IMAGES,LABELS");
}

static void colours_are_a_fourth_dimension(void)
{
    const char *folder = t_folder();
    const uint32_t shape[] = {2, 1, 2, 3};
    const uint8_t pixels[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    char path[400];
    sample_io io = {.bytes_read = 0};
    sample_data data;
    sluice_dataset *dataset;

    idx_write(folder, "rgb", 4, shape, pixels, sizeof(pixels));
    snprintf(path, sizeof(path), "%s", t_path(folder, "rgb"));
    dataset = open_mnist(path, NULL);
    T_EQ(dataset->schema.columns[0].shape[2], 3);
    T_OK(read_sample(dataset, 1, &io, NULL, &data));
    T_TRUE(data.image.width == 2 && data.image.height == 1 && data.image.channels == 3);
    T_EQ(memcmp(data.image.pixels, pixels + 6, 6), 0);
    sample_io_free(&io);
    sluice_dataset_destroy(dataset);
}

/* The same samples under the same names; a file without compression goes first. */
static void compressed_files_are_kept_in_memory(void)
{
    static const char *const packers[] = {"gzip", "xz", "bzip2", "zstd -q --rm"};
    const char *folder = t_folder();
    sluice_dataset *dataset;

    T_NEEDS(can_decompress(), "no zlib, or no libarchive");
    for (size_t i = 0; i < sizeof(packers) / sizeof(packers[0]); i++) {
        shell("cd %s && rm -f *", folder);
        idx_write_pair(folder, "train-", 9, 4);
        shell("cd %s && %s train-*", folder, packers[i]);
        dataset = open_mnist(folder, "train");
        check_images(dataset, 9, 4);
        T_STR(name_of(dataset, 8), "train-images-idx3-ubyte:8");
        T_TRUE(dataset_source(dataset)->memory(dataset->source) >= (uint64_t)9 * PIXELS);
        sluice_dataset_destroy(dataset);
    }
    idx_write_pair(folder, "train-", 5, 6);
    check_part(folder, "train", 5, 6, "train-images-idx3-ubyte:4");
}

/* More than is read at once. */
static void large_compressed_files_are_read_to_their_end(void)
{
    enum { COUNT = 250000 };
    const char *folder = t_folder();
    sluice_dataset *dataset;
    sample_io io = {.bytes_read = 0};
    sample_data data;
    int32_t label = -1;

    T_NEEDS(can_decompress(), "no zlib, or no libarchive");
    idx_write_pair(folder, "t10k-", COUNT, 3);
    shell("cd %s && gzip -1 t10k-*", folder);
    dataset = open_mnist(folder, "test");
    for (uint32_t n = COUNT - 3; n < COUNT; n++) {
        T_OK(read_sample(dataset, n, &io, &label, &data));
        T_EQ(label, (3 + n) % 10);
        T_EQ(data.image.pixels[PIXELS - 1], idx_pixel(3, n, PIXELS - 1));
    }
    sample_io_free(&io);
    sluice_dataset_destroy(dataset);
}

static void damaged_compressed_files_are_refused(void)
{
    const char *folder = t_folder();

    T_NEEDS(can_decompress(), "no zlib, or no libarchive");
    idx_write_pair(folder, "train-", 900, 4);
    shell(
        "cd %s && gzip -k train-* && rm train-images-idx3-ubyte && mv train-images-idx3-ubyte.gz a "
        "&& head -c 300 a >train-images-idx3-ubyte.gz",
        folder);
    check_fails(folder, "train", SLUICE_E_CORRUPT, "train-images-idx3-ubyte.gz");
    shell("cd %s && (gzip -dc a; echo) | gzip >train-images-idx3-ubyte.gz", folder);
    check_fails(folder, "train", SLUICE_E_CORRUPT, "18017 bytes or more, and 18016 by its header");
    shell("cd %s && gzip -dc a | head -c 18000 | gzip >train-images-idx3-ubyte.gz", folder);
    check_fails(folder, "train", SLUICE_E_CORRUPT, "18000 bytes, and 18016 by its header");
    shell("cd %s && gzip -dc a | head -c 10 | gzip >train-images-idx3-ubyte.gz", folder);
    check_fails(folder, "train", SLUICE_E_CORRUPT, "the file ends within its header");
    /* Dimensions that a file of 4 GiB would need are refused before it is read. */
    shell("cd %s && printf '\\0\\0\\010\\003\\0\\1\\0\\0\\0\\0\\1\\0\\0\\0\\1\\0' | gzip "
          ">train-images-idx3-ubyte.gz",
          folder);
    check_fails(folder, "train", SLUICE_E_UNSUPPORTED, "more than 4 GiB; decompress the file");
}

static void files_of_another_length_are_refused(void)
{
    const char *folder = t_folder();
    const char *images = "train-images-idx3-ubyte";
    const char *labels = "train-labels-idx1-ubyte";

    idx_write_pair(folder, "train-", 7, 1);
    T_EQ(truncate(t_path(folder, images), HEAD + 7 * PIXELS - 1), 0);
    check_fails(folder, "train", SLUICE_E_CORRUPT, "it has 155 bytes, and 156 by its header");
    T_EQ(truncate(t_path(folder, images), HEAD + 7 * PIXELS + 1), 0);
    check_fails(folder, "train", SLUICE_E_CORRUPT, "it has 157 bytes, and 156 by its header");
    T_EQ(truncate(t_path(folder, images), HEAD + 7 * PIXELS), 0);
    T_EQ(truncate(t_path(folder, labels), LABEL_HEAD + 6), 0);
    check_fails(folder, "train", SLUICE_E_CORRUPT, labels);
    T_EQ(truncate(t_path(folder, labels), 3), 0);
    check_fails(folder, "train", SLUICE_E_CORRUPT, "this is not an IDX file");
    T_EQ(truncate(t_path(folder, images), 0), 0);
    check_fails(folder, "train", SLUICE_E_CORRUPT, images);
}

static void files_that_do_not_belong_together_are_refused(void)
{
    const char *folder = t_folder();
    const uint8_t zeros[70] = {0};
    char files[800];

    idx_write_pair(folder, "train-", 7, 1);
    idx_write(folder, "train-labels-idx1-ubyte", 1, (const uint32_t[]){6}, zeros, 6);
    check_fails(folder, "train", SLUICE_E_INVALID, "has 6 labels and");
    idx_write(folder, "train-labels-idx1-ubyte", 2, (const uint32_t[]){7, 8}, zeros, 56);
    check_fails(folder, "train", SLUICE_E_UNSUPPORTED, "has 2 dimensions, and labels must have 1");
    T_EQ(unlink(t_path(folder, "train-labels-idx1-ubyte")), 0);
    check_fails(folder, "train", SLUICE_E_INVALID, "must be train-labels-idx1-ubyte");
    idx_write(folder, "one", 1, (const uint32_t[]){7}, zeros, 7);
    snprintf(files, sizeof(files), "%s/one", folder);
    check_fails(files, NULL, SLUICE_E_UNSUPPORTED, "images must have 3 or 4");
    idx_write(folder, "one", 4, (const uint32_t[]){1, 2, 7, 5}, zeros, 70);
    check_fails(files, NULL, SLUICE_E_UNSUPPORTED, "at most 4 channels");
    idx_write(folder, "one", 3, (const uint32_t[]){0, 2, 7}, zeros, 0);
    check_fails(files, NULL, SLUICE_E_INVALID, "no valid data in the dataset");
}

static void folders_without_one_set_are_refused(void)
{
    const char *folder = t_folder();

    check_fails(folder, "train", SLUICE_E_INVALID, "a file train-images-idx3-ubyte");
    check_fails(folder, "test", SLUICE_E_INVALID, "a file t10k-images-idx3-ubyte");
    check_fails(t_path(folder, "missing"), NULL, SLUICE_E_IO, "missing");
    check_fails(t_path(folder, "missing"), "test", SLUICE_E_IO, "missing");
    idx_write_pair(folder, "emnist-letters-train-", 2, 1);
    idx_write_pair(folder, "emnist-digits-train-", 2, 1);
    check_fails(folder, "train", SLUICE_E_INVALID,
                "several sets of images, emnist-digits-train-images-idx3-ubyte and "
                "emnist-letters-train-images-idx3-ubyte");
    T_EQ(mkfifo(t_path(folder, "t10k-images-idx3-ubyte"), 0600), 0);
    idx_write(folder, "t10k-labels-idx1-ubyte", 1, (const uint32_t[]){1}, (const uint8_t *)"", 1);
    check_fails(folder, "test", SLUICE_E_UNSUPPORTED, "this must be a regular file");
}

static void a_file_that_is_cut_while_in_use_gives_bad_samples(void)
{
    const char *folder = t_folder();
    sluice_dataset *dataset;

    idx_write_pair(folder, "train-", 7, 1);
    dataset = open_mnist(folder, "train");
    T_EQ(truncate(t_path(folder, "train-images-idx3-ubyte"), HEAD + PIXELS + 3), 0);
    T_EQ(label_of(dataset, 0), 1);
    check_read_fails(dataset, 1, SLUICE_E_CORRUPT, "the file ends within the sample");
    sluice_dataset_destroy(dataset);
}

static void batches_have_the_images_in_their_order(void)
{
    const run_options options = {.workers = 2, .settings = {.seed = 3}};
    const char *folder = t_folder();
    sluice_dataset *dataset = NULL;
    tape got;

    idx_write_pair(folder, "train-", 8, 1);
    T_OK(sluice_dataset_parsef(&dataset, "mnist %s | skip 2 | batch 3", folder));
    got = record_own(dataset, &options);
    T_EQ(got.batches, 2);
    free(got.bytes);
}

const t_test source_mnist_tests[] = {
    T_TEST(parts_are_found_in_a_folder),
    T_TEST(names_may_have_a_dot),
    T_TEST(files_are_given_by_name),
    T_TEST(colours_are_a_fourth_dimension),
    T_TEST(compressed_files_are_kept_in_memory),
    T_TEST(large_compressed_files_are_read_to_their_end),
    T_TEST(damaged_compressed_files_are_refused),
    T_TEST(files_of_another_length_are_refused),
    T_TEST(files_that_do_not_belong_together_are_refused),
    T_TEST(folders_without_one_set_are_refused),
    T_TEST(a_file_that_is_cut_while_in_use_gives_bad_samples),
    T_TEST(batches_have_the_images_in_their_order),
    T_END,
};
