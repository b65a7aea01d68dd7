/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A network of your own, trained overnight: copy this folder, and replace the first part.
 *
 *     overnight PICTURES RUN [HOURS]
 *
 * PICTURES holds one folder of pictures per class. The run stores checkpoints and a log in the
 * folder RUN. It ends after HOURS (8), on Ctrl-C or on SIGTERM, with a report; on SIGUSR1 it prints
 * the report so far, and goes on. Started again, it resumes.
 */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <sluice/sluice.h>

/* ---- the network: here a linear classifier, one output per class -------------------------- */

enum { CLASSES = 10, PIXELS = 3 * 32 * 32 };

static const char training[] =
    "image_folder \"${PICTURES}\" | split train 0.9 | shuffle | decode | random_resized_crop 32 | "
    "random_horizontal_flip | normalize 0.5 0.5 | to_chw | batch 16";
static const char held_out[] = "image_folder \"${PICTURES}\" | split test 0.1 | decode | "
                               "resize 32,32 | normalize 0.5 0.5 | to_chw | batch 16";

typedef struct network {
    float weights[CLASSES][PIXELS]; /* the only state that steps change, so the only content of a
                                       checkpoint */
} network;

/* Adds `share` times the loss and the accuracy of each row to the outputs. Trains if rate is above
 * 0. */
static sluice_status run_batch(network *net, const sluice_step *s, float rate, float share)
{
    const float *image = sluice_step_input(s, "image")->data;    /* (16, 3, 32, 32) */
    const int32_t *labels = sluice_step_input(s, "label")->data; /* (16) */

    for (uint32_t row = 0; row < *s->valid_rows; row++, image += PIXELS) {
        float x[CLASSES] = {0}; /* scores */
        int best = 0;

        if (labels[row] >= CLASSES) {
            return sluice_fail(SLUICE_E_INVALID, "label %d must be less than %d: raise CLASSES",
                               labels[row], CLASSES);
        }
        for (int c = 0; c < CLASSES; c++) {
            const float wanted = c == labels[row] ? 1 : 0;

            for (int i = 0; i < PIXELS; i++) {
                x[c] += net->weights[c][i] * image[i];
            }
            for (int i = 0; rate > 0 && i < PIXELS; i++) {
                net->weights[c][i] -= rate * (1 / (1 + expf(-x[c])) - wanted) * image[i];
            }
            s->outputs[0] += share * (fmaxf(x[c], 0) - x[c] * wanted + log1pf(expf(-fabsf(x[c]))));
            best = x[c] > x[best] ? c : best;
        }
        s->outputs[1] += best == labels[row] ? share : 0;
    }
    return SLUICE_OK;
}

/* The training step: its outputs, which monitor and log show, are means over the batch. */
static sluice_status step(const sluice_step *s, void *net)
{
    return run_batch(net, s, *s->learning_rate, 1 / (float)*s->valid_rows);
}

/* The validation step: its outputs are sums, which the library divides by the number of samples. */
static sluice_status judge(const sluice_step *s, void *net)
{
    return run_batch(net, s, 0, 1);
}

/* ---- checkpoints -------------------------------------------------------------------------- */

static sluice_status transfer(network *net, const char *folder, bool save)
{
    char path[4096];
    FILE *file;
    size_t done = 0;

    snprintf(path, sizeof(path), "%s/network", folder);
    file = fopen(path, save ? "wb" : "rb");
    if (file != NULL) {
        done = save ? fwrite(net, sizeof(*net), 1, file) : fread(net, sizeof(*net), 1, file);
        done = fclose(file) == 0 ? done : 0;
    }
    return done == 1 ? SLUICE_OK : sluice_fail(SLUICE_E_IO, "cannot read or write %s", path);
}

static sluice_status save(void *net, const char *folder, uint32_t rank, uint32_t world)
{
    return rank < world ? transfer(net, folder, true) : SLUICE_OK;
}

