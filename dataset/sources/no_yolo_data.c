/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces yolo_data.c in builds without libyaml. */
#include "yolo_data.h"

#include "status_int.h"

sluice_status yolo_data_read(const char *text, size_t size, const char *split, yolo_data *data,
                             box_set *set)
{
    (void)text;
    (void)size;
    (void)split;
    (void)data;
    (void)set;
    return sli_fail(SLUICE_E_UNSUPPORTED,
                    "this build has no libyaml to read data.yaml; install libyaml-dev and build "
                    "again, or give the folder of the set, with the names of the classes in "
                    "classes.txt");
}
