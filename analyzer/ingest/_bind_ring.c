/* Bindings of the ring-buffer walker. */
#include "_bind_decode.h"
#include "ring_decode.h"

#include <stdlib.h>
#include <string.h>

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
    if (!bind_bytes_acquire(&bytes, data))
        goto out;
    if (out != Py_None) {
        if (!bind_array_acquire(&place_array, out, "places", "T", sizeof(struct ev_place), true))
            goto out;
        places = place_array.view.buf;
    }
    specs = bind_specs_make(&spec_items, items, swap != 0);
    if (specs == NULL)
        goto out;
    Py_BEGIN_ALLOW_THREADS;
    ret = ring_walk(&layout, specs, bind_array_data(&bytes), &stream, places,
                    places != NULL ? bind_array_length(&place_array) : 0, &found);
    Py_END_ALLOW_THREADS;
    if (ret != EV_OK)
        PyErr_Format(bind_reader_error, "sub-buffer at byte %llu: %s",
                     (unsigned long long)found.offset, ev_message(ret));
out:
    free(specs);
    bind_array_release(&spec_items);
    bind_array_release(&place_array);
    bind_array_release(&bytes);
    if (ret != EV_OK)
        return NULL;
    return Py_BuildValue("(KKK)", (unsigned long long)found.records, (unsigned long long)found.lost,
                         (unsigned long long)found.gaps);
}

/* Fills sources[i] from (offset, size, cpu, layout, method). */
static bool
source_from(PyObject *item, struct ev_data data, struct ring_source *source)
{
    unsigned long long offset, size;
    const char *method;

    if (!PyTuple_Check(item)) {
        PyErr_SetString(PyExc_TypeError, "sources: expected tuples");
        return false;
    }
    if (!PyArg_ParseTuple(item, "KKH(IIb)s:source", &offset, &size, &source->cpu,
                          &source->layout.subbuf_size, &source->layout.data_offset,
                          &source->layout.commit_size, &method))
        return false;
    if (offset > data.size || size > data.size - offset) {
        PyErr_SetString(bind_reader_error, ev_message(EV_ERR_BOUNDS));
        return false;
    }
    source->data = (struct ev_data){.bytes = ev_at(data, offset), .size = (size_t)size};
    source->packed = strcmp(method, "none") != 0;
    source->method = inf_method(method);
    return true;
}

static struct ring_source *
sources_from(PyObject *tuple, struct ev_data data, size_t n)
{
    struct ring_source *sources = calloc(n + 1, sizeof(*sources));

    for (size_t i = 0; sources != NULL && i < n; i++) {
        if (!source_from(PyTuple_GetItem(tuple, (Py_ssize_t)i), data, &sources[i])) {
            free(sources);
            return NULL;
        }
    }
    if (sources == NULL)
        PyErr_NoMemory();
    return sources;
}

static PyObject *
decoded(size_t rows, const struct ring_source *sources, size_t n)
{
    PyObject *losses = PyList_New((Py_ssize_t)n);

    for (size_t i = 0; losses != NULL && i < n; i++) {
        PyObject *loss = Py_BuildValue("(KK)", (unsigned long long)sources[i].lost,
                                       (unsigned long long)sources[i].gaps);
        if (loss == NULL || PyList_SetItem(losses, (Py_ssize_t)i, loss) != 0)
            Py_CLEAR(losses);
    }
    return losses == NULL ? NULL : Py_BuildValue("(nN)", (Py_ssize_t)rows, losses);
}

static PyObject *
ring_decode_py(PyObject *self, PyObject *args)
{
    PyObject *data, *tuple, *items, *out, *result = NULL;
    struct array bytes = {0}, spec_items = {0}, arrays[N_COLUMNS] = {0};
    struct ring_source *sources = NULL;
    struct ev_specs *specs = NULL;
    struct ev_columns columns;
    size_t n, rows = 0, failed = 0;
    int swap, ret;

    (void)self;
    if (!PyArg_ParseTuple(args, "OO!OpO!:ring_decode", &data, &PyTuple_Type, &tuple, &items, &swap,
                          &PyTuple_Type, &out))
        return NULL;
    n = (size_t)PyTuple_Size(tuple);
    if (!bind_bytes_acquire(&bytes, data) || !bind_columns_acquire(arrays, out, &columns))
        goto out;
    sources = sources_from(tuple, bind_array_data(&bytes), n);
    if (sources == NULL)
        goto out;
    specs = bind_specs_make(&spec_items, items, swap != 0);
    if (specs == NULL)
        goto out;
    Py_BEGIN_ALLOW_THREADS;
    ret = ring_decode(specs, sources, n, &columns, &rows, &failed);
    Py_END_ALLOW_THREADS;
    if (ret == EV_OK)
        result = decoded(rows, sources, n);
    else if (ret == EV_ERR_ORDER)
        result = Py_NewRef(Py_None);
    else if (ret == EV_ERR_NO_MEMORY)
        bind_raise_error(ret);
    else
        PyErr_Format(bind_reader_error, "CPU %u, sub-buffer at byte %llu: %s",
                     (unsigned)sources[failed].cpu, (unsigned long long)sources[failed].offset,
                     ev_message(ret));
out:
    free(specs);
    free(sources);
    for (int i = 0; i < N_COLUMNS; i++)
        bind_array_release(&arrays[i]);
    bind_array_release(&spec_items);
    bind_array_release(&bytes);
    return result;
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
    if (bind_bytes_acquire(&bytes, source) &&
        bind_array_acquire(&room, target, "target", "B", 1, true)) {
        Py_BEGIN_ALLOW_THREADS;
        ret = inf_block(inf_method(method), bind_array_data(&bytes), room.view.buf,
                        bind_array_length(&room));
        Py_END_ALLOW_THREADS;
        if (ret != EV_OK)
            bind_raise_error(ret);
    }
    bind_array_release(&room);
    bind_array_release(&bytes);
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
    if (!bind_bytes_acquire(&bytes, source))
        goto out;
    if (target != Py_None && !bind_array_acquire(&room, target, "target", "B", 1, true))
        goto out;
    Py_BEGIN_ALLOW_THREADS;
    if (target == Py_None)
        ret = inf_chunks_size(bind_array_data(&bytes), swap != 0, &size);
    else
        ret = inf_chunks(inf_method(method), bind_array_data(&bytes), swap != 0, room.view.buf,
                         bind_array_length(&room));
    Py_END_ALLOW_THREADS;
    if (ret != EV_OK)
        bind_raise_error(ret);
out:
    bind_array_release(&room);
    bind_array_release(&bytes);
    if (ret != EV_OK)
        return NULL;
    return PyLong_FromUnsignedLongLong(size);
}

PyMethodDef bind_ring_functions[] = {
    {.ml_name = "ring_walk", .ml_meth = ring_walk_py, .ml_flags = METH_VARARGS},
    {.ml_name = "ring_decode", .ml_meth = ring_decode_py, .ml_flags = METH_VARARGS},
    {.ml_name = "inflate", .ml_meth = inflate_py, .ml_flags = METH_VARARGS},
    {.ml_name = "inflate_chunks", .ml_meth = inflate_chunks_py, .ml_flags = METH_VARARGS},
    {.ml_name = NULL},
};
