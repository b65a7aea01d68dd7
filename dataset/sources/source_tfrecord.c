/* SPDX-License-Identifier: Apache-2.0 */
/* Source `tfrecord`: records of TensorFlow, in any order by an index of each file. */
#include "record_source.h"
#include "tfrecord_format.h"

static sluice_status tfrecord_open(const void *args, void **source_out)
{
    return record_source_open(&record_tfrecord, args, source_out);
}

static const source_ops tfrecord_ops = {.open = tfrecord_open, RECORD_SOURCE_OPS};

static const stage_param tfrecord_params[] = {
    RECORD_SOURCE_PARAMS("files, folders of *.tfrecord, patterns with {000..123} and wildcards",
                         "image:image/encoded@image,w:w@f32[2]"),
};

const stage_def stage_tfrecord = {
    .name = "tfrecord",
    .summary = "Samples in TFRecord files, each a tf.train.Example or SequenceExample.",
    .gives = "a column for each of fields=, and NAME_length of [N]",
    .details =
        "Samples are read in any order, by an index that is made in one scan. The checksum of "
        "each record is compared. Without fields= the first 100 records of the first file decide: "
        "one integer becomes i64, or i32 if it is named label, one float f32, k of them i64xk or "
        "f32xk, a varying number i64[N] or f32[N]; byte strings become image if they begin as the "
        "file of an image, text[N] if they are UTF-8, else bytes[N]. A column gets the last part "
        "of a feature's name, and the first image is `image`.\n"
        "If a record has a feature twice the last one counts, as in TensorFlow. Of a feature list "
        "of a SequenceExample the values are those of all steps, one after another. Compressed "
        "files are refused.\n" RECORD_SOURCE_KINDS,
    .elsewhere = "TFRecordDataset TFRecordReader TFRecordPipeline",
    .kind = STAGE_SOURCE,
    STAGE_PARAMS(tfrecord_params),
    .args_size = sizeof(record_args),
    .source = &(const source_stage_ops){.ops = &tfrecord_ops, .schema = record_source_schema},
};
