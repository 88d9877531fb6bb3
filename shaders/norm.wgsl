// The rows of the residual stream: adds the parts that products left, and finds mean and deviation of each row.
//
// One workgroup of 64 threads a row. The mean comes first and then the squares around it, as f32 needs it. The products that follow normalise
// with these numbers while they load; only what leaves the tower is written normalised.
//
// Twins: `Params` in src/gpu/kernels/norm.rs.

// A product's parts, and its bias, are added to the row first.
override ADD: bool = false;
// Around the mean (layer norm), or around zero (root mean square).
override CENTRED: bool = false;
// Writes the normalised row instead of the two numbers.
override APPLY: bool = false;

struct Params {
    // Words in a row that count, and between rows.
    width: u32,
    step: u32,
    // Parts to add, words between them and between their rows.
    parts: u32,
    part_step: u32,
    part_row: u32,
    biased: u32,
    eps: f32,
    unused: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> parts: array<f32>;
@group(0) @binding(2) var<storage, read> bias: array<f32>;
// Gain and offset of each four channels.
@group(0) @binding(3) var<storage, read> norm: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read_write> x: array<f32>;
// Mean and reciprocal deviation, or the normalised row.
@group(0) @binding(5) var<storage, read_write> out: array<f32>;

var<workgroup> of_threads: array<f32, 64>;
var<workgroup> of_eights: array<f32, 8>;

// The sum over all threads, in all threads.
fn total(own: f32, thread: u32) -> f32 {
    of_threads[thread] = own;
    workgroupBarrier();
    if thread < 8u {
        var eight = 0.0;
        for (var i = 0u; i < 8u; i++) {
            eight += of_threads[8u * thread + i];
        }
        of_eights[thread] = eight;
    }
    workgroupBarrier();
    var all = 0.0;
    for (var i = 0u; i < 8u; i++) {
        all += of_eights[i];
    }
    return all;
}

fn with_parts(row: u32, channel: u32) -> f32 {
    var value = x[row * params.step + channel];
    if params.biased != 0u {
        value += bias[channel];
    }
    for (var part = 0u; part < params.parts; part++) {
        value += parts[part * params.part_step + row * params.part_row + channel];
    }
    return value;
}

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) place: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    let row = place.x;
    let start = row * params.step;
    let width = f32(params.width);
    var sum = 0.0;
    for (var i = thread; i < params.width; i += 64u) {
        var value = 0.0;
        if ADD {
            value = with_parts(row, i);
            x[start + i] = value;
        } else {
            value = x[start + i];
        }
        sum += value;
    }
    var mean = 0.0;
    if CENTRED {
        mean = total(sum, thread) / width;
    }
    var squares = 0.0;
    // Each thread reads what it wrote itself.
    for (var i = thread; i < params.width; i += 64u) {
        let apart = x[start + i] - mean;
        squares += apart * apart;
    }
    let deviation = 1.0 / sqrt(total(squares, thread) / width + params.eps);
    if APPLY {
        for (var i = thread; i < params.width; i += 64u) {
            let gain = norm[2u * (i >> 2u)][i & 3u];
            let offset = norm[2u * (i >> 2u) + 1u][i & 3u];
            out[start + i] = (x[start + i] - mean) * deviation * gain + offset;
        }
    } else if thread == 0u {
        out[2u * row] = mean;
        out[2u * row + 1u] = deviation;
    }
}
