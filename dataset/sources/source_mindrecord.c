/* SPDX-License-Identifier: Apache-2.0 */
/* Source `mindrecord`: rows of MindRecord files of MindSpore, in any order. */
#include "mindrecord_format.h"
#include "record_source.h"

static sluice_status mindrecord_open(const void *args, void **source_out)
{
    return record_source_open(&record_mindrecord, args, source_out);
}

static const source_ops mindrecord_ops = {.open = mindrecord_open, RECORD_SOURCE_OPS};

static sluice_status mindrecord_infer(const void *args, stage_schema *schema)
{
    return record_source_infer("mindrecord", args, schema);
}

static const stage_param mindrecord_params[] = {
    RECORD_SOURCE_PARAMS(
        "files without their .db, folders of *.mindrecord, patterns with {0..3} and wildcards; a "
        "file stands for all files of its dataset",
        "image:data@image,label:label@i32,boxes:bbox@boxes[100],w:w@f32x2"),
};

const stage_def stage_mindrecord = {
    .name = "mindrecord",
    .summary = "Samples in MindRecord files, version 3.0.",
    .gives = "a column for each of fields=, and NAME_length of [N]",
    .details =
        "Rows are read in any order, by an index that is made in one scan of the lengths of rows; "
        "FILE.db is not read. Without fields= the schema and the first 100 rows of the first file "
        "decide, or, for files that `sluice convert` has written, what they say of their columns: "
        "a number becomes one of its type, but a label an i32; an array one of its shape, TxDxD, "
        "or T[N]xD if its length varies; bytes become image if they begin as the file of an "
        "image, else bytes[N], and strings text[N]. The first image is `image`.\n"
        "Encrypted files and other versions are refused.\n" RECORD_SOURCE_KINDS,
    .elsewhere = "MindDataset",
    .kind = STAGE_SOURCE,
    STAGE_PARAMS(mindrecord_params),
    .args_size = sizeof(record_args),
    .infer = mindrecord_infer,
    .source = &(const source_stage_ops){.ops = &mindrecord_ops,
                                        .schema = record_source_schema,
                                        .opens_early = record_source_opens_early},
};
