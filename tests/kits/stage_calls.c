/* SPDX-License-Identifier: Apache-2.0 */
#include "stage_calls.h"

#include <sluice/mixes.h>

static sluice_status call_mixup(sluice_dataset *d)
{
    return sluice_dataset_mixup(d, 7, 0.25, "y");
}

static sluice_status call_cutmix(sluice_dataset *d)
{
    return sluice_dataset_cutmix(d, 7, 0.25, "y");
}

static sluice_status call_mixup_defaults(sluice_dataset *d)
{
    return sluice_dataset_mixup(d, 7, 1, NULL);
}

static sluice_status call_cutmix_defaults(sluice_dataset *d)
{
    return sluice_dataset_cutmix(d, 7, 1, NULL);
}

/* ---- the cases ------------------------------------------------------------------------------- */

#define SOURCE    "synthetic 100 24,20,3 7"
#define ARRAYS    "npy ${FOLDER}/arrays"
#define DOCUMENTS SOURCE " | one_hot label 7 | cast label i32"

static const stage_call stage_calls[] = {
    {SOURCE " | rename label y | batch 4", "mixup 7 0.25 label=y", call_mixup, NULL, NULL},
    {SOURCE " | rename label y | batch 4", "cutmix 7 0.25 label=y", call_cutmix, NULL, NULL},
    {SOURCE " | batch 4", "mixup 7", call_mixup_defaults, NULL, NULL},
    {SOURCE " | batch 4", "cutmix 7", call_cutmix_defaults, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

const stage_call *stage_call_at(size_t index)
{
    static const stage_call *const tables[] = {source_calls, stage_calls, image_calls, warp_calls};

    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
        for (const stage_call *c = tables[i]; c->text != NULL; c++) {
            if (index-- == 0) {
                return c;
            }
        }
    }
    return NULL;
}
