/* The public face of calls by name and of gradients. */
#include "eager/dispatch.h"
#include "eager/tape.h"

dip_Status dip_call(const char *name, int nin, dip_Tensor *const *in, const char *attrs, int nout,
                    dip_Tensor **out) {
    const Op *op = name ? op_find(name) : NULL;
    if (!op || op->hidden) return FAIL(VALUE, "call: there is no op '%s'", name ? name : "NULL");
    int64_t values[128];
    attrs_init(op, values);
    if (attrs) TRY(attrs_parse(op, attrs, values));
    int have = dispatch_nout(op, values, nin, in);
    if (have != nout)
        return FAIL(VALUE, "%s gives %d results here, room was given for %d", name, have, nout);
    return dispatch(op, values, nin, in, out);
}
