/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Columns for the features of a file of tf.train.Example or SequenceExample, chosen by some of its
 * records: whoever knows better gives fields=.
 */
#ifndef SLUICE_EXAMPLE_COLUMNS_H
#define SLUICE_EXAMPLE_COLUMNS_H

#include <stddef.h>
#include <stdint.h>

#include <sluice/status.h>

#include "text_int.h"

typedef struct example_columns example_columns;

/* E_NO_MEMORY. */
sluice_status example_columns_create(example_columns **columns_out);
void example_columns_free(example_columns *columns);

/* Looks at a record. E_CORRUPT: it is not an Example. */
sluice_status example_columns_add(example_columns *columns, const uint8_t *bytes, size_t size);

/*
 * Appends the columns in the syntax of fields=:
 *
 *     one integer    i64; named label: i32
 *     one float      f32
 *     k of them      i64xk, f32xk; a number that varies: i64[N], f32[N]
 *     bytes          image, if they begin as a file of an image; text[N], if they are UTF-8 in all
 *                    records; else bytes[N]
 *
 * N is a power of 2, at least twice what the records have. A column has the last part of a
 * feature's name after a slash, or all of it, if two have the same one; the first image is `image`.
 * Features that cannot be a column, such as several byte strings, are left out, which is logged.
 * E_UNSUPPORTED: nothing is left.
 */
sluice_status example_columns_print(const example_columns *columns, sli_text *fields);

#endif
