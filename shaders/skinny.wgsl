// y = epilogue(x Wᵀ) for few rows: the expert's chunk of actions. Twin: gpu/kernels/skinny.rs.
//
// Activations are column-major in tiles of 64 rows: tile, column, row. So the eight rows of a thread are two vec4, neighbouring
// threads read neighbouring memory, and no tile is staged: one workgroup reads its weights once, x once, and meets a barrier
// only when the slices of K are added up. A thread owns 8 rows x 4 outputs; 256 threads are COLUMNS such groups of outputs
// times 8 groups of rows times 32 / COLUMNS slices of K.
//
// The four outputs of a group are four consecutive rows of W. Whoever packs W orders its rows so that what an epilogue needs
// together (both halves of a rotary pair, a gate and its up) lies in one group.

struct Sizes {
    // Blocks of 16 inputs; W's rows are padded to them.
    blocks: u32,
    // Groups of four outputs.
    groups: u32,
    // Rows of x that count, in all tiles.
    rows: u32,
    // Partial sums of squares to add up, a tile; 0 where there is no norm.
    parts: u32,
    // 1 / the normalised width, and the norm's epsilon.
    share: f32,
    eps: f32,
    // Width of a head; query heads, then those that are rotated.
    head_dim: u32,
    query_heads: u32,
    rotated_heads: u32,
    // HEADS: outputs that read one half of x.
    half_outputs: u32,
    // EULER: which step, of how many.
    step: u32,
    steps: u32,
}

// What is done with the sums.
const SILU: u32 = 0u;     // y = silu(sum)
const PLAIN: u32 = 1u;    // y = sum, and its squares
const ADD: u32 = 2u;      // y += sum, and its squares
const ROTARY: u32 = 3u;   // queries into y, keys and values of the rows into z, rotated
const GATE: u32 = 4u;     // y = silu(gate) * up
const EULER: u32 = 5u;    // y += dt * guided velocity; the velocity into z
const HEADS: u32 = 6u;    // x and y are row-major a head: [2 * heads, rows, head_dim]

override FORMAT: u32 = 0u;
override EPILOGUE: u32 = 0u;
override COLUMNS: u32 = 4u;

const THREADS: u32 = 256u;
const TILE: u32 = 64u;

@group(0) @binding(0) var<uniform> sizes: Sizes;
@group(0) @binding(1) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> weight: array<vec4<u32>>;
// Scale and bias of each output.
@group(0) @binding(3) var<storage, read> affine: array<vec2<f32>>;
// [tile, part, row] sums of squares of x over some of its columns.
@group(0) @binding(4) var<storage, read> squares: array<f32>;
// ROTARY: cosine and sine, [tile, pair, row] of pairs. EULER: [step] of (time, guidance weight), then [row] weights, padded to
// whole tiles, then the target like y.
@group(0) @binding(5) var<storage, read> aside: array<vec2<f32>>;
@group(0) @binding(6) var<storage, read_write> y: array<f32>;
@group(0) @binding(7) var<storage, read_write> z: array<f32>;

var<workgroup> sums: array<vec4<f32>, 512>;
var<workgroup> part_of_row: array<f32, 256>;

// Sums of 8 rows x 4 outputs: rows 0 to 3 of output 0, rows 4 to 7 of output 0, and so on.
struct Sums {
    a0: vec4<f32>, a1: vec4<f32>,
    b0: vec4<f32>, b1: vec4<f32>,
    c0: vec4<f32>, c1: vec4<f32>,
    d0: vec4<f32>, d1: vec4<f32>,
}

// Four inputs of one output, and of the three next to it.
struct Weights {
    a: vec4<f32>,
    b: vec4<f32>,
    c: vec4<f32>,
    d: vec4<f32>,
}

fn halves(low: u32, high: u32) -> vec4<f32> {
    return vec4<f32>(unpack2x16float(low), unpack2x16float(high));
}

fn outer(s: ptr<function, Sums>, x0: vec4<f32>, x1: vec4<f32>, w: vec4<f32>) {
    (*s).a0 = fma(vec4<f32>(w.x), x0, (*s).a0);
    (*s).a1 = fma(vec4<f32>(w.x), x1, (*s).a1);
    (*s).b0 = fma(vec4<f32>(w.y), x0, (*s).b0);
    (*s).b1 = fma(vec4<f32>(w.y), x1, (*s).b1);
    (*s).c0 = fma(vec4<f32>(w.z), x0, (*s).c0);
    (*s).c1 = fma(vec4<f32>(w.z), x1, (*s).c1);
    (*s).d0 = fma(vec4<f32>(w.w), x0, (*s).d0);
    (*s).d1 = fma(vec4<f32>(w.w), x1, (*s).d1);
}

