/* Bindings of the ring-buffer walker. RING_METHODS are its rows of the module's method table. */
#ifndef FOREREAD_BIND_RING_H
#define FOREREAD_BIND_RING_H

#define RING_METHODS

#endif
