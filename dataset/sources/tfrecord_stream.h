/* SPDX-License-Identifier: Apache-2.0 */
/* Source `tfrecord` for compressed files and pipes, which are read in sequence. */
#ifndef SLUICE_TFRECORD_STREAM_H
#define SLUICE_TFRECORD_STREAM_H

#include "record_set.h"
#include "source.h"

/* Determines whether one of the files is compressed, or a pipe. Returns the errors of
 * file_list_make(). */
sluice_status tfrecord_is_stream(const record_args *args, bool *is_stream_out);

/* Its arguments have fields=, else opening fails. */
extern const source_ops tfrecord_stream_ops;

#endif
