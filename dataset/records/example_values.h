/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The values of a tf.train.Example or tf.train.SequenceExample in memory
 * (tensorflow/core/example/example.proto):
 *
 *     Example          {1: Features}
 *     SequenceExample  {1: Features, 2: FeatureLists}
 *     Features         {1: map from a name to Feature}
 *     FeatureLists     {1: map from a name to FeatureList {1: repeated Feature}}
 *     Feature          {1: BytesList | 2: FloatList | 3: Int64List}, each {1: repeated values}
 *
 * Numbers are i64 or f32, packed or not. If a name occurs twice the last one counts, as in all maps
 * of protocol buffers. The values of a FeatureList are those of all its steps, one after another.
 */
#ifndef SLUICE_EXAMPLE_VALUES_H
#define SLUICE_EXAMPLE_VALUES_H

#include <sluice/status.h>

#include "image.h"
#include "record_values.h"

/*
 * Finds values by their names; see record_format.parse(). E_CORRUPT: the bytes are no such message.
 */
sluice_status example_parse(const uint8_t *bytes, size_t size, const record_names *wanted,
                            image_buffer *scratch, record_value *values_out);

/* A feature and its name, which is not terminated. `count` is set; the numbers are not unpacked. */
typedef struct example_feature {
    const char *name;
    size_t name_length;
    record_value value; /* of numbers without data */
} example_feature;

/*
 * Calls visit() for all features of a message, also for those of which a later one of the same name
 * counts. Ends with its error. E_CORRUPT: the bytes are no such message.
 */
sluice_status example_visit(const uint8_t *bytes, size_t size,
                            sluice_status (*visit)(void *user, const example_feature *feature),
                            void *user);

#endif
