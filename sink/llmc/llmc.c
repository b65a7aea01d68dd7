/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batches in the order of llm.c's data loader, for a program that keeps the loader's state itself.
 * A channel reads ahead from the state passed with a request. Its batches are returned as long as
 * they match the later requests; otherwise a new channel is opened.
 */
#include <string.h>

#include <sluice/channel.h>
#include <sluice/llmc.h>

#include "alloc_int.h"
#include "llmc_int.h"
#include "status_int.h"
#include "struct_size_int.h"

enum { WORKERS = 2, SLOTS = 8 };

/* Tokens of a batch, lent to the caller. */
typedef struct token_batch {
    int32_t *inputs; /* (batch, seq) */
    int32_t *targets;
} token_batch;

struct sluice_llmc {
    sli_llmc_files *files;
    size_t count;
    sli_llmc_shape shape;
    sluice_device *device;
    sluice_dataset *dataset;
    sluice_channel *channel;   /* channel that reads ahead; NULL: no read-ahead */
    bool shuffled;             /* the channel's order is shuffled */
    uint64_t begin;            /* the channel's first sample */
    const sluice_batch *batch; /* channel's batch lent to the caller; NULL: no batch is lent */
    int32_t *own; /* (2, batch, seq) buffer for batches that are read without a channel; NULL: not
                     needed yet */
};

static const sli_struct position_struct = SLI_STRUCT(sluice_llmc_position, generator);

/* ---- the generator -----------------------------------------------------------------------------
 */

static const unsigned matrix[2] = {0, 0x9908b0dfu};

static void generator_in(const sluice_mt19937 *from, sli_mt19937 *to)
{
    _Static_assert(sizeof(from->state_) == sizeof(to->words), "the words are the same");
    if (memcmp(from->MATRIX_A, matrix, sizeof(matrix)) != 0) {
        sli_mt19937_seed(to, 5489);
        return;
    }
    memcpy(to->words, from->state_, sizeof(to->words));
    to->next =
        from->left_ <= 1 || from->next_ > SLI_MT19937_WORDS ? SLI_MT19937_WORDS : from->next_;
}

static void generator_out(const sli_mt19937 *from, sluice_mt19937 *to)
{
    memcpy(to->state_, from->words, sizeof(to->state_));
    memcpy(to->MATRIX_A, matrix, sizeof(matrix));
    to->next_ = from->next;
    to->left_ = (int)(SLI_MT19937_WORDS + 1 - from->next);
}

void sluice_mt19937_seed(sluice_mt19937 *generator, uint32_t seed)
{
    sli_mt19937 own;

    if (generator == NULL) {
        return;
    }
    sli_mt19937_seed(&own, seed);
    generator_out(&own, generator);
    generator->seed_ = seed;
    generator->next_ = 0; /* like llm.c's generator */
}

void sluice_mt19937_permute(sluice_mt19937 *generator, int *elements, size_t count)
{
    sli_mt19937 own;

    if (generator == NULL || elements == NULL || count < 2) {
        return;
    }
    generator_in(generator, &own);
    sli_mt19937_permute(&own, (uint32_t *)(void *)elements, (uint32_t)count);
    generator_out(&own, generator);
}

/* ---- opening -----------------------------------------------------------------------------------
 */

sluice_status sluice_llmc_open(const char *const *paths, size_t count, size_t batch, size_t seq,
                               int rank, int world, sluice_llmc **llmc_out)
{
    sluice_llmc *llmc;
    sluice_status st;

    if (paths == NULL || count == 0 || count > INT32_MAX || llmc_out == NULL) {
        return sli_fail(SLUICE_E_INVALID,
                        "sluice_llmc_open: paths or llmc_out is NULL, or %zu files", count);
    }
    if (batch == 0 || batch > INT32_MAX || seq == 0 || seq > 1 << 24 || rank < 0 || rank >= world) {
        return sli_fail(SLUICE_E_INVALID,
                        "sluice_llmc_open: batch %zu, seq %zu, rank %d of %d: batch and seq must "
                        "be at least 1, seq at most 2^24, and rank below world",
                        batch, seq, rank, world);
    }
    llmc = sli_calloc(1, sizeof(*llmc));
    if (llmc == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "sluice_llmc_open");
    }
    llmc->count = count;
    llmc->shape = (sli_llmc_shape){(uint32_t)batch, seq, (uint32_t)rank, (uint32_t)world};
    st = sli_llmc_files_open(paths, count, &llmc->shape, &llmc->files);
    if (st == SLUICE_OK) {
        st = sluice_device_open("host:0", &llmc->device);
    }
    if (st != SLUICE_OK) {
        sluice_llmc_close(llmc);
        return st;
    }
    *llmc_out = llmc;
    return SLUICE_OK;
}

