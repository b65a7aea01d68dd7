/* SPDX-License-Identifier: Apache-2.0 */
/* Compressed files in sources that do not decompress them. */
#include <stdlib.h>

#include "dataset_kit.h"
#include "testing.h"

enum { FILE_BYTES = 3073 * 2 };

/* Each format's magic number, with bytes that distinguish bzip2 from a tar archive. */
static const struct {
    const char *name;
    const char *suffix;
    uint8_t head[10];
} formats[] = {
    {"gzip", ".gz", {0x1F, 0x8B, 8}},
    {"zstd", ".zst", {0x28, 0xB5, 0x2F, 0xFD}},
    {"xz", ".xz", {0xFD, '7', 'z', 'X', 'Z', 0}},
    {"bzip2", ".bz2", {'B', 'Z', 'h', '9', 0x31, 0x41, 0x59, 0x26, 0x53, 0x59}},
};

enum { FORMATS = sizeof(formats) / sizeof(formats[0]) };

/* Writes a file that begins like a compressed one. */
static void write_compressed(const char *folder, const char *name, int format)
{
    uint8_t bytes[FILE_BYTES];

    for (size_t i = 0; i < sizeof(bytes); i++) {
        bytes[i] = (uint8_t)(i * 7);
    }
    memcpy(bytes, formats[format].head, sizeof(formats[format].head));
    t_write_file(t_path(folder, name), bytes, sizeof(bytes));
}

/* Checks that a pipeline fails at its first use, or when it is parsed, with these words. */
static void check_fails(const char *text, const char *words)
{
    sluice_dataset *dataset = NULL;
    char *plan = NULL;
    sluice_status st = sluice_dataset_parse(text, &dataset);

    if (st == SLUICE_OK) {
        st = sluice_dataset_explain(dataset, &plan);
    }
    T_STATUS(st, SLUICE_E_UNSUPPORTED);
    T_CONTAINS(sluice_last_error(), words);
    sluice_string_free(plan);
    sluice_dataset_destroy(dataset);
}

static void a_compressed_file_is_named_by_each_source(void)
{
    static const char *const pipelines[][2] = {
        {"tokens", " seq=8 dtype=u16 | batch 1"}, {"npy", " names=a | batch 1"},
        {"image_list", " | decode | batch 1"},    {"synthetic 10 | subset", " | batch 1"},
        {"synthetic 10 | weights", " | batch 1"},
#ifdef SLI_HAVE_JANSSON
        {"coco", " | decode | batch 1"},
#endif
    };
    const char *folder = t_folder();

    for (int i = 0; i < FORMATS; i++) {
        char name[20];
        char words[80];

        snprintf(name, sizeof(name), "x%s", formats[i].suffix);
        snprintf(words, sizeof(words), "%s: the file is compressed by %s", name, formats[i].name);
        write_compressed(folder, name, i);
        for (size_t k = 0; k < sizeof(pipelines) / sizeof(pipelines[0]); k++) {
            char text[600];

            snprintf(text, sizeof(text), "%s %s/%s%s", pipelines[k][0], folder, name,
                     pipelines[k][1]);
            check_fails(text, words);
        }
    }
}

/* Their size may be that of records. */
static void compressed_cifar_files_are_named(void)
{
    const char *folder = t_folder();
    char text[600];

    for (int i = 0; i < FORMATS; i++) {
        write_compressed(folder, "test_batch.bin", i);
        write_compressed(folder, "test.bin", i);
        snprintf(text, sizeof(text), "cifar10 %s split=test | batch 1", folder);
        check_fails(text, "cifar10: test_batch.bin in ");
        T_CONTAINS(sluice_last_error(), formats[i].name);
        snprintf(text, sizeof(text), "cifar100 %s split=test | batch 1", folder);
        check_fails(text, "cifar100: test.bin in ");
        T_CONTAINS(sluice_last_error(), "the file is compressed by ");
    }
}

/* Tokens may have any values, so the magic number alone, or the suffix alone, says nothing. */
static void tokens_are_refused_by_magic_number_and_suffix(void)
{
    static const char *const names[] = {"plain.gz", "x.bin"};
    static const uint16_t plain[20] = {1, 2, 3};
    const char *folder = t_folder();

    t_write_file(t_path(folder, "plain.gz"), plain, sizeof(plain));
    write_compressed(folder, "x.bin", 0);
    for (int i = 0; i < 2; i++) {
        char *plan = NULL;
        sluice_dataset *dataset;

        dataset = parsedf("tokens %s/%s seq=8 dtype=u16 | batch 1", folder, names[i]);
        T_OK(sluice_dataset_explain(dataset, &plan));
        sluice_string_free(plan);
        sluice_dataset_destroy(dataset);
    }
}

const t_test compressed_sources_tests[] = {
    T_TEST(a_compressed_file_is_named_by_each_source),
    T_TEST(compressed_cifar_files_are_named),
    T_TEST(tokens_are_refused_by_magic_number_and_suffix),
    T_END,
};
