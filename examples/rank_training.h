/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What train_mpi and train_nccl have in common: the command line, the pictures, the network in host
 * memory, signals, checkpoints and the run. The programs differ in the device, and in how the ranks
 * add up gradients, agree and abort.
 */
#ifndef RANK_TRAINING_H
#define RANK_TRAINING_H

#include <sluice/sluice.h>

#include "class_names.h"
#include "convnet.h"

enum { RANK_TRAINING_SIZE = 32, RANK_TRAINING_BATCH = 64 }; /* side of a picture; global batch */

typedef struct rank_training {
    const char *pictures; /* folder with one folder of pictures for each class */
    const char *run;      /* folder of checkpoints, and of log.jsonl with the loss of each step */
    uint64_t steps;       /* of the whole training */
    float rate;           /* learning rate */

    uint32_t rank;
    uint32_t world;
    convnet_config config; /* of the network; its batch is this rank's part */
    convnet *net;          /* the same on all ranks: its weights are a function of the seed */
    class_names classes;
    sluice_dataset *dataset;
    sluice_stop *stop;
} rank_training;

/* Reads PICTURES RUN [STEPS [RATE]]. Returns false after printing the usage; `launch`: what stands
 * before the program's name in it. */
bool rank_training_read(rank_training *t, int argc, char **argv, const char *launch);

/* Makes dataset and network for this rank. Returns E_INVALID if the ranks cannot share a batch.
 * rank_training_close() is to be called, also after an error. */
sluice_status rank_training_open(rank_training *t, uint32_t rank, uint32_t world);

/*
 * Trains on `device` up to `steps`, or until SIGINT or SIGTERM; resumes from the newest checkpoint.
 *
 * @param model  with step, save, load and user; its outputs are the loss and the share of correct
 *               answers, over all ranks
 * @param agree  see config.agree; called with model->user, as is end_all
 */
sluice_status rank_training_run(rank_training *t, sluice_device *device, sluice_model *model,
                                sluice_agree_fn agree, sluice_abort_fn end_all);

void rank_training_close(rank_training *t);

#endif
