// The C program, compiled as C++.
#include "test_headers.c"
