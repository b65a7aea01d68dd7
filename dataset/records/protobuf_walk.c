/* SPDX-License-Identifier: Apache-2.0 */
#include "protobuf_walk.h"

/* Limit on groups within groups. Nothing that is written today has groups. */
enum { MOST_DEPTH = 64 };

bool proto_varint(const uint8_t **at, const uint8_t *end, uint64_t *number_out)
{
    const uint8_t *byte = *at;
    uint64_t number = 0;

    for (unsigned shift = 0; shift < 70 && byte < end; shift += 7) {
        number |= (uint64_t)(*byte & 127) << shift;
        if ((*byte++ & 128) == 0) {
            *at = byte;
            *number_out = number;
            return true;
        }
    }
    return false;
}

/* Takes `size` bytes. False: there are fewer. */
static bool take_bytes(proto_walk *walk, uint64_t size, proto_field *field)
{
    if (size > (uint64_t)(walk->end - walk->at)) {
        return false;
    }
    field->bytes = walk->at;
    field->size = (size_t)size;
    walk->at += size;
    return true;
}

/* Reads a field, also the marks of a group. */
static bool read_field(proto_walk *walk, proto_field *field)
{
    uint64_t tag;
    uint64_t size;

    *field = (proto_field){.number = 0};
    if (!proto_varint(&walk->at, walk->end, &tag) || tag >> 3 == 0 || tag >> 3 >= 1 << 29) {
        return false;
    }
    field->number = (uint32_t)(tag >> 3);
    field->wire = (uint32_t)(tag & 7);
    switch (field->wire) {
    case PROTO_VARINT:
        return proto_varint(&walk->at, walk->end, &field->varint);
    case PROTO_FIXED64:
        return take_bytes(walk, 8, field);
    case PROTO_FIXED32:
        return take_bytes(walk, 4, field);
    case PROTO_BYTES:
        return proto_varint(&walk->at, walk->end, &size) && take_bytes(walk, size, field);
    default: /* types 6 and 7 are not defined, so their length is not known */
        return field->wire == PROTO_GROUP || field->wire == PROTO_GROUP_END;
    }
}

/* Skips the rest of a group, up to its own end. */
static bool skip_group(proto_walk *walk, uint32_t number)
{
    uint32_t open[MOST_DEPTH] = {number};
    uint32_t depth = 1;
    proto_field field;

    while (depth > 0) {
        if (!read_field(walk, &field)) {
            return false;
        }
        if (field.wire == PROTO_GROUP) {
            if (depth == MOST_DEPTH) {
                return false;
            }
            open[depth++] = field.number;
        } else if (field.wire == PROTO_GROUP_END && open[--depth] != field.number) {
            return false;
        }
    }
    return true;
}

bool proto_next(proto_walk *walk, proto_field *field)
{
    while (walk->at < walk->end && !walk->is_bad) {
        if (!read_field(walk, field) || field->wire == PROTO_GROUP_END ||
            (field->wire == PROTO_GROUP && !skip_group(walk, field->number))) {
            walk->is_bad = true;
            return false;
        }
        if (field->wire != PROTO_GROUP) {
            return true;
        }
    }
    return false;
}
