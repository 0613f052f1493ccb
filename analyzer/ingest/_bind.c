/* See _bind.h. */
#include "_bind.h"

#include <string.h>

PyObject *bind_reader_error;

void
bind_raise_error(int code)
{
    if (code == EV_ERR_NO_MEMORY)
        PyErr_NoMemory();
    else
        PyErr_SetString(bind_reader_error, ev_message(code));
}

void
bind_array_release(struct array *array)
{
    if (array->view.obj != NULL)
        PyBuffer_Release(&array->view);
}

bool
bind_bytes_acquire(struct array *array, PyObject *object)
{
    return PyObject_GetBuffer(object, &array->view, PyBUF_SIMPLE) == 0;
}

static bool
array_complain(struct array *array, const char *name, const char *what)
{
    PyErr_Format(PyExc_TypeError, "%s: expected a %s", name, what);
    bind_array_release(array);
    array->view.obj = NULL;
    return false;
}

/* An item's alignment divides its size, and is 8 bytes at most. */
static bool
is_aligned(const void *at, uintptr_t itemsize)
{
    uintptr_t largest = itemsize & -itemsize;

    return (uintptr_t)at % (largest < 8 ? largest : 8) == 0;
}

bool
bind_array_acquire(struct array *array, PyObject *object, const char *name, const char *codes,
                   Py_ssize_t itemsize, bool writable)
{
    int flags = PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | (writable ? PyBUF_WRITABLE : 0);
    const char *format;

    if (PyObject_GetBuffer(object, &array->view, flags) != 0)
        return false;
    format = array->view.format != NULL ? array->view.format : "B";
    if (array->view.ndim != 1)
        return array_complain(array, name, "one-dimensional array");
    if (format[0] == 0 || strchr(codes, format[0]) == NULL ||
        (format[1] != 0 && format[0] != 'T') || array->view.itemsize != itemsize)
        return array_complain(array, name, "different dtype");
    if (!is_aligned(array->view.buf, (uintptr_t)itemsize))
        return array_complain(array, name, "array aligned to its items");
    return true;
}

size_t
bind_array_length(const struct array *array)
{
    return (size_t)(array->view.len / array->view.itemsize);
}

struct ev_data
bind_array_data(const struct array *array)
{
    return (struct ev_data){.bytes = array->view.buf, .size = (size_t)array->view.len};
}
