/* Trains a perceptron 784-128-10 on Fashion-MNIST, through the public headers alone.
 *
 *     fashion_mlp [eager|graph] [FOLDER] [EPOCHS] [STEPS]
 *
 * fashion.h says what FOLDER holds. Two epochs of Adam give about 86 % on the test set. */
#include "fashion.h"

enum { HIDDEN = 128, NPARAMS = 4 };

static dip_Tensor *forward(void *params, dip_Tensor *images) {
    dip_Param **p = params;
    dip_Tensor *x, *next;
    must(dip_reshape(images, DIP_INTS(-1, PIXELS), &x));
    must(dip_dense(x, dip_param_peek(p[0]), dip_param_peek(p[1]), &next)), replace(&x, next);
    must(dip_relu(x, &next)), replace(&x, next);
    must(dip_dense(x, dip_param_peek(p[2]), dip_param_peek(p[3]), &next)), replace(&x, next);
    return x;
}

int main(int argc, char **argv) {
    Args args = read_args(argc, argv, FASHION_FOLDER, 2);
    dip_seed(1);
    const double bound1 = 1 / sqrt(PIXELS), bound2 = 1 / sqrt(HIDDEN);
    dip_Param *params[] = {new_param("fc1.weight", DIP_INTS(HIDDEN, PIXELS), bound1),
                           new_param("fc1.bias", DIP_INTS(HIDDEN), bound1),
                           new_param("fc2.weight", DIP_INTS(CLASSES, HIDDEN), bound2),
                           new_param("fc2.bias", DIP_INTS(CLASSES), bound2)};
    train_classifier(&(Classifier){NPARAMS, params, forward, NULL}, &args);
    return 0;
}
