/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The beginning of a file of tokens. A .bin file of llm.c has a header of 256 int32, little-endian:
 * a magic number, a version, the number of tokens; the others are not used. The tokens follow, to
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
    TOKENS_AUTO = 0, /* as the header says */
    TOKENS_U16 = 1,  /* a plain file */
    TOKENS_U32 = 2   /* a plain file */
} token_type;

typedef struct token_header {
    uint32_t token_bytes; /* 2 or 4 */
    uint64_t data_at;     /* offset of the first token */
    uint64_t count;       /* tokens, at least 1 */
} token_header;

/*
 * Reads the first `size` bytes of a file of file_bytes bytes: TOKEN_HEAD of them, or all that there
 * are. E_CORRUPT: another magic number or version, no tokens, or a file that is not as long as its
 * header says; E_INVALID: a plain type for a file that has a header. Errors do not name the file.
 */
sluice_status token_header_parse(const uint8_t *bytes, size_t size, uint64_t file_bytes,
                                 token_type type, token_header *header_out);

#endif
