/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tokens: windows of seq + 1 tokens of the files of a language model's data. `inputs` are the first
 * seq of them, `targets` the last. A window is read by one pread().
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include <sluice/tokens.h>

#include "alloc_int.h"
#include "llmc_shards.h"
#include "stage.h"
#include "status_int.h"
#include "struct_size_int.h"
#include "token_shards.h"

typedef struct tokens_args {
    const char *files;
    uint64_t seq;
    uint64_t stride; /* 0: seq, until the arguments are checked */
    uint32_t dtype;  /* a token_type */
    uint32_t order;
} tokens_args;

enum { COLUMN_INPUTS, COLUMN_TARGETS };

/* The choices of `order`. */
enum { ORDER_NONE, ORDER_LLMC, ORDER_SEQUENTIAL };

typedef struct tokens_source {
    token_shards shards;
    uint32_t order;
} tokens_source;

static sluice_status tokens_open(const void *opaque, void **source_out)
{
    const tokens_args *args = opaque;
    const token_request request = {args->files, args->seq, args->stride, (token_type)args->dtype};
    tokens_source *tokens = sli_calloc(1, sizeof(*tokens));
    sluice_status st;

    if (tokens == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "tokens");
    }
    tokens->order = args->order;
    st = token_shards_open(&request, &tokens->shards);
    if (st != SLUICE_OK) {
        sli_free(tokens);
        return st;
    }
    *source_out = tokens;
    return SLUICE_OK;
}

static const token_shards *shards_of(const void *source)
{
    return &((const tokens_source *)source)->shards;
}

static void tokens_close(void *source)
{
    token_shards_close(&((tokens_source *)source)->shards);
    sli_free(source);
}

static uint64_t tokens_count(const void *source)
{
    return shards_of(source)->windows;
}

static uint64_t tokens_memory(const void *source)
{
    return token_shards_memory(shards_of(source));
}

/* "FILE:FIRST+SEQ", in tokens. */
static void tokens_name(const void *source, uint64_t index, char *text, size_t size)
{
    const token_shards *shards = shards_of(source);
    const token_window window = token_shards_find(shards, index);
    const char *slash = strrchr(window.shard->path, '/');

    snprintf(text, size, "%s:%llu+%llu", slash != NULL ? slash + 1 : window.shard->path,
             (unsigned long long)window.at, (unsigned long long)shards->seq);
}

static bool tokens_locate(const void *source, uint64_t index, sample_location *location_out)
{
    const token_shards *shards = shards_of(source);
    const token_window window = token_shards_find(shards, index);

    location_out->fd = -1;
    location_out->held = &window.shard->file;
    location_out->folder_fd = AT_FDCWD;
    location_out->path = window.shard->path;
    location_out->offset = window.shard->data_at + window.at * shards->token_bytes;
    location_out->size = token_window_bytes(shards);
    return true;
}

/* ---- reading -----------------------------------------------------------------------------------
 */

static void widen(const uint16_t *tokens, size_t count, int32_t *out)
{
    for (size_t i = 0; i < count; i++) {
        out[i] = tokens[i];
    }
}

static sluice_status check_tokens(const token_shards *shards, const token_window *window,
                                  const uint32_t *tokens)
{
    uint32_t bits = 0;

    for (uint64_t i = 0; i <= shards->seq; i++) {
        bits |= tokens[i];
    }
    return bits <= INT32_MAX ? SLUICE_OK
                             : sli_fail(SLUICE_E_CORRUPT,
                                        "%s has a token above %d in this window: is it a file of "
                                        "32-bit tokens?",
                                        window->shard->path, INT32_MAX);
}

/* Writes `count` tokens from the first on as i32. */
static void write_column(const token_shards *shards, const uint8_t *first, void *column)
{
    const size_t count = (size_t)shards->seq;

    if (column == NULL) {
        return;
    }
    if (shards->token_bytes == 2) {
        widen((const uint16_t *)(const void *)first, count, column);
    } else {
        memcpy(column, first, count * sizeof(int32_t));
    }
}

static sluice_status tokens_read(const void *source, uint64_t index, sample_io *io,
                                 void *const *row, sample_data *data_out)
{
    const token_shards *shards = shards_of(source);
    const token_window window = token_shards_find(shards, index);
    const size_t bytes = token_window_bytes(shards);
    sluice_status st = image_buffer_reserve(&io->bytes, bytes);

    (void)data_out;
    if (st == SLUICE_OK) {
        st = token_shards_read(shards, &window, io->interrupt, io->bytes.data);
    }
    if (st == SLUICE_OK && shards->token_bytes == 4) {
        st = check_tokens(shards, &window, (const uint32_t *)(const void *)io->bytes.data);
    }
    if (st != SLUICE_OK) {
        return st;
    }
    write_column(shards, io->bytes.data, row[COLUMN_INPUTS]);
    write_column(shards, io->bytes.data + shards->token_bytes, row[COLUMN_TARGETS]);
    io->bytes_read += bytes;
    return SLUICE_OK;
}

