/* SPDX-License-Identifier: Apache-2.0 */
/* Documents of a run with the stage pack: loads candidates, and writes them into their windows. */
#ifndef SLUICE_COLLECTED_DOCUMENTS_H
#define SLUICE_COLLECTED_DOCUMENTS_H

#include "collected_worker.h"

/*
 * Loads the documents of a part, up to and including the first one that ends the run. Returns the
 * number of candidates processed.
 */
uint32_t collected_load_documents(collected_worker *w, collected_part *part);

/* Writes a document into the windows that it was assigned to. False: the engine stops. */
bool collected_place_document(collected_worker *w, const collected_part *part, uint32_t i);

#endif