struct Rows {
    // Where the thread's rows of column 0 begin, in vec4.
    tiled: u32,
    // HEADS: where the half of x begins and its first row, in vec4 and rows.
    half: u32,
    first: u32,
}

// One row's four inputs from k on, of an x that lies a head after the other; rows past the end are read as the last.
fn of_head(rows: Rows, row: u32, k: u32) -> vec4<f32> {
    let at = min(rows.first + row, sizes.rows - 1u);
    let head = k / sizes.head_dim;
    return x[rows.half + ((head * sizes.rows + at) * sizes.head_dim + k % sizes.head_dim) / 4u];
}

fn four(s: ptr<function, Sums>, rows: Rows, k: u32, w: Weights) {
    if EPILOGUE == HEADS {
        let r = mat4x4<f32>(of_head(rows, 0u, k), of_head(rows, 1u, k), of_head(rows, 2u, k), of_head(rows, 3u, k));
        let t = mat4x4<f32>(of_head(rows, 4u, k), of_head(rows, 5u, k), of_head(rows, 6u, k), of_head(rows, 7u, k));
        let low = transpose(r);
        let high = transpose(t);
        outer(s, low[0], high[0], vec4<f32>(w.a.x, w.b.x, w.c.x, w.d.x));
        outer(s, low[1], high[1], vec4<f32>(w.a.y, w.b.y, w.c.y, w.d.y));
        outer(s, low[2], high[2], vec4<f32>(w.a.z, w.b.z, w.c.z, w.d.z));
        outer(s, low[3], high[3], vec4<f32>(w.a.w, w.b.w, w.c.w, w.d.w));
    } else {
        let at = rows.tiled + k * (TILE / 4u);
        outer(s, x[at], x[at + 1u], vec4<f32>(w.a.x, w.b.x, w.c.x, w.d.x));
        outer(s, x[at + 16u], x[at + 17u], vec4<f32>(w.a.y, w.b.y, w.c.y, w.d.y));
        outer(s, x[at + 32u], x[at + 33u], vec4<f32>(w.a.z, w.b.z, w.c.z, w.d.z));
        outer(s, x[at + 48u], x[at + 49u], vec4<f32>(w.a.w, w.b.w, w.c.w, w.d.w));
    }
}

// Adds one block of 16 inputs.
fn block(s: ptr<function, Sums>, rows: Rows, group: u32, b: u32) {
    let k = b * 16u;
    if FORMAT == 0u {
        let stride = sizes.blocks * 4u;
        let at = group * 4u * stride + b * 4u;
        for (var i = 0u; i < 4u; i += 1u) {
            four(s, rows, k + 4u * i, Weights(
                bitcast<vec4<f32>>(weight[at + i]),
                bitcast<vec4<f32>>(weight[at + stride + i]),
                bitcast<vec4<f32>>(weight[at + 2u * stride + i]),
                bitcast<vec4<f32>>(weight[at + 3u * stride + i]),
            ));
        }
    } else if FORMAT == 1u {
        let stride = sizes.blocks * 2u;
        let at = group * 4u * stride + b * 2u;
        for (var i = 0u; i < 2u; i += 1u) {
            let p = weight[at + i];
            let q = weight[at + stride + i];
            let r = weight[at + 2u * stride + i];
            let t = weight[at + 3u * stride + i];
            four(s, rows, k + 8u * i, Weights(halves(p.x, p.y), halves(q.x, q.y), halves(r.x, r.y), halves(t.x, t.y)));
            four(s, rows, k + 8u * i + 4u, Weights(halves(p.z, p.w), halves(q.z, q.w), halves(r.z, r.w), halves(t.z, t.w)));
        }
    } else {
        let stride = sizes.blocks;
        let at = group * 4u * stride + b;
        let p = weight[at];
        let q = weight[at + stride];
        let r = weight[at + 2u * stride];
        let t = weight[at + 3u * stride];
        four(s, rows, k, Weights(unpack4x8snorm(p.x), unpack4x8snorm(q.x), unpack4x8snorm(r.x), unpack4x8snorm(t.x)));
        four(s, rows, k + 4u, Weights(unpack4x8snorm(p.y), unpack4x8snorm(q.y), unpack4x8snorm(r.y), unpack4x8snorm(t.y)));
        four(s, rows, k + 8u, Weights(unpack4x8snorm(p.z), unpack4x8snorm(q.z), unpack4x8snorm(r.z), unpack4x8snorm(t.z)));
        four(s, rows, k + 12u, Weights(unpack4x8snorm(p.w), unpack4x8snorm(q.w), unpack4x8snorm(r.w), unpack4x8snorm(t.w)));
    }
}

