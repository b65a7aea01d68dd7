/* SPDX-License-Identifier: Apache-2.0 */
#include "document_kit.h"

#include <string.h>

#include <sluice/status.h>

#include "testing.h"

bool document_is_bad[DOCUMENTS];

uint32_t document_length(uint64_t sample)
{
    return (uint32_t)(sample * sample * 7 + sample * 3 + 5) % (DOCUMENT_MOST + 1);
}

uint16_t document_token(uint64_t sample, uint32_t i)
{
    return (uint16_t)(1 + sample * 100 + i);
}

static sluice_status read_document(sluice_sample *sample, uint64_t index, void *user)
{
    const uint64_t shape[] = {document_length(index)};
    void *label;
    void *tokens;
    sluice_status st = sluice_sample_room(sample, "label", NULL, &label);

    (void)user;
    if (st == SLUICE_OK) {
        st = sluice_sample_room(sample, "tokens", shape, &tokens);
    }
    if (st != SLUICE_OK) {
        return st;
    }
    *(int32_t *)label = (int32_t)index;
    for (uint32_t i = 0; i < shape[0]; i++) {
        ((uint16_t *)tokens)[i] = document_token(index, i);
    }
    return document_is_bad[index] ? sluice_fail(SLUICE_E_CORRUPT, "it is bad") : SLUICE_OK;
}

sluice_dataset *document_dataset(void)
{
    static const sluice_column_spec columns[] = {
        {.name = "label", .dtype = SLUICE_I32},
        {.name = "tokens", .dtype = SLUICE_U16, .rank = 1, .shape = {DOCUMENT_MOST}, .ragged = 1},
    };
    sluice_dataset *dataset = NULL;
    sluice_source source;

    memset(document_is_bad, 0, sizeof(document_is_bad));
    sluice_source_init(&source);
    source.name = "documents";
    source.version = 1;
    source.columns = columns;
    source.column_count = 2;
    source.count = DOCUMENTS;
    source.read = read_document;
    T_OK(sluice_dataset_source(&source, &dataset));
    return dataset;
}

void document_padding(uint16_t pad, document_window *window)
{
    window->sample = UINT64_MAX;
    for (uint32_t i = 0; i < WINDOW_MOST; i++) {
        window->tokens[i] = pad;
        window->position[i] = 0;
        window->document[i] = -1;
    }
}

uint64_t document_windows(const uint64_t *samples, uint64_t count, uint32_t seq, bool split,
                          uint16_t pad, document_window *windows)
{
    uint64_t made = 0;
    uint32_t used = seq;
    int32_t number = 0;

    for (uint64_t k = 0; k < count; k++) {
        const uint32_t length = document_length(samples[k]);

        used = !split && length > seq - used ? seq : used;
        for (uint32_t i = 0; i < length; i++) {
            if (used == seq) {
                T_TRUE(made < WINDOWS_MOST);
                document_padding(pad, &windows[made++]);
                windows[made - 1].sample = samples[k];
                used = 0;
            }
            number = used == 0 ? 0 : i == 0 ? number + 1 : number;
            windows[made - 1].tokens[used] = document_token(samples[k], i);
            windows[made - 1].position[used] = (int32_t)i;
            windows[made - 1].document[used++] = number;
        }
    }
    return made;
}
