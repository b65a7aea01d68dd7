/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rewriting a JPEG file without changing its image: the same coefficients in baseline code with
 * restart markers and Huffman tables of its own (jpeg_writer.h). Markers of applications and
 * comments stay as they are, byte for byte and in their order.
 *
 * Files may be hostile. A file of which it is not certain that the copy decodes to the same pixels
 * is refused with a reason, for the caller to keep it as it is.
 */
#ifndef SLUICE_JPEG_TRANSCODE_H
#define SLUICE_JPEG_TRANSCODE_H

#include <sluice/pack.h>

#include "jpeg_writer.h"

/*
 * OK with *fate_out SLUICE_PACK_TRANSCODED and the copy in *file_out; or OK with
 * SLUICE_PACK_KEPT_..., words for it in `why` (of `why_size` bytes), and *file_out empty.
 * E_NO_MEMORY.
 *
 * @param interval    pixels between restart markers; 0 none
 * @param max_pixels  an image that says it has more is refused
 */
sluice_status jpeg_transcode(const uint8_t *bytes, size_t size, uint32_t interval,
                             uint64_t max_pixels, jpeg_bytes *file_out, sluice_pack_fate *fate_out,
                             char *why, size_t why_size);

#endif
