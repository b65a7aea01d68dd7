/* SPDX-License-Identifier: Apache-2.0 */
#include "example_values.h"

#include <stdbool.h>
#include <string.h>

#include "protobuf_walk.h"
#include "status_int.h"

/* The list of a Feature, by its field number; 0: it has none. */
typedef enum values_type { VALUES_NONE, VALUES_BYTES, VALUES_FLOATS, VALUES_INTS } values_type;

/* A message of a value: Feature, or FeatureList. */
typedef struct value_message {
    const uint8_t *bytes; /* NULL: the record has no such value */
    size_t size;
    bool is_list;
} value_message;

/* What was found in the lists of a value so far. */
typedef struct value_sum {
    values_type type;
    uint64_t count;
    uint64_t most;        /* the largest count so far: a list of another type begins at 0 again */
    const uint8_t *first; /* the first byte string, or the first numbers */
    size_t first_size;
    uint8_t *to;   /* where numbers are written, with room for `most`; NULL: they are counted */
    bool is_mixed; /* a FeatureList has steps of several types */
} value_sum;

static sluice_status no_message(const char *what)
{
    return sli_fail(SLUICE_E_CORRUPT,
                    "it is not a tf.train.Example or SequenceExample: its %s is not a message",
                    what);
}

/* ---- the values of a list -------------------------------------------------------------------- */

static void add_bytes(value_sum *sum, const proto_field *field)
{
    if (sum->count++ == 0) {
        sum->first = field->bytes;
        sum->first_size = field->size;
    }
}

/* Adds floats in `size` bytes. */
static void add_floats(value_sum *sum, const uint8_t *bytes, size_t size)
{
    if (sum->count == 0) {
        sum->first = bytes;
        sum->first_size = size;
    }
    if (sum->to != NULL && size > 0) {
        memcpy(sum->to + sum->count * sizeof(float), bytes, size);
    }
    sum->count += size / sizeof(float);
}

static void add_int(value_sum *sum, uint64_t number)
{
    if (sum->to != NULL) {
        memcpy(sum->to + sum->count * sizeof(number), &number, sizeof(number));
    }
    sum->count++;
}

static bool add_ints(value_sum *sum, const uint8_t *bytes, size_t size)
{
    const uint8_t *at = bytes;
    uint64_t number;

    while (at < bytes + size) {
        if (!proto_varint(&at, bytes + size, &number)) {
            return false;
        }
        add_int(sum, number);
    }
    return true;
}

/* Adds a value, or several packed ones. Those of another wire type are unknown, and skipped. */
static bool add_values(value_sum *sum, const proto_field *field)
{
    const bool is_packed = field->wire == PROTO_BYTES;

    switch (sum->type) {
    case VALUES_BYTES:
        if (is_packed) {
            add_bytes(sum, field);
        }
        return true;
    case VALUES_FLOATS:
        if (is_packed && field->size % sizeof(float) != 0) {
            return false;
        }
        if (is_packed || field->wire == PROTO_FIXED32) {
            add_floats(sum, field->bytes, field->size);
        }
        return true;
    default:
        if (field->wire == PROTO_VARINT) {
            add_int(sum, field->varint);
        }
        return !is_packed || add_ints(sum, field->bytes, field->size);
    }
}

/* Adds the values of a BytesList, FloatList or Int64List. */
static bool add_list(value_sum *sum, const uint8_t *bytes, size_t size)
{
    proto_walk walk = proto_begin(bytes, size);
    proto_field field;

    while (proto_next(&walk, &field)) {
        if (field.number == 1 && !add_values(sum, &field)) {
            return false;
        }
    }
    sum->most = sum->count > sum->most ? sum->count : sum->most;
    return !walk.is_bad;
}

/* Adds the values of a Feature. Of lists of several types the last one counts (oneof); `is_step`:
 * the values follow those of earlier steps, which must be of the same type. */
static bool add_feature(value_sum *sum, const uint8_t *bytes, size_t size, bool is_step)
{
    proto_walk walk = proto_begin(bytes, size);
    proto_field field;

    while (proto_next(&walk, &field)) {
        if (field.number > VALUES_INTS || field.wire != PROTO_BYTES) {
            continue;
        }
        if (sum->type != (values_type)field.number) {
            sum->is_mixed = sum->is_mixed || (is_step && sum->count > 0);
            sum->type = (values_type)field.number;
            sum->count = 0;
        }
        if (!add_list(sum, field.bytes, field.size)) {
            return false;
        }
    }
    return !walk.is_bad;
}

/* Adds the values of a Feature or FeatureList. */
static bool add_message(value_sum *sum, const value_message *message)
{
    proto_walk walk = proto_begin(message->bytes, message->size);
    proto_field field;

    if (!message->is_list) {
        return add_feature(sum, message->bytes, message->size, false);
    }
    while (proto_next(&walk, &field)) {
        if (field.number == 1 && field.wire == PROTO_BYTES &&
            !add_feature(sum, field.bytes, field.size, true)) {
            return false;
        }
    }
    return !walk.is_bad;
}

static sluice_status sum_message(value_sum *sum, const value_message *message)
{
    if (!add_message(sum, message)) {
        return no_message("feature");
    }
    return sum->is_mixed
               ? sli_fail(SLUICE_E_CORRUPT, "the steps of a feature list are of several types")
               : SLUICE_OK;
}

/* ---- the features of a record ---------------------------------------------------------------- */

/* What is done with the message of each feature. */
typedef sluice_status (*feature_taker)(void *user, const char *name, size_t name_length,
                                       const value_message *message);

