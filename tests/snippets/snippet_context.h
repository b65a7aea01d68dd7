/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What fragments of the documentation stand in: the objects of the library by their usual names,
 * and functions of a user's own, which take anything. tests/test_snippets.sh compiles each fragment
 * behind this header.
 */
#ifndef SNIPPET_CONTEXT_H
#define SNIPPET_CONTEXT_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sluice/sluice.h>
#ifdef __cplusplus
#include <sluice/sluice.hpp>
#include <vector>
#endif

/* ---- the library's objects ------------------------------------------------------------------- */

extern sluice_device *device;
extern sluice_dataset *dataset;
extern sluice_dataset *test_set;
extern sluice_channel *channel;
extern sluice_channel *train;
extern sluice_channel *test;
extern const sluice_batch *batch;
extern sluice_model model;
#ifdef SNIPPET_OF_your_loop
extern sluice_channel_config config;
#else
extern sluice_train_config config;
#endif
extern sluice_callback *callback;
extern const sluice_step *s;
extern const sluice_hook *hook;
extern const sluice_step_record *record;
extern void *user;
extern void *stream;
extern sluice_status st;
extern int32_t label;
extern uint32_t i;

/* ---- a user's own code ----------------------------------------------------------------------- */

typedef struct network {
    float rate;
    float loss;
    bool warm;
    float *scratch;
    float *buffer;
    void *previous;
    uint32_t rows;
} network;

extern network *net;
extern const float *rates;
extern const float *features;
extern const float *targets;
extern uint64_t count;
extern size_t bytes;
extern size_t batch_size;
extern size_t row_bytes;

float rate_of_step(uint64_t step, void *rate_user);
void zero_gradients(network *of);
void add_gradients(network *of, ...);
void correct_bias(network *of, ...);
void forward(network *of, ...);
void dropout(network *of, ...);
void loss(network *of, ...);
void scale(float *buffer, ...);
void copy(void *to, ...);
void update(network *of, ...);
float loss_of(const sluice_step *of, uint32_t row);
float is_correct(const sluice_step *of, uint32_t row);
void evaluate(const sluice_batch *of);
sluice_status my_map(sluice_sample *sample, void *user);
void my_brighten(const void *pixels, void *room, size_t bytes, uint64_t random, void *settings);
struct my_box {
    uint64_t x, y, width, height;
};
struct my_box my_choose_part(uint64_t width, uint64_t height, uint64_t random, void *settings);
void my_copy_part(const sluice_sample_view *image, const struct my_box *part, void *room);
int32_t my_label(void *archive, uint64_t index);
const void *my_file(void *archive, uint64_t index);
size_t my_size(void *archive, uint64_t index);
typedef struct my_record {
    int32_t label;
    uint32_t point_count;
    uint32_t box_count;
    const void *jpeg;
    size_t jpeg_size;
    const float *points;
    const float *boxes;
} my_record;

const my_record *my_archive_find(void *archive, uint64_t index);
/* Static, since fragments may declare them so. */
static sluice_status save(void *save_user, const char *folder, uint32_t rank, uint32_t world);
static sluice_status load(void *load_user, const char *folder, uint32_t rank, uint32_t world);

/* ---- MPI ------------------------------------------------------------------------------------- */

typedef int MPI_Comm;
enum { MPI_SUCCESS, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD };
int MPI_Abort(MPI_Comm over, int status);
int MPI_Allreduce(const void *from, void *to, int count, int type, int operation, MPI_Comm over);
extern MPI_Comm communicator;

#endif
