// Draws the SO-101, its table, the cubes, trays and marks, the ghost arm and the ribbons, lit by one soft lamp.
// `src/scene/shading.rs` says the same in Rust for machines without an adapter: change both.
// Colours are linear until `encoded`, which the fragment stages call last: the target is plain RGBA8 holding display values.

// Twin: `MARKS` in src/scene/layout.rs.
const MARKS: u32 = 8u;

// The numbers of one picture. Twin: `FrameUniform` in src/scene/layout.rs.
struct Frame {
    clip_from_base: mat4x4<f32>,
    shadow_from_base: mat4x4<f32>,
    // Metres; w is the height of one pixel at a distance of one metre.
    eye: vec4<f32>,
    // Direction towards the lamp.
    light: vec4<f32>,
    key: vec4<f32>,
    sky: vec4<f32>,
    ground: vec4<f32>,
    // w: distance at which the table begins to fade into the background, metres.
    background: vec4<f32>,
    // w: distance at which it is gone.
    table: vec4<f32>,
    // w: strength.
    grid: vec4<f32>,
    // w: opacity of the rim.
    ghost: vec4<f32>,
    // Lowest X and Y of the contact map, and one over its side. w: number of marks.
    contact_area: vec4<f32>,
    // Middle and radius of each mark on the table, metres.
    mark_places: array<vec4<f32>, MARKS>,
    mark_colors: array<vec4<f32>, MARKS>,
    // Colour and gloss.
    materials: array<vec4<f32>, 8>,
    // base_from_link of the arm, then of the ghost.
    links: array<mat4x4<f32>, 14>,
}

// Twin: `Vertex` in src/scene/solid.rs.
struct Corner {
    @location(0) position: vec3<f32>,
    @location(1) normal: vec3<f32>,
    @location(2) material: u32,
    @location(3) link: u32,
}

// A cube, or the floor or a wall of a tray. Twin: `BlockInstance` in src/scene/blocks.rs.
struct BlockIn {
    @location(4) column_0: vec4<f32>,
    @location(5) column_1: vec4<f32>,
    @location(6) column_2: vec4<f32>,
    @location(7) column_3: vec4<f32>,
    // w: how far the edges are broken.
    @location(8) half: vec4<f32>,
    @location(9) color: vec4<f32>,
}

// Twin: `RibbonVertex` in src/scene/layout.rs.
struct RibbonIn {
    @location(0) position: vec3<f32>,
    @location(1) across: f32,
    @location(2) color: vec4<f32>,
}

// A point of a solid on its way to the fragment stage.
struct Solid {
    @builtin(position) clip: vec4<f32>,
    @location(0) position: vec3<f32>,
    @location(1) normal: vec3<f32>,
    @location(2) @interpolate(flat) color: vec4<f32>,
}

struct TablePoint {
    @builtin(position) clip: vec4<f32>,
    @location(0) position: vec3<f32>,
}

struct Band {
    @builtin(position) clip: vec4<f32>,
    @location(0) across: f32,
    @location(1) color: vec4<f32>,
}

const LINKS: u32 = 7u;
const TABLE_HALF: f32 = 3.5;
const GRID_STEP: f32 = 0.05;
// Half the width of a grid line, metres.
const GRID_HALF: f32 = 0.0006;
// How far a point is lifted off its surface before it asks for its shadow, metres.
const SHADOW_LIFT: f32 = 0.0035;
// What lies as low as the floor of a tray takes part in the table's contact shadows, metres.
const FLOOR: f32 = 0.005;
const FLOOR_END: f32 = 0.008;
// It is lifted this much more before it asks for its shadow.
const FLOOR_LIFT: f32 = 0.010;
// How strongly a mark covers the table in its middle and at its rim.
const MARK_FILL: f32 = 0.48;
const MARK_RIM: f32 = 0.90;
// Width of the rim and of its soft edge, metres.
const MARK_RING: f32 = 0.005;
const MARK_SOFT: f32 = 0.002;
// Share of the depth range.
const GHOST_BEHIND: f32 = 0.00002;

// The shadow's edge is smoothed over this many by this many samples.
override shadow_taps: i32 = 4;
// Distance between those samples, texels.
override shadow_step: f32 = 2.0;
// Ribbons behind the arm shine through with this share of their opacity.
override ribbon_share: f32 = 1.0;

@group(0) @binding(0) var<uniform> frame: Frame;
@group(1) @binding(0) var shadow_map: texture_depth_2d;
@group(1) @binding(1) var shadow_compare: sampler_comparison;
@group(1) @binding(2) var contact_map: texture_2d<f32>;
@group(1) @binding(3) var contact_smooth: sampler;

