/* SPDX-License-Identifier: Apache-2.0 */
/* The source of tokens. */
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dataset_kit.h"
#include "descriptor_int.h"
#include "engine_kit.h"
#include "log_kit.h"
#include "source_kit.h"
#include "testing.h"
#include "tokens_kit.h"

enum { SEQ = 8 };

/* Two files of 100 and 33 tokens; each token is 1000 * (1 + its file) + its place. */
static void write_files(const char *folder, uint32_t token_bytes, int has_header)
{
    tokens_write(folder, "a_0.bin", token_bytes, has_header, 1000, 100);
    tokens_write(folder, "a_1.bin", token_bytes, has_header, 2000, 33);
}

static sluice_dataset *tokens_of(const char *folder, const char *arguments, const char *stages)
{
    char text[800];

    snprintf(text, sizeof(text), "tokens %s/a_*.bin %d %s | %s", folder, SEQ, arguments, stages);
    return parsed(text);
}

/* Checks sample `index`: tokens from `first` on. */
static void check_window(sluice_dataset *dataset, uint64_t index, int32_t first)
{
    int32_t inputs[SEQ];
    int32_t targets[SEQ];
    void *columns[] = {inputs, targets};
    uint64_t sample = 0;

    T_OK(sluice_dataset_get(dataset, 0, 0, index, columns, &sample));
    T_EQ(sample, index);
    for (int i = 0; i < SEQ; i++) {
        T_EQ(inputs[i], first + i);
        T_EQ(targets[i], first + i + 1);
    }
}

static uint64_t samples_of(sluice_dataset *dataset)
{
    sluice_dataset_info info = {.struct_size = sizeof(info)};

    T_OK(sluice_dataset_inspect(dataset, &info));
    return info.samples;
}

static void windows_are_all_that_end_in_their_file(void)
{
    static const struct {
        const char *arguments;
        uint64_t first;  /* windows of the first file */
        uint64_t second; /* and of the second one */
        int32_t stride;
    } cases[] = {
        {"", 12, 4, SEQ},        {"stride=3", 31, 9, 3},         {"stride=1", 92, 25, 1},
        {"stride=91", 2, 1, 91}, {"stride=92", 1, 1, 92},        {"stride=24", 4, 2, 24},
        {"stride=25", 4, 1, 25}, {"stride=1000000", 1, 1, 1000},
    };
    const char *folder = t_folder();

    write_files(folder, 2, 1);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        sluice_dataset *dataset = tokens_of(folder, cases[i].arguments, "batch 4");

        T_EQ(samples_of(dataset), cases[i].first + cases[i].second);
        for (uint64_t k = 0; k < cases[i].first; k++) {
            check_window(dataset, k, 1000 + (int32_t)k * cases[i].stride);
        }
        for (uint64_t k = 0; k < cases[i].second; k++) {
            check_window(dataset, cases[i].first + k, 2000 + (int32_t)k * cases[i].stride);
        }
        sluice_dataset_destroy(dataset);
    }
}

/* The same tokens, in each way to store them, make the same batches. */
static void every_way_to_store_tokens_gives_the_same(void)
{
    static const struct {
        uint32_t bytes;
        int has_header;
        const char *arguments;
    } ways[] = {{2, 1, ""}, {4, 1, "dtype=auto"}, {2, 0, "dtype=u16"}, {4, 0, "dtype=u32"}};
    const char *folder = t_folder();
    tape first = {0};

    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        tape got;

        write_files(folder, ways[i].bytes, ways[i].has_header);
        got = record_own(tokens_of(folder, ways[i].arguments, "shuffle 3 | batch 5"),
                         &(run_options){.workers = 1 + (uint32_t)i});
        T_EQ(got.batches, 4);
        if (i == 0) {
            first = got;
        } else {
            T_TRUE(got.size == first.size && memcmp(got.bytes, first.bytes, got.size) == 0);
            free(got.bytes);
        }
    }
    free(first.bytes);
}