static void close_channel(sluice_llmc *llmc)
{
    sluice_channel_close(llmc->channel);
    sluice_dataset_destroy(llmc->dataset);
    llmc->channel = NULL;
    llmc->dataset = NULL;
    llmc->batch = NULL;
}

void sluice_llmc_close(sluice_llmc *llmc)
{
    if (llmc != NULL) {
        close_channel(llmc);
        sli_free(llmc->own);
        sluice_device_close(llmc->device);
        sli_llmc_files_close(llmc->files);
        sli_free(llmc);
    }
}

size_t sluice_llmc_token_bytes(const sluice_llmc *llmc)
{
    return llmc != NULL ? sli_llmc_token_bytes(llmc->files) : 0;
}

sluice_status sluice_llmc_shard(const sluice_llmc *llmc, size_t shard, uint64_t *tokens_out,
                                uint64_t *bytes_out, uint64_t *pieces_out)
{
    if (llmc == NULL || tokens_out == NULL || bytes_out == NULL || pieces_out == NULL ||
        shard >= llmc->count) {
        return sli_fail(SLUICE_E_INVALID, "sluice_llmc_shard: an argument is NULL, or no file %zu",
                        shard);
    }
    *tokens_out = sli_llmc_tokens(llmc->files, shard);
    *bytes_out = sli_llmc_file_bytes(llmc->files, shard);
    *pieces_out = sli_llmc_pieces(llmc->files, shard);
    return SLUICE_OK;
}

/* ---- reading ahead -----------------------------------------------------------------------------
 */

/* True if each number below count occurs once. `seen` is scratch memory of count bytes. */
static bool is_permutation(const int *list, size_t count, uint8_t *seen)
{
    memset(seen, 0, count);
    for (size_t i = 0; i < count; i++) {
        if (list[i] < 0 || (size_t)list[i] >= count || seen[list[i]] != 0) {
            return false;
        }
        seen[list[i]] = 1;
    }
    return true;
}

/* True if llm.c's loader can be in this state. Only then is the order of later batches known. */
static bool is_state(const sluice_llmc *llmc, const sluice_llmc_position *at)
{
    const uint32_t pieces = sli_llmc_pieces(llmc->files, at->shard);
    bool known = at->slot < llmc->count && at->index < pieces;
    uint8_t *seen;

    if (at->shards == NULL) {
        return known && at->slot == at->shard && at->index == at->piece;
    }
    known = known && at->pieces != NULL && at->generator != NULL &&
            at->shards[at->slot] == (int)at->shard && at->pieces[at->index] == (int)at->piece;
    seen = known ? sli_calloc(1, llmc->count > pieces ? llmc->count : pieces) : NULL;
    known = seen != NULL && is_permutation(at->shards, llmc->count, seen) &&
            is_permutation(at->pieces, pieces, seen);
    sli_free(seen);
    return known;
}

/* Number of batches that precede the batch in its pass: each piece is one on each rank. */
static uint64_t batches_before(const sluice_llmc *llmc, const sluice_llmc_position *at)
{
    uint64_t pieces = at->index;

    for (size_t slot = 0; slot < at->slot; slot++) {
        pieces +=
            sli_llmc_pieces(llmc->files, at->shards != NULL ? (size_t)at->shards[slot] : slot);
    }
    return pieces;
}

static sluice_status open_dataset(sluice_llmc *llmc, const sluice_llmc_position *at)
{
    const bool is_shuffled = at->shards != NULL;
    sli_llmc_begin begin;
    sluice_status st;

    if (is_shuffled) {
        begin.shards = (const uint32_t *)(const void *)at->shards;
        begin.pieces = (const uint32_t *)(const void *)at->pieces;
        begin.slot = (uint32_t)at->slot;
        generator_in(at->generator, &begin.generator);
    }
    st = sli_llmc_dataset(llmc->files, is_shuffled ? &begin : NULL, &llmc->dataset);
    return st == SLUICE_OK ? sluice_dataset_addf(llmc->dataset, "batch %u drop_remainder=true",
                                                 llmc->shape.batch)
                           : st;
}

