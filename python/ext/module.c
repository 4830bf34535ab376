/* diptych._core: the module's start. */
#include "core.h"

CoreState core;

static bool names_init(void) {
    return INTERNED(core.construct, "construct") && INTERNED(core.call_special, "_call_special") &&
           INTERNED(core.call_graph, "_call_graph") && INTERNED(core.call_name, "_call") &&
           INTERNED(core.run_name, "run") && INTERNED(core.set_special, "_set_special") &&
           INTERNED(core.item_name, "item");
}

static int core_exec(PyObject *module) {
    if (core.tensor) {
        PyErr_SetString(PyExc_ImportError,
                        "diptych._core works in one interpreter of a process only");
        return -1;
    }
    bool fine = names_init() && error_init(module) && dtype_type_init(module) &&
                tensor_type_init(module) && parameter_type_init(module) && op_types_init(module) &&
                cell_type_init(module) && graph_type_init(module) && jit_type_init(module) &&
                sizes_init(module);
    if (!fine) return -1;
    system_init();
    if (PyModule_AddFunctions(module, grad_functions) < 0 ||
        PyModule_AddFunctions(module, system_functions) < 0 ||
        PyModule_AddFunctions(module, file_functions) < 0)
        return -1;
    return PyModule_AddIntConstant(module, "MAX_RANK", MAX_RANK);
}

static PyModuleDef_Slot core_slots[] = {
    {Py_mod_exec, core_exec},
#ifdef Py_mod_multiple_interpreters
    {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#endif
    {0},
};
static struct PyModuleDef core_def = {
    PyModuleDef_HEAD_INIT,
    .m_name = "diptych._core",
    .m_doc = "The C side of diptych.",
    .m_slots = core_slots,
};

PyMODINIT_FUNC PyInit__core(void); /* for -Wmissing-prototypes */
PyMODINIT_FUNC PyInit__core(void) { return PyModuleDef_Init(&core_def); }
