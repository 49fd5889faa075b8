// A CUDA driver and its compiler without a GPU: for tests.
//
// Device memory is memory of the process, poisoned when it is given out and when it comes back. Kernels are
// compiled by the C++ compiler of the host and run one thread after another. Streams hold their work back
// until somebody waits for it (`delay` 1), do a random part of it early (a seed above 1), or do it at once
// (0). Machine code of the true compiler is taken, and its kernels do nothing. Everything is checked that a driver takes on trust: misuse counts as a fault, and tests want none.
//
// One library has the functions of all: those of products and transforms are in `vendor.cpp`. `fake` and `fake_fail` steer it; `FAKE_CUDA_DELAY` does
// where there is no handle to call them by. With `FAKE_CUDA_IDLE` kernels and libraries do nothing and there is memory enough: what is left is the host's part.

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <dlfcn.h>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <sstream>
#include <string>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>
#include <vector>

#define API extern "C" __attribute__((visibility("default"))) int
typedef unsigned long long u64;
typedef unsigned char byte;

enum { INVALID = 1, NO_MEMORY = 2, NO_DEVICE = 100, BAD_IMAGE = 200, NO_CONTEXT = 201, NOT_FOUND = 500, NOT_READY = 600,
       ASTRAY = 700, NOT_SUPPORTED = 801 };

struct Stream;
struct Event { u64 put = 0, done = 0; Stream *stream = nullptr; };
struct Op {
    std::function<void()> work;
    std::shared_ptr<Event> record, wait;
    u64 version = 0;
    std::thread::id by = std::this_thread::get_id();
};
struct Stream { std::deque<Op> ops; int device; };
struct Mark { int device; std::shared_ptr<Event> event = std::make_shared<Event>(); };
struct Function { void (*run)(void **, const unsigned *) = nullptr; std::vector<unsigned> sizes; };
struct Module { void *library; std::map<std::string, std::unique_ptr<Function>> functions; };
struct Device { int retained = 0; u64 used = 0; };
struct Program { std::string text, log, image; };

static std::recursive_mutex lock;
static std::map<std::string, long> settings = {
    {"devices", 2}, {"memory", 256 << 20}, {"delay", 0}, {"virtual", 1}, {"capability", 90}, {"granule", 64 << 10}, {"faults", 0},
    {"calls", 0}, {"compiled", 0}, {"sticky", 0}, {"version", 12080}, {"blas_version", 120900}, {"fft_version", 11400},
    {"most_plans", 0}, {"idle", 0}};
static std::map<std::string, std::pair<long, int>> planned;
static std::vector<std::string> called;
static Device devices[8];
static std::set<Stream *> streams;
static std::set<Mark *> marks;
static std::set<Module *> modules;
static std::map<byte *, std::pair<u64, int>> blocks, pinned, handles_mapped, reserved;
static std::map<u64, std::pair<u64, int>> handles;
static thread_local std::vector<int> current;
static u64 last_handle = 0, random_state = 1;

static void fault(const char *what) {
    settings["faults"]++;
    fprintf(stderr, "fake CUDA: %s\n", what);
}

// Bytes that nobody may rely on.
static void poison(void *memory, int byte, u64 bytes) {
    if (!settings["idle"]) memset(memory, byte, bytes);
}

// A call: its name is noted, and it fails if that was planned. A context that went astray stays so.
static int enter(const char *name) {
    static bool first = true;
    if (first && getenv("FAKE_CUDA_DELAY")) settings["delay"] = atol(getenv("FAKE_CUDA_DELAY"));
    if (first && getenv("FAKE_CUDA_IDLE")) settings["idle"] = 1, settings["memory"] = 64L << 30;
    first = false;
    settings["calls"]++;
    called.push_back(name);
    auto found = planned.find(name);
    if (found != planned.end() && --found->second.first == 0) {
        const int code = found->second.second;
        planned.erase(found);
        if (code >= ASTRAY && code < 720) settings["sticky"] = code;
        return code;
    }
    return (int)settings["sticky"];
}
#define ENTER                                                 \
    std::lock_guard<std::recursive_mutex> guard(lock);        \
    if (const int code = enter(__func__)) return code
