/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugin_source: a plugin with the source my_records: files of records of 784 bytes, gray images.
 *     cc -shared -fPIC -o plugin_source.so plugin_source.c $(pkg-config --cflags sluice)
 *     sluice bench --plugin plugin_source.so "my_records FILE | shuffle | batch 64"
 */
#include <stdio.h>

#include <sluice/plugin.h>

enum { SIDE = 28, RECORD = SIDE * SIDE };

static const sluice_plugin_host *sluice;

/* Calls are serialized, since the file has one position. */
static sluice_status read_record(sluice_sample *sample, uint64_t index, void *user)
{
    FILE *file = user;
    void *image;
    sluice_status st = sluice->sample_room(sample, "image", NULL, &image);

    if (st >= 0) {
        flockfile(file);
        if (fseek(file, (long)index * RECORD, SEEK_SET) != 0 ||
            fread(image, RECORD, 1, file) != 1) {
            st = sluice->fail(SLUICE_E_IO, "the file is truncated");
        }
        funlockfile(file);
    }
    return st;
}

static void close_file(void *user)
{
    fclose(user);
}

static sluice_status build(sluice_builder *builder, void *user)
{
    static const sluice_column_spec columns[] = {
        {"image", SLUICE_U8, 3, {SIDE, SIDE, 1}, SLUICE_ROLE_IMAGE, 0, NULL}};
    sluice_source source = {.struct_size = sizeof(source), .read = read_record};
    const char *path;
    FILE *file;
    sluice_status st = sluice->builder_string(builder, "path", &path);

    (void)user;
    file = st >= 0 ? fopen(path, "rb") : NULL;
    if (file == NULL || fseek(file, 0, SEEK_END) != 0) {
        return st < 0 ? st : sluice->fail(SLUICE_E_IO, "%s cannot be opened", path);
    }
    source.columns = columns;
    source.column_count = 1;
    source.count = (uint64_t)ftell(file) / RECORD;
    source.close = close_file; /* once builder_source() has succeeded, the library calls it */
    source.user = file;
    st = sluice->builder_source(builder, &source);
    if (st < 0) {
        fclose(file);
    }
    return st;
}

static sluice_status init(const sluice_plugin_host *host)
{
    static const sluice_parameter parameters[] = {
        {"path", SLUICE_PARAMETER_PATH, 0, 0, 0, NULL, "the file"}};
    sluice_stage stage = {.struct_size = sizeof(stage), .name = "my_records", .build = build};

    sluice = host;
    stage.summary = "Records of 784 bytes, gray images.";
    stage.kind = SLUICE_STAGE_SOURCE;
    stage.version = 1;
    stage.parameters = parameters;
    stage.parameter_count = 1;
    return host->stage_register(&stage);
}

const sluice_plugin sluice_plugin_1 = {sizeof(sluice_plugin_host), init};
