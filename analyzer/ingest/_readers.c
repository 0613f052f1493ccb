/* The readers' C core for Python, on the limited API.
 *
 * Each container has its bindings in a header of its own (_bind_perf.h, _bind_ring.h) that ends
 * in the rows of the method table; a new reader adds one #include and one row below.
 */
#include "_bind_decode.h"
#include "_bind_formats.h"
#include "_bind_perf.h"
#include "_bind_ring.h"

static PyMethodDef methods[] = {
    DECODE_METHODS FORMAT_METHODS PERF_METHODS RING_METHODS{NULL, NULL, 0, NULL},
};

static int
module_exec(PyObject *module)
{
    if (reader_error == NULL)
        reader_error =
            PyErr_NewException("analyzer.ingest._readers.ReaderError", PyExc_ValueError, NULL);
    if (reader_error == NULL)
        return -1;
    Py_INCREF(reader_error);
    if (PyModule_AddObject(module, "ReaderError", reader_error) != 0) {
        Py_DECREF(reader_error);
        return -1;
    }
    return 0;
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, module_exec},
    {0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, .m_name = "_readers", .m_doc = "Walks trace files; see _readers.pyi.",
    .m_size = 0,           .m_methods = methods, .m_slots = slots,
};

PyMODINIT_FUNC
PyInit__readers(void)
{
    return PyModuleDef_Init(&definition);
}