#define HERE                                                  \
    if (current.empty()) return fault(__func__), NO_CONTEXT;  \
    const int device = current.back()
#define KNOWN(all, thing)                                     \
    if (!all.count(thing)) return fault(__func__), INVALID

// Numbers that stand for streams which every device has: 0 and 1 for the one that threads share, 2 for a thread's.
static std::map<std::pair<int, bool>, Stream> usual;
#define NUMBERED(stream)                                                        \
    if ((u64)stream <= 2) {                                                     \
        if (current.empty()) return fault(__func__), NO_CONTEXT;                \
        auto &named = usual[{current.back(), (u64)stream == 2}];                \
        named.device = current.back();                                          \
        stream = &named;                                                        \
    } else KNOWN(streams, stream)

static void until(const std::shared_ptr<Event> &event, u64 version);

static void step(Stream *stream) {
    Op op = std::move(stream->ops.front());
    stream->ops.pop_front();
    if (op.wait) until(op.wait, op.version);
    if (op.work && !settings["sticky"]) op.work();
    if (op.record && op.record->done < op.version) op.record->done = op.version;
}

static void until(const std::shared_ptr<Event> &event, u64 version) {
    while (event->done < version && event->stream && !event->stream->ops.empty()) step(event->stream);
}

static void finish(Stream *stream) {
    while (!stream->ops.empty()) step(stream);
}

static void put(Stream *stream, Op op) {
    stream->ops.push_back(std::move(op));
    const long delay = settings["delay"];
    if (delay == 0) return finish(stream);
    if (delay == 1) return;
    // Any stream may come a little further.
    for (Stream *any : streams) {
        random_state = random_state * 6364136223846793005u + (u64)delay;
        for (u64 n = random_state >> 61; n > 0 && !any->ops.empty(); n--) step(any);
    }
}

// Whether work of this thread is not done. What others ask for after it has waited may use other memory.
static bool pending() {
    const auto mine = [](const Stream &stream) {
        for (const Op &op : stream.ops)
            if (op.by == std::this_thread::get_id()) return true;
        return false;
    };
    for (Stream *stream : streams)
        if (mine(*stream)) return true;
    for (auto &[number, stream] : usual)
        if (mine(stream)) return true;
    return false;
}

// Whether bytes of the device are there: within a block, or mapped.
static bool there(u64 address, u64 bytes) {
    auto *at = (byte *)address, *end = at + bytes;
    auto block = blocks.upper_bound(at);
    if (block != blocks.begin() && end <= (--block)->first + block->second.first && at >= block->first) return true;
    while (at < end) {
        auto page = handles_mapped.upper_bound(at);
        if (page == handles_mapped.begin()) return false;
        const u64 size = handles[(--page)->second.first].first;
        if (at >= page->first + size) return false;
        at = page->first + size;
    }
    return true;
}

static bool is_pinned(const void *address, u64 bytes) {
    auto at = pinned.upper_bound((byte *)address);
    return at != pinned.begin() && (byte *)address + bytes <= (--at)->first + at->second.first;
}

// Copies when the stream comes to it. Memory that is not there leads astray.
static void move(void *to, const void *from, u64 bytes, u64 device_a, u64 device_b) {
    if (there(device_a, bytes) && there(device_b, bytes)) return (void)memmove(to, from, bytes);
    fault("a copy of memory that is not there");
    settings["sticky"] = ASTRAY;
}

static long live_libraries();

