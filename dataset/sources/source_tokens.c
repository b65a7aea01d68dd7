/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source `tokens`: windows of seq + 1 tokens from the token files of a language model. `inputs` are
 * the first seq tokens of a window, `targets` the last seq. token_samples.c reads them.
 */
#include "alloc_int.h"
#include "conversion_ops.h"
#include "llmc_shards.h"
#include "source_stage_ops.h"
#include "stage.h"
#include "status_int.h"
#include "token_samples.h"

typedef struct tokens_args {
    const char *files;
    uint64_t seq;
    uint64_t stride; /* 0: replaced by seq when the arguments are checked */
    uint32_t dtype;  /* a value of token_type */
    uint32_t order;
    uint32_t offload; /* an offload_target */
} tokens_args;

/* Values of the argument `order`. */
enum { ORDER_NONE, ORDER_LLMC, ORDER_SEQUENTIAL };

typedef struct tokens_source {
    token_shards shards; /* must be first: see token_samples.h */
    uint32_t order;
    uint32_t offload;
} tokens_source;

static sluice_status tokens_open(const void *opaque, void **source_out)
{
    const tokens_args *args = opaque;
    const token_request request = {.files = args->files,
                                   .seq = args->seq,
                                   .stride = args->stride,
                                   .type = (token_type)args->dtype};
    tokens_source *tokens = sli_calloc(1, sizeof(*tokens));
    sluice_status st;

    if (tokens == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "tokens");
    }
    tokens->order = args->order;
    tokens->offload = args->offload;
    st = token_shards_open(&request, &tokens->shards);
    if (st != SLUICE_OK) {
        sli_free(tokens);
        return st;
    }
    *source_out = tokens;
    return SLUICE_OK;
}

static void tokens_close(void *source)
{
    token_shards_close(&((tokens_source *)source)->shards);
    sli_free(source);
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

static bool tokens_windows(const void *source, source_windows *windows_out)
{
    token_samples_windows(source, ((const tokens_source *)source)->offload, windows_out);
    return true;
}

static const source_ops tokens_ops = {
    .open = tokens_open,
    .close = tokens_close,
    .count = token_samples_count,
    .name = token_samples_name,
    .read = token_samples_read,
    .windows = tokens_windows,
    .locate = token_samples_locate,
    .make_order = tokens_make_order,
    .memory = token_samples_memory,
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

/* Names of the orders in messages, indexed by the argument `order`. */
static const char *const own_orders[] = {NULL, "order=llmc", "order=llmc_sequential"};

static sluice_status tokens_infer(const void *opaque, stage_schema *schema)
{
    const tokens_args *args = opaque;

    token_samples_schema(args->seq, schema);
    schema_set_state(schema, STATE_OWN_ORDER, own_orders[args->order]);
    return SLUICE_OK;
}

static const char *const token_types[] = {"auto", "u16", "u32", NULL};

static const stage_param tokens_params[] = {
    PARAM_(tokens_args, files, PARAM_TEXT, NULL, 0, 0, NULL,
           "files, folders of .bin files and patterns with {000..123} and wildcards, with commas"),
    PARAM_(tokens_args, seq, PARAM_COUNT, NULL, 1, TOKEN_MOST_SEQ, NULL, "tokens of a sample"),
    PARAM_(tokens_args, stride, PARAM_COUNT, "0", 0, 1e15, NULL,
           "distance between the starts of two windows, in tokens; 0: seq"),
    PARAM_(tokens_args, dtype, PARAM_CHOICE, "auto", 0, 0, token_types,
           "auto: as llm.c's header says; u16, u32: files without a header"),
    PARAM_(tokens_args, order, PARAM_CHOICE, "none", 0, 0, token_orders,
           "llmc, llmc_sequential: that of llm.c's data loader, shuffled or not, which is bound to "
           "the batch size and the number of ranks; none: of the files, for shuffle and the like"),
    PARAM_(tokens_args, offload, PARAM_CHOICE, "auto", 0, 0, offload_targets,
           "where inputs and targets are computed from a window; device: the window is copied "
           "once, as stored"),
};

const stage_def stage_tokens = {
    .name = "tokens",
    .summary =
        "Windows of tokens from llm.c's .bin files or files without a header, for language models.",
    .gives = "inputs i32 (seq), targets i32 (seq): the inputs shifted by one token",
    .details = "A sample is a window of seq + 1 tokens of one file: `inputs` has the first seq "
               "tokens, `targets` the last seq, so targets[i] is the token after inputs[i]. "
               "Windows begin at tokens 0, stride, 2 * stride, ... of a file, as long as they "
               "end within it; the rest of the file is not used, and no window spans two "
               "files. Windows are numbered through all files, in the order of the list. They "
               "take no memory. seq is at most 16 777 216.\n"
               "Two formats are read, both little-endian. Files of llm.c (see its "
               "dev/data/data_common.py) have a header of 256 int32, which begins with the "
               "magic number 20240520 and version 1 (GPT-2, 16-bit tokens) or with 20240801 "
               "and version 7 (Llama 3, 32-bit tokens). Plain files have 16 or 32-bit tokens "
               "only.\n"
               "The files are opened at the first use of the dataset, with these errors: "
               "E_CORRUPT another magic number or version, no tokens, a file whose length "
               "contradicts its header; E_INVALID files of different types, dtype u16 or u32 "
               "for a file with a header, no file with seq + 1 tokens; E_IO. The message has "
               "the file.\n"
               "offload=device copies a window to the device once, as the file stores it (u16 "
               "or u32), and GetNext makes both columns of it; host: the workers write them as "
               "i32. auto is device on devices whose GetNext is a kernel (cuda:N), unless a "
               "map or an array stage reads a column, and host elsewhere. The step gets the "
               "same bits. A device that is not possible is an error of opening the run or "
               "channel.\n"
               "order=llmc and llmc_sequential give the same samples in the same rows of the "
               "batches as llm.c's data loader (llmc/dataloader.h) for the same files, batch "
               "size B, tokens T = seq, rank and number of ranks: with should_shuffle = 1 "
               "(llmc) or 0 (llmc_sequential). The batch size is that of the stage batch; rank "
               "and world are those of the run or channel. stride must be seq, no stage of "
               "order may follow, and the seed of the run has no effect. A pass has "
               "floor((tokens - 1) / (world * B * seq)) batches of each file, and every file "
               "must have at least one. A run can be resumed only with the same batch size, "
               "seq and world. It then replays the generator of the shuffle from its seed, "
               "which reads no data.",
    .kind = STAGE_SOURCE,
    STAGE_PARAMS(tokens_params),
    .args_size = sizeof(tokens_args),
    .check = tokens_check,
    .infer = tokens_infer,
    .source =
        &(const source_stage_ops){
            .ops = &tokens_ops,
            .identifies = true,
            .path = "files",
        },
};
