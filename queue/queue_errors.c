/* SPDX-License-Identifier: Apache-2.0 */
/* Stores the error of the earliest failed batch and raises it in the consumer. */
#include "queue_state.h"

void queue_keep_error(sli_queue *queue, uint64_t seq, const sli_error *error)
{
    pthread_mutex_lock(&queue->error_lock);
    if (queue->error.status == SLUICE_OK || seq < queue->error_seq) {
        queue->error = *error;
        queue->error_seq = seq;
    }
    pthread_mutex_unlock(&queue->error_lock);
}

sluice_status queue_error(sli_queue *queue)
{
    sluice_status st;

    pthread_mutex_lock(&queue->error_lock);
    st = sli_error_raise(&queue->error);
    pthread_mutex_unlock(&queue->error_lock);
    return st;
}
