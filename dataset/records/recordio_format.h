/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RecordIO files of image records (recordio_file.h) as record files. The values of a record:
 *
 *     image    the file of the image; missing if it has no bytes
 *     label    f32, one or several
 *     id, id2  u64
 *     record   all bytes of the record, of any kind
 *     path, list_label   text and f32, of the line with its id in NAME.lst (recordio_list.h)
 *
 * The index NAME.idx beside NAME.rec, as mxnet.recordio.MXIndexedRecordIO writes it, is a text with
 * a line `key<TAB>offset` for each record.
 */
#ifndef SLUICE_RECORDIO_FORMAT_H
#define SLUICE_RECORDIO_FORMAT_H

#include "record_format.h"

extern const record_format record_recordio;

#endif
