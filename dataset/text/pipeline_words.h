/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The words of a pipeline text, with quotes, comments and variables resolved, and errors that show
 * a position in the text.
 */
#ifndef SLUICE_PIPELINE_WORDS_H
#define SLUICE_PIPELINE_WORDS_H

#include <stdbool.h>

#include "pipeline_args.h"
#include "status_int.h"

enum { WORD_SIZE = 4096 };

/* True if the character is a blank, in every locale. */
static inline bool word_is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* One word of the text. */
typedef struct text_word {
    char text[WORD_SIZE];
    size_t length;
    size_t at;  /* offset of its first character in the text */
    size_t key; /* length of the key before an unquoted '='; 0: the word has no key */
} text_word;

typedef struct text_words {
    const char *text;
    const char *file;    /* name of the pipeline file; NULL: the text is not from a file */
    pipeline_args *args; /* values of variables; NULL: the environment only */
    size_t at;           /* offset of the next character */
    text_word word;
    bool may_be_split_path; /* the words of the stage may be a path with blanks, without quotes */
} text_words;

/*
 * Sets the last error: the message, then the line of the text with a caret under position `at`.
 * Returns E_INVALID.
 */
sluice_status error_at(const text_words *w, size_t at, const char *format, ...) SLUICE_PRINTF(3, 4);

/* Moves w->at past blanks and comments. */
void words_skip_blanks(text_words *w);

/*
 * Reads the word at w->at into w->word. A blank, '|', a parenthesis or the end of the text ends it.
 */
sluice_status words_read(text_words *w);

#endif
