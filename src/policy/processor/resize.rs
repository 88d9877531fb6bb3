//! `resize_with_pad`: bilinear, no antialiasing, the picture at the bottom right, as LeRobot's SmolVLA sees it.

/// A picture in planes, `[3, height, width]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Planes {
    pub height: usize,
    pub width: usize,
    pub values: Vec<f32>,
}

/// Scales `picture` into `height` x `width`, keeping its proportions; the rest, on the left and on top, becomes `pad`.
///
/// # Shapes
/// `[3, h, w]` to `[3, height, width]`.
pub fn resize_with_pad(picture: &Planes, height: usize, width: usize, pad: f32) -> Planes {
    if (picture.height, picture.width) == (height, width) {
        return picture.clone();
    }
    let ratio = (picture.width as f64 / width as f64).max(picture.height as f64 / height as f64);
    // A picture that is thousands of times wider than high still keeps a row.
    let rows = ((picture.height as f64 / ratio) as usize).max(1);
    let columns = ((picture.width as f64 / ratio) as usize).max(1);
    let (y, x) = (taps(picture.height, rows), taps(picture.width, columns));
    let (top, left) = (height - rows, width - columns);

    let mut values = vec![pad; 3 * height * width];
    let planes = picture.values.chunks_exact(picture.height * picture.width);
    for (plane, out) in planes.zip(values.chunks_exact_mut(height * width)) {
        for (row, y) in y.iter().enumerate() {
            let above = &plane[y.first * picture.width..][..picture.width];
            let below = &plane[y.second * picture.width..][..picture.width];
            let out = &mut out[(top + row) * width + left..][..columns];
            for (out, x) in out.iter_mut().zip(&x) {
                let high = x.rest * above[x.first] + x.weight * above[x.second];
                let low = x.rest * below[x.first] + x.weight * below[x.second];
                *out = y.rest * high + y.weight * low;
            }
        }
    }
    Planes {
        height,
        width,
        values,
    }
}

/// The two source positions of one target position, and their weights (`rest` for the first).
struct Tap {
    first: usize,
    second: usize,
    weight: f32,
    rest: f32,
}

/// `align_corners=False`, in f32 and with one rounding, as `PyTorch`'s fused multiply-add gives it.
fn taps(source: usize, target: usize) -> Vec<Tap> {
    let scale = source as f32 / target as f32;
    let tap = |i: usize| {
        let at = (i as f32 + 0.5).mul_add(scale, -0.5).max(0.0);
        let first = (at as usize).min(source - 1);
        let weight = at - first as f32;
        Tap {
            first,
            second: (first + 1).min(source - 1),
            weight,
            rest: 1.0 - weight,
        }
    };
    (0..target).map(tap).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::processor::golden::Golden;

    /// f32 rounding in another order of additions than `PyTorch`'s vector code.
    const TOLERANCE: f32 = 1e-6;

    #[test]
    fn pictures_match_the_reference() {
        let golden = Golden::open("unit_golden.safetensors");
        for (i, (height, width)) in [(64, 64), (64, 64), (64, 64), (64, 64), (32, 64)]
            .into_iter()
            .enumerate()
        {
            let (shape, values) = golden.f32(&format!("resize.{i}.in"));
            let picture = Planes {
                height: shape[2],
                width: shape[3],
                values,
            };
            let (_, expected) = golden.f32(&format!("resize.{i}.out"));
            let ours = resize_with_pad(&picture, height, width, 0.0);
            assert_eq!(ours.values.len(), expected.len());
            let worst = crate::policy::processor::golden::max_abs_diff(&ours.values, &expected);
            assert!(worst <= TOLERANCE, "picture {i}: {worst}");
        }
    }

    #[test]
    fn padding_is_on_the_top_and_on_the_left() {
        let wide = Planes {
            height: 1,
            width: 4,
            values: vec![1.0; 12],
        };
        let out = resize_with_pad(&wide, 2, 4, -7.0);
        assert_eq!(
            out.values[..8],
            [-7.0, -7.0, -7.0, -7.0, 1.0, 1.0, 1.0, 1.0]
        );
        let high = Planes {
            height: 4,
            width: 1,
            values: vec![1.0; 12],
        };
        let out = resize_with_pad(&high, 4, 2, -7.0);
        assert_eq!(out.values[..4], [-7.0, 1.0, -7.0, 1.0]);
    }
}
