//! A table of the largest errors, printed with `--nocapture`, and the verdict over it.

/// Errors of one run on one device.
pub struct Report {
    title: String,
    rows: Vec<Row>,
}

struct Row {
    stage: String,
    error: f32,
    size: f32,
    tolerance: f32,
}

impl Report {
    pub fn new(title: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            rows: Vec::new(),
        }
    }

    /// Notes the largest absolute difference; a NaN or a wrong length counts as infinite.
    pub fn compare(&mut self, stage: &str, ours: &[f32], reference: &[f32], tolerance: f32) {
        let differences = ours.iter().zip(reference).map(|(a, b)| (a - b).abs());
        let error = if ours.len() == reference.len() && ours.iter().all(|value| value.is_finite()) {
            differences.fold(0.0, f32::max)
        } else {
            f32::INFINITY
        };
        let size = reference
            .iter()
            .fold(0.0, |size: f32, value| size.max(value.abs()));
        self.rows.push(Row {
            stage: stage.to_owned(),
            error,
            size,
            tolerance,
        });
    }

    /// Prints the table (layers and steps of one kind on one line) and fails if anything is out of bounds.
    pub fn finish(self) {
        println!("{}", self.title);
        println!(
            "  {:<34} {:>5} {:>10} {:>9} {:>9}",
            "stage", "n", "max error", "max |x|", "allowed"
        );
        let mut kinds: Vec<(String, usize, f32, f32, f32)> = Vec::new();
        for row in &self.rows {
            let kind = kind_of(&row.stage);
            match kinds.iter_mut().find(|known| known.0 == kind) {
                Some(known) => {
                    known.1 += 1;
                    known.2 = known.2.max(row.error);
                    known.3 = known.3.max(row.size);
                }
                None => kinds.push((kind, 1, row.error, row.size, row.tolerance)),
            }
        }
        for (kind, count, error, size, tolerance) in kinds {
            println!("  {kind:<34} {count:>5} {error:>10.2e} {size:>9.3} {tolerance:>9.0e}");
        }
        assert!(
            !self.rows.is_empty(),
            "{}: nothing was compared",
            self.title
        );
        let bad: Vec<String> = self
            .rows
            .iter()
            .filter(|row| row.error.is_nan() || row.error > row.tolerance)
            .map(|row| {
                format!(
                    "{} by {:e} (allowed {:e})",
                    row.stage, row.error, row.tolerance
                )
            })
            .collect();
        assert!(
            bad.is_empty(),
            "{} is off in {}",
            self.title,
            bad.join(", ")
        );
    }
}

fn kind_of(stage: &str) -> String {
    let parts = stage.split('.');
    let kind: Vec<&str> = parts
        .map(|part| {
            if part.parse::<usize>().is_ok() {
                "#"
            } else {
                part
            }
        })
        .collect();
    kind.join(".")
}