static sluice_status load(void *net, const char *folder, uint32_t rank, uint32_t world)
{
    return rank < world ? transfer(net, folder, false) : SLUICE_OK;
}

/* ---- the run ------------------------------------------------------------------------------ */

static sluice_stop *stop;

static void on_signal(int number)
{
    (void)number;
    sluice_stop_request(stop);
}

static void on_report_signal(int number)
{
    (void)number;
    sluice_report_request(); /* the run prints its report so far to stderr */
}

/* Trains; writes checkpoints and the log to `folder`. Creates no report if an error occurs before
 * training starts. */
static sluice_status run(const char *folder, double hours, sluice_report **report_out)
{
    static const char *const names[] = {"loss", "accuracy"};
    static const float rate = 0.001F;
    static network net; /* zeros: a valid start for a linear classifier */
    const sluice_schedule rates = {.struct_size = sizeof(rates), .table = &rate, .count = 1};
    sluice_validating validation = {.struct_size = sizeof(validation)};
    sluice_checkpointing checkpoint = {.struct_size = sizeof(checkpoint), .folder = folder};
    sluice_callback *callbacks[3] = {NULL};
    sluice_device *device = NULL;
    sluice_dataset *dataset = NULL;
    sluice_train_config config;
    sluice_model model;
    char log[4096];

    snprintf(log, sizeof(log), "%s/log.jsonl", folder);
    if (sluice_device_open("host:0", &device) < 0 || sluice_dataset_parse(training, &dataset) < 0 ||
        sluice_dataset_parse(held_out, &validation.dataset) < 0 ||
        sluice_loss_monitor(stdout, 100, &callbacks[0]) < 0 ||
        sluice_validation_monitor(stdout, &callbacks[1]) < 0 ||
        sluice_json_log(log, &callbacks[2]) < 0) {
        return SLUICE_E_INVALID; /* sluice_last_error() has the reason */
    }
    sluice_model_init(&model);
    model.step = step;
    model.eval = judge;
    model.save = save;
    model.load = load;
    model.user = &net;
    model.output_names = model.result_names = names;
    model.output_count = model.result_count = 2;
    model.reads_valid_rows = true;
    checkpoint.every_epochs = 1;
    checkpoint.resume = true;
    checkpoint.best = "accuracy";
    checkpoint.best_is_larger = true;
    sluice_train_config_init(&config);
    config.dataset_sink_mode = true; /* an epoch is a pass, and one launch */
    config.max_seconds = hours * 3600;
    config.on_error = SLUICE_ON_ERROR_REPLACE; /* replaces a bad picture; the report names it */
    config.learning_rate = &rates;
    config.checkpoint = &checkpoint;
    config.validation = &validation;
    config.callbacks = callbacks;
    config.callback_count = 3;
    config.stop = stop;
    return sluice_train(device, &model, dataset, &config, report_out);
}

int main(int argc, char **argv)
{
    const struct sigaction so_far = {.sa_handler = on_report_signal, .sa_flags = SA_RESTART};
    sluice_report *report = NULL;
    char *text = NULL;
    bool failed;

    if (argc < 3) {
        fprintf(stderr, "usage: overnight PICTURES RUN [HOURS]\n");
        return 2;
    }
    setvbuf(stdout, NULL, _IOLBF, 0); /* line-buffered, even when stdout is a file */
    setenv("PICTURES", argv[1], 1);
    mkdir(argv[2], 0777);
    failed = sluice_stop_create(&stop) < 0;
    signal(SIGINT, on_signal);
    signal(SIGTERM, on_signal);
    sigaction(SIGUSR1, &so_far, NULL);
    failed = failed || run(argv[2], argc > 3 ? atof(argv[3]) : 8, &report) < 0;
    if (failed) {
        fprintf(stderr, "overnight: %s\n", sluice_last_error());
    }
    if (report != NULL && sluice_report_text(report, &text) == SLUICE_OK) {
        printf("%s", text);
    }
    return failed || text == NULL; /* process exit frees the remaining memory */
}
