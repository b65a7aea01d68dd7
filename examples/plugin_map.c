/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugin_map: a plugin with the stage my_solarize, which inverts bright pixels.
 *
 *     cc -shared -fPIC -o plugin_map.so plugin_map.c $(pkg-config --cflags sluice)
 *     sluice bench --plugin plugin_map.so "synthetic | my_solarize threshold=100 | batch 8"
 */
#include <stdlib.h>

#include <sluice/plugin.h>

static const sluice_plugin_host *sluice;

static sluice_status solarize(sluice_sample *sample, void *user)
{
    const int64_t threshold = *(const int64_t *)user;
    sluice_sample_view image;
    void *room;
    sluice_status st = sluice->sample_get(sample, "image", &image);

    st = st < 0 ? st : sluice->sample_room(sample, "image", image.shape, &room);
    for (size_t i = 0; st >= 0 && i < image.bytes; i++) {
        const uint8_t value = ((const uint8_t *)image.data)[i];

        ((uint8_t *)room)[i] = value >= threshold ? (uint8_t)(255 - value) : value;
    }
    return st;
}

/* Builds the map for one use in a text. */
static sluice_status build(sluice_builder *builder, void *user)
{
    static const char *const inputs[] = {"image"};
    static const sluice_column_spec outputs[] = {
        {"image", SLUICE_U8, 3, {0, 0, 3}, SLUICE_ROLE_IMAGE, 0, NULL}};
    int64_t *threshold = malloc(sizeof(*threshold));
    sluice_map map = {.struct_size = sizeof(map), .map = solarize, .user = threshold};
    sluice_status st = threshold != NULL ? sluice->builder_int(builder, "threshold", threshold)
                                         : sluice->fail(SLUICE_E_NO_MEMORY, "no memory");

    (void)user;
    map.inputs = inputs;
    map.input_count = 1;
    map.outputs = outputs;
    map.output_count = 1;
    map.close = free; /* once builder_map() has succeeded, the library calls it */
    st = st < 0 ? st : sluice->builder_map(builder, &map);
    if (st < 0) {
        free(threshold);
    }
    return st;
}

static sluice_status init(const sluice_plugin_host *host)
{
    static const sluice_parameter parameters[] = {
        {"threshold", SLUICE_PARAMETER_INT, 1, 0, 256, "128", "the first value to invert"}};
    sluice_stage stage = {.struct_size = sizeof(stage), .name = "my_solarize", .build = build};

    sluice = host;
    stage.summary = "Inverts bright pixels.";
    stage.gives = "image u8 (H, W, 3) -> the same";
    stage.kind = SLUICE_STAGE_MAP;
    stage.version = 1; /* increase it when the results change */
    stage.parameters = parameters;
    stage.parameter_count = 1;
    return host->stage_register(&stage);
}

const sluice_plugin sluice_plugin_1 = {sizeof(sluice_plugin_host), init};
