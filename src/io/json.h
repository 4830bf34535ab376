/* A pull reader for JSON text held in memory that may be written to: the caller asks for what it
 * expects, and a wrong answer makes every later call fail too. Strings are decoded where they stand
 * (decoding never makes them longer), so a returned string lives as long as the text. */
#ifndef DIP_JSON_H
#define DIP_JSON_H

#include "base/base.h"

typedef struct Json {
    char *text, *at, *end;
    const char *problem; /* what was wrong first; NULL while all is well */
} Json;

Json json_over(char *text, size_t n);
/* Takes the character c, after white space; json_try leaves the text alone when it is another. */
bool json_try(Json *j, char c);
bool json_take(Json *j, char c);
/* A string, decoded, checked to be UTF-8 without zero bytes; NULL on failure. */
char *json_string(Json *j);
/* A whole number 0 .. 2^63 - 1. */
bool json_count(Json *j, int64_t *out);
/* Any value, thrown away. */
bool json_skip(Json *j);
/* Whether zero-terminated text is well-formed UTF-8. */
bool json_is_utf8(const char *text);
/* True when only white space is left. */
bool json_at_end(Json *j);

#endif
