//! Every epilogue, format and width of the skinny product against a plain product in f64.

use half::f16;

use super::*;
use crate::gpu::kernels::testing::{self, noise};

/// A few hundred products summed in f32 in another order.
const TOLERANCE: f64 = 3e-6;
const EPS: f32 = 1e-5;

/// Rows (more than a tile), inputs (no multiple of 16), outputs.
const ROWS: usize = 70;
const INPUTS: usize = 88;

struct Case {
    x: Vec<f32>,
    rows: Vec<f32>,
    bias: Vec<f32>,
    outputs: usize,
}

impl Case {
    fn new(outputs: usize) -> Self {
        Self {
            x: noise("x", ROWS * INPUTS),
            rows: noise("weight", outputs * INPUTS),
            bias: noise("bias", outputs),
            outputs,
        }
    }

    /// The weights as the format holds them.
    fn held(&self, format: Format) -> Vec<f64> {
        let held = |row: &[f32]| -> Vec<f64> {
            let scale = row_scale(row);
            let byte = |value: f32| f64::from((value * (127.0 / scale)).round()) / 127.0;
            row.iter()
                .map(|&value| match format {
                    Format::F32 => f64::from(value),
                    Format::F16 => f16::from_f32(value).to_f64(),
                    Format::I8 => f64::from(scale) * byte(value),
                })
                .collect()
        };
        self.rows.chunks_exact(INPUTS).flat_map(held).collect()
    }

    /// `[ROWS, outputs]`, normalised or not, with the bias.
    fn sums(&self, format: Format, normed: bool) -> Vec<f64> {
        let weight = self.held(format);
        let mut y = Vec::new();
        for x in self.x.chunks_exact(INPUTS) {
            let square: f64 = x.iter().map(|v| f64::from(*v).powi(2)).sum();
            let scale = if normed {
                1.0 / (square / INPUTS as f64 + f64::from(EPS)).sqrt()
            } else {
                1.0
            };
            for (row, bias) in weight.chunks_exact(INPUTS).zip(&self.bias) {
                let dot: f64 = x.iter().zip(row).map(|(x, w)| f64::from(*x) * w).sum();
                y.push(dot * scale + f64::from(*bias));
            }
        }
        y
    }

    fn weight(&self, compute: &Compute, format: Format, columns: usize) -> SkinnyWeight {
        let shape = [self.outputs, INPUTS];
        let made = SkinnyWeight::upload(compute, "w", &self.rows, shape, &self.bias, format);
        let mut weight = made.unwrap();
        weight.columns = columns;
        weight
    }
}

/// Two partial sums a row, so that adding them up is tested too.
fn squares_of(x: &[f32]) -> Vec<f32> {
    let mut squares = vec![0.0; ROWS.div_ceil(TILE) * 2 * TILE];
    for (row, line) in x.chunks_exact(INPUTS).enumerate() {
        for (part, half) in [&line[..40], &line[40..]].iter().enumerate() {
            let sum: f32 = half.iter().map(|value| value * value).sum();
            squares[(row / TILE * 2 + part) * TILE + row % TILE] = sum;
        }
    }
    squares
}

fn sizes(normed: bool) -> Sizes {
    Sizes {
        rows: ROWS as u32,
        parts: if normed { 2 } else { 0 },
        share: 1.0 / INPUTS as f32,
        eps: EPS,
        ..Sizes::default()
    }
}

fn silu(v: f64) -> f64 {
    v / (1.0 + (-v).exp())
}

struct Run {
    y: Vec<f32>,
    z: Vec<f32>,
}

/// Launches one product over buffers made for it.
fn run(skinny: &mut Skinny, product: Product<'_>, x: &[f32], y: &[f32], z_words: usize) -> Run {
    let compute = skinny.launches.compute().clone();
    let (y, z) = (compute.upload("y", y), compute.buffer("z", z_words));
    let squares = compute.upload("squares", &squares_of(x));
    let product = Product {
        y: y.whole(),
        z: Some(z.whole()),
        squares: Some(squares.whole()),
        ..product
    };
    let dispatch = skinny.dispatch("test", &product).unwrap();
    let mut flow = compute.flow();
    flow.pass("test", &[dispatch], None);
    flow.submit();
    let read = |buffer: &Buffer| compute.read(&buffer.whole()).unwrap();
    Run {
        y: read(&y),
        z: read(&z),
    }
}

fn product<'a>(
    compute: &Compute,
    case: &Case,
    weight: &'a SkinnyWeight,
    epilogue: Epilogue,
    normed: bool,
) -> Product<'a> {
    let x = compute.upload("x", &to_tiles(&case.x, INPUTS)).whole();
    Product {
        epilogue,
        weight,
        affine: None,
        y: x.clone(),
        x,
        squares: None,
        aside: None,
        z: None,
        sizes: sizes(normed),
    }
}

