/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of images with masks and boxes, and the columns of a run by their names. */
#ifndef SLUICE_LIST_KIT_H
#define SLUICE_LIST_KIT_H

#include "engine_kit.h"

enum { LIST_WIDTH = 40, LIST_HEIGHT = 30 };

/* A list with all kinds of columns, for files of write_pair(). */
#define LIST_OF_BOXES                                                                              \
    "image\tlabel\tmask:mask\tboxes:boxes[3]\tc:i32[3]@boxes\n"                                    \
    "a.ppm\t0\tm.pgm\t0,0,4,30;10,5,30,25;36,0,40,3\t1,2,3\n"

/* The number that the mask has where the image has this pixel. */
uint8_t class_of(uint32_t x, uint32_t y);

/* An image whose pixels say where they are, and its mask. */
void write_pair(const char *folder, const char *image, const char *mask);

void write_list(const char *folder, const char *name, const char *text);

/* "image_list FOLDER/list.tsv STAGES" of a list with this text. */
sluice_dataset *list_dataset(const char *folder, const char *list, const char *stages);

/* Reads sample 0 of "image_list FOLDER/list.tsv STAGES", of a list of one file with the label 0. */
sluice_status list_row(const char *folder, const char *file, const char *stages, void *row);

/* LIST_OF_BOXES, decoded, and its files in a folder of their own. */
sluice_dataset *decoded_list(void);

/*
 * Runs "| FIRST | STAGES | batch 1" up to the first batch, on a list of a.ppm and m.pgm, which
 * write_pair() makes in a folder of their own. Odd seeds copy to the device.
 */
void open_list(engine_run *run, const char *list, const char *first, const char *stages,
               uint64_t seed);

/* A row of the column of that name. */
const void *column_row(const engine_run *run, const char *name, uint32_t row);

#endif
