// Lays the prefix out: features of the pictures, embedded words and marks, and the projected state, each in its row.
//
// One workgroup of 64 threads a row.
//
// Twins: `Params` in src/gpu/kernels/prefix.rs.

struct Params {
    width: u32,
    // Words between rows of the prefix, of the features and of the host's rows.
    step: u32,
    // The connector's product comes in parts: how many, and words between them.
    parts: u32,
    part_step: u32,
    feature_row: u32,
    // Numbers of the state.
    state_width: u32,
    // √width, for the features.
    scale: f32,
    unused: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
// What each row is: a number below 2³⁰ is a feature's, 2³⁰ more a row of the host's, 2³¹ the state.
@group(0) @binding(1) var<storage, read> sources: array<u32>;
@group(0) @binding(2) var<storage, read> features: array<f32>;
@group(0) @binding(3) var<storage, read> host_rows: array<f32>;
@group(0) @binding(4) var<storage, read> state: array<f32>;
// [width, state_width]
@group(0) @binding(5) var<storage, read> weight: array<f32>;
@group(0) @binding(6) var<storage, read> bias: array<f32>;
@group(0) @binding(7) var<storage, read_write> x: array<f32>;

const HOST: u32 = 0x40000000u;
const STATE: u32 = 0x80000000u;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) place: vec3<u32>, @builtin(local_invocation_index) thread: u32) {
    let source = sources[place.x];
    for (var i = thread; i < params.width; i += 64u) {
        var value = 0.0;
        if source >= STATE {
            value = bias[i];
            for (var j = 0u; j < params.state_width; j++) {
                value += weight[i * params.state_width + j] * state[j];
            }
        } else if source >= HOST {
            value = host_rows[(source - HOST) * params.width + i];
        } else {
            for (var part = 0u; part < params.parts; part++) {
                value += features[part * params.part_step + source * params.feature_row + i];
            }
            value *= params.scale;
        }
        x[place.x * params.step + i] = value;
    }
}
