// A product with many rows, C[rows, columns] = finish(norm(A)[rows, K] · W[columns, K]ᵀ): vision tower, connector and prefix.
//
// A workgroup of 64 threads makes a tile of 64 (or 32) rows and 64 columns, each thread 8 (or 4) rows and 8 columns in registers. Sixteen
// inputs of both operands at a time lie in workgroup memory, row by row as in device memory, 20 words a row: the eight threads that
// read eight rows then hit different banks, and rows are stored as they are loaded.
// A thread's columns are 8 apart, so that a store of eight threads is 32 bytes in a row, and column c and c + 8 meet in one thread:
// what belongs together (the two halves of a rotated pair, gate and up) is brought there by the order of the weight's rows.
//
// Where exactly eight threads run in step (lavapipe), a load costs as much as 30 multiplications, whether its threads want eight values
// or one: there a row of A is loaded by one thread and handed to the others, and a thread has 16 (or 8) rows and 4 columns.
//
// Twins: `Params` in src/gpu/kernels/matmul.rs.

alias real = f32;

// 0 f32, 1 f16.
override FORMAT: u32 = 0u;
// Rows of a thread: 8 and, in eights, 16 for a tile of 64 rows; half as many for a tile of 32, where a product has few of them.
override ROWS: u32 = 8u;
// Eight threads run in step; a thread has 4 columns instead of 8.
override EIGHTS: bool = false;
// Adds a bias.
override BIAS: bool = false;
// A is normalised while it is loaded: 1 by root mean square, 2 by mean and variance.
override NORM: u32 = 0u;
// A is gathered by the segments of Params: patches of pictures, shuffled patches.
override GATHER: bool = false;
// What becomes of the sums: 0 stored, 1 gelu, 2 added to what is there, 3 added to a table, 4 rotated and dealt out to queries, keys and
// values, 5 silu(gate) · up.
override FINISH: u32 = 0u;

