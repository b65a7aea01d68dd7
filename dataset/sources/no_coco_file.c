/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces coco_file.c in builds without jansson. */
#include "coco_file.h"

#include "status_int.h"

sluice_status coco_file_read(int fd, const coco_options *options, box_set *set_out,
                             coco_found *found_out)
{
    (void)fd;
    (void)options;
    (void)set_out;
    (void)found_out;
    return sli_fail(SLUICE_E_UNSUPPORTED,
                    "this build has no jansson to read JSON; install libjansson-dev and build "
                    "again, or write the boxes into a list for image_list");
}
