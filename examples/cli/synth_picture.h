/* SPDX-License-Identifier: Apache-2.0 */
/* Class names of `sluice synth`, and painting of its pictures. */
#ifndef SLUICE_SYNTH_PICTURE_H
#define SLUICE_SYNTH_PICTURE_H

#include <stddef.h>
#include <stdint.h>

/* Size of a class name, including the terminating zero. */
enum { SYNTH_NAME_SIZE = 64 };

/* Writes the name of a class, such as "003-cross-dots". */
void synth_class_name(uint32_t class_index, uint32_t classes, char *name);

/* Paints picture `index` of a class: pixels is (size, size, 3) bytes. The result depends only on
 * the arguments. It depends on `classes` only above 20, where colours must distinguish the classes.
 */
void synth_paint(uint64_t seed, uint32_t class_index, uint32_t classes, uint32_t index,
                 uint32_t size, uint8_t *pixels);

#endif
