/* Bindings of the perf.data walker. */
#include "_bind_decode.h"
#include "perf_inflate.h"
#include "perf_walk.h"

#include <stdlib.h>
#include <string.h>

/* The Python side's (layouts, ids, id_layouts, sample_id, specs, swap). */
struct shape_arrays {
    struct array layouts, ids, id_layouts, spec_items;
    struct ev_specs *specs;
    struct perf_shape shape;
};

static bool
shape_acquire(struct shape_arrays *s, PyObject *tuple)
{
    PyObject *layouts, *ids, *id_layouts, *items;
    int swap;

    if (!PyArg_ParseTuple(tuple, "OOOHOp:shape", &layouts, &ids, &id_layouts, &s->shape.sample_id,
                          &items, &swap))
        return false;
    if (!bind_array_acquire(&s->layouts, layouts, "layouts", "T", sizeof(struct perf_layout),
                            false) ||
        !bind_array_acquire(&s->ids, ids, "ids", "LQ", 8, false) ||
        !bind_array_acquire(&s->id_layouts, id_layouts, "id_layouts", "H", 2, false))
        return false;
    if (bind_array_length(&s->ids) != bind_array_length(&s->id_layouts)) {
        PyErr_SetString(PyExc_ValueError, "id_layouts: differs in length from ids");
        return false;
    }
    s->specs = bind_specs_make(&s->spec_items, items, swap != 0);
    s->shape.layouts = s->layouts.view.buf;
    s->shape.n_layouts = bind_array_length(&s->layouts);
    s->shape.ids = s->ids.view.buf;
    s->shape.id_layouts = s->id_layouts.view.buf;
    s->shape.n_ids = bind_array_length(&s->ids);
    s->shape.specs = s->specs;
    return s->specs != NULL;
}

static void
shape_release(struct shape_arrays *s)
{
    free(s->specs);
    bind_array_release(&s->spec_items);
    bind_array_release(&s->id_layouts);
    bind_array_release(&s->ids);
    bind_array_release(&s->layouts);
}

/* Arrays indexed by CPU: all of the length of the first. */
static bool
by_cpu_acquire(struct array *arrays, PyObject *const *objects, int n)
{
    for (int i = 0; i < n; i++) {
        if (!bind_array_acquire(&arrays[i], objects[i], "by_cpu", "LQ", 8, true))
            return false;
        if (bind_array_length(&arrays[i]) != bind_array_length(&arrays[0])) {
            PyErr_SetString(PyExc_ValueError, "by_cpu: arrays differ in length");
            return false;
        }
    }
    return true;
}

static PyObject *
tally_dict(const struct perf_tally *t)
{
    return Py_BuildValue("{s:K,s:K,s:K,s:K,s:K,s:K,s:i}", "samples", (unsigned long long)t->samples,
                         "damaged", (unsigned long long)t->damaged, "lost_unknown",
                         (unsigned long long)t->lost_unknown, "lost_samples",
                         (unsigned long long)t->lost_samples, "side", (unsigned long long)t->side,
                         "end", (unsigned long long)t->end, "stop", (int)t->stop);
}

static PyObject *
bind_perf_count(PyObject *self, PyObject *args)
{
    PyObject *data, *shape, *by_cpu[2], *result = NULL;
    struct array bytes = {0}, arrays[2] = {0};
    struct shape_arrays s = {0};
    struct perf_tally tally = {0};
    int ret;

    (void)self;
    if (!PyArg_ParseTuple(args, "OO!OO:perf_count", &data, &PyTuple_Type, &shape, &by_cpu[0],
                          &by_cpu[1]))
        return NULL;
    if (!bind_bytes_acquire(&bytes, data) || !shape_acquire(&s, shape) ||
        !by_cpu_acquire(arrays, by_cpu, 2))
        goto out;
    tally.events = arrays[0].view.buf;
    tally.lost = arrays[1].view.buf;
    tally.n_cpus = bind_array_length(&arrays[0]);
    Py_BEGIN_ALLOW_THREADS;
    ret = perf_count(&s.shape, bind_array_data(&bytes), &tally);
    Py_END_ALLOW_THREADS;
    if (ret == EV_OK)
        result = tally_dict(&tally);
    else
        bind_raise_error(ret);
out:
    bind_array_release(&arrays[0]);
    bind_array_release(&arrays[1]);
    shape_release(&s);
    bind_array_release(&bytes);
    return result;
}

