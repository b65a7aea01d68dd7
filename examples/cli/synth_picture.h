/* SPDX-License-Identifier: Apache-2.0 */
/* The pictures of `sluice synth`: what a class is, and how one of its pictures is painted. */
#ifndef SLUICE_SYNTH_PICTURE_H
#define SLUICE_SYNTH_PICTURE_H

#include <stddef.h>
#include <stdint.h>

/* Room for the name of a class. */
enum { SYNTH_NAME_SIZE = 64 };

/* Writes the name of a class, such as "003-cross-dots". */
void synth_class_name(uint32_t class_index, uint32_t classes, char *name);

/*
 * Paints picture `index` of a class: pixels is (size, size, 3) bytes. What is painted depends on
 * the arguments alone, and on `classes` only beyond 20 of them, where colours must tell them apart.
 */
void synth_paint(uint64_t seed, uint32_t class_index, uint32_t classes, uint32_t index,
                 uint32_t size, uint8_t *pixels);

#endif