static void arguments_are_checked(void)
{
    static const refused_case refused[] = {
        {"tokens x 8 dtype=i16", "must be one of auto u16 u32"},
        {"tokens x 0", "seq"},
        {"tokens x 16777217", "seq"},
        {"tokens", "files is missing"},
    };
    const char *folder = t_folder();
    sluice_dataset *dataset = NULL;
    char text[500];

    write_files(folder, 2, 0);
    T_OK(sluice_dataset_parsef(&dataset, "tokens %s %u dtype=u16 | batch 4",
                               t_path(folder, "a_0.bin"), SEQ));
    snprintf(text, sizeof(text), "tokens files=%s/a_0.bin seq=8 stride=8 dtype=u16", folder);
    T_CONTAINS(described(dataset), text);
    T_EQ(samples_of(dataset), 12);
    sluice_dataset_destroy(dataset);
    dataset = NULL;
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        T_STATUS(sluice_dataset_parse(refused[i].text, &dataset), SLUICE_E_INVALID);
        T_CONTAINS(sluice_last_error(), refused[i].words);
    }
    CU_ASSERT_PTR_NULL(dataset);
}

static void names_tell_the_file_and_the_tokens(void)
{
    const char *folder = t_folder();
    sluice_dataset *dataset;

    write_files(folder, 4, 1);
    dataset = tokens_of(folder, "stride=4", "batch 4");
    T_OK(dataset_open(dataset));
    T_STR(name_of(dataset, 22), "a_0.bin:88+8");
    T_STR(name_of(dataset, 23), "a_1.bin:0+8");
    sluice_dataset_destroy(dataset);
}

/* The list may be longer than the descriptors that a process has. */
static void more_files_than_descriptors_are_read(void)
{
    enum { FILES = 80 };
    const char *folder = t_folder();
    const struct rlimit few = {60, 60};
    struct rlimit before;
    sluice_dataset *dataset;

    for (uint32_t i = 0; i < FILES; i++) {
        char name[20];

        snprintf(name, sizeof(name), "a_%02u.bin", i);
        tokens_write(folder, name, 2, 1, 100 * i, 20);
    }
    T_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
    T_EQ(setrlimit(RLIMIT_NOFILE, &(struct rlimit){few.rlim_cur, before.rlim_max}), 0);
    dataset = tokens_of(folder, "", "batch 4");
    T_EQ(samples_of(dataset), 2 * FILES);
    for (uint32_t i = 0; i < FILES; i++) {
        check_window(dataset, 2 * i, (int32_t)(100 * i));
        check_window(dataset, 2 * i + 1, (int32_t)(100 * i + SEQ));
    }
    sluice_dataset_destroy(dataset);
    T_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
}

static void memory_does_not_grow_with_the_files(void)
{
    const char *folder = t_folder();
    uint64_t memory[2];

    for (int i = 0; i < 2; i++) {
        sluice_dataset *dataset;

        tokens_write(folder, "a_0.bin", 2, 0, 0, i == 0 ? 10 : 10000000);
        dataset = tokens_of(folder, "dtype=u16 stride=1", "shuffle | batch 4");
        T_OK(dataset_open(dataset));
        memory[i] = dataset_source(dataset)->memory(dataset->source);
        sluice_dataset_destroy(dataset);
    }
    T_EQ(memory[0], memory[1]);
}

/* ---- bad input ------------------------------------------------------------------------------- */

static void check_open_fails(const char *files, const char *arguments, sluice_status want,
                             const char *words)
{
    const int before = open_files();
    sluice_dataset *dataset;

    dataset = parsedf("tokens %s %s | batch 2", files, arguments);
    T_STATUS(dataset_open(dataset), want);
    T_CONTAINS(sluice_last_error(), words);
    sluice_dataset_destroy(dataset);
    T_EQ(open_files(), before);
}