fn encoded(linear: vec3<f32>) -> vec3<f32> {
    let value = clamp(linear, vec3(0.0), vec3(1.0));
    return select(1.055 * pow(value, vec3(1.0 / 2.4)) - 0.055, value * 12.92, value <= vec3(0.0031308));
}

// The share of the lamp that reaches a point, 0 to 1.
fn lamp_at(position: vec3<f32>, normal: vec3<f32>) -> f32 {
    let lifted = frame.shadow_from_base * vec4(position + SHADOW_LIFT * normal, 1.0);
    let at = vec2(0.5 + 0.5 * lifted.x, 0.5 - 0.5 * lifted.y);
    let step = shadow_step / f32(textureDimensions(shadow_map).x);
    let first = -0.5 * f32(shadow_taps - 1);
    var sum = 0.0;
    for (var row = 0; row < shadow_taps; row++) {
        for (var column = 0; column < shadow_taps; column++) {
            let offset = step * vec2(first + f32(column), first + f32(row));
            sum += textureSampleCompareLevel(shadow_map, shadow_compare, at + offset, lifted.z);
        }
    }
    let inside = all(abs(lifted.xy) < vec2(0.98)) && lifted.z < 1.0;
    return select(1.0, sum / f32(shadow_taps * shadow_taps), inside);
}

// The share of the sky that a point of the table sees.
fn table_sky(point: vec2<f32>) -> f32 {
    let on_map = (point - frame.contact_area.xy) * frame.contact_area.z;
    return textureSampleLevel(contact_map, contact_smooth, on_map, 0.0).x;
}

// How much of a tray's floor a surface is, 0 to 1.
fn low_and_flat(position: vec3<f32>, normal: vec3<f32>) -> f32 {
    return max(normal.z, 0.0) * (1.0 - smoothstep(FLOOR, FLOOR_END, position.z));
}

// The light that a surface sends to the eye.
fn lit(color: vec3<f32>, gloss: f32, position: vec3<f32>, normal: vec3<f32>) -> vec3<f32> {
    let to_eye = normalize(frame.eye.xyz - position);
    let facing = max(dot(normal, frame.light.xyz), 0.0);
    let low = low_and_flat(position, normal);
    var lamp = 0.0;
    if facing > 0.0 {
        lamp = lamp_at(position + vec3(0.0, 0.0, low * FLOOR_LIFT), normal);
    }
    // Low surfaces that look down see a table in shade.
    let floor_light = frame.ground.xyz * (0.35 + 0.65 * smoothstep(0.0, 0.10, position.z));
    let open_sky = mix(1.0, table_sky(position.xy), low);
    lamp *= 0.35 + 0.65 * open_sky;
    let around = mix(floor_light, frame.sky.xyz, 0.5 + 0.5 * normal.z) * open_sky;
    let halfway = max(dot(normal, normalize(frame.light.xyz + to_eye)), 0.0);
    let h4 = halfway * halfway * halfway * halfway;
    let h16 = h4 * h4 * h4 * h4;
    let rim = 1.0 - max(dot(normal, to_eye), 0.0);
    let shine = gloss * (0.55 * lamp * facing * h16 * h16 * frame.key.xyz + 0.35 * rim * rim * rim * around);
    return color * (facing * lamp * frame.key.xyz + around) + shine;
}

// Arm: instance 0 is the arm itself, instance 1 its ghost.
@vertex
fn arm_vertex(corner: Corner, @builtin(instance_index) instance: u32) -> Solid {
    let pose = frame.links[corner.link + LINKS * instance];
    let position = pose * vec4(corner.position, 1.0);
    var out: Solid;
    out.clip = frame.clip_from_base * position;
    // Where the ghost coincides with the arm, it is behind it.
    out.clip.z += GHOST_BEHIND * f32(instance) * out.clip.w;
    out.position = position.xyz;
    out.normal = (pose * vec4(corner.normal, 0.0)).xyz;
    out.color = frame.materials[corner.material];
    return out;
}

fn block_pose(block: BlockIn) -> mat4x4<f32> {
    return mat4x4(block.column_0, block.column_1, block.column_2, block.column_3);
}

// Each broken edge is as wide as every other, however long the block.
fn block_corner(corner: Corner, block: BlockIn) -> vec4<f32> {
    let core = block.half.xyz - vec3(block.half.w);
    return vec4(sign(corner.position) * core + block.half.w * corner.normal, 1.0);
}

@vertex
fn block_vertex(corner: Corner, block: BlockIn) -> Solid {
    let position = block_pose(block) * block_corner(corner, block);
    var out: Solid;
    out.clip = frame.clip_from_base * position;
    out.position = position.xyz;
    out.normal = (block_pose(block) * vec4(corner.normal, 0.0)).xyz;
    out.color = block.color;
    return out;
}

