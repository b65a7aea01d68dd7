/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pack stage: joins documents, columns of tokens, to windows of one length. This file has the
 * arguments and the columns; the engine makes the windows (collected_turns.c, packed_rows.c).
 */
#include "collected_args.h"

#include <inttypes.h>
#include <string.h>

#include "operators/array/array_values.h"
#include "stage.h"
#include "status_int.h"

/* Returns the largest value of the argument pad for tokens of this type. */
static uint64_t largest(sluice_dtype dtype)
{
    switch (dtype) {
    case SLUICE_U8:
        return UINT8_MAX;
    case SLUICE_I8:
        return INT8_MAX;
    case SLUICE_I16:
        return INT16_MAX;
    case SLUICE_U16:
        return UINT16_MAX;
    case SLUICE_I32:
        return INT32_MAX;
    default:
        return UINT32_MAX;
    }
}

/* Checks the column of documents, and the schema before the stage. */
static sluice_status check_documents(const pack_windows_args *args, const stage_schema *schema,
                                     int column)
{
    const sluice_column *type = &schema->columns[column];

    if (column == schema->image || schema->infos[column].role != ROLE_PLAIN ||
        !array_is_integer(type->dtype) || type->rank != 1) {
        return sli_fail(
            SLUICE_E_INVALID,
            "pack: %s is %s with %u dimensions, and must be a plain column of integers with "
            "one dimension, the tokens of a document",
            type->name, sluice_dtype_name(type->dtype), type->rank);
    }
    if (type->shape[0] > INT32_MAX) {
        return sli_fail(SLUICE_E_INVALID,
                        "pack: documents of %s have up to %" PRIu64 " tokens; positions in them "
                        "are i32",
                        type->name, type->shape[0]);
    }
    if (args->pad > largest(type->dtype)) {
        return sli_fail(SLUICE_E_INVALID, "pack: pad=%" PRIu64 " must be of type %s, that of %s",
                        args->pad, sluice_dtype_name(type->dtype), type->name);
    }
    if (strcmp(type->name, "position") == 0 || strcmp(type->name, "document") == 0) {
        return sli_fail(SLUICE_E_INVALID,
                        "pack: the column of documents is called %s, which is the name of a column "
                        "that pack adds; rename it",
                        type->name);
    }
    return schema->buffer_count + 3 <= SCHEMA_MAX_BUFFERS
               ? SLUICE_OK
               : sli_fail(SLUICE_E_INVALID, "pack: too many maps and array stages before it");
}

static sluice_status pack_infer(const void *opaque, stage_schema *schema)
{
    const pack_windows_args *args = opaque;
    const int column = schema_find(schema, args->column);
    sluice_column tokens;
    sluice_status st;

    if (column < 0) {
        return schema_no_column(schema, "pack", args->column);
    }
    st = check_documents(args, schema, column);
    if (st != SLUICE_OK) {
        return st;
    }
    tokens = schema->columns[column];
    tokens.shape[0] = args->seq;
    schema->image = -1;
    schema->column_count = 3;
    schema->columns[0] = tokens;
    schema->columns[1] = (sluice_column){.name = "position", .dtype = SLUICE_I32, .rank = 1};
    schema->columns[1].shape[0] = args->seq;
    schema->columns[2] = (sluice_column){.name = "document", .dtype = SLUICE_I32, .rank = 1};
    schema->columns[2].shape[0] = args->seq;
    for (uint32_t i = 0; i < 3; i++) {
        schema->infos[i] = (column_info){.buffer = schema->buffer_count++};
    }
    return SLUICE_OK;
}

static const stage_param pack_params[] = {
    PARAM_(pack_windows_args, column, PARAM_TEXT, NULL, 0, 0, NULL,
           "ragged column of integers; a sample is a document, NAME_length its length"),
    PARAM_(pack_windows_args, seq, PARAM_COUNT, NULL, 1, 16777216, NULL, "tokens in a window"),
    PARAM_(pack_windows_args, split, PARAM_BOOL, "true", 0, 0, NULL,
           "a document that does not fit is continued in the next window; false: it begins there"),
    PARAM_(pack_windows_args, pad, PARAM_COUNT, "0", 0, UINT32_MAX, NULL,
           "padding token, after the last document of a window"),
};

const stage_def stage_pack = {
    .name = "pack",
    .summary = "Joins documents to windows of seq tokens, in the order of the samples.",
    .gives = "the column with seq tokens, position and document, i32 (seq)",
    .details = "A row of a batch is a window, not a sample. A batch then has three columns:\n"
               "  COLUMN     (seq) tokens, in the type of the documents\n"
               "  position   i32 (seq): the token's index in its document, from 0; padding:\n"
               "             0\n"
               "  document   i32 (seq): the number of its document in the window, from 0;\n"
               "             padding: -1\n"
               "The column is plain, of integers, with one dimension; its length is in "
               "NAME_length if there is such a column. seq is at most 16 777 216. A pad "
               "outside the range of the column's type is refused.\n"
               "The windows of a pass depend on its samples and their order alone, not on the "
               "number of workers. The last window of a pass is padded and, with split=false, "
               "each window that the next document does not fit into; a document of more than "
               "seq tokens is then a bad sample. Empty documents are in no window. The sample "
               "number of a row is that of the document of its first token.\n"
               "Every rank reads all documents; windows are dealt to ranks in turns. The "
               "number of rows in a pass is not known beforehand. A resumed run reads the "
               "pass's documents from the first one again, and logs at level info how long "
               "that took.\n"
               "A document that cannot be read ends the run (policy fail), is replaced by the "
               "next sample of the pass (replace), or is left out (zero; replace, if the "
               "source is a stream).\n"
               "Of the later stages only project, drop, rename and batch are allowed. It is "
               "refused after bucket and after a source with an order of its own. A run of "
               "several ranks after a stage shard fails with E_UNSUPPORTED.",
    .kind = STAGE_PACK,
    STAGE_PARAMS(pack_params),
    .args_size = sizeof(pack_windows_args),
    .infer = pack_infer,
};
