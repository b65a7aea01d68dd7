/* SPDX-License-Identifier: Apache-2.0 */
#include "stage_calls.h"

const stage_call *stage_call_at(size_t index)
{
    static const stage_call *const tables[] = {source_calls, image_calls};

    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
        for (const stage_call *c = tables[i]; c->text != NULL; c++) {
            if (index-- == 0) {
                return c;
            }
        }
    }
    return NULL;
}
