// Attention of the chunk's actions over the prefix and, in self-attention layers, over themselves, in one pass.
// Twin: gpu/kernels/attention_suffix.rs.
//
// Query heads that share a key head go together: their rows (head, action) are cut into groups of eight, one workgroup each, so
// that a key or value that was fetched serves eight rows. Keys pass in tiles of 256, one a thread; softmax is kept up to date
// from tile to tile, so that any number of keys will do and no score leaves the workgroup.

struct Sizes {
    // Keys of the prefix, all visible.
    prefix: u32,
    // Keys of the actions themselves, visible up to their own; 0 in cross-attention.
    own: u32,
    // Actions.
    chunk: u32,
    // Query heads that share a key head, and key heads.
    group: u32,
    key_heads: u32,
    // Width of a head in vec4, a multiple of 4 and at most 32.
    quads: u32,
}

const THREADS: u32 = 256u;
const TILE: u32 = 64u;
const ROWS: u32 = 8u;
const HIDDEN: f32 = -1e30;

@group(0) @binding(0) var<uniform> sizes: Sizes;
// [tile, query head, channel, row], already scaled by 1 / sqrt(head_dim).
@group(0) @binding(1) var<storage, read> queries: array<f32>;
// Keys, then values: [key head, prefix, head_dim] each.
@group(0) @binding(2) var<storage, read> seen: array<vec4<f32>>;
// Keys, then values: [key head, chunk, head_dim] each.
@group(0) @binding(3) var<storage, read> own: array<vec4<f32>>;
// Like the queries.
@group(0) @binding(4) var<storage, read_write> y: array<f32>;

var<workgroup> rows: array<vec4<f32>, 256>;
// [row, key], and in the end [row, slice, channel].
var<workgroup> scores: array<f32, 2048>;
var<workgroup> of_thread: array<f32, 256>;
var<workgroup> fade: array<f32, 8>;

// Where a row's channel 0 lies in queries and y.
fn place(row: u32, key_head: u32) -> u32 {
    let head = key_head * sizes.group + row / sizes.chunk;
    let action = row % sizes.chunk;
    let width = sizes.group * sizes.key_heads * sizes.quads * 4u;
    return (action / TILE * width + head * sizes.quads * 4u) * TILE + action % TILE;
}

// Key (half 0) or value (half 1), four channels.
fn fetch(half: u32, key_head: u32, key: u32, quad: u32) -> vec4<f32> {
    let head = half * sizes.key_heads + key_head;
    if key < sizes.prefix {
        return seen[(head * sizes.prefix + key) * sizes.quads + quad];
    }
    return own[(head * sizes.chunk + key - sizes.prefix) * sizes.quads + quad];
}

fn take_rows(t: u32, first: u32, key_head: u32) {
    for (var i = t; i < ROWS * sizes.quads; i += THREADS) {
        let row = first + i % ROWS;
        let quad = i / ROWS;
        var four = vec4<f32>();
        if row < sizes.group * sizes.chunk {
            let at = place(row, key_head) + quad * 4u * TILE;
            four = vec4<f32>(queries[at], queries[at + TILE], queries[at + 2u * TILE], queries[at + 3u * TILE]);
        }
        rows[i % ROWS * sizes.quads + quad] = four;
    }
}

// Scores of one key with the eight rows.
fn score(t: u32, first: u32, key_head: u32, key: u32) {
    var low = vec4<f32>();
    var high = vec4<f32>();
    let visible = key < sizes.prefix + sizes.own;
    if visible {
        let stride = sizes.quads;
        for (var near = 0u; near < stride; near += 4u) {
            // Sixteen channels at once: a whole line of memory, while it is near.
            let k0 = fetch(0u, key_head, key, near);
            let k1 = fetch(0u, key_head, key, near + 1u);
            let k2 = fetch(0u, key_head, key, near + 2u);
            let k3 = fetch(0u, key_head, key, near + 3u);
            low += vec4<f32>(
                dot4(near, k0, k1, k2, k3),
                dot4(near + stride, k0, k1, k2, k3),
                dot4(near + 2u * stride, k0, k1, k2, k3),
                dot4(near + 3u * stride, k0, k1, k2, k3),
            );
            high += vec4<f32>(
                dot4(near + 4u * stride, k0, k1, k2, k3),
                dot4(near + 5u * stride, k0, k1, k2, k3),
                dot4(near + 6u * stride, k0, k1, k2, k3),
                dot4(near + 7u * stride, k0, k1, k2, k3),
            );
        }
    }
    keep(t, 0u, low.x, visible && sees(first, key));
    keep(t, 1u, low.y, visible && sees(first + 1u, key));
    keep(t, 2u, low.z, visible && sees(first + 2u, key));
    keep(t, 3u, low.w, visible && sees(first + 3u, key));
    keep(t, 4u, high.x, visible && sees(first + 4u, key));
    keep(t, 5u, high.y, visible && sees(first + 5u, key));
    keep(t, 6u, high.z, visible && sees(first + 6u, key));
    keep(t, 7u, high.w, visible && sees(first + 7u, key));
}

