// Products of matrices and Fourier transforms as NVIDIA's libraries have them, on the streams of `driver.cpp`:
// columns lie one behind the other, handles and plans belong to a device, memory to work in is lent, and a transform
// to real numbers may write its operand. What a caller gets wrong counts as a fault.

#include <cmath>
#include <complex>

struct Blas { int device, math = -1; Stream *stream = nullptr; u64 place = 0, bytes = 0; };
static std::set<Blas *> blases;

// The work of a library in a stream: results are computed when the stream comes to it.
static void later(Stream *stream, std::function<void()> work) {
    put(stream, {settings["idle"] ? std::function<void()>([] {}) : std::move(work), nullptr, nullptr, 0});
}

// What a library lends is written, so that nobody else relies on it.
static void used(u64 place, u64 bytes) {
    if (bytes == 0) return;
    if (there(place, bytes)) memset((void *)place, 0x5A, bytes);
    else fault("memory to work in that is not there");
}

API cublasCreate_v2(Blas **handle) { ENTER; HERE; blases.insert(*handle = new Blas{device}); return 0; }
API cublasDestroy_v2(Blas *handle) {
    ENTER; HERE; KNOWN(blases, handle);
    (void)device;
    if (pending()) fault("a handle destroyed before work is done");
    blases.erase(handle);
    delete handle;
    return 0;
}
API cublasGetVersion_v2(Blas *handle, int *version) { ENTER; KNOWN(blases, handle); *version = (int)settings["blas_version"]; return 0; }
API cublasSetMathMode(Blas *handle, int mode) { ENTER; KNOWN(blases, handle); handle->math = mode; return 0; }
API cublasSetStream_v2(Blas *handle, Stream *stream) {
    ENTER; KNOWN(blases, handle); NUMBERED(stream);
    if (stream->device != handle->device) return fault("a stream of another device"), INVALID;
    handle->stream = stream, handle->place = handle->bytes = 0;
    return 0;
}
API cublasSetWorkspace_v2(Blas *handle, u64 place, size_t bytes) {
    ENTER; KNOWN(blases, handle);
    if (place % 256) return fault("memory to work in that is not aligned"), INVALID;
    handle->place = place, handle->bytes = bytes;
    return 0;
}

struct Gemm { int turn_a, turn_b, m, n, k; u64 a; int lda; long long step_a; u64 b; int ldb; long long step_b; u64 c; int ldc; long long step_c; int count; };

template <class T> static void multiply(const Gemm &g) {
    for (int one = 0; one < g.count; one++) {
        const T *a = (T *)g.a + one * g.step_a, *b = (T *)g.b + one * g.step_b;
        T *c = (T *)g.c + one * g.step_c;
        const auto length = [](int rows, int columns, int pitch) { return ((u64)(columns - 1) * pitch + rows) * sizeof(T); };
        const bool known = there((u64)a, g.turn_a ? length(g.k, g.m, g.lda) : length(g.m, g.k, g.lda)) &&
                           there((u64)b, g.turn_b ? length(g.n, g.k, g.ldb) : length(g.k, g.n, g.ldb)) &&
                           there((u64)c, length(g.m, g.n, g.ldc));
        if (!known) return fault("a product of memory that is not there"), (void)(settings["sticky"] = ASTRAY);
        for (int j = 0; j < g.n; j++)
            for (int i = 0; i < g.m; i++) {
                T sum = 0;
                for (int p = 0; p < g.k; p++)
                    sum += (g.turn_a ? a[p + (long)i * g.lda] : a[i + (long)p * g.lda]) * (g.turn_b ? b[j + (long)p * g.ldb] : b[p + (long)j * g.ldb]);
                c[i + (long)j * g.ldc] = sum;
            }
    }
}

