/* The interface of arrayloom's backends. Made by `cargo xtask header`; do not edit.
 *
 * A backend is a shared library that exports one function:
 *
 *     const ArrayloomTable *arrayloom_backend_v1(void);
 *
 * The table and everything it points to live as long as the library. Functions return ARRAYLOOM_OK or
 * another status, may be called from any thread, and never let an exception out. docs/backends.md has a
 * whole backend. */

#ifndef ARRAYLOOM_BACKEND_H
#define ARRAYLOOM_BACKEND_H

#include <stdint.h>
#include <stddef.h>
/* Numbers of the primitives; crates/ir/src/prim.rs says what they do. */
#define ARRAYLOOM_PRIM_INPUT 0
#define ARRAYLOOM_PRIM_CONST 1
#define ARRAYLOOM_PRIM_IOTA 2
#define ARRAYLOOM_PRIM_GATHER 3
#define ARRAYLOOM_PRIM_CAST 4
#define ARRAYLOOM_PRIM_REAL 5
#define ARRAYLOOM_PRIM_IMAG 6
#define ARRAYLOOM_PRIM_CONJ 7
#define ARRAYLOOM_PRIM_NEG 8
#define ARRAYLOOM_PRIM_ABS 9
#define ARRAYLOOM_PRIM_NOT 10
#define ARRAYLOOM_PRIM_SIGN 11
#define ARRAYLOOM_PRIM_SIGN_BIT 12
#define ARRAYLOOM_PRIM_POP_COUNT 13
#define ARRAYLOOM_PRIM_SQRT 14
#define ARRAYLOOM_PRIM_CBRT 15
#define ARRAYLOOM_PRIM_SQUARE 16
#define ARRAYLOOM_PRIM_RECIPROCAL 17
#define ARRAYLOOM_PRIM_RINT 18
#define ARRAYLOOM_PRIM_FLOOR 19
#define ARRAYLOOM_PRIM_CEIL 20
#define ARRAYLOOM_PRIM_TRUNC 21
#define ARRAYLOOM_PRIM_EXP 22
#define ARRAYLOOM_PRIM_EXP2 23
#define ARRAYLOOM_PRIM_EXPM1 24
#define ARRAYLOOM_PRIM_LOG 25
#define ARRAYLOOM_PRIM_LOG2 26
#define ARRAYLOOM_PRIM_LOG10 27
#define ARRAYLOOM_PRIM_LOG1P 28
#define ARRAYLOOM_PRIM_SIN 29
#define ARRAYLOOM_PRIM_COS 30
#define ARRAYLOOM_PRIM_TAN 31
#define ARRAYLOOM_PRIM_ASIN 32
#define ARRAYLOOM_PRIM_ACOS 33
#define ARRAYLOOM_PRIM_ATAN 34
#define ARRAYLOOM_PRIM_SINH 35
#define ARRAYLOOM_PRIM_COSH 36
#define ARRAYLOOM_PRIM_TANH 37
#define ARRAYLOOM_PRIM_ASINH 38
#define ARRAYLOOM_PRIM_ACOSH 39
#define ARRAYLOOM_PRIM_ATANH 40
#define ARRAYLOOM_PRIM_SPACING 41
#define ARRAYLOOM_PRIM_FREXP_MANT 42
#define ARRAYLOOM_PRIM_FREXP_EXP 43
#define ARRAYLOOM_PRIM_MODF_FRAC 44
#define ARRAYLOOM_PRIM_MODF_INT 45
#define ARRAYLOOM_PRIM_IS_NAN 46
#define ARRAYLOOM_PRIM_IS_INF 47
#define ARRAYLOOM_PRIM_IS_FINITE 48
#define ARRAYLOOM_PRIM_ADD 49
#define ARRAYLOOM_PRIM_SUB 50
#define ARRAYLOOM_PRIM_MUL 51
#define ARRAYLOOM_PRIM_DIV 52
#define ARRAYLOOM_PRIM_FLOOR_DIV 53
#define ARRAYLOOM_PRIM_REM 54
#define ARRAYLOOM_PRIM_FMOD 55
#define ARRAYLOOM_PRIM_POW 56
#define ARRAYLOOM_PRIM_FLOAT_POW 57
#define ARRAYLOOM_PRIM_MIN 58
#define ARRAYLOOM_PRIM_MAX 59
#define ARRAYLOOM_PRIM_FMIN 60
#define ARRAYLOOM_PRIM_FMAX 61
#define ARRAYLOOM_PRIM_AND 62
#define ARRAYLOOM_PRIM_OR 63
#define ARRAYLOOM_PRIM_XOR 64
#define ARRAYLOOM_PRIM_SHL 65
#define ARRAYLOOM_PRIM_SHR 66
#define ARRAYLOOM_PRIM_EQ 67
#define ARRAYLOOM_PRIM_NE 68
#define ARRAYLOOM_PRIM_LT 69
#define ARRAYLOOM_PRIM_LE 70
#define ARRAYLOOM_PRIM_ATAN2 71
#define ARRAYLOOM_PRIM_HYPOT 72
#define ARRAYLOOM_PRIM_COPY_SIGN 73
#define ARRAYLOOM_PRIM_NEXT_AFTER 74
#define ARRAYLOOM_PRIM_LDEXP 75
#define ARRAYLOOM_PRIM_GCD 76
#define ARRAYLOOM_PRIM_LCM 77
#define ARRAYLOOM_PRIM_COMPLEX 78
#define ARRAYLOOM_PRIM_LOG_ADD_EXP 79
#define ARRAYLOOM_PRIM_LOG_ADD_EXP2 80
#define ARRAYLOOM_PRIM_SELECT 81

