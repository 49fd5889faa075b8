// OpenCL C 1.2: the words of the common text.
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL FP_CONTRACT OFF
typedef uchar b8;
typedef char i8;
typedef short i16;
typedef int i32;
typedef long i64;
typedef uchar u8;
typedef ushort u16;
typedef uint u32;
typedef ulong u64;
typedef float f32;
typedef double f64;
typedef float f16;
typedef struct { f32 re, im; } c64;
typedef struct { f64 re, im; } c128;
#define DEV static inline
#define GLB __global
#define LOC __local
#define CONSTANT __constant
#define KERNEL(name, group) __kernel __attribute__((reqd_work_group_size(group, 1, 1))) void name
#define LOCAL_ID ((u32)get_local_id(0))
#define LOCAL_SIZE ((u32)get_local_size(0))
#define GROUP_X ((i64)get_group_id(0))
#define SYNC barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
// The grid has exactly as many groups as there are rows, so these are no loops.
#define EACH_Z(i, n) const ix i = (ix)get_group_id(2);
#define EACH_Y(i, n) const ix i = (ix)get_group_id(1);
#define EACH_X(i, n) const ix i = (ix)get_global_id(0); if (i < (n))
#define OR_INTO(p, x) atomic_or(p, x)
#define mulhi_u32 mul_hi
#define mulhi_u64 mul_hi
#define u64_of as_ulong
#define f64_of as_double
#define u32_of as_uint
#define f32_of as_float
#define fma_f32 fma
#define fma_f64 fma
#define root_f32 sqrt
#define root_f64 sqrt
#define fabs_f32 fabs
#define fabs_f64 fabs
// PoCL makes anything of these where it knows when it compiles that they are asked for something that is no number.
#define of_number(f, x) ((x) == (x) ? f(x) : (x))
#define floor_(x) of_number(floor, x)
#define ceil_(x) of_number(ceil, x)
#define trunc_(x) of_number(trunc, x)
#define rint_(x) of_number(rint, x)
#define sign_from copysign
// Numbers in two parts, and what argument reductions give.
typedef struct { f64 hi, lo; } pair;
typedef struct { f64 rounded, hi, lo; } reduced;
typedef struct { u64 quadrant; f64 hi, lo; } turned;

DEV u64 load_u64(GLB const u64 *p) { return *p; }

DEV void store_u64(GLB u64 *p, u64 x) { *p = x; }

DEV u64 float_key_u64(u64 x, u64 endless) {
    const u64 sign = (u64)((u64)1 << (64 - 1));
    const u64 size = (u64)(x & (u64)~sign);
    if (size > endless) return (u64)~(u64)0;
    if (size == 0) return sign;
    return (x & sign) != 0 ? (u64)~x : (u64)(x | sign);
}

DEV u8 is_nan_u64(u64 x, u64 endless) { return (u8)((u64)(x << 1) > (u64)(endless << 1)); }

#undef ix
#define ix i32
KERNEL(k58d6b3a1c5ed8226, 128)(GLB const u64 * restrict pi0, const i64 oi0, const ix si0_0, const ix si0_1, GLB u64 * restrict po0, const i64 oo0, const ix so0_0, const ix so0_1, const ix n0, const ix n1, const ix n2) {
    pi0 += oi0;
    po0 += oo0;
    EACH_Z(d0, n0) EACH_Y(d1, n1) EACH_X(d2, n2) {
        const u64 v0 = load_u64(pi0 + d0 * si0_0 + d1 * si0_1 + d2);
        store_u64(po0 + d0 * so0_0 + d1 * so0_1 + d2, v0);
    }
}

#undef ix
#define ix i32
KERNEL(k21b9d2d3a95b0eed, 128)(const i64 items, const i64 length, const i64 part, const i64 parts, const i64 words, const i64 shift, GLB u64 *scratch0, GLB u64 *scratch1, GLB u32 *scratch2, GLB u8 *scratch3, GLB u32 *scratch4, GLB u32 *scratch5) {
    EACH_X(item, (ix)items) {
        const ix line = item / (ix)length;
        const u32 number = (u32)(item - line * (ix)length);
        const i64 at = ((i64)line * length + number) * words;
        scratch1[item] = float_key_u64(scratch0[at + 1], (u64)0x7ff0000000000000);
        scratch2[item] = number;
    }
}

