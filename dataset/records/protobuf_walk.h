/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks over the fields of a protocol buffer message in memory, in its wire format. Nothing is
 * trusted: all lengths are checked, and there is no recursion.
 */
#ifndef SLUICE_PROTOBUF_WALK_H
#define SLUICE_PROTOBUF_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Wire types. */
enum {
    PROTO_VARINT = 0,
    PROTO_FIXED64 = 1,
    PROTO_BYTES = 2,
    PROTO_GROUP = 3,
    PROTO_GROUP_END = 4,
    PROTO_FIXED32 = 5
};

typedef struct proto_field {
    uint32_t number;
    uint32_t wire;
    uint64_t varint;      /* PROTO_VARINT */
    const uint8_t *bytes; /* PROTO_BYTES, PROTO_FIXED32, PROTO_FIXED64 */
    size_t size;
} proto_field;

typedef struct proto_walk {
    const uint8_t *at;
    const uint8_t *end;
    bool is_bad; /* the walk ended at a byte that is not part of a message */
} proto_walk;

static inline proto_walk proto_begin(const uint8_t *bytes, size_t size)
{
    return (proto_walk){bytes, size > 0 ? bytes + size : bytes, false};
}

/* Reads the next field; groups are skipped. False: the message has ended, or is bad. */
bool proto_next(proto_walk *walk, proto_field *field);

/* Reads a number of 1 to 10 bytes, and moves behind it. False: it is not complete. */
bool proto_varint(const uint8_t **at, const uint8_t *end, uint64_t *number_out);

#endif