@fragment
fn solid_fragment(solid: Solid) -> @location(0) vec4<f32> {
    return vec4(encoded(lit(solid.color.xyz, solid.color.w, solid.position, normalize(solid.normal))), 1.0);
}

// Only depth: for the shadow map.
@vertex
fn arm_shadow(corner: Corner) -> @builtin(position) vec4<f32> {
    return frame.shadow_from_base * frame.links[corner.link] * vec4(corner.position, 1.0);
}

@vertex
fn block_shadow(corner: Corner, block: BlockIn) -> @builtin(position) vec4<f32> {
    return frame.shadow_from_base * block_pose(block) * block_corner(corner, block);
}

@vertex
fn table_vertex(@builtin(vertex_index) index: u32) -> TablePoint {
    let corner = vec2(f32(index & 1u), f32(index >> 1u)) * 2.0 - 1.0;
    let position = vec3(corner * TABLE_HALF, 0.0);
    return TablePoint(frame.clip_from_base * vec4(position, 1.0), position);
}

// How much of a pixel a grid line covers, along one coordinate.
fn line_cover(coordinate: f32, footprint: f32) -> f32 {
    let away = abs(coordinate - GRID_STEP * round(coordinate / GRID_STEP));
    let width = max(footprint, 2.0 * GRID_HALF);
    return clamp((GRID_HALF + 0.5 * width - away) / width, 0.0, 1.0) * min(1.0, 2.0 * GRID_HALF / width + 0.35);
}

// How much of the table's colour a mark replaces this far from its middle: a stencilled ring, faintly filled.
fn mark_cover(away: f32, radius: f32, footprint: f32) -> f32 {
    let edge = max(footprint, MARK_SOFT);
    let inside = 1.0 - smoothstep(radius - edge, radius, away);
    let ring = smoothstep(radius - MARK_RING - edge, radius - MARK_RING, away);
    return inside * (MARK_FILL + ring * (MARK_RIM - MARK_FILL));
}

@fragment
fn table_fragment(point: TablePoint) -> @location(0) vec4<f32> {
    let to_eye = frame.eye.xyz - point.position;
    let distance = length(to_eye);
    // A pixel covers more of the table the flatter one looks at it.
    let footprint = distance * frame.eye.w / max(to_eye.z / distance, 0.15);
    let far = 1.0 - smoothstep(1.0, 12.0, footprint / (0.1 * GRID_STEP));
    let line = max(line_cover(point.position.x, footprint), line_cover(point.position.y, footprint));
    var color = mix(frame.table.xyz, frame.grid.xyz, frame.grid.w * line * far);
    for (var k = 0u; k < min(u32(frame.contact_area.w), MARKS); k++) {
        let place = frame.mark_places[k];
        let away = length(point.position.xy - place.xy);
        color = mix(color, frame.mark_colors[k].xyz, mark_cover(away, place.z, footprint));
    }
    let open_sky = table_sky(point.position.xy);
    let lamp = lamp_at(point.position, vec3(0.0, 0.0, 1.0));
    let light = frame.key.xyz * frame.light.z * lamp * (0.35 + 0.65 * open_sky) + frame.sky.xyz * open_sky;
    let gone = smoothstep(frame.background.w, frame.table.w, length(point.position.xy - vec2(0.14, 0.0)));
    return vec4(encoded(mix(color * light, frame.background.xyz, gone)), 1.0);
}

// The ghost: faint where it faces the eye, clear at its rim.
@fragment
fn ghost_fragment(solid: Solid) -> @location(0) vec4<f32> {
    let normal = normalize(solid.normal);
    let rim = 1.0 - max(dot(normal, normalize(frame.eye.xyz - solid.position)), 0.0);
    let bright = 0.75 + 0.25 * normal.z;
    return vec4(encoded(frame.ghost.xyz * bright), frame.ghost.w * (0.42 + 0.58 * rim * sqrt(rim)));
}

@vertex
fn ribbon_vertex(ribbon: RibbonIn) -> Band {
    return Band(frame.clip_from_base * vec4(ribbon.position, 1.0), ribbon.across, ribbon.color);
}

@fragment
fn ribbon_fragment(band: Band) -> @location(0) vec4<f32> {
    let away = abs(band.across);
    let soft = 1.0 - smoothstep(0.55, 1.0, away);
    let color = band.color.xyz * (1.0 - 0.3 * away * away);
    return vec4(encoded(color), band.color.w * soft * ribbon_share);
}