/* Numbers of the dtypes. */
#define ARRAYLOOM_DTYPE_BOOL 0
#define ARRAYLOOM_DTYPE_INT8 1
#define ARRAYLOOM_DTYPE_INT16 2
#define ARRAYLOOM_DTYPE_INT32 3
#define ARRAYLOOM_DTYPE_INT64 4
#define ARRAYLOOM_DTYPE_UINT8 5
#define ARRAYLOOM_DTYPE_UINT16 6
#define ARRAYLOOM_DTYPE_UINT32 7
#define ARRAYLOOM_DTYPE_UINT64 8
#define ARRAYLOOM_DTYPE_FLOAT16 9
#define ARRAYLOOM_DTYPE_FLOAT32 10
#define ARRAYLOOM_DTYPE_FLOAT64 11
#define ARRAYLOOM_DTYPE_COMPLEX64 12
#define ARRAYLOOM_DTYPE_COMPLEX128 13


/**
 * Done.
 */
#define ARRAYLOOM_OK 0

/**
 * Memory ran out.
 */
#define ARRAYLOOM_OUT_OF_MEMORY 1

/**
 * The device does not have this kernel.
 */
#define ARRAYLOOM_UNSUPPORTED 2

/**
 * The device failed.
 */
#define ARRAYLOOM_FAILED 3

/**
 * The device is gone; no later call will succeed.
 */
#define ARRAYLOOM_DEVICE_LOST 4

/**
 * Loaders refuse tables of another major version.
 */
#define ARRAYLOOM_MAJOR 1

/**
 * Grows with every entry at the end of the table.
 */
#define ARRAYLOOM_MINOR 1

/**
 * Flag of `CCaps`: buffers are host addresses that both sides may use.
 */
#define ARRAYLOOM_CAPS_UNIFIED 1

/**
 * Flag of `CCaps`: kernels of several operations are welcome.
 */
#define ARRAYLOOM_CAPS_FUSED (1 << 1)

/**
 * Flag of `CCaps`: elements need not be aligned.
 */
#define ARRAYLOOM_CAPS_UNALIGNED (1 << 2)

/**
 * Flag of `CCaps`: sums of floats follow the order of the launch.
 */
#define ARRAYLOOM_CAPS_NUMPY_ORDER (1 << 3)

/**
 * Flag of `CCaps`: launches may ask for floating-point conditions.
 */
#define ARRAYLOOM_CAPS_FLAGS (1 << 4)

/**
 * `COutput::form`: every point is written.
 */
#define ARRAYLOOM_FORM_STORE 0

/**
 * `COutput::form`: folded over `axes` with `op`.
 */
#define ARRAYLOOM_FORM_REDUCE 1

/**
 * `COutput::form`: place of the smallest (`op` 0) or largest (`op` 1) value over `axes`.
 */
