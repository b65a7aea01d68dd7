/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Your own kernels, run 100 times for one launch: a linear classifier on cuda:0.
 *
 *     own_kernels ["image_folder train | shuffle | decode | resize 32,32 | normalize imagenet |
 *                   to_chw | batch 64"]
 *
 * The step is called once, while its launches are captured; the device replays them for each batch.
 * What changes from step to step is read by the kernels, through the addresses in sluice_step.
 */
#include <stdio.h>

#include <cuda_runtime.h>
#include <sluice/sluice.h>

enum { PIXELS = 3 * 32 * 32, CLASSES = 10, BATCH = 64 };

struct classifier {
    float weights[CLASSES][PIXELS];
    float slopes[BATCH][CLASSES]; /* of the loss by the logits */
    float losses[BATCH];
};

/* A block for each row, a warp for each class: logits, softmax, cross-entropy and its slope. */
__global__ void forward(classifier *net, const float *images, const int *labels,
                        const uint32_t *valid_rows)
{
    __shared__ float logits[CLASSES];
    const int row = blockIdx.x, lane = threadIdx.x, k = threadIdx.y;
    float logit = 0, sum = 0;

    if (row >= *valid_rows) {
        return; /* rows from there on hold no samples */
    }
    for (int i = lane; i < PIXELS; i += warpSize) {
        logit += net->weights[k][i] * images[row * PIXELS + i];
    }
    for (int other = warpSize / 2; other > 0; other /= 2) {
        logit += __shfl_xor_sync(~0u, logit, other);
    }
    if (lane == 0) {
        logits[k] = logit;
    }
    __syncthreads();
    for (int j = 0; j < CLASSES; j++) {
        sum += expf(logits[j] - logit);
    }
    if (lane == 0) {
        net->slopes[row][k] = 1 / sum - (labels[row] == k);
        if (labels[row] == k) {
            net->losses[row] = logf(sum);
        }
    }
}

/* A thread for each weight moves it against its slope. The very first adds up the loss, too. */
__global__ void update(classifier *net, const float *images, const uint32_t *valid_rows,
                       const float *learning_rate, float *loss)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x, k = blockIdx.y;
    float slope = 0, total = 0;

    for (int row = 0; row < *valid_rows; row++) {
        slope += net->slopes[row][k] * images[row * PIXELS + i];
        total += net->losses[row];
    }
    net->weights[k][i] -= *learning_rate * slope / *valid_rows;
    if (i == 0 && k == 0) {
        *loss = total / *valid_rows;
    }
}

static sluice_status step(const sluice_step *s, void *user)
{
    classifier *net = static_cast<classifier *>(user);
    const sluice_tensor *image = sluice_step_input(s, "image");
    const float *images = static_cast<const float *>(image->data);
    const int *labels = static_cast<const int *>(sluice_step_input(s, "label")->data);
    cudaStream_t stream = static_cast<cudaStream_t>(s->stream);

    if (image->shape[0] > BATCH) {
        return sluice_fail(SLUICE_E_INVALID, "at most %d rows in a batch, please", BATCH);
    }
    forward<<<BATCH, dim3(32, CLASSES), 0, stream>>>(net, images, labels, s->valid_rows);
    update<<<dim3(PIXELS / 256, CLASSES), 256, 0, stream>>>(net, images, s->valid_rows,
                                                            s->learning_rate, &s->outputs[0]);
    return cudaGetLastError() == cudaSuccess ? SLUICE_OK : SLUICE_E_DEVICE;
}

static sluice_status train(sluice_device *device, sluice_dataset *dataset, classifier *net)
{
    static const sluice_column inputs[] = {{"image", SLUICE_F32, 3, {3, 32, 32}},
                                           {"label", SLUICE_I32, 0, {}}};
    static const float rate = 0.01f;
    sluice_train_config config;
    sluice_callback monitor;
    sluice_model model;
    sluice_status st = sluice_loss_monitor(stdout, 100, &monitor);

    if (st != SLUICE_OK) {
        return st;
    }
    sluice_model_init(&model);
    model.step = step;
    model.user = net;
    model.inputs = inputs;
    model.input_count = 2;
    model.reads_valid_rows = true;
    sluice_train_config_init(&config);
    config.dataset_sink_mode = true;
    config.sink_size = 100; /* steps of an epoch: one launch, one wait */
    config.epochs = 10;
    config.learning_rate.table = &rate;
    config.learning_rate.count = 1;
    config.callbacks = &monitor;
    config.callback_count = 1;
    st = sluice_train(device, &model, dataset, &config, NULL);
    sluice_callback_destroy(&monitor);
    return st;
}

int main(int argc, char **argv)
{
    const char *pipeline = argc > 1 ? argv[1]
                                    : "synthetic 1000 shape=32,32,3 classes=10 | shuffle | "
                                      "normalize 0.5 0.25 | to_chw | batch 64";
    sluice_device *device = NULL;
    sluice_dataset *dataset = NULL;
    classifier *net = NULL;
    sluice_status st = sluice_device_open("cuda:0", &device);

    if (st == SLUICE_OK) {
        st = sluice_dataset_parse(pipeline, &dataset);
    }
    if (st == SLUICE_OK && (cudaMalloc(&net, sizeof(*net)) != cudaSuccess ||
                            cudaMemset(net, 0, sizeof(*net)) != cudaSuccess ||
                            cudaDeviceSynchronize() != cudaSuccess)) {
        st = sluice_fail(SLUICE_E_NO_MEMORY, "no memory on the device for the classifier");
    }
    if (st == SLUICE_OK) {
        st = train(device, dataset, net);
    }
    if (st < 0) {
        fprintf(stderr, "%s\n", sluice_last_error());
    }
    cudaFree(net);
    sluice_dataset_destroy(dataset);
    sluice_device_close(device);
    return st == SLUICE_E_NO_DEVICE ? 77 : st < 0 ? 1 : 0; /* 77: skipped, for tests */
}
