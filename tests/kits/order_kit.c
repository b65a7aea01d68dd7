/* SPDX-License-Identifier: Apache-2.0 */
#include "order_kit.h"

#include "random_kit.h"
#include "testing.h"

uint32_t random_state;

uint32_t below(uint32_t range)
{
    return test_below(&random_state, range);
}

/* One index stage; those that choose by name stand only at the front. */
static void add_random_stage(char *text, size_t size, bool front, bool shards)
{
    static const char *const split_texts[] = {"split train 0.7", "split test 0.4 3",
                                              "split val 0.5 test=.2"};
    size_t used = strlen(text);

    switch (below(front ? 3 : shards ? 6 : 5)) {
    case 0:
        snprintf(text + used, size - used, " | take %u", below(60));
        break;
    case 1:
        snprintf(text + used, size - used, " | skip %u", below(20));
        break;
    case 2:
        if (front) {
            snprintf(text + used, size - used, " | %s", split_texts[below(3)]);
        } else {
            snprintf(text + used, size - used, " | repeat %u", 1 + below(3));
        }
        break;
    case 3:
    case 4:
        snprintf(text + used, size - used, " | shuffle%s", below(2) ? " 5" : "");
        break;
    default:
        snprintf(text + used, size - used, below(2) ? " | shard %u %u" : " | shard", below(2), 2);
        break;
    }
}

void random_pipeline(char *text, size_t size, bool shards)
{
    snprintf(text, size, "synthetic %u 1,1,1", 1 + below(60));
    for (uint32_t i = below(3); i > 0; i--) {
        add_random_stage(text, size, true, false);
    }
    for (uint32_t i = below(5); i > 0; i--) {
        add_random_stage(text, size, false, shards);
    }
}

sluice_dataset *opened(const char *text)
{
    sluice_dataset *dataset = NULL;
    sluice_status st = sluice_dataset_parse(text, &dataset);

    if (st == SLUICE_OK) {
        st = dataset_open(dataset);
    }
    if (st != SLUICE_OK) {
        T_FAIL_("%s: %.900s", text, sluice_last_error());
    }
    return dataset;
}

sample_order order_of(const sluice_dataset *dataset, const order_settings *settings)
{
    sample_order order;

    T_OK(order_make(dataset, settings, &order));
    return order;
}

uint64_t sample_at(const sample_order *order, uint64_t pass, uint64_t position)
{
    uint64_t sample;
    uint64_t sample_pass;

    order_at(order, pass, position, &sample, &sample_pass);
    return sample;
}

bool expect_kept(const sluice_dataset *dataset, uint32_t i, uint64_t position)
{
    const split_members *split = &dataset->splits[i];

    for (uint64_t k = 0; k < split->count; k++) {
        if (split->members[k] == position) {
            return true;
        }
    }
    return false;
}
