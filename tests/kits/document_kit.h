/* SPDX-License-Identifier: Apache-2.0 */
/* A source of documents, ragged columns of tokens, and the windows that pack must make of them. */
#ifndef SLUICE_DOCUMENT_KIT_H
#define SLUICE_DOCUMENT_KIT_H

#include <stdbool.h>
#include <stdint.h>

#include <sluice/custom.h>

enum { DOCUMENTS = 60, DOCUMENT_MOST = 23, WINDOW_MOST = 64, WINDOWS_MOST = 800 };

/* Documents that cannot be read. */
extern bool document_is_bad[DOCUMENTS];

/* Lengths from 0 to DOCUMENT_MOST, some of them 0; tokens of document 0 begin with 1. */
uint32_t document_length(uint64_t sample);
uint16_t document_token(uint64_t sample, uint32_t i);

/* A source of the columns label, i32, and tokens, u16 (DOCUMENT_MOST), ragged; none is bad. */
sluice_dataset *document_dataset(void);

typedef struct document_window {
    uint64_t sample; /* UINT64_MAX: padding */
    uint16_t tokens[WINDOW_MOST];
    int32_t position[WINDOW_MOST];
    int32_t document[WINDOW_MOST];
} document_window;

/* The windows of these documents, in this order; returns how many. */
uint64_t document_windows(const uint64_t *samples, uint64_t count, uint32_t seq, bool split,
                          uint16_t pad, document_window *windows);

/* Makes a window of padding. */
void document_padding(uint16_t pad, document_window *window);

#endif