#undef ix
#define ix i32
KERNEL(k671017bd3daabb15, 128)(const i64 items, const i64 length, const i64 part, const i64 parts, const i64 words, const i64 shift, GLB u8 *scratch0, GLB u64 *scratch1, GLB u32 *scratch2, GLB u64 *scratch3, GLB u32 *scratch4, GLB u32 *scratch5) {
    LOC u32 own[4096];
    const u32 group = (u32)GROUP_X, all = (u32)parts;
    const i64 line = group / all, number = group % all;
    const i64 start = number * part, end = length - start < part ? length : start + part;
    for (u32 place = LOCAL_ID; place < 128; place += LOCAL_SIZE) {
        for (u32 bin = 0; bin < 32; bin++) own[bin * 128 + place] = 0;
        for (i64 i = start + place; i < end; i += 128) own[((u32)(scratch1[line * length + i] >> shift) & 31) * 128 + place]++;
    }
    SYNC;
    for (u32 bin = LOCAL_ID; bin < 32; bin += LOCAL_SIZE) {
        u32 sum = 0;
        for (u32 place = 0; place < 128; place++) sum += own[bin * 128 + place];
        scratch5[(line * 32 + bin) * parts + number] = sum;
    }
}

#undef ix
#define ix i32
KERNEL(k99f5d138a6af3d9e, 128)(const i64 items, const i64 length, const i64 part, const i64 parts, const i64 words, const i64 shift, GLB u8 *scratch0, GLB u8 *scratch1, GLB u32 *scratch2, GLB u8 *scratch3, GLB u32 *scratch4, GLB u32 *scratch5) {
    LOC u32 sums[128];
    GLB u32 *own = scratch5 + GROUP_X * 32 * parts;
    const i64 total = 32 * parts, share = (total + 128 - 1) / 128;
    for (u32 place = LOCAL_ID; place < 128; place += LOCAL_SIZE) {
        u32 sum = 0;
        for (i64 i = place * share; i < (place + 1) * share && i < total; i++) sum += own[i];
        sums[place] = sum;
    }
    SYNC;
    for (u32 place = LOCAL_ID; place < 128; place += LOCAL_SIZE) {
        u32 sum = 0;
        for (u32 i = 0; i < place; i++) sum += sums[i];
        for (i64 i = place * share; i < (place + 1) * share && i < total; i++) {
            const u32 count = own[i];
            own[i] = (u32)sum;
            sum += count;
        }
    }
}

