/* SPDX-License-Identifier: Apache-2.0 */
#include "web_array.h"

#include <stdio.h>
#include <string.h>

#include "npy_header.h"
#include "status_int.h"
#include "zero_padding_int.h"

/* Reads the header of an array. Fails unless header and data fill the member exactly. */
static sluice_status read_npy_header(const fields_shard *shard, int fd, const member_place *place,
                                     sample_io *io, npy_header *header)
{
    const size_t head = place->size < NPY_HEAD ? (size_t)place->size : NPY_HEAD;
    /* io->item.bytes is otherwise used by streams only; io->bytes holds the image. */
    sluice_status st = image_buffer_reserve(&io->item.bytes, NPY_HEAD);

    if (st == SLUICE_OK) {
        st = web_shard_read(&shard->file, fd, place->offset, io->item.bytes.data, head);
    }
    if (st == SLUICE_OK) {
        st = npy_header_parse(io->item.bytes.data, head, header);
    }
    if (st == SLUICE_OK && header->data_at + header->data_bytes != place->size) {
        st = sli_fail(SLUICE_E_CORRUPT, "it has %llu bytes, and %llu by its header",
                      (unsigned long long)place->size,
                      (unsigned long long)(header->data_at + header->data_bytes));
    }
    return st;
}

/* Checks the array of the first sample, which determines dtype and shape of its column. */
static sluice_status check_type(const npy_header *header, uint32_t most)
{
    if (header->rank > SLUICE_MAX_RANK) {
        return sli_fail(SLUICE_E_UNSUPPORTED, "it has %u dimensions, more than %d", header->rank,
                        SLUICE_MAX_RANK);
    }
    if (most > 0 && header->rank == 0) {
        return sli_fail(SLUICE_E_UNSUPPORTED, "it is a single number, without rows; leave [%u] out",
                        most);
    }
    if (header->row_bytes == 0 || (most == 0 && header->data_bytes == 0)) {
        return sli_fail(SLUICE_E_UNSUPPORTED,
                        "it has no elements, so a column of its shape has none; NAME:FIELD[N] "
                        "reads arrays of 0 to N rows");
    }
    if (most > 0 && header->row_bytes > WEB_MOST_ROW) {
        return sli_fail(SLUICE_E_UNSUPPORTED,
                        "a row of it has %llu bytes, and must have at most %d",
                        (unsigned long long)header->row_bytes, WEB_MOST_ROW);
    }
    return most * header->row_bytes <= WEB_MOST_ROW
               ? SLUICE_OK
               : sli_fail(SLUICE_E_UNSUPPORTED,
                          "%u rows of %llu bytes are more than %d bytes; [N] must be at most %llu",
                          most, (unsigned long long)header->row_bytes, WEB_MOST_ROW,
                          (unsigned long long)(WEB_MOST_ROW / header->row_bytes));
}

sluice_status web_array_type(const fields_shard *shard, int fd, const member_place *place,
                             uint32_t most, sample_io *io, sluice_column *type_out)
{
    npy_header header;
    sluice_status st = read_npy_header(shard, fd, place, io, &header);

    if (st == SLUICE_OK) {
        st = check_type(&header, most);
    }
    if (st == SLUICE_OK) {
        *type_out = (sluice_column){.dtype = header.dtype, .rank = header.rank};
        memcpy(type_out->shape, header.shape, header.rank * sizeof(header.shape[0]));
    }
    return st;
}

/* Writes a type and a shape as "f32 (2, 3)", for messages. `most` > 0: the first length varies. */
static void write_type(sluice_dtype dtype, uint32_t rank, const uint64_t *shape, uint32_t most,
                       char *text, size_t size)
{
    size_t at = (size_t)snprintf(text, size, "%s (", sluice_dtype_name(dtype));

    for (uint32_t i = 0; i < rank && at < size; i++) {
        at += (size_t)(i == 0 && most > 0
                           ? snprintf(text + at, size - at, "0 to %u", most)
                           : snprintf(text + at, size - at, "%s%llu", i > 0 ? ", " : "",
                                      (unsigned long long)shape[i]));
    }
    if (at < size) {
        snprintf(text + at, size - at, ")");
    }
}

/* Fails unless the array has the type and shape of its column. */
static sluice_status check_array(const npy_header *header, const sluice_column *type, uint32_t most)
{
    const uint32_t fixed = most > 0 ? 1 : 0; /* the first dimension whose length is fixed */
    char is[200];
    char must_be[200];

    if (header->dtype == type->dtype && header->rank == type->rank &&
        memcmp(&header->shape[fixed], &type->shape[fixed],
               (type->rank - fixed) * sizeof(header->shape[0])) == 0 &&
        (most == 0 || header->shape[0] <= most)) {
        return SLUICE_OK;
    }
    write_type(header->dtype, header->rank, header->shape, 0, is, sizeof(is));
    write_type(type->dtype, type->rank, type->shape, most, must_be, sizeof(must_be));
    return sli_fail(SLUICE_E_CORRUPT, "the array is %s, and must be %s%s", is, must_be,
                    most > 0 ? " by [N] and the array of the first sample"
                             : ", as that of the first sample; NAME:FIELD[N] reads arrays of 0 "
                               "to N rows");
}

sluice_status web_array_read(const fields_shard *shard, int fd, const member_place *place,
                             const sluice_column *type, uint32_t most, sample_io *io, uint8_t *to,
                             int32_t *length)
{
    npy_header header;
    uint8_t *elements = to;
    sluice_status st = read_npy_header(shard, fd, place, io, &header);

    if (st == SLUICE_OK) {
        st = check_array(&header, type, most);
    }
    if (st == SLUICE_OK && length != NULL) {
        *length = (int32_t)header.shape[0];
    }
    if (st != SLUICE_OK || to == NULL) {
        return st;
    }
    if (header.is_fortran) {
        st = image_buffer_reserve(&io->item.bytes, (size_t)header.data_bytes);
        elements = io->item.bytes.data;
    }
    if (st == SLUICE_OK) {
        st = web_shard_read(&shard->file, fd, place->offset + header.data_at, elements,
                            (size_t)header.data_bytes);
    }
    if (st == SLUICE_OK && header.is_fortran) {
        npy_to_c_order(&header, elements, to);
    }
    if (st == SLUICE_OK) {
        npy_swap(&header, to, header.data_bytes);
    }
    if (most > 0) {
        sli_zero_padding(to + header.data_bytes,
                         (size_t)(most * header.row_bytes - header.data_bytes));
    }
    return st;
}

sluice_status web_array_check_rows(const fields_shard *shard, int fd, const member_place *own_place,
                                   const member_place *other_place, const char *other,
                                   sample_io *io)
{
    npy_header own;
    npy_header others;
    sluice_status st = read_npy_header(shard, fd, own_place, io, &own);

    if (st == SLUICE_OK) {
        st = read_npy_header(shard, fd, other_place, io, &others);
    }
    return st != SLUICE_OK || own.shape[0] == others.shape[0]
               ? st
               : sli_fail(SLUICE_E_CORRUPT, "it has %llu rows and must have %llu, as %s has",
                          (unsigned long long)own.shape[0], (unsigned long long)others.shape[0],
                          other);
}