extern "C" {
__attribute__((visibility("default"))) long fake(const char *name, long value) {
    std::lock_guard<std::recursive_mutex> guard(lock);
    if (!strcmp(name, "live"))
        return live_libraries() + (long)(streams.size() + marks.size() + modules.size() + blocks.size() + pinned.size() + handles.size() + reserved.size());
    const long old = settings[name];
    if (value >= 0) settings[name] = value;
    return old;
}
// The call of this function, counted from one for the next, gives an error instead.
__attribute__((visibility("default"))) void fake_fail(const char *name, long call, int code) {
    std::lock_guard<std::recursive_mutex> guard(lock);
    planned.clear();
    if (call > 0) planned[name] = {call, code};
}
// A stream of somebody else on the first device.
__attribute__((visibility("default"))) u64 fake_stream() {
    std::lock_guard<std::recursive_mutex> guard(lock);
    auto *made = new Stream{{}, 0};
    streams.insert(made);
    return (u64)made;
}
// The name of a call that was made; null after the last.
__attribute__((visibility("default"))) const char *fake_called(long number) {
    std::lock_guard<std::recursive_mutex> guard(lock);
    return number < (long)called.size() ? called[number].c_str() : nullptr;
}
}

API cuInit(unsigned) { ENTER; return settings["devices"] ? 0 : NO_DEVICE; }
API cuDriverGetVersion(int *version) { ENTER; *version = (int)settings["version"]; return 0; }
API cuGetErrorName(int code, const char **name) {
    static const std::map<int, const char *> names = {
        {1, "CUDA_ERROR_INVALID_VALUE"}, {2, "CUDA_ERROR_OUT_OF_MEMORY"}, {100, "CUDA_ERROR_NO_DEVICE"},
        {700, "CUDA_ERROR_ILLEGAL_ADDRESS"}, {999, "CUDA_ERROR_UNKNOWN"}};
    auto found = names.find(code);
    *name = found == names.end() ? nullptr : found->second;
    return found == names.end() ? INVALID : 0;
}
// The true compiler looks for the driver, and takes this function for granted.
API cuGetExportTable(const void **table, const void *) { *table = nullptr; return NOT_FOUND; }
API cuDeviceGetCount(int *count) { ENTER; *count = (int)settings["devices"]; return 0; }
API cuDeviceGet(int *device, int index) { ENTER; *device = index; return index < settings["devices"] ? 0 : 101; }
API cuDeviceGetName(char *name, int room, int device) { ENTER; snprintf(name, room, "Fake GPU %d", device); return 0; }
API cuDeviceTotalMem_v2(size_t *bytes, int) { ENTER; *bytes = settings["memory"]; return 0; }
API cuDeviceGetAttribute(int *value, int attribute, int) {
    ENTER;
    const int capability = (int)settings["capability"];
    *value = attribute == 75 ? capability / 10 : attribute == 76 ? capability % 10 : attribute == 16 ? 2 : 0;
    return 0;
}
API cuDevicePrimaryCtxRetain(void **context, int device) {
    ENTER;
    devices[device].retained++;
    *context = &devices[device];
    return 0;
}
API cuDevicePrimaryCtxRelease_v2(int device) {
    ENTER;
    if (devices[device].retained-- <= 0) fault("a context released twice");
    return 0;
}
API cuCtxPushCurrent_v2(void *context) {
    ENTER;
    const long device = (Device *)context - devices;
    if (device < 0 || device >= 8 || devices[device].retained <= 0) return fault("no such context"), INVALID;
    current.push_back((int)device);
    return 0;
}
// Leaving a context works even where it went astray.
API cuCtxPopCurrent_v2(void **context) {
    std::lock_guard<std::recursive_mutex> guard(lock);
    HERE;
    current.pop_back();
    *context = &devices[device];
    return 0;
}
API cuCtxGetCurrent(void **context) {
    ENTER;
    *context = current.empty() ? nullptr : &devices[current.back()];
    return 0;
}
API cuCtxSynchronize() {
    ENTER; HERE;
    for (Stream *stream : streams)
        if (stream->device == device) finish(stream);
    return (int)settings["sticky"];
}