#undef ix
#define ix i32
KERNEL(kc6526995ec303dce, 128)(const i64 items, const i64 length, const i64 part, const i64 parts, const i64 words, const i64 shift, GLB u8 *scratch0, GLB u64 *scratch1, GLB u32 *scratch2, GLB u64 *scratch3, GLB u32 *scratch4, GLB u32 *scratch5) {
    LOC u16 counts[4096];
    LOC u32 sums[128], base[32], first[32];
    const u32 group = (u32)GROUP_X, all = (u32)parts;
    const i64 line = group / all, number = group % all;
    const i64 start = number * part, end = length - start < part ? length : start + part;
    for (u32 bin = LOCAL_ID; bin < 32; bin += LOCAL_SIZE)
        base[bin] = scratch5[(line * 32 + bin) * parts + number];
    for (i64 tile = start; tile < end; tile += 2048) {
        const u32 held = end - tile < 2048 ? (u32)(end - tile) : 2048;
        const i64 from = line * length + tile;
        for (u32 place = LOCAL_ID; place < 128; place += LOCAL_SIZE) {
            for (u32 bin = 0; bin < 32; bin++) counts[bin * 128 + place] = 0;
            for (u32 i = place * 16; i < (place + 1) * 16 && i < held; i++) {
                const u64 key = scratch1[from + i];
                counts[((u32)(key >> shift) & 31) * 128 + place]++;
            }
        }
        SYNC;
        for (u32 place = LOCAL_ID; place < 128; place += LOCAL_SIZE) {
            u32 sum = 0;
            for (i64 i = place * 32; i < (place + 1) * 32 && i < 4096; i++) sum += counts[i];
            sums[place] = sum;
        }
        SYNC;
        for (u32 place = LOCAL_ID; place < 128; place += LOCAL_SIZE) {
            u32 sum = 0;
            for (u32 i = 0; i < place; i++) sum += sums[i];
            for (i64 i = place * 32; i < (place + 1) * 32 && i < 4096; i++) {
                const u32 count = counts[i];
                counts[i] = (u16)sum;
                sum += count;
            }
        }
        SYNC;
        for (u32 bin = LOCAL_ID; bin < 32; bin += LOCAL_SIZE) first[bin] = counts[bin * 128];
        SYNC;
        for (u32 place = LOCAL_ID; place < 128; place += LOCAL_SIZE)
            for (u32 i = place * 16; i < (place + 1) * 16 && i < held; i++) {
                const u64 key = scratch1[from + i];
                const u32 bin = (u32)(key >> shift) & 31;
                const i64 to = line * length + base[bin] + counts[bin * 128 + place]++ - first[bin];
                scratch3[to] = key;
                scratch4[to] = scratch2[from + i];
            }
        SYNC;
        for (u32 bin = LOCAL_ID; bin < 32; bin += LOCAL_SIZE)
            base[bin] += (bin + 1 < 32 ? first[bin + 1] : held) - first[bin];
        SYNC;
    }
}

#undef ix
#define ix i32
KERNEL(k621629c580ee828e, 128)(const i64 items, const i64 length, const i64 part, const i64 parts, const i64 words, const i64 shift, GLB u64 *scratch0, GLB u64 *scratch1, GLB u32 *scratch2, GLB u8 *scratch3, GLB u32 *scratch4, GLB u32 *scratch5) {
    EACH_X(item, (ix)items) {
        const ix line = item / (ix)length;
        const u32 number = scratch2[item];
        const i64 at = ((i64)line * length + number) * words;
        scratch1[item] = float_key_u64(scratch0[at + 0], (u64)0x7ff0000000000000);
    }
}

#undef ix
#define ix i32
KERNEL(k51d62810760019ec, 128)(const i64 items, const i64 length, const i64 part, const i64 parts, const i64 words, const i64 shift, GLB u64 *scratch0, GLB u8 *scratch1, GLB u32 *scratch2, GLB u8 *scratch3, GLB u32 *scratch4, GLB u32 *scratch5) {
    EACH_X(item, (ix)items) {
        const ix line = item / (ix)length;
        const u32 number = scratch2[item];
        const i64 at = ((i64)line * length + number) * words;
        scratch1[item] = (u8)(2 * is_nan_u64(scratch0[at + 0], (u64)0x7ff0000000000000) + is_nan_u64(scratch0[at + 1], (u64)0x7ff0000000000000));
    }
}

#undef ix
#define ix i32
KERNEL(k8fc846debda49864, 128)(const i64 items, const i64 length, const i64 part, const i64 parts, const i64 words, const i64 shift, GLB u8 *scratch0, GLB u8 *scratch1, GLB u32 *scratch2, GLB u8 *scratch3, GLB u32 *scratch4, GLB u32 *scratch5) {
    LOC u32 own[4096];
    const u32 group = (u32)GROUP_X, all = (u32)parts;
    const i64 line = group / all, number = group % all;
    const i64 start = number * part, end = length - start < part ? length : start + part;
    for (u32 place = LOCAL_ID; place < 128; place += LOCAL_SIZE) {
        for (u32 bin = 0; bin < 32; bin++) own[bin * 128 + place] = 0;
        for (i64 i = start + place; i < end; i += 128) own[((u32)(scratch1[line * length + i] >> shift) & 31) * 128 + place]++;
    }
    SYNC;
    for (u32 bin = LOCAL_ID; bin < 32; bin += LOCAL_SIZE) {
        u32 sum = 0;
        for (u32 place = 0; place < 128; place++) sum += own[bin * 128 + place];
        scratch5[(line * 32 + bin) * parts + number] = sum;
    }
}

