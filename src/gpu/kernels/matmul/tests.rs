//! Every variant of the product against a slow and obvious one in f64, on the adapter.

use super::*;
use crate::gpu::compute::Buffer;
use crate::gpu::compute::Format;
use crate::gpu::kernels::norm::gains;
use crate::gpu::kernels::testing;

/// Sums of a few hundred f32 products.
const TOLERANCE: f64 = 2e-6;
/// Both operands rounded to f16.
const HALF_TOLERANCE: f64 = 1e-3;

/// What a product computes, as its twin needs it.
struct Case {
    rows: usize,
    columns: usize,
    inputs: usize,
    layout: Layout,
    format: Format,
    bias: bool,
    /// None, root mean square, mean and variance.
    norm: Option<bool>,
    finish: Finish,
    split: Split,
}

/// What went in and came out.
struct Run {
    case: Case,
    a: Vec<f32>,
    weight: Vec<f32>,
    bias: Vec<f32>,
    gain: Vec<f32>,
    offset: Vec<f32>,
    stats: Vec<f32>,
    table: Vec<f32>,
    before: Vec<f32>,
    out: Vec<f32>,
    kv: Vec<f32>,
}

const A_BASE: usize = 8;
const OUT_BASE: usize = 8;

impl Case {
    fn plain(rows: usize, columns: usize, inputs: usize) -> Self {
        Self {
            rows,
            columns,
            inputs,
            layout: Layout::Rows {
                step: inputs.next_multiple_of(16),
            },
            format: Format::F32,
            bias: false,
            norm: None,
            finish: Finish::Store,
            split: Split::Whole,
        }
    }

    fn words_of_a(&self) -> usize {
        let words = match self.layout {
            Layout::Rows { step } => self.rows * step,
            Layout::Patches { .. } => self.rows * self.inputs,
            Layout::Shuffled { factor, step, .. } => self.rows * factor * factor * step,
        };
        A_BASE + words
    }

    /// Where element k of a row lies, said without the shader's arithmetic.
    fn at(&self, row: usize, k: usize) -> usize {
        A_BASE
            + match self.layout {
                Layout::Rows { step } => row * step + k,
                Layout::Patches {
                    height,
                    width,
                    patch,
                } => {
                    let across = width / patch;
                    let patches = height / patch * across;
                    let (picture, within) = (row / patches, row % patches);
                    let (top, left) = (within / across * patch, within % across * patch);
                    let (channel, y, x) = (k / (patch * patch), k / patch % patch, k % patch);
                    ((picture * 3 + channel) * height + top + y) * width + left + x
                }
                Layout::Shuffled {
                    side,
                    factor,
                    width,
                    step,
                } => {
                    let out = side / factor;
                    let (picture, within) = (row / (out * out), row % (out * out));
                    let (neighbour, channel) = (k / width, k % width);
                    let y = within / out * factor + neighbour / factor;
                    let x = within % out * factor + neighbour % factor;
                    ((picture * side + y) * side + x) * step + channel
                }
            }
    }

    fn run(self, compute: &Compute, matmul: &mut Matmul) -> Run {
        let outputs = self.columns;
        let weight = testing::noise("weight", outputs * self.inputs);
        let matrix = Matrix::upload(
            compute,
            "weight",
            &weight,
            [outputs, self.inputs],
            self.format,
        )
        .unwrap();
        let padded = matrix.padded;
        let mut run = Run {
            a: testing::noise("a", self.words_of_a()),
            weight,
            bias: testing::noise("bias", outputs),
            gain: testing::noise("gain", self.inputs),
            offset: testing::noise("offset", self.inputs),
            stats: testing::noise("stats", 2 * self.rows),
            table: testing::noise("table", 8 * 1024),
            before: testing::noise("before", OUT_BASE + 4 * self.rows * (self.columns + 3)),
            out: Vec::new(),
            kv: Vec::new(),
            case: self,
        };
        if let Layout::Rows { step } = run.case.layout {
            // What lies between rows may be anything finite.
            assert_eq!(step, padded);
        }
        let upload = |values: &[f32]| compute.upload("test", values);
        let out = upload(&run.before);
        let kv = compute.buffer("kv", 2 * run.case.rows * run.case.columns);
        let product = run.product(&matrix, &out, &kv, &upload);
        let dispatch = matmul.dispatch("test", &product).unwrap();
        let mut flow = compute.flow();
        flow.pass("test", &[dispatch], None);
        flow.submit();
        run.out = compute.read(&out.whole()).unwrap();
        run.kv = compute.read(&kv.whole()).unwrap();
        run
    }
}

