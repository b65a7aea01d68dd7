/* SPDX-License-Identifier: Apache-2.0 */
/*
 * custom_map: an augmentation of your own. Cutout: sets a square of each image to black, at a
 * random position per sample. Prints the label and the black pixels of each sample. cc -o
 * custom_map custom_map.c $(pkg-config --cflags --libs sluice)
 */
#include <stdio.h>
#include <string.h>

#include <sluice/sluice.h>

enum { SIDE = 32, HOLE = 8 };

static const sluice_column_spec outputs[] = {
    {"image", SLUICE_U8, 3, {SIDE, SIDE, 3}, SLUICE_ROLE_IMAGE, 0, NULL},
};

/* Your code: copies the image and cuts a hole. Several workers call it concurrently. */
static sluice_status cut_hole(sluice_sample *sample, void *user)
{
    const uint64_t bits = sluice_sample_random(sample, 0); /* a function of seed, pass and sample */
    const size_t top = (size_t)(bits % (SIDE - HOLE + 1));
    const size_t left = (size_t)((bits >> 32) % (SIDE - HOLE + 1));
    sluice_sample_view image;
    void *room;
    sluice_status st = sluice_sample_get(sample, "image", &image);

    (void)user;
    st = st < 0 ? st : sluice_sample_room(sample, "image", NULL, &room);
    if (st < 0) {
        return st;
    }
    memcpy(room, image.data, image.bytes);
    for (size_t y = top; y < top + HOLE; y++) {
        memset((unsigned char *)room + (y * SIDE + left) * 3, 0, (size_t)HOLE * 3);
    }
    return SLUICE_OK;
}

/* Prints a sample as a training step would receive it. */
static sluice_status print_sample(sluice_dataset *dataset, uint64_t index)
{
    static unsigned char image[SIDE * SIDE][3];
    int32_t label = -1;
    uint32_t black = 0;
    sluice_status st =
        sluice_dataset_get(dataset, 0, 0, index, (void *const[]){image, &label}, NULL);

    for (uint32_t i = 0; i < SIDE * SIDE; i++) {
        black += image[i][0] + image[i][1] + image[i][2] == 0;
    }
    printf("%d %u\n", label, black);
    return st;
}

int main(void)
{
    sluice_dataset *dataset = NULL;
    sluice_map map;
    sluice_status st = sluice_dataset_parse("synthetic 64 32,32,3 64 | shuffle", &dataset);

    sluice_map_init(&map);
    map.name = "cutout";
    map.inputs = (const char *const[]){"image"};
    map.input_count = 1;
    map.outputs = outputs;
    map.output_count = 1;
    map.map = cut_hole;
    st = st < 0 ? st : sluice_dataset_map(dataset, &map);
    st = st < 0 ? st : sluice_dataset_add(dataset, "batch 8");
    for (uint64_t i = 0; i < 64 && st == SLUICE_OK; i++) {
        st = print_sample(dataset, i);
    }
    if (st < 0) {
        fprintf(stderr, "%s\n", sluice_last_error());
    }
    sluice_dataset_destroy(dataset);
    return st < 0 ? 1 : 0;
}