#undef ix
#define ix i32
KERNEL(ka65101fbaf586ba9, 128)(const i64 items, const i64 length, const i64 part, const i64 parts, const i64 words, const i64 shift, GLB u8 *scratch0, GLB u8 *scratch1, GLB u32 *scratch2, GLB u8 *scratch3, GLB u32 *scratch4, GLB u32 *scratch5) {
    LOC u16 counts[4096];
    LOC u32 sums[128], base[32], first[32];
    const u32 group = (u32)GROUP_X, all = (u32)parts;
    const i64 line = group / all, number = group % all;
    const i64 start = number * part, end = length - start < part ? length : start + part;
    for (u32 bin = LOCAL_ID; bin < 32; bin += LOCAL_SIZE)
        base[bin] = scratch5[(line * 32 + bin) * parts + number];
    for (i64 tile = start; tile < end; tile += 2048) {
        const u32 held = end - tile < 2048 ? (u32)(end - tile) : 2048;
        const i64 from = line * length + tile;
        for (u32 place = LOCAL_ID; place < 128; place += LOCAL_SIZE) {
            for (u32 bin = 0; bin < 32; bin++) counts[bin * 128 + place] = 0;
            for (u32 i = place * 16; i < (place + 1) * 16 && i < held; i++) {
                const u8 key = scratch1[from + i];
                counts[((u32)(key >> shift) & 31) * 128 + place]++;
            }
        }
        SYNC;
        for (u32 place = LOCAL_ID; place < 128; place += LOCAL_SIZE) {
            u32 sum = 0;
            for (i64 i = place * 32; i < (place + 1) * 32 && i < 4096; i++) sum += counts[i];
            sums[place] = sum;
        }
        SYNC;
        for (u32 place = LOCAL_ID; place < 128; place += LOCAL_SIZE) {
            u32 sum = 0;
            for (u32 i = 0; i < place; i++) sum += sums[i];
            for (i64 i = place * 32; i < (place + 1) * 32 && i < 4096; i++) {
                const u32 count = counts[i];
                counts[i] = (u16)sum;
                sum += count;
            }
        }
        SYNC;
        for (u32 bin = LOCAL_ID; bin < 32; bin += LOCAL_SIZE) first[bin] = counts[bin * 128];
        SYNC;
        for (u32 place = LOCAL_ID; place < 128; place += LOCAL_SIZE)
            for (u32 i = place * 16; i < (place + 1) * 16 && i < held; i++) {
                const u8 key = scratch1[from + i];
                const u32 bin = (u32)(key >> shift) & 31;
                const i64 to = line * length + base[bin] + counts[bin * 128 + place]++ - first[bin];
                scratch3[to] = key;
                scratch4[to] = scratch2[from + i];
            }
        SYNC;
        for (u32 bin = LOCAL_ID; bin < 32; bin += LOCAL_SIZE)
            base[bin] += (bin + 1 < 32 ? first[bin + 1] : held) - first[bin];
        SYNC;
    }
}

#undef ix
#define ix i32
KERNEL(k498a1a938008bea4, 128)(GLB u64 * restrict po0, const i64 oo0, const ix so0_0, const ix so0_1, const ix n0, const ix n1, const ix n2, const i64 items, const i64 length, const i64 part, const i64 parts, const i64 words, const i64 shift, GLB u64 *scratch0, GLB u8 *scratch1, GLB u32 *scratch2, GLB u8 *scratch3, GLB u32 *scratch4, GLB u32 *scratch5) {
    po0 += oo0;
    EACH_X(item, (ix)items) {
        ix rest = item;
        const ix d2 = rest % n2;
        rest /= n2;
        const ix d1 = rest % n1;
        rest /= n1;
        const ix d0 = rest;
        const ix at = item / (ix)words, line = at / (ix)length;
        const i64 from = ((i64)line * length + scratch2[at]) * words + item % (ix)words;
        store_u64(po0 + d0 * so0_0 + d1 * so0_1 + d2, scratch0[from]);
    }
}
