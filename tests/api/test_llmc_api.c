/* SPDX-License-Identifier: Apache-2.0 */
/* The data loader with llm.c's names, as a program of llm.c uses it. */
#include <sys/wait.h>
#include <unistd.h>

#include <sluice/llmc_dataloader.h>
#include <sluice/sluice.h>

#include "kits/llmc_orders.h"
#include "kits/tokens_kit.h"
#include "testing.h"

_Static_assert(sizeof(sluice_mt19937) == 2520 && offsetof(sluice_mt19937, left_) == 8 &&
                   offsetof(sluice_mt19937, next_) == 12 &&
                   offsetof(sluice_mt19937, state_) == 16 &&
                   offsetof(sluice_mt19937, MATRIX_A) == 2512,
               "programs of llm.c save its bytes");

/* The pattern of the files; good until the next call. */
static const char *write_files(uint32_t token_bytes)
{
    static char pattern[500];
    const char *folder = t_folder();

    for (uint32_t i = 0; i < LLMC_FILES; i++) {
        char name[20];

        snprintf(name, sizeof(name), "t_%u.bin", i);
        tokens_write(folder, name, token_bytes, 1, 0, llmc_tokens[i]);
    }
    snprintf(pattern, sizeof(pattern), "%s/t_?.bin", folder);
    return pattern;
}

static DataLoader open_loader(const char *pattern, const llmc_expected *shape)
{
    DataLoader loader;

    dataloader_init(&loader, pattern, shape->batch, LLMC_SEQ, (int)shape->rank, (int)shape->world,
                    shape->shuffled);
    return loader;
}

/* The first window of the batch that the fields tell of, which has been fetched. */
static uint64_t window_of(const DataLoader *loader)
{
    const size_t slot = loader->current_shard_idx;
    const size_t index = loader->current_sample_idx - 1;
    const size_t shard = loader->should_shuffle ? (size_t)loader->shard_indices[slot] : slot;
    const size_t piece =
        loader->should_shuffle ? (size_t)loader->intra_shard_indices[index] : index;

    return llmc_firsts[shard] +
           (piece * (size_t)loader->num_processes + (size_t)loader->process_rank) * loader->B;
}

/* Are the tokens those of a window and the ones behind it? Token i of each file is i. */
static bool holds(const DataLoader *loader, uint64_t window)
{
    const size_t count = loader->B * LLMC_SEQ;
    int first;
    size_t file = LLMC_FILES - 1;

    while (llmc_firsts[file] > window) {
        file--;
    }
    first = (int)(window - llmc_firsts[file]) * LLMC_SEQ;
    for (size_t i = 0; i < count; i++) {
        if (loader->inputs[i] != first + (int)i || loader->targets[i] != first + (int)i + 1) {
            return false;
        }
    }
    return true;
}

static void batches_are_those_of_llmc(void)
{
    const char *pattern = write_files(2);

    for (size_t i = 0; i < sizeof(llmc_orders) / sizeof(llmc_orders[0]); i++) {
        DataLoader loader = open_loader(pattern, &llmc_orders[i]);
        uint64_t hash = llmc_hash_begin;

        T_EQ(loader.num_tokens, 5000 + 1026 + 20001 + 3001);
        T_EQ(loader.glob_result.gl_pathc, LLMC_FILES);
        for (int k = 0; k < LLMC_BATCHES; k++) {
            uint64_t window;

            dataloader_next_batch(&loader);
            window = window_of(&loader);
            hash = llmc_hash(hash, window);
            T_TRUE(holds(&loader, window));
        }
        T_EQ(hash, llmc_orders[i].hash);
        dataloader_free(&loader);
    }
}

static void a_reset_moves_the_generator_on(void)
{
    const char *pattern = write_files(4);

    for (size_t i = 0; i < sizeof(llmc_resets) / sizeof(llmc_resets[0]); i++) {
        DataLoader loader = open_loader(pattern, &llmc_resets[i]);
        uint64_t hash = llmc_hash_begin;

        T_EQ(loader.total_batch_size_bytes, llmc_resets[i].world * 2 * LLMC_SEQ * 4);
        for (int k = 0; k < LLMC_RESETS_BATCHES; k++) {
            uint64_t window;

            if (k == 100 || k == 101 || k == 700 || k == 1900) {
                dataloader_reset(&loader);
            }
            dataloader_next_batch(&loader);
            window = window_of(&loader);
            hash = llmc_hash(hash, window);
            T_TRUE(holds(&loader, window));
        }
        T_EQ(hash, llmc_resets[i].hash);
        dataloader_free(&loader);
    }
}

