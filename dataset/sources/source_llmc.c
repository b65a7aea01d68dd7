/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source `llmc`: token files in llm.c's order, beginning at any state of that order. Only
 * sli_llmc_dataset() can add it, so it is not in the table of stages.
 */
#include <string.h>

#include "alloc_int.h"
#include "conversion_ops.h"
#include "dataset_state.h"
#include "llmc_int.h"
#include "llmc_shards.h"
#include "status_int.h"
#include "token_samples.h"

struct sli_llmc_files {
    token_shards shards; /* must be first: see token_samples.h */
    llmc_shard *pieces;  /* (shards.count) the same files, divided into pieces */
    sli_llmc_shape shape;
};

/* ---- the files ---------------------------------------------------------------------------------
 */

sluice_status sli_llmc_files_open(const char *const *paths, size_t count,
                                  const sli_llmc_shape *shape, sli_llmc_files **files_out)
{
    const token_request request = {
        .paths = paths, .path_count = count, .seq = shape->seq, .stride = shape->seq};
    const llmc_bounds bounds = {shape->batch, shape->rank, shape->world, true};
    sli_llmc_files *files = sli_calloc(1, sizeof(*files));
    sluice_status st;

    if (files == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "token files");
    }
    files->shape = *shape;
    st = token_shards_open(&request, &files->shards);
    if (st == SLUICE_OK) {
        st = llmc_list_shards(&files->shards, &bounds, &files->pieces);
    }
    if (st != SLUICE_OK) {
        sli_llmc_files_close(files);
        return st;
    }
    *files_out = files;
    return SLUICE_OK;
}

void sli_llmc_files_close(sli_llmc_files *files)
{
    if (files != NULL) {
        token_shards_close(&files->shards);
        sli_free(files->pieces);
        sli_free(files);
    }
}

uint32_t sli_llmc_token_bytes(const sli_llmc_files *files)
{
    return files->shards.token_bytes;
}

uint64_t sli_llmc_tokens(const sli_llmc_files *files, size_t shard)
{
    return files->shards.shards[shard].tokens;
}

uint64_t sli_llmc_file_bytes(const sli_llmc_files *files, size_t shard)
{
    const token_shard *file = &files->shards.shards[shard];

    return file->data_at + file->tokens * files->shards.token_bytes;
}

uint32_t sli_llmc_pieces(const sli_llmc_files *files, size_t shard)
{
    return files->pieces[shard].pieces;
}

uint64_t sli_llmc_sample(const sli_llmc_files *files, size_t shard, size_t piece)
{
    const sli_llmc_shape *shape = &files->shape;

    return files->pieces[shard].first +
           ((uint64_t)piece * shape->world + shape->rank) * shape->batch;
}

sluice_status sli_llmc_read(const sli_llmc_files *files, size_t shard, size_t piece,
                            int32_t *inputs, int32_t *targets)
{
    const uint64_t first = sli_llmc_sample(files, shard, piece);
    const size_t seq = (size_t)files->shape.seq;
    sample_io io = {.bytes_read = 0};
    sluice_status st = SLUICE_OK;

    for (uint32_t row = 0; row < files->shape.batch && st == SLUICE_OK; row++) {
        void *const columns[] = {inputs + row * seq, targets + row * seq};
        sample_data data = {0};

        st = token_samples_read(files, first + row, &io, columns, &data);
    }
    sample_io_free(&io);
    return st;
}

/* ---- the dataset -------------------------------------------------------------------------------
 */

typedef struct llmc_args {
    sli_llmc_files *files;
    const sli_llmc_begin *begin;
} llmc_args;

typedef struct llmc_source {
    token_shards shards; /* must be first: see token_samples.h. A copy; the files are borrowed */
    const sli_llmc_files *files;
    bool shuffled;
    sli_llmc_begin begin;
    uint32_t *list;   /* copy of begin->shards */
    uint32_t *pieces; /* copy of begin->pieces */
} llmc_source;

static void llmc_close(void *opaque)
{
    llmc_source *source = opaque;

    sli_free(source->list);
    sli_free(source->pieces);
    sli_free(source);
}

static sluice_status copy_begin(llmc_source *source, const sli_llmc_begin *begin)
{
    const size_t count = source->files->shards.count;
    const uint32_t pieces = source->files->pieces[begin->shards[begin->slot]].pieces;

    source->begin = *begin;
    source->list = sli_calloc(count, sizeof(*source->list));
    source->pieces = sli_calloc(pieces, sizeof(*source->pieces));
    if (source->list == NULL || source->pieces == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "the order of llm.c");
    }
    memcpy(source->list, begin->shards, count * sizeof(*source->list));
    memcpy(source->pieces, begin->pieces, pieces * sizeof(*source->pieces));
    source->begin.shards = source->list;
    source->begin.pieces = source->pieces;
    return SLUICE_OK;
}

static sluice_status llmc_open(const void *opaque, void **source_out)
{
    const llmc_args *args = opaque;
    llmc_source *source = sli_calloc(1, sizeof(*source));
    sluice_status st = SLUICE_OK;

    if (source == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "token files");
    }
    source->shards = args->files->shards;
    source->files = args->files;
    source->shuffled = args->begin != NULL;
    if (args->begin != NULL) {
        st = copy_begin(source, args->begin);
    }
    if (st != SLUICE_OK) {
        llmc_close(source);
        return st;
    }
    *source_out = source;
    return SLUICE_OK;
}

static sluice_status llmc_make_order(const void *opaque, const source_order_bounds *bounds,
                                     source_order **order_out)
{
    const llmc_source *source = opaque;
    const llmc_bounds llmc = {bounds->batch, bounds->rank, bounds->world, source->shuffled};

    return llmc_order_of_shards(&source->shards, &llmc, source->shuffled ? &source->begin : NULL,
                                order_out);
}

static bool llmc_windows(const void *source, source_windows *windows_out)
{
    token_samples_windows(source, OFFLOAD_AUTO, windows_out);
    return true;
}

static const source_ops llmc_ops = {
    .open = llmc_open,
    .close = llmc_close,
    .count = token_samples_count,
    .name = token_samples_name,
    .read = token_samples_read,
    .windows = llmc_windows,
    .locate = token_samples_locate,
    .make_order = llmc_make_order,
    .memory = token_samples_memory,
};

static sluice_status llmc_schema(const void *opaque, stage_schema *schema)
{
    const llmc_source *source = opaque;

    token_samples_schema(source->shards.seq, schema);
    schema_set_state(schema, STATE_OWN_ORDER, "the order of llm.c");
    return SLUICE_OK;
}

static const stage_def stage_llmc = {
    .name = "llmc",
    .summary = "Token files of a program, in the order of llm.c.",
    .gives = "inputs i32 (seq), targets i32 (seq)",
    .kind = STAGE_SOURCE,
    .args_size = sizeof(llmc_args),
    .source =
        &(const source_stage_ops){
            .ops = &llmc_ops,
            .schema = llmc_schema,
        },
};

sluice_status sli_llmc_dataset(sli_llmc_files *files, const sli_llmc_begin *begin,
                               sluice_dataset **dataset_out)
{
    const llmc_args args = {files, begin};

    return dataset_begin(&stage_llmc, &args, dataset_out);
}
