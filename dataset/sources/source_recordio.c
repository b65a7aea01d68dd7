/* SPDX-License-Identifier: Apache-2.0 */
/* Source `recordio`: image records of MXNet, in any order by an index of each file. */
#include "record_source.h"
#include "recordio_format.h"

static sluice_status recordio_open(const void *args, void **source_out)
{
    return record_source_open(&record_recordio, args, source_out);
}

static const source_ops recordio_ops = {.open = recordio_open, RECORD_SOURCE_OPS};

static sluice_status recordio_infer(const void *args, stage_schema *schema)
{
    return record_source_infer("recordio", args, schema);
}

static const stage_param recordio_params[] = {
    RECORD_SOURCE_PARAMS("files, folders of *.rec, patterns with {000..123} and wildcards",
                         "image:image@image,label:label@f32x5"),
};

const stage_def stage_recordio = {
    .name = "recordio",
    .summary = "Images with labels in RecordIO files of MXNet.",
    .gives = "image and label, or a column for each of fields=, and NAME_length of [N]",
    .details =
        "Records have the values image, label (f32, one or several), id, id2 (u64), and record, "
        "all bytes. Without fields= there are image and label, and the first 100 records of the "
        "first file decide on the type: i32 if the first label of each is a whole number, else "
        "f32; f32xN if each has N of them, f32[N] if their number varies. label:label@f32 is "
        "f32 in any case.\n"
        "NAME.idx beside NAME.rec saves the scan. Its offsets must be those of all records, from "
        "the first to the last, in ascending order; otherwise a warning says what is wrong, and "
        "the file is scanned. A record that does not begin at its offset is a bad sample.\n"
        "Of the list NAME.lst beside NAME.rec, the line with the id of a record has the values "
        "path, a text, and list_label, f32, as ImageRecordIter has them by "
        "path_imglist.\n" RECORD_SOURCE_KINDS,
    .elsewhere = "ImageRecordIter ImageRecordDataset ImageDetRecordIter MXNetReader "
                 "MXIndexedRecordIO",
    .kind = STAGE_SOURCE,
    STAGE_PARAMS(recordio_params),
    .args_size = sizeof(record_args),
    .infer = recordio_infer,
    .source = &(const source_stage_ops){.ops = &recordio_ops,
                                        .schema = record_source_schema,
                                        .opens_early = record_source_opens_early},
};
