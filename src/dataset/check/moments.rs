//! Least, greatest, mean and spread of columns, gathered episode by episode: what statistics are compared with.

/// Moments of a column, by dimension.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Moments {
    pub count: f64,
    pub min: Vec<f64>,
    pub max: Vec<f64>,
    pub mean: Vec<f64>,
    /// Summed squares of what each value is from the mean.
    squares: Vec<f64>,
}

impl Moments {
    /// Of `values`, `width` a row.
    pub fn of(values: &[f64], width: usize) -> Self {
        let rows = values.chunks_exact(width.max(1));
        let count = rows.len() as f64;
        let mut moments = Self {
            count,
            min: vec![f64::INFINITY; width],
            max: vec![f64::NEG_INFINITY; width],
            mean: vec![0.0; width],
            squares: vec![0.0; width],
        };
        for row in rows.clone() {
            for (at, value) in row.iter().enumerate() {
                moments.min[at] = moments.min[at].min(*value);
                moments.max[at] = moments.max[at].max(*value);
                moments.mean[at] += value / count;
            }
        }
        for row in rows {
            for (at, value) in row.iter().enumerate() {
                moments.squares[at] += (value - moments.mean[at]).powi(2);
            }
        }
        moments
    }

    /// Adds those of more rows.
    pub fn merge(&mut self, more: &Self) {
        if self.count == 0.0 {
            *self = more.clone();
            return;
        }
        if more.count == 0.0 || more.mean.len() != self.mean.len() {
            return;
        }
        let total = self.count + more.count;
        for at in 0..self.mean.len() {
            let apart = more.mean[at] - self.mean[at];
            self.min[at] = self.min[at].min(more.min[at]);
            self.max[at] = self.max[at].max(more.max[at]);
            self.mean[at] += apart * more.count / total;
            self.squares[at] += more.squares[at] + apart * apart * self.count * more.count / total;
        }
        self.count = total;
    }

    /// Spread of the population, by dimension.
    pub fn std(&self) -> Vec<f64> {
        let spread = |squares: &f64| (squares / self.count.max(1.0)).sqrt();
        self.squares.iter().map(spread).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_give_what_the_whole_gives() {
        let values: Vec<f64> = (0..40).map(|k| f64::from(k * k % 17) + 1e4).collect();
        let whole = Moments::of(&values, 2);
        let mut parts = Moments::default();
        parts.merge(&Moments::of(&values[..6], 2));
        parts.merge(&Moments::of(&values[6..], 2));
        assert_eq!((&parts.min, &parts.max), (&whole.min, &whole.max));
        for (part, whole) in parts.std().iter().zip(whole.std()) {
            assert!((part - whole).abs() < 1e-9, "{part} {whole}");
        }
        assert!((parts.mean[1] - whole.mean[1]).abs() < 1e-9);
    }
}