static void bad_files_are_named(void)
{
    const char *folder = t_folder();
    char files[600];

    write_files(folder, 2, 1);
    tokens_write(folder, "four.bin", 4, 1, 0, 50);
    tokens_write(folder, "plain.bin", 2, 0, 0, 5000);
    tokens_write(folder, "none.bin", 2, 1, 0, 0);
    tokens_write(folder, "empty.bin", 2, 0, 0, 0);
    T_EQ(truncate(t_path(folder, "a_1.bin"), 1024 + 65), 0);
    T_EQ(mkfifo(t_path(folder, "fifo.bin"), 0600), 0);
    T_EQ(mkdir(t_path(folder, "folder"), 0700), 0);
    check_open_fails(t_path(folder, "absent.bin"), "8", SLUICE_E_IO, "absent.bin: cannot open");
    check_open_fails(t_path(folder, "a_1.bin"), "8", SLUICE_E_CORRUPT, "a_1.bin: it has 1089");
    check_open_fails(t_path(folder, "a_{0..1}.bin"), "8", SLUICE_E_CORRUPT, "a_1.bin");
    check_open_fails(t_path(folder, "plain.bin"), "8", SLUICE_E_CORRUPT, "plain.bin: it begins");
    check_open_fails(t_path(folder, "none.bin"), "8", SLUICE_E_CORRUPT, "none.bin: its header");
    check_open_fails(t_path(folder, "empty.bin"), "8", SLUICE_E_CORRUPT, "empty.bin: it is empty");
    check_open_fails(t_path(folder, "fifo.bin"), "8", SLUICE_E_UNSUPPORTED, "fifo.bin");
    check_open_fails(t_path(folder, "folder"), "8", SLUICE_E_INVALID, "no *.bin in it");
    check_open_fails(t_path(folder, "a_0.bin"), "8 dtype=u16", SLUICE_E_INVALID, "a_0.bin: it has");
    check_open_fails(t_path(folder, "a_0.bin"), "100", SLUICE_E_INVALID, "takes 101 tokens");
    snprintf(files, sizeof(files), "%s/a_0.bin,%s/four.bin", folder, folder);
    check_open_fails(files, "8", SLUICE_E_INVALID, "four.bin: its tokens have 4 bytes");
}

static void files_without_a_window_are_told_of(void)
{
    const char *folder = t_folder();
    sluice_dataset *dataset;

    write_files(folder, 2, 1);
    tokens_write(folder, "a_05.bin", 2, 1, 7, SEQ); /* between the others */
    dataset = tokens_of(folder, "", "batch 4");
    kit_log_start(NULL, NULL);
    T_OK(dataset_open(dataset));
    T_CONTAINS(kit_log_stop(), "1 of 3 files have no window of 9 tokens");
    T_EQ(kit_log_count(SLUICE_LOG_WARN), 1);
    T_EQ(dataset->source_count, 16);
    check_window(dataset, 11, 1000 + 11 * SEQ);
    check_window(dataset, 12, 2000);
    sluice_dataset_destroy(dataset);
}

static void bad_tokens_are_bad_samples(void)
{
    const char *folder = t_folder();
    sluice_dataset *dataset;

    tokens_write(folder, "a_0.bin", 4, 1, 0x7ffffff0, 40); /* beyond i32 from token 16 on */
    dataset = tokens_of(folder, "", "batch 2");
    T_OK(dataset_open(dataset));
    check_read_fails(dataset, 1, SLUICE_E_CORRUPT, "a_0.bin has a token above 2147483647");
    check_window(dataset, 0, 0x7ffffff0);
    sluice_dataset_destroy(dataset);
}

