/* The JSON pull reader. Depth is bounded, so no text can exhaust the stack. */
#include "io/json.h"

#include <string.h>

enum { MAX_DEPTH = 64 };

Json json_over(char *text, size_t n) { return (Json){text, text, text + n, NULL}; }

static bool refuse(Json *j, const char *problem) {
    if (!j->problem) j->problem = problem;
    return false;
}

static void skip_space(Json *j) {
    while (j->at < j->end && (*j->at == ' ' || *j->at == '\t' || *j->at == '\n' || *j->at == '\r'))
        j->at++;
}

bool json_try(Json *j, char c) {
    if (j->problem) return false;
    skip_space(j);
    if (j->at == j->end || *j->at != c) return false;
    j->at++;
    return true;
}

bool json_take(Json *j, char c) {
    if (json_try(j, c)) return true;
    switch (c) {
    case '{': return refuse(j, "an object '{' is missing");
    case '}': return refuse(j, "a ',' or '}' is missing");
    case '[': return refuse(j, "a list '[' is missing");
    case ']': return refuse(j, "a ',' or ']' is missing");
    case ':': return refuse(j, "a ':' is missing");
    default: return refuse(j, "an unexpected character");
    }
}

static int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/* The four digits after \u; -1 when they are none. */
static int32_t hex4(Json *j) {
    if (j->end - j->at < 4) return -1;
    int32_t value = 0;
    for (int i = 0; i < 4; i++) {
        int d = hex_digit(*j->at++);
        if (d < 0) return -1;
        value = value * 16 + d;
    }
    return value;
}

static char *put_utf8(char *to, uint32_t c) {
    if (c < 0x80) {
        *to++ = (char)c;
        return to;
    }
    int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    *to++ = (char)((0xff00u >> (more + 1) & 0xff) | c >> 6 * more); /* as many 1 bits as bytes */
    while (more--) *to++ = (char)(0x80 | (c >> 6 * more & 0x3f));
    return to;
}

/* The character of a \u escape, a surrogate pair taken as one; 0 when it is not legal. */
static uint32_t unicode_escape(Json *j) {
    int32_t high = hex4(j);
    if (high < 0xd800 || high > 0xdfff) return high > 0 ? (uint32_t)high : 0;
    if (high > 0xdbff || j->end - j->at < 6 || j->at[0] != '\\' || j->at[1] != 'u') return 0;
    j->at += 2;
    int32_t low = hex4(j);
    if (low < 0xdc00 || low > 0xdfff) return 0;
    return 0x10000u + ((uint32_t)(high - 0xd800) << 10) + (uint32_t)(low - 0xdc00);
}

/* Length of the UTF-8 sequence at s, 0 when it is malformed, overlong or a surrogate. */
static int utf8_length(const unsigned char *s, const unsigned char *end) {
    if (s[0] < 0x80) return 1;
    int n = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
    if (s[0] < 0xc2 || s[0] > 0xf4 || end - s < n) return 0;
    for (int i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80) return 0;
    if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f)) return 0;
    if ((s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f)) return 0;
    return n;
}

bool json_is_utf8(const char *text) {
    const char *end = text + strlen(text);
    for (int n; text < end; text += n)
        if (!(n = utf8_length((const unsigned char *)text, (const unsigned char *)end)))
            return false;
    return true;
}

/* One escape after its backslash; returns the new end of the decoded text, NULL on failure. */
static char *take_escape(Json *j, char *to) {
    static const char from[] = "\"\\/bfnrt", into[] = "\"\\/\b\f\n\r\t";
    if (j->at == j->end) return NULL;
    char c = *j->at++;
    if (c == 'u') {
        uint32_t value = unicode_escape(j);
        return value ? put_utf8(to, value) : NULL;
    }
    const char *found = c ? strchr(from, c) : NULL;
    if (!found) return NULL;
    *to = into[found - from];
    return to + 1;
}

char *json_string(Json *j) {
    if (!json_try(j, '"')) {
        refuse(j, "a string is missing");
        return NULL;
    }
    char *start = j->at, *to = start;
    while (j->at < j->end && *j->at != '"') {
        if ((unsigned char)*j->at < 0x20) break;
        if (*j->at == '\\') {
            j->at++;
            to = take_escape(j, to);
            if (!to) break;
            continue;
        }
        int n = utf8_length((unsigned char *)j->at, (unsigned char *)j->end);
        if (!n) break;
        memmove(to, j->at, (size_t)n);
        to += n, j->at += n;
    }
    if (!to || j->at == j->end || *j->at != '"') {
        refuse(j, "a string is malformed");
        return NULL;
    }
    j->at++;
    *to = 0;
    return start;
}

bool json_count(Json *j, int64_t *out) {
    if (j->problem) return false;
    skip_space(j);
    char *start = j->at;
    int64_t value = 0;
    while (j->at < j->end && *j->at >= '0' && *j->at <= '9') {
        int digit = *j->at++ - '0';
        if (value > (INT64_MAX - digit) / 10) return refuse(j, "a number is too large");
        value = value * 10 + digit;
    }
    bool empty = j->at == start, padded = j->at - start > 1 && *start == '0';
    bool fraction = j->at < j->end && (*j->at == '.' || *j->at == 'e' || *j->at == 'E');
    if (empty || padded || fraction) return refuse(j, "a whole number >= 0 is missing");
    *out = value;
    return true;
}

/* A number, true, false or null: checked for its characters only, for nobody looks at it. */
static bool skip_word(Json *j) {
    char *start = j->at;
    while (j->at < j->end && *j->at && strchr("+-.0123456789Eaeflnrstu", *j->at)) j->at++;
    return j->at > start || refuse(j, "a value is missing");
}

static bool skip_value(Json *j, int depth);

static bool skip_members(Json *j, int depth, char close) {
    if (json_try(j, close)) return true;
    do {
        if (close == '}' && (!json_string(j) || !json_take(j, ':'))) return false;
        if (!skip_value(j, depth)) return false;
    } while (json_try(j, ','));
    return json_take(j, close);
}

static bool skip_value(Json *j, int depth) {
    if (depth > MAX_DEPTH) return refuse(j, "values are nested too deeply");
    if (json_try(j, '{')) return skip_members(j, depth + 1, '}');
    if (json_try(j, '[')) return skip_members(j, depth + 1, ']');
    if (j->at < j->end && *j->at == '"') return json_string(j) != NULL;
    return !j->problem && skip_word(j);
}

bool json_skip(Json *j) { return skip_value(j, 0); }

bool json_at_end(Json *j) {
    if (j->problem) return false;
    skip_space(j);
    return j->at == j->end;
}
