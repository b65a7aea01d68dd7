/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The header of a file of tokens. A .bin file of llm.c has a header of 256 int32, little-endian: a
 * magic number, a version, the number of tokens; the others are not used. The tokens follow, up to
 * the end of the file. A plain file has tokens only.
 */
#ifndef SLUICE_TOKEN_HEADER_H
#define SLUICE_TOKEN_HEADER_H

#include <stddef.h>
#include <stdint.h>

#include <sluice/status.h>

enum { TOKEN_HEAD = 1024 }; /* bytes of the header */

/* How a file's tokens are stored. */
typedef enum token_type {
    TOKENS_AUTO = 0, /* the header determines the type */
    TOKENS_U16 = 1,  /* plain file of 16-bit tokens */
    TOKENS_U32 = 2   /* plain file of 32-bit tokens */
} token_type;

typedef struct token_header {
    uint32_t token_bytes; /* 2 or 4 */
    uint64_t data_at;     /* offset of the first token */
    uint64_t count;       /* number of tokens, at least 1 */
} token_header;

/*
 * Parses the first `size` bytes of a file of file_bytes bytes: TOKEN_HEAD bytes, or the whole file
 * if it is shorter. E_CORRUPT: another magic number or version, no tokens, or a file whose length
 * contradicts its header; E_INVALID: a plain type for a file that has a header. Error texts do not
 * name the file.
 */
sluice_status token_header_parse(const uint8_t *bytes, size_t size, uint64_t file_bytes,
                                 token_type type, token_header *header_out);

#endif
