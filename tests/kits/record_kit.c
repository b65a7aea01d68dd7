/* SPDX-License-Identifier: Apache-2.0 */
#include "record_kit.h"

#include "testing.h"

static void add_value(record_maker *maker, const char *name, record_value value)
{
    T_TRUE(maker->names.count < SLUICE_MAX_COLUMNS);
    maker->names.names[maker->names.count] = name;
    maker->values[maker->names.count++] = value;
}

void maker_bytes(record_maker *maker, const char *name, const void *bytes, size_t size)
{
    add_value(maker, name,
              (record_value){.kind = RECORD_BYTES, .count = 1, .data = bytes, .size = size});
}

void maker_text(record_maker *maker, const char *name, const char *text)
{
    maker_bytes(maker, name, text, strlen(text));
}

void maker_numbers(record_maker *maker, const char *name, sluice_dtype dtype, const void *numbers,
                   uint64_t count)
{
    add_value(maker, name,
              (record_value){.kind = RECORD_NUMBERS,
                             .dtype = dtype,
                             .count = count,
                             .data = numbers,
                             .size = (size_t)count * sluice_dtype_size(dtype)});
}

void maker_end(record_maker *maker, record_bytes *file)
{
    T_OK(tfrecord_append(&maker->names, maker->values, file));
    maker->names.count = 0;
}

void write_records(record_bytes *file, const char *path)
{
    t_write_file(path, file->data, file->size);
    record_bytes_free(file);
}
