/* Bindings of the perf.data walker. PERF_METHODS are its rows of the module's method table. */
#ifndef FOREREAD_BIND_PERF_H
#define FOREREAD_BIND_PERF_H

#define PERF_METHODS

#endif
