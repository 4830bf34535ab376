/* Both public headers in a program of strict C17, and of C++: it compiles, links and computes. */
#include "diptych.h"
#include "diptych_ops.h"

#include <stdio.h>
#include <string.h>

int main(void) {
    const float data[4] = {-1, 2, -3, 4};
    const int64_t dims[2] = {2, 2};
    dip_Tensor *x = NULL, *y = NULL, *z = NULL, *hot = NULL, *parts[2] = {NULL, NULL};
    dip_Status s = dip_tensor(DIP_F32, 2, dims, data, &x);
    if (!s) s = dip_relu(x, &y);
    if (!s) s = dip_reshape(y, DIP_INTS(4), &z);
    if (!s) s = dip_chunk(z, 2, 0, 2, parts);
    dip_one_hot_args args = DIP_ONE_HOT_ARGS;
    args.dtype = DIP_F32;
    dip_Tensor *index = NULL;
    if (!s) s = dip_number(DIP_I32, 1, &index);
    if (!s) s = dip_one_hot(index, 3, &args, &hot);
    float got[4] = {0, 0, 0, 0}, ones[3] = {0, 0, 0};
    if (!s) s = dip_copy_out(z, got, sizeof got);
    if (!s) s = dip_copy_out(hot, ones, sizeof ones);
    if (s) fprintf(stderr, "%s: %s\n", dip_status_name(s), dip_error_message());
    const float want[4] = {0, 2, 0, 4};
    int good = !s && !memcmp(got, want, sizeof want) && ones[1] == 1 && ones[0] == 0;
    dip_Tensor *all[] = {x, y, z, hot, index, parts[0], parts[1]};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) dip_unref(all[i]);
    printf("headers: %d passed, %d failed\n", good, !good);
    return !good;
}
