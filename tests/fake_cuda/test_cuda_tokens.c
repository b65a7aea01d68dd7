/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens on the CUDA device, on the fake of CUDA: windows cross the bus as they are stored, and the
 * step's tensors are those of host:0. */
#include "channel_kit.h"
#include "cuda_kit.h"
#include "fake_kit.h"
#include "testing.h"
#include "tokens_kit.h"

enum { SEQ = 64, BATCH = 4, TOKENS = 10 * BATCH * SEQ + 1 };

static const sluice_mode modes[] = {SLUICE_MODE_DIRECT, SLUICE_MODE_DATA, SLUICE_MODE_GRAPH,
                                    SLUICE_MODE_LOOP};

/* A pipeline over a file of tokens of so many bytes. */
static const char *pipeline_of(uint32_t token_bytes, const char *arguments, char text[600])
{
    const char *folder = t_folder();

    tokens_write(folder, "a.bin", token_bytes, 1, 65000, TOKENS);
    snprintf(text, 600,
             "tokens %s/a.bin %d %s | rename inputs image | rename targets label | batch %d",
             folder, SEQ, arguments, BATCH);
    return text;
}

static void steps_are_the_hosts_in_every_mode(void)
{
    for (uint32_t i = 0; i < 8; i++) {
        char text[600];
        kit expected;
        kit k;

        fake_cuda_start(&cuda_kit_machine);
        cuda_kit_init(&k);
        k.pipeline = pipeline_of(i % 2 == 0 ? 2 : 4, i < 4 ? "" : "order=llmc", text);
        k.config.mode = modes[i % 4];
        k.config.sink_size = 5;
        k.config.epochs = 4;
        T_OK(kit_run(&k));
        kit_check(&k);
        kit_init(&expected);
        expected.pipeline = k.pipeline;
        expected.config = k.config;
        expected.config.mode = SLUICE_MODE_AUTO;
        T_OK(kit_run(&expected));
        T_EQ(k.count, 20);
        T_EQ(expected.count, 20);
        kit_check_same(&expected, &k, 0, 20);
        kit_fini(&expected);
        kit_fini(&k);
        cuda_kit_nothing_is_live();
    }
}

static void batches_of_channels_are_the_hosts(void)
{
    for (uint32_t i = 0; i < 4 * CHANNEL_KIT_TRANSPORTS; i++) {
        const uint32_t token_bytes = i % 2 == 0 ? 2 : 4;
        const char *arguments = i % 4 < 2 ? "" : "offload=host";
        char text[600];
        channel_kit k;

        fake_cuda_start(&channel_kit_machine);
        pipeline_of(token_bytes, arguments, text);
        channel_kit_open(&k, channel_kit_transports[i / 4], text, 21);
        for (int n = 0; n < 21; n++) {
            T_OK(channel_kit_fetch(&k, NULL, NULL, 0));
        }
        T_STATUS(channel_kit_fetch(&k, NULL, NULL, 0), SLUICE_END_OF_DATA);
        channel_kit_check(&k, text);
        channel_kit_close(&k);
        cuda_kit_nothing_is_live();
    }
}

/* A slot has a header, a flag for each row, and the columns. */
static void a_window_is_copied_once(void)
{
    static const char *const arguments[] = {"", "offload=host"};
    uint64_t bytes[2];

    for (int i = 0; i < 2; i++) {
        char text[600];
        kit k;

        fake_cuda_start(&cuda_kit_machine);
        cuda_kit_init(&k);
        k.device = "cuda:0,transport=push";
        k.pipeline = pipeline_of(2, arguments[i], text);
        k.config.sink_size = 5;
        k.config.epochs = 4;
        T_OK(kit_run(&k));
        T_EQ(k.count, 20);
        bytes[i] = k.report->bytes_h2d / 20;
        kit_fini(&k);
        cuda_kit_nothing_is_live();
    }
    T_EQ(bytes[0], 512 + (BATCH * 2 * (SEQ + 1) + 255) / 256 * 256);
    T_EQ(bytes[1], 512 + 2 * BATCH * 4 * SEQ);
}

const t_test cuda_tokens_tests[] = {
    T_TEST(steps_are_the_hosts_in_every_mode),
    T_TEST(batches_of_channels_are_the_hosts),
    T_TEST(a_window_is_copied_once),
    T_END,
};