fn keep(t: u32, row: u32, score: f32, visible: bool) {
    scores[row * THREADS + t] = select(HIDDEN, score, visible);
}

fn dot4(at: u32, k0: vec4<f32>, k1: vec4<f32>, k2: vec4<f32>, k3: vec4<f32>) -> f32 {
    return dot(rows[at], k0) + dot(rows[at + 1u], k1) + dot(rows[at + 2u], k2) + dot(rows[at + 3u], k3);
}

// Actions look back at themselves and never ahead.
fn sees(row: u32, key: u32) -> bool {
    return key < sizes.prefix || key - sizes.prefix <= row % sizes.chunk;
}

// The largest of a row's 32 threads.
fn most_of_row(t: u32, value: f32) -> f32 {
    of_thread[t] = value;
    workgroupBarrier();
    var most = HIDDEN;
    for (var i = 0u; i < 32u; i += 1u) {
        most = max(most, of_thread[t / 32u * 32u + i]);
    }
    workgroupBarrier();
    return most;
}

// Adds up the slices of two rows, whose parts fill the scores' place, and divides by the softmax's sum.
fn settle(t: u32, first: u32, key_head: u32, pair: u32, low: vec4<f32>, high: vec4<f32>) {
    let width = sizes.quads * 4u;
    let at = 4u * t;
    scores[at] = low.x;
    scores[at + 1u] = low.y;
    scores[at + 2u] = low.z;
    scores[at + 3u] = low.w;
    scores[at + 1024u] = high.x;
    scores[at + 1025u] = high.y;
    scores[at + 1026u] = high.z;
    scores[at + 1027u] = high.w;
    workgroupBarrier();
    let which = t / width;
    let row = first + pair + which;
    if which < 2u && row < sizes.group * sizes.chunk {
        var sum = 0.0;
        for (var i = t % width; i < 1024u; i += width) {
            sum += scores[which * 1024u + i];
        }
        var weight = 0.0;
        for (var i = 0u; i < 32u; i += 1u) {
            weight += of_thread[(pair + which) * 32u + i];
        }
        y[place(row, key_head) + t % width * TILE] = sum / weight;
    }
    workgroupBarrier();
}

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_index) t: u32) {
    let first = workgroup.x * ROWS;
    let key_head = workgroup.y;
    let keys = sizes.prefix + sizes.own;
    // For softmax a thread has a row and every 32nd key; for the values four channels and every key of a slice.
    let row = t / 32u;
    let lane = t % 32u;
    let quad = t % sizes.quads;
    let slice = t / sizes.quads;
    let slices = THREADS / sizes.quads;
    take_rows(t, first, key_head);
    var top = HIDDEN;
    var total = 0.0;
    // Eight variables and no array, which a driver might put into memory.
    var s0 = vec4<f32>();
    var s1 = vec4<f32>();
    var s2 = vec4<f32>();
    var s3 = vec4<f32>();
    var s4 = vec4<f32>();
    var s5 = vec4<f32>();
    var s6 = vec4<f32>();
    var s7 = vec4<f32>();
    workgroupBarrier();
    for (var start = 0u; start < keys; start += THREADS) {
        score(t, first, key_head, start + t);
        workgroupBarrier();
        var most = top;
        for (var i = lane; i < THREADS; i += 32u) {
            most = max(most, scores[row * THREADS + i]);
        }
        most = most_of_row(t, most);
        let faded = exp(top - most);
        top = most;
        total *= faded;
        for (var i = lane; i < THREADS; i += 32u) {
            let part = exp(scores[row * THREADS + i] - top);
            scores[row * THREADS + i] = part;
            total += part;
        }
        if lane == 0u {
            fade[row] = faded;
        }
        workgroupBarrier();
        s0 *= fade[0];
        s1 *= fade[1];
        s2 *= fade[2];
        s3 *= fade[3];
        s4 *= fade[4];
        s5 *= fade[5];
        s6 *= fade[6];
        s7 *= fade[7];
        let count = min(THREADS, keys - start);
        for (var key = slice; key < count; key += slices) {
            let value = fetch(1u, key_head, start + key, quad);
            s0 = fma(vec4<f32>(scores[key]), value, s0);
            s1 = fma(vec4<f32>(scores[1u * THREADS + key]), value, s1);
            s2 = fma(vec4<f32>(scores[2u * THREADS + key]), value, s2);
            s3 = fma(vec4<f32>(scores[3u * THREADS + key]), value, s3);
            s4 = fma(vec4<f32>(scores[4u * THREADS + key]), value, s4);
            s5 = fma(vec4<f32>(scores[5u * THREADS + key]), value, s5);
            s6 = fma(vec4<f32>(scores[6u * THREADS + key]), value, s6);
            s7 = fma(vec4<f32>(scores[7u * THREADS + key]), value, s7);
        }
        workgroupBarrier();
    }
    of_thread[t] = total;
    workgroupBarrier();
    settle(t, first, key_head, 0u, s0, s1);
    settle(t, first, key_head, 2u, s2, s3);
    settle(t, first, key_head, 4u, s4, s5);
    settle(t, first, key_head, 6u, s6, s7);
}