static void a_file_that_is_truncated_while_in_use_is_a_bad_sample(void)
{
    const char *folder = t_folder();
    sluice_dataset *dataset;
    tape got;

    write_files(folder, 2, 1);
    dataset = tokens_of(folder, "", "batch 4");
    T_OK(dataset_open(dataset));
    T_EQ(truncate(t_path(folder, "a_0.bin"), 1024 + 2 * (5 * SEQ)), 0);
    got = record(dataset, &(run_options){.workers = 2});
    T_EQ(got.end, SLUICE_E_CORRUPT);
    T_EQ(got.batches, 1);
    T_CONTAINS(got.error, "sample 4, a_0.bin:32+8: ");
    T_CONTAINS(got.error, "a_0.bin: it ends within the window");
    free(got.bytes);
    got = record(dataset, &(run_options){.settings = {.on_error = SLI_ON_ERROR_ZERO}});
    T_EQ(got.end, SLUICE_END_OF_DATA);
    T_EQ(got.errors.zeroed, 8);
    free(got.bytes);
    sluice_dataset_destroy(dataset);
}

/* Windows that are asked for one behind the other are read several at once. */
static void neighbours_are_read_at_once(void)
{
    const char *folder = t_folder();
    sluice_dataset *dataset;
    sample_io io = {.bytes_read = 0};
    int32_t inputs[SEQ];
    int32_t targets[SEQ];
    void *const row[] = {inputs, targets};
    sample_data data = {0};
    const source_ops *ops;

    tokens_write(folder, "a_0.bin", 2, 0, 0, 6000);
    dataset = tokens_of(folder, "dtype=u16", "batch 4");
    T_OK(dataset_open(dataset));
    ops = dataset_source(dataset);
    for (uint64_t i = 0; i < 8; i++) { /* 1, 2, 4 and 8 windows at once: 0 to 14 */
        T_OK(ops->read(dataset->source, i, &io, row, &data));
        T_TRUE(inputs[0] == (int32_t)i * SEQ && targets[SEQ - 1] == (int32_t)(i + 1) * SEQ);
    }
    T_EQ(truncate(t_path(folder, "a_0.bin"), 0), 0);
    for (uint64_t i = 8; i < 15; i++) {
        T_OK(ops->read(dataset->source, i, &io, row, &data));
        T_TRUE(inputs[0] == (int32_t)i * SEQ && targets[SEQ - 1] == (int32_t)(i + 1) * SEQ);
    }
    T_STATUS(ops->read(dataset->source, 15, &io, row, &data), SLUICE_E_CORRUPT);
    T_STATUS(ops->read(dataset->source, 14, &io, row, &data), SLUICE_E_CORRUPT);
    sample_io_free(&io);
    sluice_dataset_destroy(dataset);
}

static void a_file_of_another_length_is_not_read_again(void)
{
    const char *folder = t_folder();
    sluice_dataset *dataset;

    write_files(folder, 2, 1);
    dataset = tokens_of(folder, "", "batch 4");
    check_window(dataset, 3, 1024);
    sli_held_files_drop();
    tokens_write(folder, "a_0.bin", 2, 1, 0, 99);
    check_read_fails(dataset, 3, SLUICE_E_IO, "a_0.bin: it has changed");
    sluice_dataset_destroy(dataset);
}

const t_test source_tokens_tests[] = {
    T_TEST(windows_are_all_that_end_in_their_file),
    T_TEST(every_way_to_store_tokens_gives_the_same),
    T_TEST(arguments_are_checked),
    T_TEST(names_tell_the_file_and_the_tokens),
    T_TEST(more_files_than_descriptors_are_read),
    T_TEST(memory_does_not_grow_with_the_files),
    T_TEST(bad_files_are_named),
    T_TEST(files_without_a_window_are_told_of),
    T_TEST(bad_tokens_are_bad_samples),
    T_TEST(a_file_that_is_truncated_while_in_use_is_a_bad_sample),
    T_TEST(neighbours_are_read_at_once),
    T_TEST(a_file_of_another_length_is_not_read_again),
    T_END,
};
