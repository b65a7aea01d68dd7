/* SPDX-License-Identifier: Apache-2.0 */
/* Files of tokens. */
#ifndef SLUICE_TOKENS_KIT_H
#define SLUICE_TOKENS_KIT_H

#include <stddef.h>
#include <stdint.h>

/* The header of llm.c's files for tokens of 2 or 4 bytes. */
void tokens_head(uint32_t token_bytes, int32_t count, uint8_t bytes[1024]);

/* Writes `count` tokens, first, first + 1, ..., of 2 (modulo 65536) or 4 bytes, with a header or
 * without one. */
void tokens_write(const char *folder, const char *name, uint32_t token_bytes, int has_header,
                  uint32_t first, uint32_t count);

#endif