/* Walks over an entry of a map, a name and the message of its value. */
static sluice_status take_entry(const proto_field *entry, bool is_list, feature_taker take,
                                void *user)
{
    proto_walk walk = proto_begin(entry->bytes, entry->size);
    value_message message = {(const uint8_t *)"", 0, is_list};
    const char *name = "";
    size_t name_length = 0;
    proto_field field;

    while (proto_next(&walk, &field)) {
        if (field.wire != PROTO_BYTES) {
            continue;
        }
        if (field.number == 1) {
            name = (const char *)field.bytes;
            name_length = field.size;
        } else if (field.number == 2) {
            message.bytes = field.bytes;
            message.size = field.size;
        }
    }
    return walk.is_bad ? no_message("map entry") : take(user, name, name_length, &message);
}

/* Walks over all features. */
static sluice_status take_features(const uint8_t *bytes, size_t size, feature_taker take,
                                   void *user)
{
    proto_walk walk = proto_begin(bytes, size);
    proto_field map;
    sluice_status st = SLUICE_OK;

    while (st == SLUICE_OK && proto_next(&walk, &map)) {
        proto_walk entries = proto_begin(map.bytes, map.size);
        proto_field entry;

        if (map.number > 2 || map.wire != PROTO_BYTES) {
            continue;
        }
        while (st == SLUICE_OK && proto_next(&entries, &entry)) {
            st = entry.number == 1 && entry.wire == PROTO_BYTES
                     ? take_entry(&entry, map.number == 2, take, user)
                     : SLUICE_OK;
        }
        st = st == SLUICE_OK && entries.is_bad ? no_message("map of features") : st;
    }
    return st == SLUICE_OK && walk.is_bad ? no_message("record") : st;
}

/* The messages of the values that are wanted. */
typedef struct wanted_messages {
    const record_names *names;
    value_message messages[SLUICE_MAX_COLUMNS];
} wanted_messages;

static sluice_status take_wanted(void *user, const char *name, size_t name_length,
                                 const value_message *message)
{
    wanted_messages *wanted = user;

    for (uint32_t i = 0; i < wanted->names->count; i++) {
        const char *own = wanted->names->names[i];

        if (strlen(own) == name_length && memcmp(own, name, name_length) == 0) {
            wanted->messages[i] = *message;
        }
    }
    return SLUICE_OK;
}

/* True if the numbers must be unpacked: all integers, and floats that are not in one piece. */
static bool needs_room(const value_sum *sum)
{
    return sum->type == VALUES_INTS ||
           (sum->type == VALUES_FLOATS && sum->count * sizeof(float) != sum->first_size);
}

static size_t number_size(values_type type)
{
    return type == VALUES_INTS ? sizeof(int64_t) : sizeof(float);
}

static void describe_value(const value_sum *sum, record_value *value_out)
{
    *value_out = (record_value){.kind = RECORD_NUMBERS, .dtype = SLUICE_I64, .count = sum->count};
    if (sum->type == VALUES_BYTES) {
        value_out->kind = RECORD_BYTES;
        value_out->data = sum->first;
        value_out->size = sum->first_size;
    } else if (sum->type == VALUES_NONE) {
        value_out->kind = RECORD_MISSING; /* a Feature without a list is an empty one */
    } else {
        value_out->dtype = sum->type == VALUES_FLOATS ? SLUICE_F32 : SLUICE_I64;
        value_out->size = (size_t)sum->count * number_size(sum->type);
        value_out->data = sum->first;
    }
}

/* Unpacks the numbers of all values, for which the sums have the room. */
static sluice_status unpack_values(wanted_messages *wanted, const value_sum *sums, size_t room,
                                   image_buffer *scratch, record_value *values)
{
    uint8_t *to;
    sluice_status st = image_buffer_reserve(scratch, room);

    to = scratch->data;
    for (uint32_t i = 0; i < wanted->names->count && st == SLUICE_OK; i++) {
        value_sum sum = {.to = to};

        if (needs_room(&sums[i])) {
            st = sum_message(&sum, &wanted->messages[i]);
            values[i].data = to;
            to += sums[i].most * sizeof(int64_t);
        }
    }
    return st;
}

sluice_status example_parse(const uint8_t *bytes, size_t size, const record_names *wanted,
                            image_buffer *scratch, record_value *values_out)
{
    wanted_messages found = {.names = wanted};
    value_sum sums[SLUICE_MAX_COLUMNS];
    size_t room = 0;
    sluice_status st = take_features(bytes, size, take_wanted, &found);

    for (uint32_t i = 0; i < wanted->count && st == SLUICE_OK; i++) {
        sums[i] = (value_sum){.type = VALUES_NONE};
        if (found.messages[i].bytes != NULL) {
            st = sum_message(&sums[i], &found.messages[i]);
        }
        describe_value(&sums[i], &values_out[i]);
        room += needs_room(&sums[i]) ? (size_t)sums[i].most * sizeof(int64_t) : 0;
    }
    return st == SLUICE_OK && room > 0 ? unpack_values(&found, sums, room, scratch, values_out)
                                       : st;
}

/* The user of example_visit(). */
typedef struct visitor {
    sluice_status (*visit)(void *user, const example_feature *feature);
    void *user;
} visitor;

static sluice_status take_visited(void *user, const char *name, size_t name_length,
                                  const value_message *message)
{
    const visitor *to = user;
    example_feature feature = {.name = name, .name_length = name_length};
    value_sum sum = {.type = VALUES_NONE};
    const sluice_status st = sum_message(&sum, message);

    describe_value(&sum, &feature.value);
    return st == SLUICE_OK ? to->visit(to->user, &feature) : st;
}

sluice_status example_visit(const uint8_t *bytes, size_t size,
                            sluice_status (*visit)(void *user, const example_feature *feature),
                            void *user)
{
    visitor to = {visit, user};

    return take_features(bytes, size, take_visited, &to);
}
