#include "sweep_simd.h"

#if defined(__x86_64__) || (defined(__i386__) && defined(__SSE2__))
#define X86 1
#include <immintrin.h>
#endif

enum { ROWS = 4 }; /* independent chains that hide the latency of store and reload */

typedef uint16_t vector16 __attribute__((vector_size(16), may_alias));
typedef int16_t signed16 __attribute__((vector_size(16)));

#define ISA baseline
#define TARGET
#define VECTOR vector16
#define SIGNED signed16
#if defined(X86)
#define SUBTRACT_TO_ZERO(a, b) ((vector16)_mm_subs_epu16((__m128i)(a), (__m128i)(b)))
#define MULTIPLY_HIGH(a, b) ((vector16)_mm_mulhi_epu16((__m128i)(a), (__m128i)(b)))
#else
#define SUBTRACT_TO_ZERO(a, b) (((a) - (b)) & (vector16)((signed16)(a) > (signed16)(b)))
#define MULTIPLY_HIGH(a, b) multiply_high(a, b)
typedef uint32_t wide32 __attribute__((vector_size(32)));

static inline vector16
multiply_high(vector16 a, vector16 b)
{
    wide32 product = __builtin_convertvector(a, wide32) * __builtin_convertvector(b, wide32);
    return __builtin_convertvector(product >> 16, vector16);
}
#endif
#include "sweep_body.h"

static const struct sweep_loop BASELINE = {.lanes = ROWS * 8, .run = loop_baseline};

#if defined(X86)
typedef uint16_t vector32 __attribute__((vector_size(32), may_alias));
typedef int16_t signed32 __attribute__((vector_size(32)));

#define ISA avx2
#define TARGET __attribute__((target("avx2")))
#define VECTOR vector32
#define SIGNED signed32
#define SUBTRACT_TO_ZERO(a, b) ((vector32)_mm256_subs_epu16((__m256i)(a), (__m256i)(b)))
#define MULTIPLY_HIGH(a, b) ((vector32)_mm256_mulhi_epu16((__m256i)(a), (__m256i)(b)))
#include "sweep_body.h"

static const struct sweep_loop AVX2 = {.lanes = ROWS * 16, .run = loop_avx2};

static const struct sweep_loop *
avx2_loop(void)
{
    return __builtin_cpu_supports("avx2") ? &AVX2 : NULL;
}
#else
static const struct sweep_loop *
avx2_loop(void)
{
    return NULL;
}
#endif

const struct sweep_loop *
sweep_loop_for(enum fw_isa isa)
{
    const struct sweep_loop *best = isa == FW_BASELINE ? NULL : avx2_loop();
    return best || isa == FW_AVX2 ? best : &BASELINE;
}

size_t
sweep_max_steps(uint32_t max_window)
{
    /* A step adds at most max_window to a counter of unread pages, and MAX_RUN to one of hits. */
    _Static_assert(STEPS_AT_ONCE * MAX_RUN <= UINT16_MAX, "hits overflow");
    size_t fitting = UINT16_MAX / (max_window ? max_window : 1);
    return fitting < STEPS_AT_ONCE ? fitting : STEPS_AT_ONCE;
}