struct Params {
    rows: u32,
    columns: u32,
    // Groups of 16 inputs that one workgroup adds up.
    steps: u32,
    // vec4 groups in a row of the weight.
    weight_slots: u32,
    // What one z, a slice of the inputs, is further on: in vec4 groups of the inputs, in words of the output.
    z_slots: u32,
    z_out: u32,
    // Where rows of A begin, in vec4 groups: (row / outer) · outer_step + (row % outer / inner) · inner_step + (row % inner) · row_step.
    a_base: u32,
    outer: u32,
    outer_step: u32,
    inner: u32,
    inner_step: u32,
    row_step: u32,
    // A row's vec4 groups come in segments of `segment`; a segment lies at (i / across) · down_step + (i % across) · across_step.
    segment: u32,
    across: u32,
    down_step: u32,
    across_step: u32,
    // Words between rows of the output, and its first word.
    out_step: u32,
    out_base: u32,
    // FINISH 3: rows of the table, words between them.
    period: u32,
    table_step: u32,
    // FINISH 4: pairs of all query heads, of all key heads, and of one head. Keys are followed by values in the KV buffer.
    query_pairs: u32,
    key_pairs: u32,
    half_head: u32,
    unused_1: u32,
    unused_2: u32,
    unused_3: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> a: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> weight: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read> bias: array<f32>;
// Gain and offset of each four inputs.
@group(0) @binding(4) var<storage, read> norm: array<vec4<f32>>;
// Mean and reciprocal deviation of each row of A.
@group(0) @binding(5) var<storage, read> stats: array<vec2<f32>>;
@group(0) @binding(6) var<storage, read> table: array<f32>;
@group(0) @binding(7) var<storage, read_write> out: array<f32>;
@group(0) @binding(8) var<storage, read_write> kv: array<f32>;

// vec4 groups between rows of a tile.
const STRIDE: u32 = 5u;

var<workgroup> a_tile: array<vec4<real>, 320>;
var<workgroup> w_tile: array<vec4<real>, 320>;

fn four(v: vec4<f32>, x: vec4<f32>, y: vec4<f32>, z: vec4<f32>, w: vec4<f32>) -> vec4<f32> {
    return v.x * x + v.y * y + v.z * z + v.w * w;
}

// Row `row` of eight that lie from `at`; `own` is the one that this thread brought.
fn handed(own: vec4<f32>, at: u32, row: u32) -> vec4<f32> {
    return vec4<f32>(a_tile[at + row * STRIDE]);
}

fn row_start(row: u32) -> u32 {
    if !GATHER {
        return params.a_base + row * params.row_step;
    }
    let within = row % params.outer;
    return params.a_base + row / params.outer * params.outer_step + within / params.inner * params.inner_step
        + within % params.inner * params.row_step;
}

fn slot_start(slot: u32) -> u32 {
    if !GATHER {
        return slot;
    }
    let segment = slot / params.segment;
    return segment / params.across * params.down_step + segment % params.across * params.across_step
        + slot % params.segment;
}

fn normed(value: vec4<f32>, moments: vec2<f32>, gain: vec4<f32>, offset: vec4<f32>) -> vec4<f32> {
    if NORM == 2u {
        return (value - moments.x) * moments.y * gain + offset;
    }
    if NORM == 1u {
        return value * moments.y * gain;
    }
    return value;
}

fn moments_of(row: u32) -> vec2<f32> {
    if NORM == 0u {
        return vec2<f32>(0.0, 1.0);
    }
    return stats[row];
}

fn bias_at(column: u32) -> f32 {
    if !BIAS || column >= params.columns {
        return 0.0;
    }
    return bias[column];
}

// x / (1 + exp(−2u)) with u = √(2/π) · (x + 0.044715 x³), which is x/2 · (1 + tanh u).
fn gelu(x: f32) -> f32 {
    return x / (1.0 + exp(min(x * (-0.07135481627260025 * x * x - 1.5957691216057307), 80.0)));
}

fn silu(x: f32) -> f32 {
    return x / (1.0 + exp(min(-x, 80.0)));
}

// One value of the plain finishes.
fn put_one(row: u32, column: u32, z: u32, value: f32) {
    if column >= params.columns {
        return;
    }
    let at = params.out_base + z * params.z_out + row * params.out_step + column;
    if FINISH == 1u {
        out[at] = gelu(value);
    } else if FINISH == 2u {
        out[at] = out[at] + value;
    } else if FINISH == 3u {
        out[at] = value + table[row % params.period * params.table_step + column];
    } else {
        out[at] = value;
    }
}

// Pair `pair` of the joined heads of queries, keys and values: channels p and p + half_head of its head.
fn put_rotated(row: u32, pair: u32, first: f32, second: f32) {
    let half = params.half_head;
    var x = first;
    var y = second;
    if pair < params.query_pairs + params.key_pairs {
        let at = 2u * (row * half + pair % half);
        let cosine = table[at];
        let sine = table[at + 1u];
        x = first * cosine - second * sine;
        y = second * cosine + first * sine;
    }
    if pair < params.query_pairs {
        let at = row * params.out_step + pair / half * 2u * half + pair % half;
        out[at] = x;
        out[at + half] = y;
    } else {
        // Keys and then values, each [heads, rows, head_dim].
        let own = pair - params.query_pairs;
        let at = (own / half * params.rows + row) * 2u * half + own % half;
        kv[at] = x;
        kv[at + half] = y;
    }
}

// Columns `column` and `column` + 8 of a row.
fn put(row: u32, column: u32, z: u32, first: f32, second: f32) {
    if FINISH < 4u {
        put_one(row, column, z, first);
        put_one(row, column + 8u, z, second);
    } else if column < params.columns {
        let pair = (column >> 4u) * 8u + (column & 7u);
        if FINISH == 4u {
            put_rotated(row, pair, first, second);
        } else {
            out[params.out_base + row * params.out_step + pair] = silu(first) * second;
        }
    }
}

fn put_row(row: u32, column: u32, z: u32, left: vec4<f32>, right: vec4<f32>) {
    if row < params.rows {
        put(row, column, z, left.x, left.y);
        put(row, column + 16u, z, left.z, left.w);
        if !EIGHTS {
            put(row, column + 32u, z, right.x, right.y);
            put(row, column + 48u, z, right.z, right.w);
        }
    }
}

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    let z = group.z;
    let groups = select(8u, 4u, EIGHTS);
    let first_row = group.y * groups * ROWS;
    let first_column = group.x * 64u;
    let tx = thread & 7u;
    let ty = (thread >> 3u) % groups;

