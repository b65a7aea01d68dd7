/* SPDX-License-Identifier: Apache-2.0 */
#include "zero_padding_int.h"

#include <stdint.h>
#include <string.h>

#if defined(__SSE2__)
#include <emmintrin.h>

/* Bytes of a cache line, and the shortest padding for which non-temporal stores are faster. */
enum { LINE = 64, LONG_PADDING = 1 << 16 };

/* Zeroes whole cache lines by non-temporal stores, and returns the number of bytes zeroed. The last
 * byte is left to memset(), which sanitizers check. */
static size_t stream_lines(uint8_t *to, size_t bytes)
{
    const __m128i zeros = _mm_setzero_si128();
    size_t at = 0;

    for (; bytes - at > LINE; at += LINE) {
        __m128i *line = (__m128i *)(void *)(to + at);

        _mm_stream_si128(line, zeros);
        _mm_stream_si128(line + 1, zeros);
        _mm_stream_si128(line + 2, zeros);
        _mm_stream_si128(line + 3, zeros);
    }
    _mm_sfence(); /* such stores are not ordered with the one that publishes the batch */
    return at;
}
#endif

void sli_zero_padding(void *padding, size_t bytes)
{
    uint8_t *to = padding;

#if defined(__SSE2__)
    if (bytes >= LONG_PADDING) {
        const size_t head = (LINE - (uintptr_t)to % LINE) % LINE;
        size_t streamed;

        memset(to, 0, head);
        streamed = head + stream_lines(to + head, bytes - head);
        to += streamed;
        bytes -= streamed;
    }
#endif
    memset(to, 0, bytes);
}
