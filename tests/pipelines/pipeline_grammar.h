/* SPDX-License-Identifier: Apache-2.0 */
/* Random pipelines of a grammar: the same number gives the same text on every machine. */
#ifndef SLUICE_PIPELINE_GRAMMAR_H
#define SLUICE_PIPELINE_GRAMMAR_H

#include <stddef.h>
#include <stdint.h>

enum { PIPELINE_TEXT = 1024 };

/*
 * Writes pipeline `number` of the rule `start`: "pipeline", all crops and resizes before colours
 * and warps; "free", colours or warps before some of them; "drawn", flips before them, and branches
 * that are drawn; "jpeg", as "pipeline", of JPEG files.
 * ${D} is the folder of the data. A text may be one that Sluice refuses.
 */
void make_pipeline(const char *start, uint32_t number, char text[PIPELINE_TEXT]);

#endif