#define ARRAYLOOM_FORM_ARG 2

/**
 * `COutput::form`: running fold with `op` along axis number `axes`.
 */
#define ARRAYLOOM_FORM_SCAN 3

/**
 * `COutput::form`: to the element that lies value number `axes` (int64) in bytes away from the output's
 * place, in C order; the smallest int64 is nowhere. `op` is 0 set, 1 add, 2 min, 3 max.
 */
#define FORM_SCATTER 4

/**
 * `CArg::kind`: elements in memory.
 */
#define ARRAYLOOM_ARG_VIEW 0

/**
 * `CArg::kind`: one value.
 */
#define ARRAYLOOM_ARG_SCALAR 1

/**
 * `CForeign::kind`: memory of the device.
 */
#define FOREIGN_MEMORY 0

/**
 * `CForeign::kind`: a queue or stream.
 */
#define FOREIGN_QUEUE 1

/**
 * `CForeign::kind`: a context.
 */
#define FOREIGN_CONTEXT 2

/**
 * UTF-8 text, not terminated.
 */
typedef struct {
  /**
   * Its bytes.
   */
  const uint8_t *data;
  /**
   * How many.
   */
  uintptr_t len;
} ArrayloomText;

/**
 * What a device is. Whoever fills it may fill less than there is, never more than `size` bytes.
 */
typedef struct {
  /**
   * Bytes of this record as the loader knows it.
   */
  uint32_t size;
  /**
   * The `CAPS_*` flags.
   */
  uint32_t flags;
  /**
   * Worker threads.
   */
  uint32_t threads;
  /**
   * A bit for each dtype, by its number.
   */
  uint32_t dtypes;
  /**
   * Bit 0 store, 1 reduce, 2 arg, 3 scan, 4 gather, 5 scatter.
   */
  uint32_t forms;
  /**
   * Zero.
   */
  uint32_t reserved;
  /**
   * Bytes of memory it may use; all ones if only the system bounds it.
   */
  uint64_t memory;
  /**
   * A bit for each primitive, by its number: 0 to 63, then 64 to 127.
   */
  uint64_t prims[2];
  /**
   * Short name.
   */
  ArrayloomText name;
  /**
   * The hardware in words.
   */
  ArrayloomText detail;
} ArrayloomCaps;

/**
 * One instruction: `value = prim(a, b, c)`. Value `i` is the result of instruction `i`.
 */
typedef struct {
  /**
   * Number of the primitive.
   */
  uint8_t prim;
  /**
   * Number of the result's dtype.
   */
  uint8_t dtype;
  /**
   * First operand, or the input number, or the axis.
   */
  uint32_t a;
  /**
   * Second operand.
   */
  uint32_t b;
  /**
   * Third operand.
   */
  uint32_t c;
  /**
   * The bytes of a constant.
   */
  uint64_t bits;
} ArrayloomIns;

/**
 * How a value leaves a kernel.
 */
typedef struct {
  /**
   * Number of the value.
   */
  uint32_t value;
  /**
   * A `FORM_*` number.
   */
  uint32_t form;
  /**
   * The fold: 0 add, 1 mul, 2 min, 3 max, 4 fmin, 5 fmax, 6 and, 7 or, 8 xor.
   */
  uint32_t op;
  /**
   * Bits of the axes that are folded away, or the number of the axis of a running fold.
   */
  uint32_t axes;
} ArrayloomOutput;

/**
 * Code over one domain; sizes come with the launch.
 */
typedef struct {
  /**
   * Bytes of this record.
   */
  uint32_t size;
  /**
   * Rank of the domain.
   */
  uint32_t rank;
  /**
   * Number of instructions.
   */
  uint32_t code_len;
  /**
   * Number of inputs.
   */
  uint32_t inputs_len;
  /**
   * Number of outputs.
   */
  uint32_t outputs_len;
  /**
   * The instructions.
   */
  const ArrayloomIns *code;
  /**
   * The dtype of each input.
   */
  const uint8_t *inputs;
  /**
   * The outputs.
   */
  const ArrayloomOutput *outputs;
} ArrayloomKernel;

/**
 * What an input or output is bound to.
 */
