/* SPDX-License-Identifier: Apache-2.0 */
#include "pack_identity.h"

#include <inttypes.h>

#include "crc32c_int.h"
#include "rng_int.h"

static uint64_t hash_sample(const pack_settings *settings, const packed_sample *sample,
                            uint64_t hash)
{
    for (uint32_t i = 0; i < settings->kept->count && !pack_is_left_out(sample->fate); i++) {
        const kept_value *value = &sample->values.values[i];

        hash = sli_mix_in(hash, value->size);
        hash = sli_mix_in(hash, sli_crc32c(0, value->data, value->size));
    }
    return hash;
}

sluice_status pack_identity_add(const pack_settings *settings, const sample_order *order,
                                sli_text *text)
{
    const uint64_t last = order->length - 1;
    const uint64_t positions[] = {0, last / 2, last};
    pack_worker *worker = NULL;
    uint64_t hash = 0;
    sluice_status st = pack_worker_create(settings, &worker);

    for (size_t i = 0; i < sizeof(positions) / sizeof(positions[0]) && st == SLUICE_OK; i++) {
        packed_sample *sample = NULL;
        uint64_t index = 0;
        uint64_t pass;

        order_at(order, 0, positions[i], &index, &pass);
        st = pack_sample(worker, index, &sample);
        if (st == SLUICE_OK) {
            hash = hash_sample(settings, sample, hash);
            packed_sample_free(sample);
        }
    }
    pack_worker_end(worker);
    pack_worker_destroy(worker);
    if (st == SLUICE_OK) {
        sli_text_add(text, "contents %016" PRIx64 "\n", hash);
    }
    return st;
}