API cuStreamCreate(Stream **stream, unsigned flags) {
    ENTER; HERE;
    if (flags != 1) fault("a stream that waits for the shared one");
    *stream = new Stream{{}, device};
    streams.insert(*stream);
    return 0;
}
API cuStreamDestroy_v2(Stream *stream) {
    ENTER; HERE; KNOWN(streams, stream);
    (void)device;
    finish(stream);
    streams.erase(stream);
    // Events that were recorded in it have passed.
    return 0;
}
API cuStreamWaitEvent(Stream *stream, Mark *mark, unsigned) {
    ENTER; NUMBERED(stream); KNOWN(marks, mark);
    put(stream, {nullptr, nullptr, mark->event, mark->event->put});
    return 0;
}
API cuStreamSynchronize(Stream *stream) { ENTER; NUMBERED(stream); finish(stream); return (int)settings["sticky"]; }
API cuEventCreate(Mark **mark, unsigned) { ENTER; HERE; marks.insert(*mark = new Mark{device}); return 0; }
API cuEventDestroy_v2(Mark *mark) { ENTER; KNOWN(marks, mark); marks.erase(mark); delete mark; return 0; }
API cuEventRecord(Mark *mark, Stream *stream) {
    ENTER; NUMBERED(stream); KNOWN(marks, mark);
    if (mark->device != stream->device) return fault("an event of another device"), INVALID;
    mark->event->stream = stream;
    put(stream, {nullptr, mark->event, nullptr, ++mark->event->put});
    return 0;
}
API cuEventQuery(Mark *mark) {
    ENTER; KNOWN(marks, mark);
    Event &event = *mark->event;
    if (event.done >= event.put) return 0;
    // Time goes on while somebody asks.
    step(event.stream);
    return NOT_READY;
}
API cuEventSynchronize(Mark *mark) {
    ENTER; KNOWN(marks, mark);
    until(mark->event, mark->event->put);
    return (int)settings["sticky"];
}

API cuMemAlloc_v2(u64 *address, size_t bytes) {
    ENTER; HERE;
    if (bytes == 0) return fault(__func__), INVALID;
    if (devices[device].used + bytes > (u64)settings["memory"]) return NO_MEMORY;
    auto *block = (byte *)aligned_alloc(512, (bytes + 511) / 512 * 512);
    poison(block, 0xCB, bytes);
    devices[device].used += bytes;
    blocks[block] = {bytes, device};
    *address = (u64)block;
    return 0;
}
API cuMemFree_v2(u64 address) {
    ENTER; HERE; KNOWN(blocks, (byte *)address);
    (void)device;
    if (pending()) fault("memory freed before work is done");
    auto [bytes, owner] = blocks[(byte *)address];
    poison((void *)address, 0xDD, bytes);
    devices[owner].used -= bytes;
    blocks.erase((byte *)address);
    // The memory itself stays: who reads it later finds the poison.
    return 0;
}
API cuMemAllocHost_v2(void **memory, size_t bytes) {
    ENTER; HERE;
    *memory = malloc(bytes);
    poison(*memory, 0xCB, bytes);
    pinned[(byte *)*memory] = {bytes, device};
    return 0;
}
API cuMemFreeHost(void *memory) {
    ENTER; KNOWN(pinned, (byte *)memory);
    poison(memory, 0xDD, pinned[(byte *)memory].first);
    pinned.erase((byte *)memory);
    return 0;
}
// Pinned memory is read when the stream comes to it, other memory at once.
API cuMemcpyHtoDAsync_v2(u64 to, const void *from, size_t bytes, Stream *stream) {
    ENTER; NUMBERED(stream);
    if (is_pinned(from, bytes)) return put(stream, {[=] { move((void *)to, from, bytes, to, to); }, nullptr, nullptr, 0}), 0;
    std::string held((const char *)from, bytes);
    put(stream, {[=] { move((void *)to, held.data(), bytes, to, to); }, nullptr, nullptr, 0});
    return 0;
}
API cuMemcpyDtoHAsync_v2(void *to, u64 from, size_t bytes, Stream *stream) {
    ENTER; NUMBERED(stream);
    put(stream, {[=] { move(to, (void *)from, bytes, from, from); }, nullptr, nullptr, 0});
    if (!is_pinned(to, bytes)) finish(stream);
    return (int)settings["sticky"];
}
// Goes through the shared stream, for which streams of libraries do not wait.
API cuMemcpyDtoH_v2(void *to, u64 from, size_t bytes) {
    ENTER; HERE;
    finish(&usual[{device, false}]);
    move(to, (void *)from, bytes, from, from);
    return (int)settings["sticky"];
}
API cuPointerGetAttribute(int *value, int attribute, u64 address) {
    ENTER;
    auto block = blocks.upper_bound((byte *)address);
    const bool known = block != blocks.begin() && (byte *)address < (--block)->first + block->second.first;
    if (attribute != 9 || !known) return INVALID;
    *value = block->second.second;
    return 0;
}
API cuMemGetInfo_v2(size_t *left, size_t *all) {
    ENTER; HERE;
    *all = settings["memory"], *left = *all - devices[device].used;
    return 0;
}
API cuMemcpyDtoDAsync_v2(u64 to, u64 from, size_t bytes, Stream *stream) {
    ENTER; NUMBERED(stream);
    put(stream, {[=] { move((void *)to, (void *)from, bytes, to, from); }, nullptr, nullptr, 0});
    return 0;
}
API cuMemsetD32Async(u64 to, unsigned value, size_t count, Stream *stream) {
    ENTER; NUMBERED(stream);
    const std::vector<unsigned> held(count, value);
    put(stream, {[=] { move((void *)to, held.data(), 4 * count, to, to); }, nullptr, nullptr, 0});
    return 0;
}
API cuMemcpyPeerAsync(u64 to, Device *mine, u64 from, Device *theirs, size_t bytes, Stream *stream) {
    ENTER; KNOWN(streams, stream);
    const bool known = mine == &devices[stream->device] && mine->retained > 0 && theirs->retained > 0;
    if (!known) return fault(__func__), INVALID;
    put(stream, {[=] { move((void *)to, (void *)from, bytes, to, from); }, nullptr, nullptr, 0});
    return 0;
}