API cublasGemmStridedBatchedEx(Blas *handle, int turn_a, int turn_b, int m, int n, int k, const void *alpha, u64 a, int kind_a, int lda,
                               long long step_a, u64 b, int kind_b, int ldb, long long step_b, const void *beta, u64 c, int kind_c, int ldc,
                               long long step_c, int count, int compute, int way) {
    ENTER; HERE; KNOWN(blases, handle); KNOWN(streams, handle->stream);
    const bool complex = kind_a == 4 || kind_a == 5, wide = kind_a == 1 || kind_a == 5;
    const bool numbers = handle->device == device && handle->math == 0 && handle->bytes > 0 && way == -1;
    const bool kinds = (complex || kind_a == 0 || kind_a == 1) && kind_b == kind_a && kind_c == kind_a && compute == (wide ? 70 : 68);
    const bool sizes = m > 0 && n > 0 && k > 0 && count > 0 && step_a >= 0 && step_b >= 0 && step_c >= 0;
    const bool pitches = turn_a >= 0 && turn_a <= 1 && turn_b >= 0 && turn_b <= 1 && lda >= (turn_a ? k : m) && ldb >= (turn_b ? n : k) && ldc >= m;
    const u64 size = (complex ? 2 : 1) * (wide ? 8 : 4);
    const std::string one = wide ? std::string("\0\0\0\0\0\0\xF0\x3F", 8) : std::string("\0\0\x80\x3F", 4);
    const bool factors = !memcmp(alpha, (one + std::string(size - one.size(), 0)).data(), size) && !memcmp(beta, std::string(size, 0).data(), size);
    if (!numbers || !kinds || !sizes || !pitches || !factors || a % size || b % size || c % size) return fault(__func__), 7;
    const Gemm g = {turn_a, turn_b, m, n, k, a, lda, step_a, b, ldb, step_b, c, ldc, step_c, count};
    later(handle->stream, [=, place = handle->place, bytes = handle->bytes] {
        used(place, bytes);
        if (kind_a == 0) multiply<float>(g);
        else if (kind_a == 1) multiply<double>(g);
        else if (kind_a == 4) multiply<std::complex<float>>(g);
        else multiply<std::complex<double>>(g);
    });
    return 0;
}

struct Plan { int device, kind = 0; bool own = true; long long length = 0, count = 0, from[2] = {}, to[2] = {}; u64 place = 0, bytes = 0; Stream *stream = nullptr; };
static std::map<int, Plan> plans;
static int last_plan = 0;

static long live_libraries() { return (long)(blases.size() + plans.size()); }

API cufftGetVersion(int *version) { ENTER; *version = (int)settings["fft_version"]; return 0; }
API cufftCreate(int *plan) {
    ENTER; HERE;
    plans[*plan = ++last_plan] = Plan{device};
    settings["most_plans"] = std::max(settings["most_plans"], (long)plans.size());
    return 0;
}
API cufftDestroy(int plan) {
    ENTER; HERE; KNOWN(plans, plan);
    (void)device;
    if (plans[plan].stream && pending()) fault("a plan destroyed before work is done");
    plans.erase(plan);
    return 0;
}
API cufftSetAutoAllocation(int plan, int own) { ENTER; KNOWN(plans, plan); plans[plan].own = own; return 0; }
API cufftMakePlanMany64(int plan, int rank, long long *lengths, long long *from_lengths, long long from_step, long long from_line,
                        long long *to_lengths, long long to_step, long long to_line, int kind, long long count, size_t *work) {
    ENTER; HERE; KNOWN(plans, plan);
    Plan &made = plans[plan];
    const bool kinds = kind == 0x29 || kind == 0x2a || kind == 0x2c || kind == 0x69 || kind == 0x6a || kind == 0x6c;
    const bool steps = from_lengths && to_lengths && from_step > 0 && from_line > 0 && to_step > 0 && to_line > 0;
    if (made.device != device || made.own || rank != 1 || lengths[0] < 1 || count < 1 || !kinds || !steps) return fault(__func__), 4;
    made.kind = kind, made.length = lengths[0], made.count = count;
    made.from[0] = from_step, made.from[1] = from_line, made.to[0] = to_step, made.to[1] = to_line;
    // Short lines need none.
    *work = made.bytes = made.length < 8 ? 0 : made.length * 16 + 8;
    return 0;
}
API cufftSetStream(int plan, Stream *stream) {
    ENTER; KNOWN(plans, plan); NUMBERED(stream);
    if (stream->device != plans[plan].device) return fault("a stream of another device"), 4;
    plans[plan].stream = stream;
    return 0;
}
API cufftSetWorkArea(int plan, u64 place) { ENTER; KNOWN(plans, plan); plans[plan].place = place; return 0; }