static PyObject *
bind_perf_places(PyObject *self, PyObject *args)
{
    PyObject *data, *shape, *places, *side, *by_cpu[2];
    struct array bytes = {0}, place_array = {0}, side_array = {0}, arrays[2] = {0};
    struct shape_arrays s = {0};
    struct perf_room room;
    int ret = EV_ERR_LAST;

    (void)self;
    if (!PyArg_ParseTuple(args, "OO!OOOO:perf_places", &data, &PyTuple_Type, &shape, &places,
                          &by_cpu[0], &by_cpu[1], &side))
        return NULL;
    if (!bind_bytes_acquire(&bytes, data) || !shape_acquire(&s, shape) ||
        !bind_array_acquire(&place_array, places, "places", "T", sizeof(struct ev_place), true) ||
        !by_cpu_acquire(arrays, by_cpu, 2) ||
        !bind_array_acquire(&side_array, side, "side", "LQ", 8, true))
        goto out;
    room = (struct perf_room){.places = place_array.view.buf,
                              .n_places = bind_array_length(&place_array),
                              .next = arrays[0].view.buf,
                              .limit = arrays[1].view.buf,
                              .n_cpus = bind_array_length(&arrays[0]),
                              .side = side_array.view.buf,
                              .n_side = bind_array_length(&side_array)};
    Py_BEGIN_ALLOW_THREADS;
    ret = perf_places(&s.shape, bind_array_data(&bytes), &room);
    Py_END_ALLOW_THREADS;
    if (ret != EV_OK)
        bind_raise_error(ret);
out:
    bind_array_release(&side_array);
    bind_array_release(&arrays[0]);
    bind_array_release(&arrays[1]);
    bind_array_release(&place_array);
    shape_release(&s);
    bind_array_release(&bytes);
    if (ret != EV_OK)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *
bind_perf_inflate(PyObject *self, PyObject *args)
{
    PyObject *data, *out, *result = NULL;
    struct array bytes = {0}, target = {0};
    struct perf_sink sink = {.out = NULL, .capacity = 0, .filled = 0};
    unsigned long long limit;
    int swap, ret;

    (void)self;
    if (!PyArg_ParseTuple(args, "OpOK:perf_inflate", &data, &swap, &out, &limit))
        return NULL;
    if (!bind_bytes_acquire(&bytes, data) ||
        (out != Py_None && !bind_array_acquire(&target, out, "out", "B", 1, true)))
        goto out;
    sink.out = target.view.buf;
    sink.capacity = out == Py_None ? (size_t)limit : (size_t)target.view.len;
    Py_BEGIN_ALLOW_THREADS;
    ret = perf_inflate(bind_array_data(&bytes), swap != 0, &sink);
    Py_END_ALLOW_THREADS;
    if (ret == EV_ERR_NO_MEMORY || (ret == EV_ERR_CAPACITY && out == Py_None))
        bind_raise_error(ret);
    else
        result =
            Py_BuildValue("(nz)", (Py_ssize_t)sink.filled, ret == EV_OK ? NULL : ev_message(ret));
out:
    bind_array_release(&target);
    bind_array_release(&bytes);
    return result;
}

PyMethodDef bind_perf_functions[] = {
    {.ml_name = "perf_count", .ml_meth = bind_perf_count, .ml_flags = METH_VARARGS},
    {.ml_name = "perf_places", .ml_meth = bind_perf_places, .ml_flags = METH_VARARGS},
    {.ml_name = "perf_inflate", .ml_meth = bind_perf_inflate, .ml_flags = METH_VARARGS},
    {.ml_name = NULL},
};