/* Opens a channel that begins at the batch. */
static sluice_status begin_anew(sluice_llmc *llmc, const sluice_llmc_position *at)
{
    sluice_channel_config config;
    sluice_status st;

    close_channel(llmc);
    sluice_channel_config_init(&config);
    config.first_batch = batches_before(llmc, at);
    config.rank = llmc->shape.rank;
    config.world = llmc->shape.world;
    config.workers = WORKERS;
    config.slots = SLOTS;
    st = open_dataset(llmc, at);
    if (st == SLUICE_OK) {
        st = sluice_channel_open(llmc->device, llmc->dataset, &config, &llmc->channel);
    }
    if (st == SLUICE_OK) {
        st = sluice_channel_start(llmc->channel);
    }
    if (st != SLUICE_OK) {
        close_channel(llmc);
        return st;
    }
    llmc->shuffled = at->shards != NULL;
    llmc->begin = sli_llmc_sample(llmc->files, at->shard, at->piece);
    return SLUICE_OK;
}

/* Releases the lent batch. */
static sluice_status release_batch(sluice_llmc *llmc)
{
    const sluice_batch *batch = llmc->batch;

    llmc->batch = NULL;
    return batch != NULL ? sluice_channel_release(llmc->channel, batch, NULL) : SLUICE_OK;
}

/* Gets the channel's next batch. Lends it if it begins with `sample`, else releases it. */
static sluice_status take_batch(sluice_llmc *llmc, uint64_t sample, token_batch *out,
                                bool *taken_out)
{
    const sluice_batch *batch = NULL;
    sluice_status st = sluice_channel_get_next(llmc->channel, NULL, SLUICE_FOREVER, &batch);

    if (st != SLUICE_OK) {
        return st;
    }
    llmc->batch = batch;
    *taken_out = batch->samples[0] == sample;
    *out = (token_batch){batch->inputs[0].data, batch->inputs[1].data};
    return *taken_out ? SLUICE_OK : release_batch(llmc);
}

/* Reads a batch without a channel. */
static sluice_status read_alone(sluice_llmc *llmc, const sluice_llmc_position *at, token_batch *out)
{
    const size_t tokens = llmc->shape.batch * (size_t)llmc->shape.seq;

    if (llmc->own == NULL) {
        llmc->own = sli_calloc(tokens, 2 * sizeof(*llmc->own));
    }
    if (llmc->own == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "a batch of %zu tokens", tokens);
    }
    *out = (token_batch){llmc->own, llmc->own + tokens};
    return sli_llmc_read(llmc->files, at->shard, at->piece, out->inputs, out->targets);
}

/* Reads a batch that the channel does not supply next. If the order after the batch is known,
 * rewinds or reopens the channel at this batch. */
static sluice_status read_anew(sluice_llmc *llmc, const sluice_llmc_position *at, uint64_t sample,
                               token_batch *out)
{
    const bool is_known = is_state(llmc, at);
    const bool from_begin = is_known && llmc->channel != NULL && !llmc->shuffled &&
                            at->shards == NULL && sample == llmc->begin;
    bool taken = false;
    sluice_status st;

    if (!is_known) {
        close_channel(llmc);
        return read_alone(llmc, at, out);
    }
    st = from_begin ? sluice_channel_rewind(llmc->channel) : begin_anew(llmc, at);
    if (st == SLUICE_OK) {
        st = take_batch(llmc, sample, out, &taken);
    }
    return st == SLUICE_OK && !taken ? read_alone(llmc, at, out) : st;
}

sluice_status sluice_llmc_read(sluice_llmc *llmc, const sluice_llmc_position *position,
                               int **inputs_out, int **targets_out)
{
    sluice_llmc_position at;
    token_batch batch = {NULL, NULL};
    bool taken = false;
    uint64_t sample;
    sluice_status st = sli_struct_read(&position_struct, "sluice_llmc_read", position, &at);

    if (st != SLUICE_OK) {
        return st;
    }
    if (llmc == NULL || inputs_out == NULL || targets_out == NULL) {
        return sli_fail(SLUICE_E_INVALID, "sluice_llmc_read: an argument is NULL");
    }
    if (at.shard >= llmc->count || at.piece >= sli_llmc_pieces(llmc->files, at.shard)) {
        return sli_fail(SLUICE_E_INVALID, "sluice_llmc_read: there is no piece %zu of file %zu",
                        at.piece, at.shard);
    }
    sample = sli_llmc_sample(llmc->files, at.shard, at.piece);
    st = release_batch(llmc);
    if (st == SLUICE_OK && llmc->channel != NULL) {
        st = take_batch(llmc, sample, &batch, &taken);
    }
    if (st == SLUICE_OK && !taken) {
        st = read_anew(llmc, &at, sample, &batch);
    }
    if (st == SLUICE_OK) {
        *inputs_out = batch.inputs;
        *targets_out = batch.targets;
    }
    return st;
}
