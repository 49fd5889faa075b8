// What CUDA C++ brings along, for a C++ compiler of the host: the CUDA text runs on the CPU.
#include <cmath>
#include <cstring>
// A group is one item that does the work of all its places.
#define PLACES 128
#define __device__
#define __global__
#define __shared__ static
#define __forceinline__ inline __attribute__((unused))
#define __syncthreads()
#define __launch_bounds__(n)
#define atomicOr(p, x) (*(p) |= (x))
struct Dim3 { unsigned x, y, z; };
static Dim3 threadIdx, blockIdx, blockDim, gridDim;
static inline unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)(((unsigned long long)a * b) >> 32); }
static inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return (unsigned long long)(((unsigned __int128)a * b) >> 64);
}
template <class To, class From> static inline To same_bits(From x) { To y; memcpy(&y, &x, sizeof y); return y; }
#define __double_as_longlong(x) same_bits<long long>((double)(x))
#define __longlong_as_double(x) same_bits<double>((long long)(x))
#define __float_as_uint(x) same_bits<unsigned>((float)(x))
#define __uint_as_float(x) same_bits<float>((unsigned)(x))
using std::floor; using std::ceil; using std::trunc; using std::rint; using std::fma; using std::sqrt;