API cuMemGetAllocationGranularity(size_t *bytes, const void *, int) { ENTER; *bytes = settings["granule"]; return 0; }
API cuMemAddressReserve(u64 *address, size_t bytes, size_t, u64, u64) {
    ENTER;
    const u64 granule = settings["granule"];
    void *space = mmap(nullptr, bytes + granule, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (space == MAP_FAILED) return NO_MEMORY;
    *address = ((u64)space + granule - 1) / granule * granule;
    reserved[(byte *)*address] = {bytes, 0};
    return 0;
}
API cuMemAddressFree(u64 address, size_t bytes) {
    ENTER; KNOWN(reserved, (byte *)address);
    if (reserved[(byte *)address].first != bytes) return fault(__func__), INVALID;
    auto inside = handles_mapped.lower_bound((byte *)address);
    if (inside != handles_mapped.end() && inside->first < (byte *)address + bytes) return fault(__func__), INVALID;
    munmap((void *)address, bytes);
    reserved.erase((byte *)address);
    return 0;
}
struct Properties { int kind, handles, place, device; };
API cuMemCreate(u64 *handle, size_t bytes, const Properties *properties, u64) {
    ENTER;
    if (!settings["virtual"]) return NOT_SUPPORTED;
    if (properties->kind != 1 || properties->place != 1 || bytes % settings["granule"]) return fault(__func__), INVALID;
    Device &device = devices[properties->device];
    if (device.used + bytes > (u64)settings["memory"]) return NO_MEMORY;
    device.used += bytes;
    handles[*handle = ++last_handle] = {bytes, properties->device};
    return 0;
}
API cuMemRelease(u64 handle) {
    ENTER; KNOWN(handles, handle);
    devices[handles[handle].second].used -= handles[handle].first;
    handles.erase(handle);
    return 0;
}
API cuMemMap(u64 address, size_t bytes, size_t, u64 handle, u64) {
    ENTER; KNOWN(handles, handle);
    if (handles_mapped.count((byte *)address)) return fault(__func__), INVALID;
    handles_mapped[(byte *)address] = {handle, 0};
    return bytes == handles[handle].first ? 0 : INVALID;
}
API cuMemSetAccess(u64 address, size_t bytes, const void *, size_t) {
    ENTER; KNOWN(handles_mapped, (byte *)address);
    mprotect((void *)address, bytes, PROT_READ | PROT_WRITE);
    poison((void *)address, 0xCB, bytes);
    return 0;
}
API cuMemUnmap(u64 address, size_t bytes) {
    ENTER; KNOWN(handles_mapped, (byte *)address);
    if (pending()) fault("memory unmapped before work is done");
    handles_mapped.erase((byte *)address);
    madvise((void *)address, bytes, MADV_DONTNEED);
    mprotect((void *)address, bytes, PROT_NONE);
    return 0;
}

static const char MAGIC[9] = "FAKEGPU1";

static std::string temporary(const char *suffix) {
    static int count = 0;
    const char *folder = getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp";
    std::ostringstream name;
    name << folder << "/fake-cuda-" << getpid() << "-" << (void *)&count << "-" << count++ << suffix;
    return name.str();
}

API cuModuleLoadData(Module **module, const char *image) {
    ENTER; HERE;
    (void)device;
    // What the true compiler makes cannot run here.
    if (!memcmp(image, "\x7f" "ELF", 4)) return modules.insert(*module = new Module{nullptr, {}}), 0;
    if (memcmp(image, MAGIC, 8)) return BAD_IMAGE;
    u64 bytes;
    memcpy(&bytes, image + 8, 8);
    const std::string path = temporary(".so");
    std::ofstream(path, std::ios::binary).write(image + 16, (long)bytes);
    void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    unlink(path.c_str());
    if (!library) return BAD_IMAGE;
    modules.insert(*module = new Module{library, {}});
    return 0;
}
// Functions of a module that is gone may still be in a queue: its code stays.
API cuModuleUnload(Module *module) { ENTER; HERE; (void)device; KNOWN(modules, module); modules.erase(module); return 0; }
API cuModuleGetFunction(Function **function, Module *module, const char *name) {
    ENTER; KNOWN(modules, module);
    if (!module->library) {
        module->functions[name] = std::make_unique<Function>();
        return *function = module->functions[name].get(), 0;
    }
    auto run = (void (*)(void **, const unsigned *))dlsym(module->library, (std::string("run_") + name).c_str());
    auto sizes = (unsigned (*)(unsigned *))dlsym(module->library, (std::string("sizes_") + name).c_str());
    if (!run || !sizes) return NOT_FOUND;
    auto made = std::make_unique<Function>();
    unsigned list[256];
    made->run = run;
    made->sizes.assign(list, list + sizes(list));
    *function = made.get();
    module->functions[name] = std::move(made);
    return 0;
}
API cuLaunchKernel(Function *function, unsigned x, unsigned y, unsigned z, unsigned bx, unsigned by, unsigned bz, unsigned,
                   Stream *stream, void **arguments, void **) {
    ENTER; HERE; KNOWN(streams, stream);
    if (stream->device != device) return fault("a stream of another device"), INVALID;
    if (!x || !y || !z || y > 65535 || z > 65535 || bx > 1024 || by != 1 || bz != 1) return fault(__func__), INVALID;
    std::vector<std::string> held;
    for (size_t i = 0; i < function->sizes.size(); i++) held.emplace_back((char *)arguments[i], function->sizes[i]);
    auto run = settings["idle"] ? nullptr : function->run;
    put(stream, {[=]() mutable {
        std::vector<void *> places;
        for (std::string &one : held) places.push_back(&one[0]);
        const unsigned grid[3] = {x, y, z};
        if (run) run(places.data(), grid);
    }, nullptr, nullptr, 0});
    return 0;
}

// The compiler: the CUDA text behind what CUDA C++ brings along, and for each kernel a function that walks
// the grid with groups of one thread.
static const char *GLUE = R"(
#include <utility>
template <class... A> static unsigned sizes(void (*)(A...), unsigned *list) { const unsigned all[] = {sizeof(A)...}; for (unsigned i = 0; i < sizeof...(A); i++) list[i] = all[i]; return sizeof...(A); }
template <class... A, std::size_t... I> static void call(void (*kernel)(A...), void **a, std::index_sequence<I...>) { kernel(*(A *)a[I]...); }
template <class... A> static void walk(void (*kernel)(A...), void **a, const unsigned *g) {
    gridDim = Dim3{g[0], g[1], g[2]};
    blockDim = Dim3{1, 1, 1};
    for (blockIdx.z = 0; blockIdx.z < g[2]; blockIdx.z++) for (blockIdx.y = 0; blockIdx.y < g[1]; blockIdx.y++) for (blockIdx.x = 0; blockIdx.x < g[0]; blockIdx.x++)
        call(kernel, a, std::index_sequence_for<A...>());
}
)";

