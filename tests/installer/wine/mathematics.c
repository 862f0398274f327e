/* Complex functions that Wine 8 lacks and NumPy calls as soon as it is imported. Microsoft passes complex numbers as
   structures. Never part of a package. */
#include <complex.h>

typedef struct { float part[2]; } Single;
typedef struct { double part[2]; } Double;

static float complex wide_f(Single z) { return z.part[0] + z.part[1] * I; }
static double complex wide(Double z) { return z.part[0] + z.part[1] * I; }
static Single narrow_f(float complex z) { return (Single){{__real__ z, __imag__ z}}; }
static Double narrow(double complex z) { return (Double){{__real__ z, __imag__ z}}; }

#define TO_COMPLEX(name) \
    Double own_##name(Double z) { return narrow(name(wide(z))); } \
    Double own_##name##l(Double z) { return narrow(name(wide(z))); } \
    Single own_##name##f(Single z) { return narrow_f(name##f(wide_f(z))); }
#define TO_REAL(name) \
    double own_##name(Double z) { return name(wide(z)); } \
    double own_##name##l(Double z) { return name(wide(z)); } \
    float own_##name##f(Single z) { return name##f(wide_f(z)); }

TO_COMPLEX(cacos) TO_COMPLEX(cacosh) TO_COMPLEX(casin) TO_COMPLEX(casinh) TO_COMPLEX(catan) TO_COMPLEX(catanh)
TO_COMPLEX(ccos) TO_COMPLEX(ccosh) TO_COMPLEX(cexp) TO_COMPLEX(clog) TO_COMPLEX(conj) TO_COMPLEX(cproj) TO_COMPLEX(csin)
TO_COMPLEX(csinh) TO_COMPLEX(csqrt) TO_COMPLEX(ctan) TO_COMPLEX(ctanh)
TO_REAL(cabs) TO_REAL(carg) TO_REAL(cimag) TO_REAL(creal)

Double own_cpow(Double z, Double w) { return narrow(cpow(wide(z), wide(w))); }
Double own_cpowl(Double z, Double w) { return narrow(cpow(wide(z), wide(w))); }
Single own_cpowf(Single z, Single w) { return narrow_f(cpowf(wide_f(z), wide_f(w))); }
