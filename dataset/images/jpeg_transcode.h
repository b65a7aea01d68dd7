/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rewrites a JPEG file without changing its pixels: the same coefficients in baseline code with
 * restart markers and optimised Huffman tables (jpeg_writer.h). Application and comment segments
 * are copied unchanged, in their order.
 *
 * Files may be hostile. Unless the copy is certain to decode to the same pixels, the file is
 * refused with a reason, and the caller keeps it unchanged.
 */
#ifndef SLUICE_JPEG_TRANSCODE_H
#define SLUICE_JPEG_TRANSCODE_H

#include <sluice/pack.h>

#include "jpeg_writer.h"

/*
 * OK with *fate_out SLUICE_PACK_TRANSCODED and the copy in *file_out; or OK with
 * SLUICE_PACK_KEPT_..., a text in `why` (of `why_size` bytes), and *file_out empty.
 * CLOSED: the thread was interrupted. E_NO_MEMORY.
 *
 * @param interval    pixels between restart markers; 0 none
 * @param max_pixels  an image whose header has more is refused
 */
sluice_status jpeg_transcode(const uint8_t *bytes, size_t size, uint32_t interval,
                             uint64_t max_pixels, jpeg_bytes *file_out, sluice_pack_fate *fate_out,
                             char *why, size_t why_size);

#endif