/* ---- the order of llm.c ------------------------------------------------------------------------
 */

static sluice_status tokens_make_order(const void *source, const source_order_bounds *bounds,
                                       source_order **order_out)
{
    const tokens_source *tokens = source;
    const llmc_bounds llmc = {bounds->batch, bounds->rank, bounds->world,
                              tokens->order == ORDER_LLMC};

    *order_out = NULL;
    return tokens->order == ORDER_NONE
               ? SLUICE_OK
               : llmc_order_of_shards(&tokens->shards, &llmc, NULL, order_out);
}

static const source_ops tokens_ops = {
    .open = tokens_open,
    .close = tokens_close,
    .count = tokens_count,
    .name = tokens_name,
    .read = tokens_read,
    .locate = tokens_locate,
    .make_order = tokens_make_order,
    .memory = tokens_memory,
};

/* ---- the stage ---------------------------------------------------------------------------------
 */

static const char *const token_orders[] = {"none", "llmc", "llmc_sequential", NULL};

static sluice_status tokens_check(void *opaque)
{
    tokens_args *args = opaque;

    args->stride = args->stride != 0 ? args->stride : args->seq;
    if (args->order != ORDER_NONE && args->stride != args->seq) {
        return sli_fail(SLUICE_E_INVALID,
                        "tokens: stride=%llu: order=%s takes windows side by side; leave stride "
                        "out",
                        (unsigned long long)args->stride, token_orders[args->order]);
    }
    return SLUICE_OK;
}

/* How messages name the order; by its number. */
static const char *const own_orders[] = {NULL, "order=llmc", "order=llmc_sequential"};

static sluice_status tokens_infer(const void *opaque, stage_schema *schema)
{
    const tokens_args *args = opaque;

    schema->column_count = 2;
    schema->columns[COLUMN_INPUTS] =
        (sluice_column){.name = "inputs", .dtype = SLUICE_I32, .rank = 1, .shape = {args->seq}};
    schema->columns[COLUMN_TARGETS] =
        (sluice_column){.name = "targets", .dtype = SLUICE_I32, .rank = 1, .shape = {args->seq}};
    schema->image = -1;
    schema->own_order = own_orders[args->order];
    return SLUICE_OK;
}

static const char *const token_types[] = {"auto", "u16", "u32", NULL};

static const stage_param tokens_params[] = {
    PARAM_(tokens_args, files, PARAM_TEXT, NULL, 0, 0, NULL,
           "files, folders of .bin files and patterns with {000..123} and wildcards, with commas"),
    PARAM_(tokens_args, seq, PARAM_COUNT, NULL, 1, TOKEN_MOST_SEQ, NULL, "tokens of a sample"),
    PARAM_(tokens_args, stride, PARAM_COUNT, "0", 0, 1e15, NULL,
           "tokens from a window's beginning to the next one's; 0: seq"),
    PARAM_(tokens_args, dtype, PARAM_CHOICE, "auto", 0, 0, token_types,
           "auto: as llm.c's header says; u16, u32: files without a header"),
    PARAM_(tokens_args, order, PARAM_CHOICE, "none", 0, 0, token_orders,
           "llmc, llmc_sequential: that of llm.c's data loader, shuffled or not, which is bound to "
           "the batch size and the number of ranks; none: of the files, for shuffle and the like"),
};

const stage_def stage_tokens = {
    .name = "tokens",
    .summary = "Windows of tokens in llm.c's .bin files or plain ones, for language models.",
    .gives = "inputs i32 (seq), targets i32 (seq): the inputs shifted by one token",
    .kind = STAGE_SOURCE,
    STAGE_PARAMS(tokens_params),
    .args_size = sizeof(tokens_args),
    .check = tokens_check,
    .infer = tokens_infer,
    .identifies = true,
    .path = "files",
    .source = &tokens_ops,
};

static const sli_struct config_struct = SLI_STRUCT(sluice_tokens_config, order);

void sluice_tokens_config_init_size(sluice_tokens_config *config, size_t size)
{
    sli_struct_init(config, size);
}

sluice_status sluice_dataset_tokens(const sluice_tokens_config *config,
                                    sluice_dataset **dataset_out)
{
    sluice_tokens_config own;
    tokens_args args = {0};
    sluice_status st = sli_struct_read(&config_struct, "sluice_dataset_tokens", config, &own);

    if (st != SLUICE_OK) {
        return st;
    }
    args.files = own.files;
    args.seq = own.seq;
    args.stride = own.stride;
    st = stage_arg_choose_or_default(&stage_tokens, "dtype", own.dtype, &args.dtype);
    if (st == SLUICE_OK) {
        st = stage_arg_choose_or_default(&stage_tokens, "order", own.order, &args.order);
    }
    return st == SLUICE_OK ? dataset_begin(&stage_tokens, &args, dataset_out) : st;
}