impl Run {
    fn product<'a>(
        &self,
        weight: &'a Matrix,
        out: &Buffer,
        kv: &Buffer,
        upload: &dyn Fn(&[f32]) -> Buffer,
    ) -> Product<'a> {
        let case = &self.case;
        Product {
            rows: case.rows,
            a: upload(&self.a).whole(),
            a_base: A_BASE,
            layout: case.layout,
            weight,
            bias: case.bias.then(|| upload(&self.bias).whole()),
            norm: case.norm.map(|centred| Normed {
                centred,
                gains: upload(&gains(&self.gain, &self.offset)).whole(),
                stats: upload(&self.stats).whole(),
            }),
            finish: case.finish,
            table: Some(upload(&self.table).whole()),
            out: out.whole(),
            out_base: OUT_BASE,
            out_step: case.columns + 3,
            kv: Some(kv.whole()),
            split: case.split,
        }
    }

    /// One sum over some of the inputs.
    fn sum(&self, row: usize, column: usize, inputs: std::ops::Range<usize>) -> f64 {
        let case = &self.case;
        let of = |value: f32| f64::from(value);
        let (mean, deviation) = (of(self.stats[2 * row]), of(self.stats[2 * row + 1]));
        let a = |k: usize| {
            let value = of(self.a[case.at(row, k)]);
            match case.norm {
                None => value,
                Some(false) => value * deviation * of(self.gain[k]),
                Some(true) => (value - mean) * deviation * of(self.gain[k]) + of(self.offset[k]),
            }
        };
        let w = |k: usize| {
            let value = self.weight[column * case.inputs + k];
            match case.format {
                Format::F16 => f64::from(half::f16::from_f32(value)),
                Format::F32 | Format::I8 => of(value),
            }
        };
        let bias = if case.bias {
            of(self.bias[column])
        } else {
            0.0
        };
        bias + inputs.map(|k| a(k) * w(k)).sum::<f64>()
    }

    fn whole(&self, row: usize, column: usize) -> f64 {
        self.sum(row, column, 0..self.case.inputs)
    }

    fn out_at(&self, row: usize, column: usize) -> usize {
        OUT_BASE + row * (self.case.columns + 3) + column
    }

    /// The error of a plain finish, and that nothing else was written.
    fn plain_error(&self) -> f64 {
        let case = &self.case;
        let mut twin: Vec<f64> = self.before.iter().map(|value| f64::from(*value)).collect();
        for row in 0..case.rows {
            for column in 0..case.columns {
                let (at, sum) = (self.out_at(row, column), self.whole(row, column));
                twin[at] = match case.finish {
                    Finish::Gelu => {
                        let u =
                            (2.0 / std::f64::consts::PI).sqrt() * (sum + 0.044715 * sum.powi(3));
                        0.5 * sum * (1.0 + u.tanh())
                    }
                    Finish::Add => twin[at] + sum,
                    Finish::Table { period, step } => {
                        sum + f64::from(self.table[row % period * step + column])
                    }
                    _ => sum,
                };
            }
        }
        testing::error(&self.out, &twin)
    }
}

/// Tiles of 64 rows or of 32; threads that hand rows to each other, or not.
type Mapping = (usize, bool);

const EVERY: &[Mapping] = &[
    (usize::MAX, false),
    (0, false),
    (usize::MAX, true),
    (0, true),
];
/// Each of the four once; what a variant adds is the same in all mappings.
const EACH: &[Mapping] = &[(usize::MAX, false), (0, true)];

fn on_the_adapter(half: bool, mappings: &[Mapping], check: impl Fn(&Compute, &mut Matmul)) {
    let Some(compute) = testing::compute() else {
        return;
    };
    if half && !compute.abilities().shader_f16 {
        return;
    }
    for (enough, eights) in mappings {
        let mut matmul = Matmul::new(&compute, half);
        matmul.enough = *enough;
        matmul.eights &= eights;
        check(&compute, &mut matmul);
    }
}

#[test]
fn plain_products_in_every_format_and_finish() {
    on_the_adapter(false, EVERY, |compute, matmul| {
        for (format, bias, norm, finish) in [
            (Format::F32, false, None, Finish::Store),
            (Format::F16, true, Some(true), Finish::Gelu),
            (Format::F32, true, Some(false), Finish::Add),
            (
                Format::F16,
                false,
                None,
                Finish::Table {
                    period: 7,
                    step: 80,
                },
            ),
        ] {
            // Neither rows nor columns nor inputs fill their tiles.
            let case = Case {
                format,
                bias,
                norm,
                finish,
                ..Case::plain(70, 72, 40)
            };
            let error = case.run(compute, matmul).plain_error();
            assert!(error <= TOLERANCE, "{format:?} {finish:?}: {error:e}");
        }
    });
}

#[test]
fn half_precision_tiles_err_by_their_rounding() {
    on_the_adapter(true, EACH, |compute, matmul| {
        let case = Case {
            format: Format::F16,
            bias: true,
            ..Case::plain(33, 70, 64)
        };
        let error = case.run(compute, matmul).plain_error();
        assert!(error > TOLERANCE && error <= HALF_TOLERANCE, "{error:e}");
    });
}