/* What a program of llm.c writes into its state. */
typedef struct saved {
    size_t shard;
    size_t sample;
    size_t samples;
    int shards[LLMC_FILES];
    int pieces[700];
    sluice_mt19937 generator;
} saved;

static void save(const DataLoader *loader, saved *to)
{
    to->shard = loader->current_shard_idx;
    to->sample = loader->current_sample_idx;
    to->samples = loader->shard_num_samples;
    T_TRUE(to->samples <= sizeof(to->pieces) / sizeof(to->pieces[0]));
    memcpy(to->shards, loader->shard_indices, sizeof(to->shards));
    memcpy(to->pieces, loader->intra_shard_indices, to->samples * sizeof(int));
    to->generator = loader->shuffle_rng;
}

static void restore(DataLoader *loader, const saved *from)
{
    memcpy(loader->shard_indices, from->shards, sizeof(from->shards));
    free(loader->intra_shard_indices);
    loader->intra_shard_indices = (int *)malloc(from->samples * sizeof(int));
    T_TRUE(loader->intra_shard_indices != NULL);
    memcpy(loader->intra_shard_indices, from->pieces, from->samples * sizeof(int));
    loader->shuffle_rng = from->generator;
    dataloader_resume(loader, from->shard, from->sample);
}

static void a_saved_state_goes_on(void)
{
    static const int places[] = {0, 1, 17, 155, 156, 157, 412, 903, 904, 2000};
    const llmc_expected shape = {2, 1, 0, true, 0};
    const char *pattern = write_files(2);

    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        DataLoader first = open_loader(pattern, &shape);
        DataLoader second = open_loader(pattern, &shape);
        saved state;

        for (int k = 0; k < places[i]; k++) {
            dataloader_next_batch(&first);
        }
        save(&first, &state);
        restore(&second, &state);
        for (int k = 0; k < 1500; k++) {
            dataloader_next_batch(&first);
            dataloader_next_batch(&second);
            T_EQ(window_of(&first), window_of(&second));
            T_TRUE(holds(&second, window_of(&first)));
        }
        T_EQ(memcmp(first.shuffle_rng.state_, second.shuffle_rng.state_,
                    sizeof(first.shuffle_rng.state_)),
             0);
        dataloader_free(&first);
        dataloader_free(&second);
    }
}

/* The fields say what is read next, whatever was read ahead. */
static void changed_fields_take_effect(void)
{
    const llmc_expected shape = {4, 2, 1, false, 0};
    DataLoader loader = open_loader(write_files(2), &shape);

    for (int k = 0; k < 3; k++) {
        dataloader_next_batch(&loader);
    }
    loader.current_sample_idx = 30;
    dataloader_next_batch(&loader);
    T_TRUE(holds(&loader, 30 * 8 + 4));
    dataloader_next_batch(&loader);
    T_TRUE(holds(&loader, 31 * 8 + 4));
    T_EQ(dataloader_load_shard_(&loader, 2), llmc_tokens[2]);
    T_EQ(loader.shard_num_samples, 156);
    T_EQ(loader.file_size_bytes, 1024 + 2 * 20001);
    for (uint64_t k = 32; k < 156; k++) { /* to the end of file 2; then comes the one behind 0 */
        dataloader_next_batch(&loader);
        T_TRUE(holds(&loader, llmc_firsts[2] + k * 8 + 4));
    }
    dataloader_next_batch(&loader);
    T_EQ(loader.current_shard_idx, 1);
    T_TRUE(holds(&loader, llmc_firsts[1] + 4));
    dataloader_reset(&loader);
    dataloader_next_batch(&loader);
    T_TRUE(holds(&loader, 4));
    dataloader_free(&loader);
}