// Adds up the slices of one of the four outputs. Thread t answers row t % 64 of column group t / 64, and of the fourth after it.
fn across_slices(t: u32, low: vec4<f32>, high: vec4<f32>) -> vec2<f32> {
    // slice, column group, row: the thread's own eight rows are two vec4.
    let own = (t / 8u) * 16u + (t % 8u) * 2u;
    workgroupBarrier();
    sums[own] = low;
    sums[own + 1u] = high;
    workgroupBarrier();
    var sum = vec2<f32>();
    let row = t % TILE;
    if t / TILE >= COLUMNS {
        return sum;
    }
    for (var slice = 0u; slice < 32u / COLUMNS; slice += 1u) {
        let near = (slice * COLUMNS + t / TILE) * 16u + row / 4u;
        sum.x += sums[near][row % 4u];
        if COLUMNS == 8u {
            sum.y += sums[near + 64u][row % 4u];
        }
    }
    return sum;
}

// 1 / sqrt(mean of the squares + eps) of row t % 64.
fn norm(t: u32, tile: u32) -> f32 {
    var part = 0.0;
    for (var p = t / TILE; p < sizes.parts; p += THREADS / TILE) {
        part += squares[(tile * sizes.parts + p) * TILE + t % TILE];
    }
    part_of_row[t] = part;
    workgroupBarrier();
    let row = t % TILE;
    let sum = part_of_row[row] + part_of_row[row + 64u] + part_of_row[row + 128u] + part_of_row[row + 192u];
    workgroupBarrier();
    return inverseSqrt(sum * sizes.share + sizes.eps);
}

// An overflowing exponential ends in a zero, never in a NaN.
fn silu(v: f32) -> f32 {
    return v / (1.0 + exp(-v));
}

// Where a value of `width` columns lies; tiles hold whole blocks of 16 columns.
fn column(tile: u32, width: u32, at: u32, row: u32) -> u32 {
    return (tile * ((width + 15u) / 16u * 16u) + at) * TILE + row;
}

// Both halves of two rotary pairs, or four channels of a value head.
fn rotary(tile: u32, row: u32, group: u32, v: vec4<f32>) {
    let groups = sizes.head_dim / 4u;
    let head = group / groups;
    let pair = group % groups * 2u;
    let half = sizes.head_dim / 2u;
    var turned = v;
    if head < sizes.rotated_heads {
        let at = (tile * half + pair) * TILE + row;
        let first = aside[at];
        let second = aside[at + TILE];
        let cosines = vec2<f32>(first.x, second.x);
        let sines = vec2<f32>(first.y, second.y);
        turned = vec4<f32>(v.xy * cosines - v.zw * sines, v.zw * cosines + v.xy * sines);
    }
    if head < sizes.query_heads {
        let width = sizes.query_heads * sizes.head_dim;
        let at = head * sizes.head_dim + pair;
        y[column(tile, width, at, row)] = turned.x;
        y[column(tile, width, at + 1u, row)] = turned.y;
        y[column(tile, width, at + half, row)] = turned.z;
        y[column(tile, width, at + half + 1u, row)] = turned.w;
    } else {
        let at = ((head - sizes.query_heads) * sizes.rows + tile * TILE + row) * sizes.head_dim + pair;
        z[at] = turned.x;
        z[at + 1u] = turned.y;
        z[at + half] = turned.z;
        z[at + half + 1u] = turned.w;
    }
}