typedef struct {
  /**
   * `ARG_VIEW` or `ARG_SCALAR`.
   */
  uint32_t kind;
  /**
   * Of a scalar: its dtype.
   */
  uint32_t dtype;
  /**
   * Of a view: the buffer.
   */
  uint64_t buf;
  /**
   * Of a view: bytes from the start of the buffer to the first element.
   */
  int64_t offset;
  /**
   * Of a view: steps in bytes, one for each axis.
   */
  const intptr_t *strides;
  /**
   * Of a scalar: its bytes.
   */
  uint8_t scalar[16];
} ArrayloomArg;

/**
 * The facts of one folded output; `present` is 0 for the others.
 */
typedef struct {
  /**
   * 1 if the output is a fold.
   */
  uint32_t present;
  /**
   * How many of the first axes of the order make one run.
   */
  uint32_t stream;
  /**
   * Values of one piece.
   */
  uint64_t piece;
  /**
   * All axes, innermost loop first.
   */
  const uint8_t *axes;
  /**
   * How many.
   */
  uint32_t axes_len;
  /**
   * 1 if `initial` is the value to start from.
   */
  uint32_t has_initial;
  /**
   * Its dtype.
   */
  uint32_t initial_dtype;
  /**
   * Zero.
   */
  uint32_t reserved;
  /**
   * Its bytes.
   */
  uint8_t initial[16];
} ArrayloomFold;

/**
 * One launch.
 */
typedef struct {
  /**
   * Bytes of this record.
   */
  uint32_t size;
  /**
   * Zero.
   */
  uint32_t reserved;
  /**
   * Extents of the domain.
   */
  const uintptr_t *shape;
  /**
   * One for each output of the kernel.
   */
  const ArrayloomArg *outs;
  /**
   * One for each input of the kernel.
   */
  const ArrayloomArg *ins;
  /**
   * One for each output of the kernel.
   */
  const ArrayloomFold *folds;
  /**
   * One byte for each instruction, or null: or in 1 for division by zero, 2 for overflow, 4 for
   * underflow, 8 for invalid operations that it met. They are complete when `run` returns.
   */
  uint8_t *flags;
} ArrayloomLaunch;

/**
 * An array, as an operation that is no kernel takes it.
 */
typedef struct {
  /**
   * The buffer.
   */
  uint64_t buf;
  /**
   * Bytes from the start of the buffer to the first element.
   */
  int64_t offset;
  /**
   * Number of the dtype.
   */
  uint32_t dtype;
  /**
   * Number of axes.
   */
  uint32_t rank;
  /**
   * Extents.
   */
  const uintptr_t *shape;
  /**
   * Steps in bytes.
   */
  const intptr_t *strides;
} CTensor;

/**
 * An operation that is no kernel.
 */
typedef struct {
  /**
   * Bytes of this record.
   */
  uint32_t size;
  /**
   * Number of results.
   */
  uint32_t outs_len;
  /**
   * Number of operands.
   */
  uint32_t ins_len;
  /**
   * Zero.
   */
  uint32_t reserved;
  /**
   * Its name, such as `matmul`.
   */
  ArrayloomText name;
  /**
   * The results.
   */
  const CTensor *outs;
  /**
   * The operands.
   */
  const CTensor *ins;
  /**
   * More facts, as the operation defines them.
   */
  const uint8_t *attrs;
  /**
   * Their bytes.
   */
  uintptr_t attrs_len;
} CExt;

/**
 * Something of another library's.
 */
typedef struct {
  /**
   * A `FOREIGN_*` number.
   */
  uint32_t kind;
  /**
   * Zero.
   */
  uint32_t reserved;
  /**
   * Address of the memory, or what the driver calls the queue or context.
   */
  uint64_t value;
  /**
   * Of memory: its length.
   */
  uint64_t bytes;
} CForeign;

/**
 * The functions of a backend. `size` says how many bytes of it exist; what a shorter table lacks is
 * absent, what a longer one has more is unknown to this loader and ignored.
 */
