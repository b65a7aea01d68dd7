/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda_options.h"

#include <string.h>

#include "cuda_device_int.h"
#include "status_int.h"

/* Default duration for which a host thread polls the device before it blocks. */
static const int64_t POLL_NS = 30000;

static sluice_status read_transport(const char *value, cuda_transport *transport_out)
{
    if (strcmp(value, "push") != 0 && strcmp(value, "pull") != 0) {
        return sli_fail(SLUICE_E_INVALID, "device option transport=%s must be push or pull", value);
    }
    *transport_out = strcmp(value, "push") == 0 ? CUDA_PUSH : CUDA_PULL;
    return SLUICE_OK;
}

/* Reads a numeric option into its field. */
static sluice_status read_number(const char *key, const char *value, sli_device_caps *caps,
                                 cuda_options *options)
{
    static const struct {
        const char *key;
        int64_t low;
        int64_t high;
    } known[] = {{"spin_us", 0, 1000000},
                 {"node", 0, 1023},
                 {"unroll", 1, 64},
                 {"copy_streams", 1, CUDA_MOST_COPY_STREAMS},
                 {"poll_us", 0, 1000000}};
    int64_t number = 0;
    size_t i = 0;
    sluice_status st;

    while (i < sizeof(known) / sizeof(known[0]) && strcmp(key, known[i].key) != 0) {
        i++;
    }
    if (i == sizeof(known) / sizeof(known[0])) {
        return sli_fail(SLUICE_E_INVALID,
                        "device option %s is unknown; cuda takes spin_us, poll_us, node, "
                        "transport, copy_streams and unroll",
                        key);
    }
    st = sli_uri_number(key, value, known[i].low, known[i].high, &number);
    if (st != SLUICE_OK) {
        return st;
    }
    if (i == 0) {
        caps->spin_ns = number * 1000;
    } else if (i == 1) {
        caps->node = (int32_t)number;
    } else if (i == 2) {
        caps->unroll = (uint32_t)number;
    } else if (i == 3) {
        options->copy_streams = (uint32_t)number;
    } else {
        options->poll_ns = number * 1000;
    }
    return SLUICE_OK;
}

sluice_status cuda_options_read(const sli_uri *uri, sli_device_caps *caps,
                                cuda_options *options_out)
{
    cuda_options options = {CUDA_AUTO, CUDA_MOST_COPY_STREAMS, POLL_NS};
    sluice_status st = SLUICE_OK;

    for (uint32_t i = 0; i < uri->option_count && st == SLUICE_OK; i++) {
        const char *key = uri->options[i].key;
        const char *value = uri->options[i].value;

        st = strcmp(key, "transport") == 0 ? read_transport(value, &options.way)
                                           : read_number(key, value, caps, &options);
    }
    *options_out = options;
    return st;
}
