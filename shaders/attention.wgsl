// Attention without the score matrix: softmax over key tiles as they come, for the patches of a picture and for the prefix.
//
// A workgroup of 64 threads takes 64 queries of one head and goes through the keys in tiles of 32. Both products are made in registers from
// tiles in workgroup memory, as in matmul.wgsl: 8 queries and 4 keys a thread for the scores, 8 queries and 8 channels for the
// result. Between them each thread owns one query's row: its greatest score, its sum, and the exponentials of the tile.
// Thread tx of eight holds the scores of keys tx, tx + 8, tx + 16, tx + 24 and stores them as one group; the values are read in that order.
//
// Twins: `Params` in src/gpu/kernels/attention.rs.

alias real = f32;

// vec4 groups in a head, at most 16.
override SLOTS: u32 = 16u;
// Eight threads run in step: one loads a row and hands it to the others, as in matmul.wgsl.
override EIGHTS: bool = false;

struct Params {
    queries: u32,
    keys: u32,
    // The last `hidden` keys are seen by the last `hidden` queries only: the state token of the prefix.
    hidden: u32,
    // Query heads that share a key head.
    group: u32,
    // In vec4 groups: between rows, between heads, between pictures, and the first one.
    q_row: u32,
    q_head: u32,
    q_picture: u32,
    q_base: u32,
    kv_row: u32,
    kv_head: u32,
    kv_picture: u32,
    k_base: u32,
    v_base: u32,
    out_row: u32,
    // 1/√d times log₂ e: the exponentials are powers of two.
    scale: f32,
    unused: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> q: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> k: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> v: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read_write> out: array<vec4<f32>>;

// vec4 groups between rows of queries, keys and scores: 36 words, so that eight rows lie in different banks.
const STRIDE: u32 = 9u;
// Below every score; finite, so that no difference is NaN.
const NOTHING: f32 = -1e30;

// 64 queries by 32 channels, then 64 queries by 32 scores: always f32, a score may be large and its last bits count.
var<workgroup> left: array<vec4<f32>, 576>;
// 32 keys by 32 channels, then 16 keys by 64 channels of values.
var<workgroup> right: array<vec4<real>, 288>;
// One factor a query.
var<workgroup> factor: array<f32, 64>;

// Row `row` of eight that lie from `at`; `own` is the one that this thread brought.
fn handed(own: vec4<f32>, at: u32, row: u32) -> vec4<f32> {
    return left[at + row * STRIDE];
}

// Scores of thread tx's four keys with one query, over one group of channels.
fn four(query: vec4<f32>, x: vec4<f32>, y: vec4<f32>, z: vec4<f32>, w: vec4<f32>) -> vec4<f32> {
    return query.x * x + query.y * y + query.z * z + query.w * w;
}

// A score as it may be seen: `key` by the query whose keys end at `end`.
fn seen(scores: vec4<f32>, key: u32, end: u32) -> vec4<f32> {
    let keys = vec4<u32>(key, key + 8u, key + 16u, key + 24u);
    return select(vec4<f32>(NOTHING), scores * params.scale, keys < vec4<u32>(end));
}

fn end_of(query: u32) -> u32 {
    return select(params.keys, params.keys - params.hidden, query + params.hidden < params.queries);
}

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) place: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    let first = place.x * 64u;
    let head = place.y;
    let tx = thread & 7u;
    let ty = thread >> 3u;
    let q_at = params.q_base + place.z * params.q_picture + head * params.q_head;
    let kv_at = place.z * params.kv_picture + head / params.group * params.kv_head;
    let last_query = params.queries - 1u;
    let last_key = params.keys - 1u;
    let rows = 8u * ty * STRIDE;

    var o00 = vec4<f32>(); var o01 = vec4<f32>();
    var o10 = vec4<f32>(); var o11 = vec4<f32>();
    var o20 = vec4<f32>(); var o21 = vec4<f32>();
    var o30 = vec4<f32>(); var o31 = vec4<f32>();
    var o40 = vec4<f32>(); var o41 = vec4<f32>();
    var o50 = vec4<f32>(); var o51 = vec4<f32>();
    var o60 = vec4<f32>(); var o61 = vec4<f32>();
    var o70 = vec4<f32>(); var o71 = vec4<f32>();
    // Of query `first + thread`.
    var greatest = NOTHING;
    var sum = 0.0;

    for (var key = 0u; key < params.keys; key += 32u) {
        var s0 = vec4<f32>(); var s1 = vec4<f32>();
        var s2 = vec4<f32>(); var s3 = vec4<f32>();
        var s4 = vec4<f32>(); var s5 = vec4<f32>();
        var s6 = vec4<f32>(); var s7 = vec4<f32>();
        for (var channel = 0u; channel < SLOTS; channel += 8u) {
            let width = min(SLOTS - channel, 8u);
            // Eight threads a row.
            if tx < width {
                for (var i = 0u; i < 64u; i += 8u) {
                    let row = min(first + ty + i, last_query);
                    left[(ty + i) * STRIDE + tx] = q[q_at + row * params.q_row + channel + tx];
                }
                for (var i = 0u; i < 32u; i += 8u) {
                    let row = min(key + ty + i, last_key);
                    right[(ty + i) * STRIDE + tx] = vec4<real>(k[params.k_base + kv_at + row * params.kv_row + channel + tx]);
                }
            }
            workgroupBarrier();
            for (var i = 0u; i < width; i++) {
                let b0 = vec4<f32>(right[tx * STRIDE + i]);
                let b1 = vec4<f32>(right[(tx + 8u) * STRIDE + i]);
                let b2 = vec4<f32>(right[(tx + 16u) * STRIDE + i]);
                let b3 = vec4<f32>(right[(tx + 24u) * STRIDE + i]);
                let x = vec4<f32>(b0.x, b1.x, b2.x, b3.x);
                let y = vec4<f32>(b0.y, b1.y, b2.y, b3.y);
                let z = vec4<f32>(b0.z, b1.z, b2.z, b3.z);
                let w = vec4<f32>(b0.w, b1.w, b2.w, b3.w);
                let at = rows + i;
                var own = vec4<f32>();
                if EIGHTS {
                    own = left[at + tx * STRIDE];
                }
                s0 += four(handed(own, at, 0u), x, y, z, w);
                s1 += four(handed(own, at, 1u), x, y, z, w);
                s2 += four(handed(own, at, 2u), x, y, z, w);
                s3 += four(handed(own, at, 3u), x, y, z, w);
                s4 += four(handed(own, at, 4u), x, y, z, w);
                s5 += four(handed(own, at, 5u), x, y, z, w);
                s6 += four(handed(own, at, 6u), x, y, z, w);
                s7 += four(handed(own, at, 7u), x, y, z, w);
            }
            workgroupBarrier();
        }

        let query = first + 8u * ty;
        let mine = key + tx;
        let to = rows + tx;
        left[to] = seen(s0, mine, end_of(query));
        left[to + STRIDE] = seen(s1, mine, end_of(query + 1u));
        left[to + 2u * STRIDE] = seen(s2, mine, end_of(query + 2u));
        left[to + 3u * STRIDE] = seen(s3, mine, end_of(query + 3u));
        left[to + 4u * STRIDE] = seen(s4, mine, end_of(query + 4u));
        left[to + 5u * STRIDE] = seen(s5, mine, end_of(query + 5u));
        left[to + 6u * STRIDE] = seen(s6, mine, end_of(query + 6u));
        left[to + 7u * STRIDE] = seen(s7, mine, end_of(query + 7u));
        workgroupBarrier();

        // One thread a query.
        let row = thread * STRIDE;
        var top = left[row];
        for (var i = 1u; i < 8u; i++) {
            top = max(top, left[row + i]);
        }
        let before = greatest;
        greatest = max(greatest, max(max(top.x, top.y), max(top.z, top.w)));
        var total = vec4<f32>();
        for (var i = 0u; i < 8u; i++) {
            let power = exp2(left[row + i] - greatest);
            left[row + i] = power;
            total += power;
        }
        let shrink = exp2(before - greatest);
        sum = sum * shrink + total.x + total.y + total.z + total.w;
        factor[thread] = shrink;

        for (var half = 0u; half < 2u; half++) {
            // Sixteen keys, in the order of the scores: group t holds keys t, t + 8, t + 16, t + 24.
            for (var i = 0u; i < 16u; i += 4u) {
                let at = (thread >> 4u) + i;
                let row = min(key + 4u * half + (at >> 2u) + 8u * (at & 3u), last_key);
                let channel = thread & 15u;
                if channel < SLOTS {
                    right[at * 16u + channel] = vec4<real>(v[params.v_base + kv_at + row * params.kv_row + channel]);
                }
            }
            workgroupBarrier();
            if half == 0u {
                let f = 8u * ty;
                let f0 = factor[f]; let f1 = factor[f + 1u]; let f2 = factor[f + 2u]; let f3 = factor[f + 3u];
                let f4 = factor[f + 4u]; let f5 = factor[f + 5u]; let f6 = factor[f + 6u]; let f7 = factor[f + 7u];
                o00 *= f0; o01 *= f0; o10 *= f1; o11 *= f1; o20 *= f2; o21 *= f2; o30 *= f3; o31 *= f3;
                o40 *= f4; o41 *= f4; o50 *= f5; o51 *= f5; o60 *= f6; o61 *= f6; o70 *= f7; o71 *= f7;
            }
            for (var t = 0u; t < 4u; t++) {
                let base = 64u * t + tx;
                let x0 = vec4<f32>(right[base]);
                let y0 = vec4<f32>(right[base + 16u]);
                let z0 = vec4<f32>(right[base + 32u]);
                let w0 = vec4<f32>(right[base + 48u]);
                let at = rows + 4u * half + t;
                var own = vec4<f32>();
                if EIGHTS {
                    own = left[at + tx * STRIDE];
                }
                let p0 = handed(own, at, 0u);
                let p1 = handed(own, at, 1u);
                let p2 = handed(own, at, 2u);
                let p3 = handed(own, at, 3u);
                let p4 = handed(own, at, 4u);
                let p5 = handed(own, at, 5u);
                let p6 = handed(own, at, 6u);
                let p7 = handed(own, at, 7u);
                o00 += four(p0, x0, y0, z0, w0);
                o10 += four(p1, x0, y0, z0, w0);
                o20 += four(p2, x0, y0, z0, w0);
                o30 += four(p3, x0, y0, z0, w0);
                o40 += four(p4, x0, y0, z0, w0);
                o50 += four(p5, x0, y0, z0, w0);
                o60 += four(p6, x0, y0, z0, w0);
                o70 += four(p7, x0, y0, z0, w0);
                if SLOTS > 8u {
                    let x1 = vec4<f32>(right[base + 8u]);
                    let y1 = vec4<f32>(right[base + 24u]);
                    let z1 = vec4<f32>(right[base + 40u]);
                    let w1 = vec4<f32>(right[base + 56u]);
                    o01 += four(p0, x1, y1, z1, w1);
                    o11 += four(p1, x1, y1, z1, w1);
                    o21 += four(p2, x1, y1, z1, w1);
                    o31 += four(p3, x1, y1, z1, w1);
                    o41 += four(p4, x1, y1, z1, w1);
                    o51 += four(p5, x1, y1, z1, w1);
                    o61 += four(p6, x1, y1, z1, w1);
                    o71 += four(p7, x1, y1, z1, w1);
                }
            }
            workgroupBarrier();
        }
    }

    factor[thread] = 1.0 / sum;
    workgroupBarrier();
    let to = place.z * params.queries * params.out_row + head * SLOTS + tx;
    let query = first + 8u * ty;
    put(query, to, tx, factor[8u * ty], o00, o01);
    put(query + 1u, to, tx, factor[8u * ty + 1u], o10, o11);
    put(query + 2u, to, tx, factor[8u * ty + 2u], o20, o21);
    put(query + 3u, to, tx, factor[8u * ty + 3u], o30, o31);
    put(query + 4u, to, tx, factor[8u * ty + 4u], o40, o41);
    put(query + 5u, to, tx, factor[8u * ty + 5u], o50, o51);
    put(query + 6u, to, tx, factor[8u * ty + 6u], o60, o61);
    put(query + 7u, to, tx, factor[8u * ty + 7u], o70, o71);
}

fn put(query: u32, to: u32, tx: u32, share: f32, low: vec4<f32>, high: vec4<f32>) {
    if query >= params.queries {
        return;
    }
    let at = to + query * params.out_row;
    if tx < SLOTS {
        out[at] = low * share;
    }
    if tx + 8u < SLOTS {
        out[at + 8u] = high * share;
    }
}
