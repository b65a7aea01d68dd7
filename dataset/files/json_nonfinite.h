/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NaN, Infinity and -Infinity in JSON. JSON has no such numbers and its parsers refuse them, but
 * json.dump of Python writes them.
 */
#ifndef SLUICE_JSON_NONFINITE_H
#define SLUICE_JSON_NONFINITE_H

#include <stddef.h>

/* Returns the first of these words outside of strings, "NaN" for example; NULL: there is none. */
const char *json_nonfinite_find(const char *text, size_t size);

/*
 * Replaces each of these words outside of strings by JSON of the same length: NaN by an empty
 * string, Infinity by the number 1e300 and -Infinity by -1e300.
 */
void json_nonfinite_replace(char *text, size_t size);

#endif
