/* Constants in the text form of graphs:
 *
 *     0.5              every element is 0.5
 *     [1, 2, 3]        up to 16 elements, row-major
 *     hex 3c00         bytes of one element, lowest first: every element; or of all, row-major
 *     hole             more than 65536 bytes: the values are not in the text
 */
#ifndef DIP_LITERAL_H
#define DIP_LITERAL_H

#include "tensor/tensor.h"

/* Freed by the caller with free(). */
char *literal_print(const Tensor *t);
/* Reads the first n characters of text. */
Status literal_parse(const char *text, size_t n, const TensorType *type, Tensor **out);

#endif
