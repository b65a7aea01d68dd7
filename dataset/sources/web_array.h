/* SPDX-License-Identifier: Apache-2.0 */
/* Members of webdataset that are NumPy arrays (web_fields.h). */
#ifndef SLUICE_WEB_ARRAY_H
#define SLUICE_WEB_ARRAY_H

#include "source.h"
#include "web_fields.h"
#include "web_fields_shard.h"

/* Determines dtype and shape of a column from the array of the first sample, of at most `most` rows
 * (0: as many as that array). E_UNSUPPORTED: no column can have them; E_CORRUPT, E_IO. */
sluice_status web_array_type(const fields_shard *shard, int fd, const member_place *place,
                             uint32_t most, sample_io *io, sluice_column *type_out);

/* Reads an array into `to`, zero-padded, and the number of its rows into *length. Both may be
 * NULL. E_CORRUPT: it has another type or shape than its column. */
sluice_status web_array_read(const fields_shard *shard, int fd, const member_place *place,
                             const sluice_column *type, uint32_t most, sample_io *io, uint8_t *to,
                             int32_t *length);

/* Fails unless an array has as many rows as another one, which is called `other` in the error. */
sluice_status web_array_check_rows(const fields_shard *shard, int fd, const member_place *own_place,
                                   const member_place *other_place, const char *other,
                                   sample_io *io);

#endif
