/* SPDX-License-Identifier: Apache-2.0 */
#include "sample_mixer.h"

#include "alloc_int.h"
#include "rng_int.h"
#include "status_int.h"

static void drop_samples(sample_mixer *mixer)
{
    for (uint64_t i = 0; i < mixer->count; i++) {
        image_buffer_free(&mixer->items[i].bytes);
    }
    mixer->count = 0;
    mixer->bytes = 0;
}

void sample_mixer_begin(sample_mixer *mixer, uint64_t max_samples, uint64_t max_bytes, uint64_t key)
{
    drop_samples(mixer);
    mixer->max_samples = max_samples;
    mixer->max_bytes = max_bytes;
    mixer->key = key;
    mixer->taken_count = 0;
}

void sample_mixer_free(sample_mixer *mixer)
{
    drop_samples(mixer);
    sli_free(mixer->items);
    mixer->items = NULL;
    mixer->capacity = 0;
}

bool sample_mixer_is_full(const sample_mixer *mixer)
{
    return mixer->count == mixer->max_samples ||
           (mixer->count > 0 && mixer->bytes >= mixer->max_bytes);
}

sluice_status sample_mixer_put(sample_mixer *mixer, stream_item *item)
{
    stream_item *grown = sli_grow(mixer->items, &mixer->capacity, mixer->count + 1, sizeof(*grown));
    sluice_status st;

    if (grown == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "the buffer of shuffle");
    }
    mixer->items = grown;
    st = image_buffer_fit(&item->bytes, item->held);
    if (st != SLUICE_OK) {
        return st;
    }
    mixer->bytes += item->held;
    grown[mixer->count++] = *item;
    item->bytes = (image_buffer){NULL, 0};
    return SLUICE_OK;
}

void sample_mixer_take(sample_mixer *mixer, stream_item *item)
{
    const sli_draws draws = {.key = mixer->key, .sample = mixer->taken_count++};
    uint32_t random[4];
    stream_item *taken;

    sli_draw(&draws, 0, random);
    taken = &mixer->items[sli_below(random[0], (uint32_t)mixer->count)];
    image_buffer_free(&item->bytes);
    *item = *taken;
    *taken = mixer->items[--mixer->count];
    mixer->bytes -= item->held;
}

uint64_t sample_mixer_most_memory(uint64_t max_samples, uint64_t max_bytes, uint64_t largest)
{
    const uint64_t full = max_bytes + largest; /* the limit is checked before the last image is
                                                  added */
    const uint64_t images = max_samples < full / largest ? max_samples * largest : full;

    return images + max_samples * sizeof(stream_item);
}

uint64_t sample_mixer_memory(const sample_mixer *mixer)
{
    return mixer->bytes + mixer->capacity * sizeof(*mixer->items);
}
