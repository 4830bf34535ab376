/* Calls x + y on 16 floats N times, for tools/counts.py to count the instructions of.
 *
 *     counts typed|named|recorded|named-recorded N */
#include <diptych.h>
#include <diptych_ops.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void must(dip_Status status) {
    if (status == DIP_OK) return;
    fprintf(stderr, "%s\n", dip_error_message());
    exit(1);
}

int main(int argc, char **argv) {
    const float data[16] = {1, 2, 3};
    dip_Tensor *in[2], *r;
    if (argc != 3) {
        fprintf(stderr, "usage: counts typed|named|recorded|named-recorded N\n");
        return 2;
    }
    must(dip_tensor(DIP_F32, 1, (int64_t[]){16}, data, &in[0]));
    must(dip_tensor(DIP_F32, 1, (int64_t[]){16}, data, &in[1]));
    if (strstr(argv[1], "recorded")) {
        dip_Tensor *constant = in[0];
        must(dip_variable(constant, &in[0]));
        dip_unref(constant);
    }
    bool named = !strncmp(argv[1], "named", 5);
    for (long n = atol(argv[2]); n > 0; n--) {
        must(named ? dip_call("add", 2, in, NULL, 1, &r) : dip_add(in[0], in[1], &r));
        dip_unref(r);
    }
    dip_unref(in[0]);
    dip_unref(in[1]);
    return 0;
}
