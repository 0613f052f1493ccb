/* Checks at the border between Python and the readers' C core. */
#ifndef FOREREAD_BIND_H
#define FOREREAD_BIND_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "decode.h"

/* foreread.analyzer.ingest._readers.ReaderError, made when the module is. */
extern PyObject *bind_reader_error;

/* A buffer argument; view.obj is NULL as long as nothing is held. */
struct array {
    Py_buffer view;
};

void bind_raise_error(int code);

void bind_array_release(struct array *array);

/* Any contiguous read-only bytes. */
bool bind_bytes_acquire(struct array *array, PyObject *object);

/* A one-dimensional contiguous aligned array of native items. codes: the struct module's letters
 * that are right ("LQ"), or "T" for a structured dtype of that itemsize. */
bool bind_array_acquire(struct array *array, PyObject *object, const char *name, const char *codes,
                        Py_ssize_t itemsize, bool writable);

size_t bind_array_length(const struct array *array);

struct ev_data bind_array_data(const struct array *array);

/* Functions of the module, by file. */
extern PyMethodDef bind_decode_functions[], bind_format_functions[], bind_perf_functions[],
    bind_ring_functions[];

#endif
