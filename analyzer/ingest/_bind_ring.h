/* Bindings of the ring-buffer walker. RING_METHODS are its rows of the module's method table. */
#ifndef FOREREAD_BIND_RING_H
#define FOREREAD_BIND_RING_H

#include "_bind_decode.h"
#include "inflate.h"
#include "ring_walk.h"

static PyObject *
ring_walk_py(PyObject *self, PyObject *args)
{
    PyObject *data, *items, *out;
    struct array bytes = {0}, spec_items = {0}, place_array = {0};
    struct ring_layout layout;
    struct ring_stream stream;
    struct ring_found found;
    struct ev_specs *specs = NULL;
    struct ev_place *places = NULL;
    unsigned long long offset, size;
    int swap, ret = EV_ERR_LAST;

    (void)self;
    if (!PyArg_ParseTuple(args, "O(IIb)(KKH)OpO:ring_walk", &data, &layout.subbuf_size,
                          &layout.data_offset, &layout.commit_size, &offset, &size, &stream.cpu,
                          &items, &swap, &out))
        return NULL;
    stream.offset = offset;
    stream.size = size;
    if (!bytes_acquire(&bytes, data))
        goto out;
    if (out != Py_None) {
        if (!array_acquire(&place_array, out, "places", "T", sizeof(struct ev_place), true))
            goto out;
        places = place_array.view.buf;
    }
    specs = specs_make(&spec_items, items, swap != 0);
    if (specs == NULL)
        goto out;
    Py_BEGIN_ALLOW_THREADS;
    ret = ring_walk(&layout, specs, array_data(&bytes), &stream, places,
                    places != NULL ? array_length(&place_array) : 0, &found);
    Py_END_ALLOW_THREADS;
    if (ret != EV_OK)
        PyErr_Format(reader_error, "sub-buffer at byte %llu: %s", (unsigned long long)found.offset,
                     ev_message(ret));
out:
    free(specs);
    array_release(&spec_items);
    array_release(&place_array);
    array_release(&bytes);
    if (ret != EV_OK)
        return NULL;
    return Py_BuildValue("(KKK)", (unsigned long long)found.records, (unsigned long long)found.lost,
                         (unsigned long long)found.gaps);
}

static PyObject *
inflate_py(PyObject *self, PyObject *args)
{
    PyObject *source, *target;
    struct array bytes = {0}, room = {0};
    const char *method;
    int ret = EV_ERR_LAST;

    (void)self;
    if (!PyArg_ParseTuple(args, "sOO:inflate", &method, &source, &target))
        return NULL;
    if (bytes_acquire(&bytes, source) && array_acquire(&room, target, "target", "B", 1, true)) {
        Py_BEGIN_ALLOW_THREADS;
        ret = inf_block(inf_method(method), array_data(&bytes), room.view.buf, array_length(&room));
        Py_END_ALLOW_THREADS;
        if (ret != EV_OK)
            raise_error(ret);
    }
    array_release(&room);
    array_release(&bytes);
    if (ret != EV_OK)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *
inflate_chunks_py(PyObject *self, PyObject *args)
{
    PyObject *source, *target;
    struct array bytes = {0}, room = {0};
    const char *method;
    uint64_t size = 0;
    int swap, ret = EV_ERR_LAST;

    (void)self;
    if (!PyArg_ParseTuple(args, "sOpO:inflate_chunks", &method, &source, &swap, &target))
        return NULL;
    if (!bytes_acquire(&bytes, source))
        goto out;
    if (target != Py_None && !array_acquire(&room, target, "target", "B", 1, true))
        goto out;
    Py_BEGIN_ALLOW_THREADS;
    if (target == Py_None)
        ret = inf_chunks_size(array_data(&bytes), swap != 0, &size);
    else
        ret = inf_chunks(inf_method(method), array_data(&bytes), swap != 0, room.view.buf,
                         array_length(&room));
    Py_END_ALLOW_THREADS;
    if (ret != EV_OK)
        raise_error(ret);
out:
    array_release(&room);
    array_release(&bytes);
    if (ret != EV_OK)
        return NULL;
    return PyLong_FromUnsignedLongLong(size);
}

#define RING_METHODS                                                                               \
    {"ring_walk", ring_walk_py, METH_VARARGS, NULL}, {"inflate", inflate_py, METH_VARARGS, NULL},  \
        {"inflate_chunks", inflate_chunks_py, METH_VARARGS, NULL},

#endif