#[test]
fn sums_and_their_squares_in_every_format_and_width() {
    let Some(compute) = testing::compute() else {
        return;
    };
    let mut skinny = Skinny::new(&compute);
    let case = Case::new(36);
    for format in [Format::F32, Format::F16, Format::I8] {
        for columns in [1, 2, 4, 8] {
            let weight = case.weight(&compute, format, columns);
            let product = product(&compute, &case, &weight, Epilogue::Plain, true);
            let parts = weight.parts();
            let words = [tile_words(ROWS, 36), 2 * parts * TILE];
            let run = run(
                &mut skinny,
                product,
                &case.x,
                &vec![0.0; words[0]],
                words[1],
            );
            let twin = case.sums(format, true);
            let ours = from_tiles(&run.y, ROWS, 36);
            let error = testing::error(&ours, &twin);
            assert!(error < TOLERANCE, "{format:?} {columns}: {error:e}");
            let squares: Vec<f64> = twin
                .chunks_exact(36)
                .map(|row| row.iter().map(|v| v * v).sum())
                .collect();
            let of_row = |row: usize| -> f32 {
                let at = |part| (row / TILE * parts + part) * TILE + row % TILE;
                (0..parts).map(|part| run.z[at(part)]).sum()
            };
            let ours: Vec<f32> = (0..ROWS).map(of_row).collect();
            let error = testing::error(&ours, &squares);
            assert!(error < TOLERANCE, "squares {columns}: {error:e}");
        }
    }
}

#[test]
fn activations_residuals_and_gates() {
    let Some(compute) = testing::compute() else {
        return;
    };
    let mut skinny = Skinny::new(&compute);
    let case = Case::new(48);
    let weight = case.weight(&compute, Format::F32, 4);
    let twin = case.sums(Format::F32, false);
    let launch = |skinny: &mut Skinny, epilogue, y: &[f32]| {
        let product = product(&compute, &case, &weight, epilogue, false);
        run(skinny, product, &case.x, y, 2 * 3 * TILE).y
    };
    let blank = vec![0.0; tile_words(ROWS, 48)];
    let ours = launch(&mut skinny, Epilogue::Silu, &blank);
    let want: Vec<f64> = twin.iter().map(|v| silu(*v)).collect();
    assert!(testing::error(&from_tiles(&ours, ROWS, 48), &want) < TOLERANCE);

    let before = noise("before", ROWS * 48);
    let ours = launch(&mut skinny, Epilogue::Add, &to_tiles(&before, 48));
    let want: Vec<f64> = twin
        .iter()
        .zip(&before)
        .map(|(v, b)| v + f64::from(*b))
        .collect();
    assert!(testing::error(&from_tiles(&ours, ROWS, 48), &want) < TOLERANCE);

    let ours = launch(&mut skinny, Epilogue::Gate, &blank);
    let gate = |four: &[f64]| [silu(four[0]) * four[2], silu(four[1]) * four[3]];
    let want: Vec<f64> = twin.chunks_exact(4).flat_map(gate).collect();
    assert!(testing::error(&from_tiles(&ours, ROWS, 24), &want) < TOLERANCE);
}

/// Two query heads, a key head and a value head of 16 channels.
#[test]
fn heads_are_rotated_and_sorted() {
    let Some(compute) = testing::compute() else {
        return;
    };
    let mut skinny = Skinny::new(&compute);
    let case = Case::new(64);
    let weight = case.weight(&compute, Format::F32, 2);
    let angle = |row: usize, pair: usize| 0.1 * row as f64 - 0.7 * pair as f64;
    let mut table = vec![[0.0_f32; 2]; 2 * 8 * TILE];
    for row in 0..ROWS {
        for pair in 0..8 {
            let (sin, cos) = angle(row, pair).sin_cos();
            table[(row / TILE * 8 + pair) * TILE + row % TILE] = [cos as f32, sin as f32];
        }
    }
    let table = compute.upload("table", &table).whole();
    let product = Product {
        aside: Some(table),
        sizes: Sizes {
            head_dim: 16,
            query_heads: 2,
            rotated_heads: 3,
            ..sizes(true)
        },
        ..product(&compute, &case, &weight, Epilogue::Rotary, true)
    };
    let blank = vec![0.0; tile_words(ROWS, 32)];
    let run = run(&mut skinny, product, &case.x, &blank, 2 * ROWS * 16);

    let sums = case.sums(Format::F32, true);
    let (mut queries, mut rest) = (vec![0.0; ROWS * 32], vec![0.0; 2 * ROWS * 16]);
    for (row, line) in sums.chunks_exact(64).enumerate() {
        for (group, four) in line.chunks_exact(4).enumerate() {
            let (head, pair) = (group / 4, group % 4 * 2);
            for i in 0..2 {
                let (low, high) = (four[i], four[i + 2]);
                let (sin, cos) = if head < 3 {
                    angle(row, pair + i).sin_cos()
                } else {
                    (0.0, 1.0)
                };
                let turned = [low * cos - high * sin, high * cos + low * sin];
                for (half, value) in turned.into_iter().enumerate() {
                    let channel = half * 8 + pair + i;
                    match head {
                        0 | 1 => queries[row * 32 + head * 16 + channel] = value,
                        _ => rest[((head - 2) * ROWS + row) * 16 + channel] = value,
                    }
                }
            }
        }
    }
    assert!(testing::error(&from_tiles(&run.y, ROWS, 32), &queries) < TOLERANCE);
    assert!(testing::error(&run.z, &rest) < TOLERANCE);
}

