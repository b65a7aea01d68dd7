/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces voc_file.c in builds without expat. */
#include "voc_file.h"

#include "status_int.h"

sluice_status voc_file_read(voc_file *file, const char *text, size_t size)
{
    (void)file;
    (void)text;
    (void)size;
    return sli_fail(SLUICE_E_UNSUPPORTED,
                    "this build has no expat to read XML; install libexpat1-dev and build again, "
                    "or write the boxes into a list for image_list");
}

void voc_file_free(voc_file *file)
{
    (void)file;
}
