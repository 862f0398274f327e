/* The instruction sets, and the best that this processor and its operating system support. */
#define _GNU_SOURCE
#include "kernels.h"
#include <stdatomic.h>
#ifdef __linux__
#include <sys/syscall.h>
#include <unistd.h>
#endif

enum { PLAIN, AVX2, AVX_VNNI, AVX512_VNNI, AMX, ISA_COUNT };

#if defined(__x86_64__)
#include <cpuid.h>

static const struct kernels *const KERNELS[ISA_COUNT] = {&plain_kernels, &avx2_kernels, &avxvnni_kernels,
                                                         &avx512vnni_kernels, &avx512vnni_kernels};

enum { EAX, EBX, ECX, EDX };

static int has(unsigned leaf, unsigned subleaf, int which, uint32_t bits)
{
    unsigned r[4] = {0};
    return __get_cpuid_count(leaf, subleaf, &r[EAX], &r[EBX], &r[ECX], &r[EDX]) && (r[which] & bits) == bits;
}

/* The registers that the operating system saves; only to be asked when it says that it does (OSXSAVE). */
static int saves(uint32_t state)
{
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (low & state) == state;
}

/* Ask the operating system to save the tile registers of this process: Linux does so on demand. */
static int may_use_tiles(void)
{
#ifdef __linux__
    enum { ARCH_REQ_XCOMP_PERM = 0x1023, XTILEDATA = 18 };
    return saves(0x60000) && syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XTILEDATA) == 0;
#else
    return 0;
#endif
}

static int detect(int isa)
{
    if (isa == PLAIN) return 1;
    /* SSE3, SSSE3, FMA, SSE4.1, SSE4.2, MOVBE, POPCNT, OSXSAVE, AVX, F16C; LZCNT; BMI1, AVX2, BMI2: x86-64-v3 */
    const uint32_t v3 =
        1u | 1u << 9 | 1u << 12 | 1u << 19 | 1u << 20 | 1u << 22 | 1u << 23 | 1u << 27 | 1u << 28 | 1u << 29;
    if (!has(1, 0, ECX, v3) || !has(0x80000001, 0, ECX, 1u << 5) || !has(7, 0, EBX, 1u << 3 | 1u << 5 | 1u << 8))
        return 0;
    if (!saves(6)) return 0; /* XMM, YMM */
    if (isa == AVX2) return 1;
    if (isa == AVX_VNNI) return has(7, 1, EAX, 1u << 4);
    /* AVX512 F, DQ, CD, BW, VL; VNNI; masks and ZMM */
    if (!has(7, 0, EBX, 1u << 16 | 1u << 17 | 1u << 28 | 1u << 30 | 1u << 31) || !has(7, 0, ECX, 1u << 11) ||
        !saves(0xe6))
        return 0;
    if (isa == AVX512_VNNI) return 1;
    return has(7, 0, EDX, 1u << 24 | 1u << 25) && may_use_tiles(); /* AMX-TILE, AMX-INT8 */
}

const struct kernels_of_many *kernels_of_many_in_use(void) { return hk_isa() == AMX ? &amx_kernels : NULL; }

int reads_ahead(void)
{
    enum { UNKNOWN = -1 };
    static atomic_int known = UNKNOWN;
    if (known == UNKNOWN) known = has(0, 0, EBX, 0x68747541); /* "Auth", of AuthenticAMD */
    return known;
}
#else
static const struct kernels *const KERNELS[ISA_COUNT] = {&plain_kernels};

const struct kernels_of_many *kernels_of_many_in_use(void) { return NULL; }

int reads_ahead(void) { return 0; }

static int detect(int isa) { return isa == PLAIN; }
#endif

static const char *const NAMES[ISA_COUNT] = {"plain C", "AVX2", "AVX-VNNI", "AVX512-VNNI", "AMX"};

enum { UNDECIDED = -2, NONE = -1 };
static atomic_int in_use = UNDECIDED;

int hk_abi(void) { return HK_ABI; }

const char *hk_isa_name(int isa) { return isa >= 0 && isa < ISA_COUNT ? NAMES[isa] : NULL; }

int hk_isa_supported(int isa) { return isa >= 0 && isa < ISA_COUNT && detect(isa); }

int hk_isa(void)
{
    if (in_use == UNDECIDED) {
        int best = ISA_COUNT - 1;
        while (best > PLAIN && !detect(best)) best--;
        in_use = best == PLAIN ? NONE : best;
    }
    return in_use;
}

int hk_set_isa(int isa)
{
    if (!hk_isa_supported(isa)) return 0;
    in_use = isa;
    return 1;
}

const struct kernels *kernels_in_use(void)
{
    int isa = hk_isa();
    return KERNELS[isa == NONE ? PLAIN : isa];
}
