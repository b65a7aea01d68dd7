/* SPDX-License-Identifier: Apache-2.0 */
/* The extensions of image files, by which sources find images. */
#ifndef SLUICE_IMAGE_EXTENSIONS_H
#define SLUICE_IMAGE_EXTENSIONS_H

#include <stdbool.h>

#define IMAGE_TIFF_EXTENSIONS "tif,tiff"                /* by which formats=auto opens TIFF files */
#define IMAGE_JP2_EXTENSIONS  "jp2,j2k,jpf,jpx,j2c,jpc" /* the same of JPEG 2000 */

/*
 * The extensions of the formats that are decoded, but for JPEG 2000: in lower case, without dots,
 * with commas between them.
 */
extern const char image_extensions[];

/* True if the extension is in the list, in any case of ASCII letters. */
bool image_extension_is_in(const char *extension, const char *list);

/* True if the extension of a file name is in the list, and the file is not hidden. */
bool image_name_is_in(const char *name, const char *list);

#endif