#[test]
fn gathered_rows_are_found_where_they_lie() {
    on_the_adapter(false, EACH, |compute, matmul| {
        for (rows, inputs, layout) in [
            // Two pictures of 2 x 3 patches.
            (
                12,
                192,
                Layout::Patches {
                    height: 16,
                    width: 24,
                    patch: 8,
                },
            ),
            // Two pictures of 6 x 6 patches, joined by 2 x 2.
            (
                18,
                80,
                Layout::Shuffled {
                    side: 6,
                    factor: 2,
                    width: 20,
                    step: 32,
                },
            ),
        ] {
            let case = Case {
                layout,
                ..Case::plain(rows, 24, inputs)
            };
            let error = case.run(compute, matmul).plain_error();
            assert!(error <= TOLERANCE, "{layout:?}: {error:e}");
        }
    });
}

#[test]
fn shares_of_the_inputs_add_up() {
    on_the_adapter(false, EACH, |compute, matmul| {
        let (rows, columns, inputs, parts) = (35, 66, 96, 3);
        let step = rows * (columns + 3);
        let case = Case {
            format: Format::F16,
            split: Split::Inputs { parts, step },
            ..Case::plain(rows, columns, inputs)
        };
        let run = case.run(compute, matmul);
        let mut twin: Vec<f64> = run.before.iter().map(|value| f64::from(*value)).collect();
        let share = inputs / parts;
        for (part, row) in (0..parts).flat_map(|part| (0..rows).map(move |row| (part, row))) {
            for column in 0..columns {
                let at = run.out_at(row, column) + part * step;
                twin[at] = run.sum(row, column, part * share..(part + 1) * share);
            }
        }
        let error = testing::error(&run.out, &twin);
        assert!(error <= TOLERANCE, "{error:e}");
    });
}

/// Pair p of the joined heads, as `dealt` orders rows.
fn columns_of(pair: usize) -> [usize; 2] {
    let first = pair / 8 * 16 + pair % 8;
    [first, first + 8]
}

#[test]
fn heads_are_rotated_and_dealt_out() {
    on_the_adapter(false, EACH, |compute, matmul| {
        let (rows, half_head, query_pairs, key_pairs) = (37, 12, 48, 24);
        let case = Case {
            norm: Some(false),
            finish: Finish::Rotate {
                query_pairs,
                key_pairs,
                half_head,
            },
            ..Case::plain(rows, 2 * (query_pairs + 2 * key_pairs), 48)
        };
        let run = case.run(compute, matmul);
        let mut queries: Vec<f64> = run.before.iter().map(|value| f64::from(*value)).collect();
        let mut kv = vec![0.0; run.kv.len()];
        for row in 0..rows {
            for pair in 0..query_pairs + 2 * key_pairs {
                let [x, y] = columns_of(pair).map(|column| run.whole(row, column));
                let channel = pair % half_head;
                let at = 2 * (row * half_head + channel);
                let (cos, sin) = (f64::from(run.table[at]), f64::from(run.table[at + 1]));
                let rotated = [x * cos - y * sin, y * cos + x * sin];
                let both = if pair < query_pairs + key_pairs {
                    rotated
                } else {
                    [x, y]
                };
                let head = pair / half_head;
                for (side, value) in both.into_iter().enumerate() {
                    let channel = channel + side * half_head;
                    if pair < query_pairs {
                        // No base: queries begin with their buffer.
                        queries[row * (run.case.columns + 3) + 2 * half_head * head + channel] =
                            value;
                    } else {
                        let head = head - query_pairs / half_head;
                        kv[(head * rows + row) * 2 * half_head + channel] = value;
                    }
                }
            }
        }
        assert!(testing::error(&run.out, &queries) <= TOLERANCE);
        assert!(testing::error(&run.kv, &kv) <= TOLERANCE);
    });
}

#[test]
fn gates_meet_what_they_open() {
    on_the_adapter(false, EACH, |compute, matmul| {
        let case = Case {
            norm: Some(false),
            finish: Finish::Gate,
            ..Case::plain(40, 80, 32)
        };
        let run = case.run(compute, matmul);
        let mut twin: Vec<f64> = run.before.iter().map(|value| f64::from(*value)).collect();
        for row in 0..40 {
            for pair in 0..40 {
                let [gate, up] = columns_of(pair).map(|column| run.whole(row, column));
                let at = run.out_at(row, pair);
                twin[at] = gate / (1.0 + (-gate).exp()) * up;
            }
        }
        let error = testing::error(&run.out, &twin);
        assert!(error <= TOLERANCE, "{error:e}");
    });
}

#[test]
fn pairs_are_dealt_eight_by_eight() {
    let rows: Vec<[f32; 1]> = (0..32).map(|row| [row as f32]).collect();
    let order = dealt(16, |pair| [&rows[pair], &rows[16 + pair]]);
    assert_eq!(
        order[..10],
        [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 16.0, 17.0]
    );
    assert_eq!(order[16..18], [8.0, 9.0]);
}
