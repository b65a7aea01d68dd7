/* SPDX-License-Identifier: Apache-2.0 */
#include "datum.h"

#include <string.h>

#include "protobuf_walk.h"
#include "status_int.h"

/* Field numbers. */
enum {
    FIELD_CHANNELS = 1,
    FIELD_HEIGHT = 2,
    FIELD_WIDTH = 3,
    FIELD_DATA = 4,
    FIELD_LABEL = 5,
    FIELD_FLOATS = 6,
    FIELD_ENCODED = 7
};

/* Stores an int32, which protobuf extends to 64 bits. */
static sluice_status keep_number(const proto_field *field, int32_t *to)
{
    const int64_t value = (int64_t)field->varint;

    if (field->wire != PROTO_VARINT || value < INT32_MIN || value > INT32_MAX) {
        return sli_fail(SLUICE_E_CORRUPT, "field %u of the Datum must be a whole number of 32 bits",
                        field->number);
    }
    *to = (int32_t)value;
    return SLUICE_OK;
}

static sluice_status keep_floats(const proto_field *field, datum *to)
{
    if ((field->wire != PROTO_FIXED32 && field->wire != PROTO_BYTES) || field->size % 4 != 0) {
        return sli_fail(SLUICE_E_CORRUPT, "float_data of the Datum must be floats");
    }
    to->float_count += field->size / 4;
    return SLUICE_OK;
}

static sluice_status keep_field(const proto_field *field, datum *to)
{
    switch (field->number) {
    case FIELD_CHANNELS:
        return keep_number(field, &to->channels);
    case FIELD_HEIGHT:
        return keep_number(field, &to->height);
    case FIELD_WIDTH:
        return keep_number(field, &to->width);
    case FIELD_LABEL:
        to->has_label = true;
        return keep_number(field, &to->label);
    case FIELD_DATA:
        if (field->wire != PROTO_BYTES) {
            return sli_fail(SLUICE_E_CORRUPT, "data of the Datum must be bytes");
        }
        to->data = field->bytes;
        to->data_size = field->size;
        return SLUICE_OK;
    case FIELD_FLOATS:
        return keep_floats(field, to);
    case FIELD_ENCODED:
        if (field->wire != PROTO_VARINT) {
            return sli_fail(SLUICE_E_CORRUPT, "encoded of the Datum must be 0 or 1");
        }
        to->encoded = field->varint != 0 ? 1 : 0;
        return SLUICE_OK;
    default:
        return SLUICE_OK;
    }
}

sluice_status datum_parse(const uint8_t *bytes, size_t size, datum *datum_out)
{
    proto_walk walk = proto_begin(bytes, size);
    proto_field field;
    datum result = {.channels = 0};

    while (proto_next(&walk, &field)) {
        const sluice_status st = keep_field(&field, &result);

        if (st != SLUICE_OK) {
            return st;
        }
    }
    if (walk.is_bad) {
        return sli_fail(SLUICE_E_CORRUPT,
                        "it is not a Datum: no field begins or ends at its byte "
                        "%zu",
                        (size_t)(walk.at - bytes));
    }
    *datum_out = result;
    return SLUICE_OK;
}

void datum_floats(const uint8_t *bytes, size_t size, uint8_t *to)
{
    proto_walk walk = proto_begin(bytes, size);
    proto_field field;

    while (proto_next(&walk, &field)) {
        if (field.number == FIELD_FLOATS && field.size > 0) {
            memcpy(to, field.bytes, field.size);
            to += field.size;
        }
    }
}

sluice_status datum_check_pixels(const datum *image)
{
    const uint64_t channels = (uint64_t)image->channels;

    if (image->channels != 1 && image->channels != 3 && image->channels != 4) {
        return sli_fail(SLUICE_E_UNSUPPORTED,
                        "the Datum has an image of %d channels, which must be 1, 3 or 4",
                        image->channels);
    }
    if (image->height <= 0 || image->width <= 0 || image->data_size % channels != 0 ||
        image->data_size / channels != (uint64_t)image->height * (uint64_t)image->width) {
        return sli_fail(SLUICE_E_CORRUPT,
                        "the Datum has %zu bytes of data, which do not make an image of %d x %d "
                        "with %d channels",
                        image->data_size, image->width, image->height, image->channels);
    }
    return SLUICE_OK;
}

void datum_pixels(const datum *image, bool swaps, uint8_t *to)
{
    const size_t channels = (size_t)image->channels;
    const size_t plane = image->data_size / channels;

    for (size_t c = 0; c < channels; c++) {
        const size_t stored = swaps && channels >= 3 && c < 3 ? 2 - c : c;
        const uint8_t *from = image->data + stored * plane;

        for (size_t i = 0; i < plane; i++) {
            to[channels * i + c] = from[i];
        }
    }
}