// Mirrors `RTCProcessor.denoise_step`, then one Euler step. Twin: policy/smolvla/flow.rs.
fn euler(tile: u32, row: u32, output: u32, velocity: f32) {
    let width = sizes.groups * 4u;
    let at = column(tile, width, output, row);
    let tiles = (sizes.rows + TILE - 1u) / TILE;
    let weights = sizes.steps;
    let targets = weights + tiles * (TILE / 2u);
    let moment = aside[sizes.step];
    let global = tile * TILE + row;
    let weight_of_row = aside[weights + global / 2u][global % 2u];
    let goal = aside[targets + at / 2u][at % 2u];
    let now = y[at];
    let x_0 = now - velocity * moment.x;
    let v = velocity - (goal - x_0) * weight_of_row * moment.y;
    z[at] = v;
    y[at] = now - v / f32(sizes.steps);
}

fn finish(tile: u32, row: u32, group: u32, sum: vec4<f32>, scale: f32) -> f32 {
    let width = sizes.groups * 4u;
    let first = group * 4u;
    let p = affine[first];
    let q = affine[first + 1u];
    let r = affine[first + 2u];
    let t = affine[first + 3u];
    let v = sum * scale * vec4<f32>(p.x, q.x, r.x, t.x) + vec4<f32>(p.y, q.y, r.y, t.y);
    if EPILOGUE == SILU {
        for (var i = 0u; i < 4u; i += 1u) {
            y[column(tile, width, first + i, row)] = silu(v[i]);
        }
    } else if EPILOGUE == PLAIN || EPILOGUE == ADD {
        var out = v;
        if EPILOGUE == ADD {
            for (var i = 0u; i < 4u; i += 1u) {
                out[i] += y[column(tile, width, first + i, row)];
            }
        }
        for (var i = 0u; i < 4u; i += 1u) {
            y[column(tile, width, first + i, row)] = out[i];
        }
        return dot(out, out);
    } else if EPILOGUE == ROTARY {
        rotary(tile, row, group, v);
    } else if EPILOGUE == GATE {
        y[column(tile, width / 2u, first / 2u, row)] = silu(v.x) * v.z;
        y[column(tile, width / 2u, first / 2u + 1u, row)] = silu(v.y) * v.w;
    } else if EPILOGUE == EULER {
        for (var i = 0u; i < 4u; i += 1u) {
            euler(tile, row, first + i, v[i]);
        }
    } else {
        let head = first / sizes.head_dim;
        let at = (head * sizes.rows + tile * TILE + row) * sizes.head_dim + first % sizes.head_dim;
        for (var i = 0u; i < 4u; i += 1u) {
            y[at + i] = v[i];
        }
    }
    return 0.0;
}

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) t: u32) {
    let tile = workgroup.y;
    let row_group = t % 8u;
    let group = workgroup.x * COLUMNS + t / 8u % COLUMNS;
    let slice = t / (8u * COLUMNS);
    var rows: Rows;
    rows.tiled = tile * sizes.blocks * 16u * (TILE / 4u) + row_group * 2u;
    rows.first = tile * TILE + row_group * 8u;
    if EPILOGUE == HEADS {
        rows.half = group * 4u / sizes.half_outputs * (sizes.half_outputs * sizes.rows / 4u);
    }
    var s: Sums;
    if group < sizes.groups {
        for (var b = slice; b < sizes.blocks; b += 32u / COLUMNS) {
            block(&s, rows, group, b);
        }
    }
    var scale = 1.0;
    if sizes.parts > 0u {
        scale = norm(t, tile);
    }
    let a = across_slices(t, s.a0, s.a1);
    let b = across_slices(t, s.b0, s.b1);
    let c = across_slices(t, s.c0, s.c1);
    let d = across_slices(t, s.d0, s.d1);
    let row = t % TILE;
    let counts = tile * TILE + row < sizes.rows;
    var square = 0.0;
    let near = workgroup.x * COLUMNS + t / TILE;
    if counts && t / TILE < COLUMNS && near < sizes.groups {
        square += finish(tile, row, near, vec4<f32>(a.x, b.x, c.x, d.x), scale);
    }
    if COLUMNS == 8u && counts && near + 4u < sizes.groups {
        square += finish(tile, row, near + 4u, vec4<f32>(a.y, b.y, c.y, d.y), scale);
    }
    if EPILOGUE == PLAIN || EPILOGUE == ADD {
        part_of_row[t] = square;
        workgroupBarrier();
        if t < TILE {
            let parts = (sizes.groups + COLUMNS - 1u) / COLUMNS;
            z[(tile * parts + workgroup.x) * TILE + t] = part_of_row[t] + part_of_row[t + 64u] + part_of_row[t + 128u] + part_of_row[t + 192u];
        }
    }
}
