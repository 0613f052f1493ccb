/* The readers' C core for Python, on the limited API.
 *
 * Each container has its bindings in a file of its own (_bind_perf.c, _bind_ring.c) that ends in a
 * table of functions; a new reader adds a file, and its table below.
 */
#include "_bind.h"

static int
module_exec(PyObject *module)
{
    PyMethodDef *const tables[] = {bind_decode_functions, bind_format_functions,
                                   bind_perf_functions, bind_ring_functions};

    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
        if (PyModule_AddFunctions(module, tables[i]) != 0)
            return -1;
    if (bind_reader_error == NULL)
        bind_reader_error = PyErr_NewException("foreread.analyzer.ingest._readers.ReaderError",
                                               PyExc_ValueError, NULL);
    if (bind_reader_error == NULL)
        return -1;
    Py_INCREF(bind_reader_error);
    if (PyModule_AddObject(module, "ReaderError", bind_reader_error) != 0) {
        Py_DECREF(bind_reader_error);
        return -1;
    }
    return 0;
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, module_exec},
    {0, NULL},
};

static struct PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "_readers",
    .m_doc = "Walks trace files; see _readers.pyi.",
    .m_size = 0,
    .m_slots = slots,
};

PyMODINIT_FUNC
PyInit__readers(void)
{
    return PyModuleDef_Init(&definition);
}