    // Loading: four threads a row of A. Rows and columns beyond the end repeat the last one and are not stored.
    let lane = thread & 3u;
    let line = thread >> 2u;
    let last = params.rows - 1u;
    let r0 = min(first_row + line, last);
    let r1 = min(first_row + line + 16u, last);
    let r2 = min(first_row + line + 32u, last);
    let r3 = min(first_row + line + 48u, last);
    let a0 = row_start(r0);
    let a1 = row_start(r1);
    let a2 = row_start(r2);
    let a3 = row_start(r3);
    let m0 = moments_of(r0);
    let m1 = moments_of(r1);
    let m2 = moments_of(r2);
    let m3 = moments_of(r3);
    let last_column = params.columns - 1u;
    let first_slot = z * params.z_slots;

    // The second 32 threads have the second half of the columns, where a thread has four.
    let tile_column = tx + select(0u, thread & 32u, EIGHTS);
    let column = first_column + tile_column;
    let left = vec4<f32>(bias_at(column), bias_at(column + 8u), bias_at(column + 16u), bias_at(column + 24u));
    let right = vec4<f32>(bias_at(column + 32u), bias_at(column + 40u), bias_at(column + 48u), bias_at(column + 56u));
    var c00 = left; var c01 = right;
    var c10 = left; var c11 = right;
    var c20 = left; var c21 = right;
    var c30 = left; var c31 = right;
    var c40 = left; var c41 = right;
    var c50 = left; var c51 = right;
    var c60 = left; var c61 = right;
    var c70 = left; var c71 = right;
    var c80 = left; var c90 = left;
    var ca0 = left; var cb0 = left;
    var cc0 = left; var cd0 = left;
    var ce0 = left; var cf0 = left;

    let a_at = ty * ROWS * STRIDE;
    let w_at = tile_column * STRIDE;