typedef struct {
  /**
   * Bytes of this record as the backend knows it.
   */
  uint32_t size;
  /**
   * `MAJOR`.
   */
  uint32_t major;
  /**
   * `MINOR`.
   */
  uint32_t minor;
  /**
   * Zero.
   */
  uint32_t reserved;
  /**
   * Opens device number `index`.
   */
  int32_t (*open)(uint32_t index, void **device);
  /**
   * Closes it; no call uses it afterwards.
   */
  int32_t (*close)(void *device);
  /**
   * Why the last call on this thread failed; valid until the next call on this thread.
   */
  ArrayloomText (*last_error)(void);
  /**
   * Fills the record; texts live as long as the device.
   */
  int32_t (*caps)(void *device, ArrayloomCaps *caps);
  /**
   * Reserves memory aligned to 512 bytes. `need_free` gets bytes wanted and bytes free if it runs out.
   */
  int32_t (*alloc)(void *device, uint64_t bytes, uint64_t *buf, uint64_t *need_free);
  /**
   * Gives memory back, once the work that was put in before is done.
   */
  int32_t (*free)(void *device, uint64_t buf);
  /**
   * Copies bytes. A null host pointer selects the buffer. Host memory that is read may change as soon
   * as this returns; host memory that is written is complete when a later event has passed.
   */
  int32_t (*copy)(void *device,
                  uint32_t queue,
                  uint8_t *dst_host,
                  uint64_t dst_buf,
                  uint64_t dst_offset,
                  const uint8_t *src_host,
                  uint64_t src_buf,
                  uint64_t src_offset,
                  uint64_t bytes);
  /**
   * Runs a kernel. The records may go as soon as this returns.
   */
  int32_t (*run)(void *device,
                 uint32_t queue,
                 const ArrayloomKernel *kernel,
                 const ArrayloomLaunch *launch);
  /**
   * Marks a point in a queue.
   */
  int32_t (*record)(void *device, uint32_t queue, uint64_t *event);
  /**
   * Makes later work of a queue wait for an event.
   */
  int32_t (*wait)(void *device, uint32_t queue, uint64_t event);
  /**
   * Tells whether an event has passed (1 or 0); waits for it if `block` is not 0.
   */
  int32_t (*poll)(void *device, uint64_t event, uint8_t block, uint8_t *passed);
  /**
   * Optional: the host address of a buffer, or null.
   */
  uint8_t *(*host_ptr)(void *device, uint64_t buf);
  /**
   * Optional: these kernels will run soon.
   */
  int32_t (*prepare)(void *device, const ArrayloomKernel *const *kernels, uintptr_t count);
  /**
   * Optional: an operation that is no kernel.
   */
  int32_t (*ext)(void *device, uint32_t queue, const CExt *call);
  /**
   * Optional: takes something of another library in. `number` gets the buffer or the queue that it is
   * from now on.
   */
  int32_t (*import)(void *device, const CForeign *foreign, uint64_t *number);
  /**
   * Optional: a buffer as others may use it, once the work that the queue has now is done.
   */
  int32_t (*export_)(void *device, uint64_t buf, uint64_t bytes, uint32_t queue, CForeign *foreign);
  /**
   * Optional, as the four that follow: virtual memory is mapped in multiples of this.
   */
  int32_t (*vmm_granule)(void *device, uint64_t *granule);
  /**
   * Reserves address space.
   */
  int32_t (*vmm_reserve)(void *device, uint64_t bytes, uint64_t *buf);
  /**
   * Puts memory behind a range of whole granules.
   */
  int32_t (*vmm_map)(void *device, uint64_t buf, uint64_t offset, uint64_t bytes);
  /**
   * Takes the memory behind a range away.
   */
  int32_t (*vmm_unmap)(void *device, uint64_t buf, uint64_t offset, uint64_t bytes);
  /**
   * Gives address space back.
   */
  int32_t (*vmm_release)(void *device, uint64_t buf, uint64_t bytes);
} ArrayloomTable;
/**
 * A table without entries.
 */
#define ArrayloomTable_EMPTY (ArrayloomTable){ .size = 0, .major = 0, .minor = 0, .reserved = 0, .open = None, .close = None, .last_error = None, .caps = None, .alloc = None, .free = None, .copy = None, .run = None, .record = None, .wait = None, .poll = None, .host_ptr = None, .prepare = None, .ext = None, .import = None, .vmm_granule = None, .vmm_reserve = None, .vmm_map = None, .vmm_unmap = None, .vmm_release = None }

#endif  /* ARRAYLOOM_BACKEND_H */

const ArrayloomTable *arrayloom_backend_v1(void);