// Bytes of so many values of each line.
static u64 extent(const Plan &plan, const long long *steps, long long values, u64 size) {
    return ((u64)((values - 1) * steps[0] + (plan.count - 1) * steps[1]) + 1) * size;
}

template <class T> static void transform(const Plan &plan, u64 from, u64 to, int direction) {
    typedef std::complex<T> Complex;
    const bool real = (plan.kind & 15) == 10, to_real = (plan.kind & 15) == 12;
    const long long n = plan.length, half = n / 2 + 1;
    const u64 one = real ? sizeof(T) : sizeof(Complex), other = to_real ? sizeof(T) : sizeof(Complex);
    used(plan.place, plan.bytes);
    if (!there(from, extent(plan, plan.from, to_real ? half : n, one)) || !there(to, extent(plan, plan.to, real ? half : n, other)))
        return fault("a transform of memory that is not there"), (void)(settings["sticky"] = ASTRAY);
    std::vector<std::complex<long double>> all((size_t)(n * plan.count)), turns((size_t)n);
    for (long long i = 0; i < n; i++) turns[i] = std::polar(1.0L, direction * 2 * 3.14159265358979323846264338327950288L * i / n);
    for (long long line = 0; line < plan.count; line++)
        for (long long i = 0; i < n; i++) {
            const long long at = line * plan.from[1] + (to_real && i >= half ? n - i : i) * plan.from[0];
            std::complex<long double> z = real ? Complex(((T *)from)[at]) : ((Complex *)from)[at];
            all[line * n + i] = to_real && i >= half ? std::conj(z) : z;
        }
    if (to_real) memset((void *)from, 0x5A, extent(plan, plan.from, half, one));
    for (long long line = 0; line < plan.count; line++)
        for (long long k = 0; k < (real ? half : n); k++) {
            std::complex<long double> sum = 0;
            for (long long j = 0; j < n; j++) sum += all[line * n + j] * turns[j * k % n];
            const long long at = line * plan.to[1] + k * plan.to[0];
            if (to_real) ((T *)to)[at] = (T)sum.real();
            else ((Complex *)to)[at] = Complex((T)sum.real(), (T)sum.imag());
        }
}

static int put_transform(const char *name, int number, u64 from, u64 to, int kind, int direction) {
    if (current.empty()) return fault(name), NO_CONTEXT;
    KNOWN(plans, number);
    const Plan plan = plans[number];
    KNOWN(streams, plan.stream);
    const u64 size = kind & 0x40 ? 16 : 8;
    const bool right = plan.kind == kind && plan.device == current.back() && (direction == 1 || direction == -1);
    if (!right || from % size || to % size || (plan.bytes && !plan.place)) return fault(name), 4;
    later(plan.stream, [=] { kind & 0x40 ? transform<double>(plan, from, to, direction) : transform<float>(plan, from, to, direction); });
    return 0;
}
API cufftExecC2C(int plan, u64 from, u64 to, int direction) { ENTER; return put_transform(__func__, plan, from, to, 0x29, direction); }
API cufftExecZ2Z(int plan, u64 from, u64 to, int direction) { ENTER; return put_transform(__func__, plan, from, to, 0x69, direction); }
API cufftExecR2C(int plan, u64 from, u64 to) { ENTER; return put_transform(__func__, plan, from, to, 0x2a, -1); }
API cufftExecD2Z(int plan, u64 from, u64 to) { ENTER; return put_transform(__func__, plan, from, to, 0x6a, -1); }
API cufftExecC2R(int plan, u64 from, u64 to) { ENTER; return put_transform(__func__, plan, from, to, 0x2c, 1); }
API cufftExecZ2D(int plan, u64 from, u64 to) { ENTER; return put_transform(__func__, plan, from, to, 0x6c, 1); }