    for (var step = 0u; step < params.steps; step++) {
        let slot = first_slot + 4u * step + lane;
        let k = slot_start(slot);
        var gain = vec4<f32>(1.0);
        var offset = vec4<f32>(0.0);
        if NORM != 0u {
            gain = norm[2u * slot];
        }
        if NORM == 2u {
            offset = norm[2u * slot + 1u];
        }
        a_tile[line * STRIDE + lane] = vec4<real>(normed(a[a0 + k], m0, gain, offset));
        a_tile[(line + 16u) * STRIDE + lane] = vec4<real>(normed(a[a1 + k], m1, gain, offset));
        if groups * ROWS == 64u {
            a_tile[(line + 32u) * STRIDE + lane] = vec4<real>(normed(a[a2 + k], m2, gain, offset));
            a_tile[(line + 48u) * STRIDE + lane] = vec4<real>(normed(a[a3 + k], m3, gain, offset));
        }
        if FORMAT == 0u {
            for (var i = 0u; i < 64u; i += 16u) {
                let row = min(first_column + line + i, last_column);
                w_tile[(line + i) * STRIDE + lane] = vec4<real>(bitcast<vec4<f32>>(weight[row * params.weight_slots + slot]));
            }
        } else {
            // Two threads a row: each group holds eight values.
            let part = thread & 1u;
            let source = (first_slot + 4u * step + 2u * part) >> 1u;
            for (var i = 0u; i < 64u; i += 32u) {
                let at = (thread >> 1u) + i;
                let row = min(first_column + at, last_column);
                let eight = weight[row * (params.weight_slots >> 1u) + source];
                w_tile[at * STRIDE + 2u * part] = vec4<real>(vec4<f32>(unpack2x16float(eight.x), unpack2x16float(eight.y)));
                w_tile[at * STRIDE + 2u * part + 1u] = vec4<real>(vec4<f32>(unpack2x16float(eight.z), unpack2x16float(eight.w)));
            }
        }
        workgroupBarrier();
        for (var s = 0u; s < 4u; s++) {
            let b0 = vec4<f32>(w_tile[w_at + s]);
            let b1 = vec4<f32>(w_tile[w_at + s + 8u * STRIDE]);
            let b2 = vec4<f32>(w_tile[w_at + s + 16u * STRIDE]);
            let b3 = vec4<f32>(w_tile[w_at + s + 24u * STRIDE]);
            let x0 = vec4<f32>(b0.x, b1.x, b2.x, b3.x);
            let y0 = vec4<f32>(b0.y, b1.y, b2.y, b3.y);
            let z0 = vec4<f32>(b0.z, b1.z, b2.z, b3.z);
            let w0 = vec4<f32>(b0.w, b1.w, b2.w, b3.w);
            var x1 = vec4<f32>(); var y1 = vec4<f32>(); var z1 = vec4<f32>(); var w1 = vec4<f32>();
            if !EIGHTS {
                let b4 = vec4<f32>(w_tile[w_at + s + 32u * STRIDE]);
                let b5 = vec4<f32>(w_tile[w_at + s + 40u * STRIDE]);
                let b6 = vec4<f32>(w_tile[w_at + s + 48u * STRIDE]);
                let b7 = vec4<f32>(w_tile[w_at + s + 56u * STRIDE]);
                x1 = vec4<f32>(b4.x, b5.x, b6.x, b7.x);
                y1 = vec4<f32>(b4.y, b5.y, b6.y, b7.y);
                z1 = vec4<f32>(b4.z, b5.z, b6.z, b7.z);
                w1 = vec4<f32>(b4.w, b5.w, b6.w, b7.w);
            }
            let at = a_at + s;
            var own = vec4<f32>();
            if EIGHTS {
                own = vec4<f32>(a_tile[at + tx * STRIDE]);
            }
            var v = vec4<f32>();
            v = handed(own, at, 0u);
            c00 += four(v, x0, y0, z0, w0);
            if !EIGHTS { c01 += four(v, x1, y1, z1, w1); }
            v = handed(own, at, 1u);
            c10 += four(v, x0, y0, z0, w0);
            if !EIGHTS { c11 += four(v, x1, y1, z1, w1); }
            v = handed(own, at, 2u);
            c20 += four(v, x0, y0, z0, w0);
            if !EIGHTS { c21 += four(v, x1, y1, z1, w1); }
            v = handed(own, at, 3u);
            c30 += four(v, x0, y0, z0, w0);
            if !EIGHTS { c31 += four(v, x1, y1, z1, w1); }
            if ROWS >= 8u {
                v = handed(own, at, 4u);
                c40 += four(v, x0, y0, z0, w0);
                if !EIGHTS { c41 += four(v, x1, y1, z1, w1); }
                v = handed(own, at, 5u);
                c50 += four(v, x0, y0, z0, w0);
                if !EIGHTS { c51 += four(v, x1, y1, z1, w1); }
                v = handed(own, at, 6u);
                c60 += four(v, x0, y0, z0, w0);
                if !EIGHTS { c61 += four(v, x1, y1, z1, w1); }
                v = handed(own, at, 7u);
                c70 += four(v, x0, y0, z0, w0);
                if !EIGHTS { c71 += four(v, x1, y1, z1, w1); }
            }
            if ROWS == 16u {
                own = vec4<f32>(a_tile[at + (tx + 8u) * STRIDE]);
                v = handed(own, at + 8u * STRIDE, 0u);
                c80 += four(v, x0, y0, z0, w0);
                v = handed(own, at + 8u * STRIDE, 1u);
                c90 += four(v, x0, y0, z0, w0);
                v = handed(own, at + 8u * STRIDE, 2u);
                ca0 += four(v, x0, y0, z0, w0);
                v = handed(own, at + 8u * STRIDE, 3u);
                cb0 += four(v, x0, y0, z0, w0);
                v = handed(own, at + 8u * STRIDE, 4u);
                cc0 += four(v, x0, y0, z0, w0);
                v = handed(own, at + 8u * STRIDE, 5u);
                cd0 += four(v, x0, y0, z0, w0);
                v = handed(own, at + 8u * STRIDE, 6u);
                ce0 += four(v, x0, y0, z0, w0);
                v = handed(own, at + 8u * STRIDE, 7u);
                cf0 += four(v, x0, y0, z0, w0);
            }
        }
        workgroupBarrier();
    }

    let row = first_row + ty * ROWS;
    put_row(row, column, z, c00, c01);
    put_row(row + 1u, column, z, c10, c11);
    put_row(row + 2u, column, z, c20, c21);
    put_row(row + 3u, column, z, c30, c31);
    if ROWS >= 8u {
        put_row(row + 4u, column, z, c40, c41);
        put_row(row + 5u, column, z, c50, c51);
        put_row(row + 6u, column, z, c60, c61);
        put_row(row + 7u, column, z, c70, c71);
    }
    if ROWS == 16u {
        put_row(row + 8u, column, z, c80, right);
        put_row(row + 9u, column, z, c90, right);
        put_row(row + 10u, column, z, ca0, right);
        put_row(row + 11u, column, z, cb0, right);
        put_row(row + 12u, column, z, cc0, right);
        put_row(row + 13u, column, z, cd0, right);
        put_row(row + 14u, column, z, ce0, right);
        put_row(row + 15u, column, z, cf0, right);
    }
}
