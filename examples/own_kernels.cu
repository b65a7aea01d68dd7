/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel of your own on cuda:0, in sinks of 100 steps: linear regression of labels on pixels. */
#include <cuda_runtime.h>
#include <sluice/sluice.h>

enum { PIXELS = 8 * 8 * 3 }; /* values per image; also the thread count, at least the batch size */
const char pipeline[] = "synthetic 100 shape=8,8,3 | shuffle | normalize 0.5 0.25 | batch 64";
__device__ float weights[PIXELS], errors[PIXELS];

/* One block. Each thread first computes the error of one row, then updates one weight. Values that
 * change from step to step are read through pointers, since the launch is recorded once. */
__global__ void train(const float *images, const int *labels, const uint32_t *valid_rows,
                      const float *learning_rate, float *loss)
{
    const int i = threadIdx.x, rows = *valid_rows;
    float slope = 0, squares = 0;

    if (i < rows) {
        errors[i] = -labels[i];
        for (int k = 0; k < PIXELS; k++) {
            errors[i] += weights[k] * images[i * PIXELS + k];
        }
    }
    __syncthreads();
    for (int row = 0; row < rows; row++) {
        slope += errors[row] * images[row * PIXELS + i];
        squares += errors[row] * errors[row];
    }
    weights[i] -= *learning_rate * slope / rows;
    *loss = squares / rows; /* all threads write the same value */
}

/* Called once: its launches are captured into a graph, which is replayed for each batch. */
static sluice_status step(const sluice_step *s, void *)
{
    train<<<1, PIXELS, 0, (cudaStream_t)s->stream>>>((const float *)s->inputs[0].data,
                                                     (const int *)s->inputs[1].data, s->valid_rows,
                                                     s->learning_rate, s->outputs);
    return cudaGetLastError() == cudaSuccess ? SLUICE_OK : sluice_fail(SLUICE_E_DEVICE, "launch");
}

int main(void)
{
    const float rate = 0.05f;
    sluice_device *device = NULL;
    sluice_dataset *dataset = NULL;
    sluice_callback *monitor = NULL;
    sluice_schedule learning_rate;
    sluice_model model;
    sluice_train_config config;
    const sluice_status st = sluice_device_open("cuda:0", &device);

    cudaSetDevice(0); /* loads the kernel now: CUDA does not allow that during the capture */
    sluice_model_init(&model);
    model.step = step;
    model.reads_valid_rows = true;
    sluice_train_config_init(&config);
    config.dataset_sink_mode = true;
    config.sink_size = 100; /* steps per epoch: one launch, one wait */
    config.epochs = 10;
    sluice_schedule_init(&learning_rate);
    learning_rate.table = &rate;
    learning_rate.count = 1;
    config.learning_rate = &learning_rate;
    config.callbacks = &monitor;
    config.callback_count = 1;
    const bool failed = st < 0 || sluice_dataset_parse(pipeline, &dataset) < 0 ||
                        sluice_loss_monitor(stdout, 100, &monitor) < 0 ||
                        sluice_train(device, &model, dataset, &config, NULL) < 0;
    fprintf(stderr, "%s\n", failed ? sluice_last_error() : "done");
    sluice_callback_destroy(monitor);
    sluice_dataset_destroy(dataset);
    sluice_device_close(device);
    return st == SLUICE_E_NO_DEVICE ? 77 : failed;
}
