/* SPDX-License-Identifier: Apache-2.0 */
/* Documents of a run with the stage pack: loads candidates, and writes them into their windows. */
#ifndef SLUICE_KEPT_DOCUMENTS_H
#define SLUICE_KEPT_DOCUMENTS_H

#include "kept_worker.h"

/*
 * Loads the documents of a part, up to and including the first one that ends the run. Returns the
 * number of candidates processed.
 */
uint32_t kept_load_documents(kept_worker *w, kept_part *part);

/* Writes a document into the windows that it was assigned to. False: the engine stops. */
bool kept_place_document(kept_worker *w, const kept_part *part, uint32_t i);

#endif
