/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a list of the images in a folder, and of their masks in another one, by file names. */
#ifndef SLUICE_FOLDER_PAIRS_H
#define SLUICE_FOLDER_PAIRS_H

#include <stddef.h>

#include <sluice/status.h>

/*
 * Writes the text of a TSV list with a header: the images directly in the folder `images`, sorted
 * by name, with paths relative to it. With `masks` (else ""), each has the absolute path of the
 * file in that folder whose name is the same up to its last dot, but for `suffix` before it; with a
 * suffix both may be in one folder. E_INVALID: no images, an image
 * without a mask or a mask without an image, or two files of one name. Also returns E_IO and
 * E_NO_MEMORY. The caller frees the text. What is left out of the folders is logged, and written to
 * `left_text` ("": nothing).
 */
sluice_status folder_pairs_text(const char *images, const char *masks, const char *suffix,
                                char **text_out, size_t *size_out, char *left_text,
                                size_t left_size);

#endif
