/* Trains LeNet-5 (LeCun et al. 1998, with ReLU and max pooling) on Fashion-MNIST, in either mode,
 * through the public headers alone.
 *
 *     lenet [eager|graph] [FOLDER] [EPOCHS] [STEPS]
 *
 * fashion.h says what FOLDER holds. Both modes print the same losses; two epochs give about 86 %
 * on the test set. */
#include "fashion.h"

/* A weight and its bias. */
typedef struct Layer {
    const char *weight, *bias;
    dip_Ints shape;
    int64_t inputs; /* that one output sums up */
} Layer;

enum { NLAYERS = 5 };

static const Layer layers[NLAYERS] = {
    {"conv1.weight", "conv1.bias", {4, {6, 1, 5, 5}}, 25},
    {"conv2.weight", "conv2.bias", {4, {16, 6, 5, 5}}, 150},
    {"fc1.weight", "fc1.bias", {2, {120, 400}}, 400},
    {"fc2.weight", "fc2.bias", {2, {84, 120}}, 120},
    {"fc3.weight", "fc3.bias", {2, {CLASSES, 84}}, 84},
};

/* *x (n, c, h, w) through a convolution 5 x 5, ReLU and the maximum of each 2 x 2. */
static void convolve(dip_Tensor **x, dip_Param *const *p, int64_t padding) {
    dip_conv_args args = DIP_CONV_ARGS;
    args.padding = DIP_INTS(padding, padding);
    dip_Tensor *next, *pooled[2];
    must(dip_conv(*x, dip_param_peek(p[0]), dip_param_peek(p[1]), &args, &next)), replace(x, next);
    must(dip_relu(*x, &next)), replace(x, next);
    must(dip_max_pool(*x, DIP_INTS(2, 2), NULL, pooled)), replace(x, pooled[0]);
    dip_unref(pooled[1]); /* where the largest stood */
}

static void dense(dip_Tensor **x, dip_Param *const *p) {
    dip_Tensor *next;
    must(dip_dense(*x, dip_param_peek(p[0]), dip_param_peek(p[1]), &next)), replace(x, next);
}

static void relu(dip_Tensor **x) {
    dip_Tensor *next;
    must(dip_relu(*x, &next)), replace(x, next);
}

static dip_Tensor *forward(void *params, dip_Tensor *images) {
    dip_Param **p = params;
    dip_Tensor *x = dip_ref(images), *flat;
    convolve(&x, p, 2);
    convolve(&x, p + 2, 0);
    must(dip_reshape(x, DIP_INTS(-1, 400), &flat)), replace(&x, flat);
    dense(&x, p + 4);
    relu(&x);
    dense(&x, p + 6);
    relu(&x);
    dense(&x, p + 8);
    return x;
}

int main(int argc, char **argv) {
    Args args = read_args(argc, argv, FASHION_FOLDER, 2);
    dip_seed(1);
    dip_Param *params[2 * NLAYERS];
    for (int i = 0; i < NLAYERS; i++) {
        double bound = 1 / sqrt((double)layers[i].inputs);
        params[2 * i] = new_param(layers[i].weight, layers[i].shape, bound);
        params[2 * i + 1] = new_param(layers[i].bias, DIP_INTS(layers[i].shape.v[0]), bound);
    }
    train_classifier(&(Classifier){2 * NLAYERS, params, forward, NULL}, &args);
    return 0;
}