/* The exit status of a program that opens a loader. */
static int exit_of_init(const char *pattern, size_t B)
{
    const pid_t child = fork();
    int status = 0;

    if (child == 0) {
        DataLoader loader;

        T_TRUE(freopen("/dev/null", "w", stderr) != NULL);
        dataloader_init(&loader, pattern, B, LLMC_SEQ, 0, 1, 1);
        _exit(0);
    }
    T_TRUE(child > 0 && waitpid(child, &status, 0) == child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void errors_end_the_program(void)
{
    const char *pattern = write_files(2);

    T_EQ(exit_of_init(pattern, 4), 0);
    T_EQ(exit_of_init(pattern, 65), 1); /* 1026 tokens are less than a batch */
    T_EQ(exit_of_init("/nonexistent/*.bin", 4), 1);
}

static void bad_arguments_are_refused(void)
{
    const char *folder = t_folder();
    const char *path = t_path(folder, "x.bin");
    int *tokens;
    sluice_llmc_position position;
    sluice_llmc *llmc = NULL;
    uint64_t number;

    tokens_write(folder, "x.bin", 2, 1, 0, 100);
    T_STATUS(sluice_llmc_open(NULL, 1, 1, 8, 0, 1, &llmc), SLUICE_E_INVALID);
    T_STATUS(sluice_llmc_open(&path, 0, 1, 8, 0, 1, &llmc), SLUICE_E_INVALID);
    T_STATUS(sluice_llmc_open(&path, 1, 0, 8, 0, 1, &llmc), SLUICE_E_INVALID);
    T_STATUS(sluice_llmc_open(&path, 1, 1, 0, 0, 1, &llmc), SLUICE_E_INVALID);
    T_STATUS(sluice_llmc_open(&path, 1, 1, 8, 1, 1, &llmc), SLUICE_E_INVALID);
    T_STATUS(sluice_llmc_open(&path, 1, 1, 8, -1, 1, &llmc), SLUICE_E_INVALID);
    T_STATUS(sluice_llmc_open(&path, 1, 1, 100, 0, 1, &llmc), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "x.bin");
    T_OK(sluice_llmc_open(&path, 1, 2, LLMC_SEQ, 0, 1, &llmc));
    T_EQ(sluice_llmc_token_bytes(llmc), 2);
    T_STATUS(sluice_llmc_shard(llmc, 1, &number, &number, &number), SLUICE_E_INVALID);
    T_STATUS(sluice_llmc_shard(llmc, 0, &number, NULL, &number), SLUICE_E_INVALID);
    sluice_llmc_position_init(&position);
    position.piece = 3;
    T_STATUS(sluice_llmc_read(llmc, &position, &tokens, &tokens), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "no piece 3 of file 0");
    position.piece = 0;
    T_STATUS(sluice_llmc_read(llmc, &position, NULL, &tokens), SLUICE_E_INVALID);
    T_STATUS(sluice_llmc_read(llmc, NULL, &tokens, &tokens), SLUICE_E_INVALID);
    sluice_llmc_close(llmc);
    sluice_llmc_close(NULL);
}

/* Also one that a program has never seeded, which the original seeds with 5489. */
static void the_generator_permutes(void)
{
    sluice_mt19937 seeded;
    sluice_mt19937 blank;
    int first[100];
    int second[100];
    uint64_t sum = 0;

    memset(&blank, 0, sizeof(blank));
    sluice_mt19937_seed(&seeded, 5489);
    T_TRUE(seeded.left_ == 1 && seeded.next_ == 0 && seeded.state_[0] == 5489);
    for (int i = 0; i < 100; i++) {
        first[i] = second[i] = i;
    }
    sluice_mt19937_permute(&seeded, first, 100);
    sluice_mt19937_permute(&blank, second, 100);
    T_EQ(memcmp(first, second, sizeof(first)), 0);
    T_TRUE(seeded.next_ == 99 && seeded.left_ == 526);
    T_EQ(first[99], 3499211612u % 100);
    for (int i = 0; i < 100; i++) {
        sum += (uint64_t)first[i];
    }
    T_EQ(sum, 4950);
}

const t_test llmc_api_tests[] = {
    T_TEST(batches_are_those_of_llmc), T_TEST(a_reset_moves_the_generator_on),
    T_TEST(a_saved_state_goes_on),     T_TEST(changed_fields_take_effect),
    T_TEST(errors_end_the_program),    T_TEST(bad_arguments_are_refused),
    T_TEST(the_generator_permutes),    T_END,
};
