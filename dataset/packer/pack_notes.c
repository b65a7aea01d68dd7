/* SPDX-License-Identifier: Apache-2.0 */
#include "pack_notes.h"

#include <inttypes.h>

#include "image_rules.h"
#include "log_int.h"

void pack_notes_add(pack_notes *notes, const image_facts *facts)
{
    const uint32_t found = image_rules_notes(facts);

    for (uint32_t i = 0; i < SLI_IMAGE_NOTES; i++) {
        if ((found & UINT32_C(1) << i) != 0) {
            atomic_fetch_add_explicit(&notes->of[i], 1, memory_order_relaxed);
        }
    }
}

void pack_notes_log(const pack_notes *notes)
{
    for (uint32_t i = 0; i < SLI_IMAGE_NOTES; i++) {
        const uint64_t count = atomic_load_explicit(&notes->of[i], memory_order_relaxed);

        if (count > 0) {
            sli_log(SLUICE_LOG_WARN, "pack: %" PRIu64 " image%s %s", count, count == 1 ? "" : "s",
                    sli_image_note_texts[i]);
        }
    }
}

void pack_notes_left_out(const sluice_dataset *dataset, const char *folder)
{
    const source_ops *ops = dataset_source(dataset);
    const char *left_out = ops->left_out != NULL ? ops->left_out(dataset->source) : "";

    if (left_out[0] != '\0') {
        sli_log(SLUICE_LOG_WARN, "%s does not hold what %s leaves out: %s", folder,
                dataset->stages[0].def->name, left_out);
    }
}