API nvrtcVersion(int *major, int *minor) { ENTER; *major = 12, *minor = 9; return 0; }
API nvrtcGetNumSupportedArchs(int *count) { ENTER; *count = 3; return 0; }
API nvrtcGetSupportedArchs(int *list) { ENTER; list[0] = 75, list[1] = 80, list[2] = 90; return 0; }
API nvrtcCreateProgram(Program **program, const char *text, const char *, int, const char *const *, const char *const *) {
    ENTER;
    *program = new Program{text, "", ""};
    return 0;
}
API nvrtcDestroyProgram(Program **program) { delete *program; *program = nullptr; return 0; }
static std::string whole(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
}
API nvrtcCompileProgram(Program *program, int count, const char *const *options) {
    ENTER;
    std::set<std::string> given(options, options + count);
    const bool right = given.count("--fmad=false") && (given.count("--gpu-architecture=sm_90") || given.count("--gpu-architecture=compute_90"));
    if (!right) return program->log = "unexpected options", 5;
    settings["compiled"]++;
    std::string text = whole(SHIM) + program->text + GLUE;
    const std::string word = "KERNEL(";
    for (size_t at = program->text.find(word); at != std::string::npos; at = program->text.find(word, at + 1)) {
        const std::string name = program->text.substr(at + 7, program->text.find(',', at) - at - 7);
        if (at >= 8 && program->text.substr(at - 8, 8) == "#define ") continue;
        text += "extern \"C\" unsigned sizes_" + name + "(unsigned *list) { return sizes(" + name + ", list); }\n";
        text += "extern \"C\" void run_" + name + "(void **a, const unsigned *g) { walk(" + name + ", a, g); }\n";
    }
    const std::string base = temporary("");
    std::ofstream(base + ".cpp") << text;
    const std::string line = "g++ -std=c++17 -O0 -w -ffp-contract=off -shared -fPIC -o " + base + ".so " + base + ".cpp 2> " + base + ".log";
    const int done = system(line.c_str());
    const std::string library = whole(base + ".so");
    program->log = whole(base + ".log");
    for (const char *suffix : {".cpp", ".so", ".log"}) unlink((base + suffix).c_str());
    if (done != 0) return 6;
    const u64 bytes = library.size();
    program->image = std::string(MAGIC, 8) + std::string((const char *)&bytes, 8) + library;
    return 0;
}
API nvrtcGetProgramLogSize(Program *program, size_t *bytes) { ENTER; *bytes = program->log.size() + 1; return 0; }
API nvrtcGetProgramLog(Program *program, char *text) { ENTER; strcpy(text, program->log.c_str()); return 0; }
API nvrtcGetCUBINSize(Program *program, size_t *bytes) { ENTER; *bytes = program->image.size(); return 0; }
API nvrtcGetCUBIN(Program *program, char *image) { ENTER; memcpy(image, program->image.data(), program->image.size()); return 0; }
API nvrtcGetPTXSize(Program *program, size_t *bytes) { ENTER; *bytes = program->image.size(); return 0; }
API nvrtcGetPTX(Program *program, char *image) { ENTER; memcpy(image, program->image.data(), program->image.size()); return 0; }

#include "vendor.cpp"
