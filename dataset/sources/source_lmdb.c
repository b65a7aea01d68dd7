/* SPDX-License-Identifier: Apache-2.0 */
/* Source `lmdb`: the values of LMDB files, in any order by an index of each file. */
#include "lmdb_format.h"
#include "record_source.h"

static sluice_status lmdb_source_open(const void *args, void **source_out)
{
    return record_source_open(&record_lmdb, args, source_out);
}

static const source_ops lmdb_ops = {.open = lmdb_source_open, RECORD_SOURCE_OPS};

static sluice_status lmdb_infer(const void *args, stage_schema *schema)
{
    return record_source_infer("lmdb", args, schema);
}

static const stage_param lmdb_params[] = {
    RECORD_SOURCE_PARAMS("folders with data.mdb, files, patterns with {000..123} and wildcards",
                         "image:image@image,label:label@i32"),
};

const stage_def stage_lmdb = {
    .name = "lmdb",
    .summary = "Samples in LMDB files: Datums of Caffe, images or other bytes.",
    .gives = "a column for each of fields=, and NAME_length of [N]",
    .details =
        "A sample is a value of the main database, in the order of the keys. A Datum has the "
        "values "
        "image, label, data, float_data, channels, height, width and encoded. Its image is a file, "
        "or pixels u8 (H, W, C), whose channels are exchanged, as Caffe stores BGR; FEATURE pixels "
        "keeps them as they are stored. The FEATURE of other bytes is value, as in "
        "fields=image:value@image; key is the key of any value.\n"
        "Without fields= the first 100 values of the first file decide: files of images become "
        "image; Datums become image, or data of float_data, and label. Pixels become "
        "u8xHxWxC, by the size of the first image, which all must have.\n"
        "The file is read without LMDB's library and without its lock, so it must not be written "
        "to "
        "meanwhile. It must be of LMDB 0.9, on a 64-bit little-endian machine. Named databases, "
        "and "
        "keys with several values, are refused.\n" RECORD_SOURCE_KINDS,
    .elsewhere = "CaffeReader",
    .kind = STAGE_SOURCE,
    STAGE_PARAMS(lmdb_params),
    .args_size = sizeof(record_args),
    .infer = lmdb_infer,
    .source = &(const source_stage_ops){.ops = &lmdb_ops,
                                        .schema = record_source_schema,
                                        .opens_early = record_source_opens_early},
};