/// A guided step of the flow, and one without guidance, which must not depend on the target.
#[test]
fn steps_of_the_flow_are_guided() {
    let Some(compute) = testing::compute() else {
        return;
    };
    let mut skinny = Skinny::new(&compute);
    let case = Case::new(32);
    let weight = case.weight(&compute, Format::F32, 1);
    let now = noise("now", ROWS * 32);
    let target = noise("target", ROWS * 32);
    let of_row = noise("weights", 2 * TILE);
    for (step, strength) in [(0, 4.25), (1, 0.0)] {
        // Two steps of (time, strength), then weights, then the target.
        let mut aside = vec![0.9, 4.25, 0.4, 0.0];
        aside.extend(&of_row);
        aside.extend(to_tiles(&target, 32));
        let product = Product {
            aside: Some(compute.upload("aside", &aside).whole()),
            sizes: Sizes {
                step,
                steps: 2,
                ..sizes(true)
            },
            ..product(&compute, &case, &weight, Epilogue::Euler, true)
        };
        let words = tile_words(ROWS, 32);
        let run = run(&mut skinny, product, &case.x, &to_tiles(&now, 32), words);
        let time = f64::from([0.9_f32, 0.4][step as usize]);
        let (mut velocities, mut next) = (Vec::new(), Vec::new());
        for (at, v) in case.sums(Format::F32, true).iter().enumerate() {
            let (x, goal) = (f64::from(now[at]), f64::from(target[at]));
            let error = (goal - (x - time * v)) * f64::from(of_row[at / 32]);
            let v = v - strength * error;
            velocities.push(v);
            next.push(x - 0.5 * v);
        }
        assert!(testing::error(&from_tiles(&run.z, ROWS, 32), &velocities) < TOLERANCE);
        assert!(testing::error(&from_tiles(&run.y, ROWS, 32), &next) < TOLERANCE);
    }
}

/// Keys and values of two heads, projected each by their own weights, in the layout that attention reads.
#[test]
fn keys_and_values_are_projected_head_by_head() {
    let Some(compute) = testing::compute() else {
        return;
    };
    let mut skinny = Skinny::new(&compute);
    let (rows, width) = (ROWS, 32);
    let weights = noise("weight", 2 * width * width);
    let kv = noise("kv", 2 * rows * width);
    let shape = [2 * width, width];
    let weight = SkinnyWeight::upload(&compute, "kv", &weights, shape, &[], Format::F32).unwrap();
    let x = compute.upload("x", &kv).whole();
    let product = Product {
        epilogue: Epilogue::Heads,
        weight: &weight,
        affine: None,
        y: x.clone(),
        x,
        squares: None,
        aside: None,
        z: None,
        sizes: Sizes {
            rows: rows as u32,
            head_dim: 16,
            half_outputs: width as u32,
            ..Sizes::default()
        },
    };
    let blank = vec![0.0; 2 * rows * width];
    let nothing = vec![0.0; ROWS * INPUTS];
    let run = run(&mut skinny, product, &nothing, &blank, 4);
    let at = |half: usize, row: usize, channel: usize| {
        ((half * 2 + channel / 16) * rows + row) * 16 + channel % 16
    };
    let mut want = vec![0.0; 2 * rows * width];
    for half in 0..2 {
        for row in 0..rows {
            for output in 0..width {
                let dot = (0..width).map(|k| {
                    let w = weights[(half * width + output) * width + k];
                    f64::from(w) * f64::from(kv[at(half, row, k)])
                });
                want[at(half, row, output)] = dot.sum();
            }
        }
    }
    assert!(testing::error(&run.y, &want) < TOLERANCE);
}

#[test]
fn workgroups_are_as_wide_as_a_large_gpu_allows() {
    // q/k/v, q, o, gate and up, down, the velocity; the noisy actions, whose 32 inputs are two blocks.
    let widths = [
        [1600, 720],
        [960, 720],
        [720, 960],
        [4096, 720],
        [720, 2048],
        [32, 720],
        [720, 32],
    ];
    assert_eq!(widths.map(columns), [4, 2, 2, 8, 2, 1, 8]);
    assert_eq!(columns([36, 88]), 8, "six blocks for 32 slices");
}
