/* SPDX-License-Identifier: Apache-2.0 */
/* Parses one stage of a pipeline: its name, its arguments, and what completes it. */
#ifndef SLUICE_STAGE_TEXT_H
#define SLUICE_STAGE_TEXT_H

#include "pipeline_words.h"
#include "stage.h"

/* The state of a text, or of the text in parentheses, that is being parsed. */
typedef struct text_parser {
    const stage_def *const *table;
    text_words words;
    sluice_dataset *dataset;
    bool is_addition;      /* the stages are appended to a dataset, which has a source */
    uint32_t depth;        /* nesting of groups around the text; above 0, ')' ends the text */
    size_t opened_at;      /* above 0: offset of the '(' before the text */
    bool is_branch;        /* the stages are nested in another one, in parentheses */
    dataset_stage *stages; /* output of pipeline_parse_stages(); NULL: stages are appended to the
                              dataset */
    uint32_t stage_count;
    dataset_stage stage; /* the stage being parsed; def NULL: no stage has begun */
    size_t stage_at;     /* offset of the stage's name in the text */
    uint32_t positional; /* number of the stage's arguments without a key so far */
    uint64_t given;      /* bit i: parameter i was set */
} text_parser;

/* Begins the stage whose name is in p->words.word. E_INVALID: there is no such stage. */
sluice_status stage_text_begin(text_parser *p);

/* Parses p->words.word as an argument of the stage. E_INVALID: the stage does not take it. */
sluice_status stage_text_argument(text_parser *p);

/*
 * Completes the stage: appends it to the dataset, or to p->stages, which then own its arguments.
 * E_INVALID: an argument is missing, or the stage does not fit here. Also returns the errors of the
 * files that a source opens.
 */
sluice_status stage_text_end(text_parser *p);

#endif
