/* SPDX-License-Identifier: Apache-2.0 */
/* One bit of a file is flipped: a run of it ends with an error, or gives the true values. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sluice/log.h>

#include "engine_kit.h"
#include "idx_kit.h"
#include "pack_kit.h"
#include "shard_kit.h"
#include "stream_kit.h"
#include "testing.h"

enum { MOST = 1 << 20 };

/* What is read, and the file of it whose bits are flipped. */
typedef struct flip_case {
    const char *text; /* the pipeline; @ stands for the folder */
    const char *file; /* in the folder */
    int flips;
    bool is_index; /* an index is made again, unless it is of a pack: there are no errors */
} flip_case;

static void fill_text(const flip_case *flip, const char *folder, char *text, size_t size)
{
    size_t length = 0;

    for (const char *c = flip->text; *c != '\0'; c++) {
        length += (size_t)snprintf(text + length, size - length, "%.*s%s", *c != '@', c,
                                   *c == '@' ? folder : "");
    }
}

/* A whole run; an error of parsing or opening is its end, too. */
static tape run_text(const char *text)
{
    sluice_dataset *dataset = NULL;
    engine_run run;
    tape t = {.bytes = NULL};

    t.end = sluice_dataset_parse(text, &dataset);
    if (t.end == SLUICE_OK) {
        t.end = start_run(&run, dataset, &(run_options){.workers = 1});
    }
    if (t.end == SLUICE_OK) {
        while ((t.end = next_batch(&run)) == SLUICE_OK) {
            tape_batch(&t, &run);
        }
        close_run(&run);
    }
    sluice_dataset_destroy(dataset);
    return t;
}

/* Flips bits all over the file, one in each run. */
static void flip_bits(const flip_case *flip, const char *folder)
{
    static uint8_t bytes[MOST];
    char path[400];
    char text[1000];
    size_t size;
    tape want;
    int errors = 0;

    snprintf(path, sizeof(path), "%s/%s", folder, flip->file);
    fill_text(flip, folder, text, sizeof(text));
    want = run_text(text);
    T_STATUS(want.end, SLUICE_END_OF_DATA);
    size = read_file_bytes(path, bytes, MOST);
    T_TRUE(size > 50);
    sluice_log_set_level(
        SLUICE_LOG_ERROR); /* else it is said of each index that it is made again */
    for (int i = 0; i < flip->flips; i++) {
        const uint64_t bit = (uint64_t)i * 0x9E3779B1U % (size * 8);
        tape got;

        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        t_write_file(path, bytes, size);
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        got = run_text(text);
        if (got.end == SLUICE_END_OF_DATA &&
            (got.size != want.size || memcmp(got.bytes, want.bytes, want.size) != 0)) {
            T_FAIL_("%s, bit %llu: other values, and no error", flip->file,
                    (unsigned long long)bit);
        }
        errors += got.end != SLUICE_END_OF_DATA;
        free(got.bytes);
    }
    sluice_log_set_level(SLUICE_LOG_WARN);
    t_write_file(path, bytes, size);
    T_EQ(errors > 0, !flip->is_index);
    free(want.bytes);
}

static void packed_shards_give_errors_or_true_values(void)
{
    static const struct {
        const char *packer;
        flip_case flip;
    } cases[] = {
        {"gzip",
         {"webdataset @/s.tar.gz | decode | center_crop 2 | batch 4", "s.tar.gz", 90, false}},
        {"bzip2",
         {"webdataset @/s.tar.bz2 | decode | center_crop 2 | batch 4", "s.tar.bz2", 60, false}},
        {"xz", {"webdataset @/s.tar.xz | decode | center_crop 2 | batch 4", "s.tar.xz", 60, false}},
        {"zstd -q",
         {"webdataset @/s.tar.zst | decode | center_crop 2 | batch 4", "s.tar.zst", 60, false}},
    };
    const char *folder = t_folder();

    T_NEEDS(can_decompress() && system("command -v zstd xz bzip2 >/dev/null") == 0,
            "zlib, libarchive, zstd, xz or bzip2 is missing");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        make_image_shard(t_path(folder, "s.tar"), 0, 12);
        shell("cd %s && %s -c s.tar >%s", folder, cases[i].packer, cases[i].flip.file);
        flip_bits(&cases[i].flip, folder);
    }
}

static void packed_idx_files_give_errors_or_true_values(void)
{
    static const flip_case flips[] = {
        {"mnist @ | batch 9", "train-labels-idx1-ubyte.gz", 40, false},
        {"mnist @ | batch 9", "train-images-idx3-ubyte.gz", 40, false}};
    const char *folder = t_folder();

    T_NEEDS(can_gunzip(), "no zlib");
    idx_write_pair(folder, "train-", 40, 4);
    shell("cd %s && gzip train-*", folder);
    for (size_t i = 0; i < sizeof(flips) / sizeof(flips[0]); i++) {
        flip_bits(&flips[i], folder);
    }
}

static void shards_of_packs_and_indexes_give_errors_or_true_values(void)
{
    static const flip_case flips[] = {
        {"webdataset @/pack/shard-000000.tar | decode | center_crop 16 | batch 5",
         "pack/shard-000000.tar", 60, false},
        {"webdataset @/pack/shard-000000.tar | decode | center_crop 16 | batch 5",
         "pack/shard-000000.tar.sluice", 60, false},
        {"webdataset @/s.tar | decode | center_crop 2 | batch 4", "s.tar.sluice", 60, true}};
    const char *folder = t_folder();
    char pictures[400];
    char pack[400];
    char text[500];
    sluice_dataset *dataset = NULL;
    sluice_pack_config config;

    T_NEEDS(can_pack(), "no libarchive");
    snprintf(pictures, sizeof(pictures), "%s/pictures", folder);
    sluice_dataset_destroy(jpeg_dataset(pictures, "decode | center_crop 16 | batch 5"));
    snprintf(text, sizeof(text), "image_folder %s", pictures);
    T_OK(sluice_dataset_parse(text, &dataset));
    snprintf(pack, sizeof(pack), "%s/pack", folder);
    sluice_pack_config_init(&config);
    config.dataset = dataset;
    config.folder = pack;
    T_OK(sluice_pack(&config, NULL));
    sluice_dataset_destroy(dataset);
    make_image_shard(t_path(folder, "s.tar"), 0, 12);
    for (size_t i = 0; i < sizeof(flips) / sizeof(flips[0]); i++) {
        flip_bits(&flips[i], folder);
    }
}

static void indexes_of_jpeg_files_give_true_values(void)
{
    static const flip_case flip = {
        "image_folder @/pictures index=@/index | decode | center_crop 16 | batch 5",
        "index/places-00.sluice", 60, true};
    const char *folder = t_folder();
    char pictures[400];

    snprintf(pictures, sizeof(pictures), "%s/pictures", folder);
    sluice_dataset_destroy(jpeg_dataset(pictures, "decode | center_crop 16 | batch 5"));
    flip_bits(&flip, folder);
}

const t_test bit_flips_tests[] = {
    T_TEST(packed_shards_give_errors_or_true_values),
    T_TEST(packed_idx_files_give_errors_or_true_values),
    T_TEST(shards_of_packs_and_indexes_give_errors_or_true_values),
    T_TEST(indexes_of_jpeg_files_give_true_values),
    T_END,
};
