//! The rows of a report as tables: aligned for a terminal, with bars for a README.

use std::fmt::Write as _;

use crate::lab::grid::Section;
use crate::lab::row::Row;
use crate::lab::scenario::Outcome;

/// A table of words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    pub head: Vec<String>,
    pub rows: Vec<Vec<String>>,
}

impl Table {
    fn new(head: &[&str]) -> Self {
        let head = head.iter().map(|&word| word.to_owned()).collect();
        Self { head, rows: vec![] }
    }

    /// For a terminal: the first column to the left, the others to the right.
    pub fn aligned(&self) -> String {
        let lines = || std::iter::once(&self.head).chain(&self.rows);
        let width = |column: usize| {
            let words = lines().filter_map(|line| line.get(column));
            words.map(|word| word.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<_> = (0..self.head.len()).map(width).collect();
        let mut text = String::new();
        for line in lines() {
            let mut row = String::new();
            for (at, (word, width)) in line.iter().zip(&widths).enumerate() {
                // Writing to a string cannot fail.
                match at {
                    0 => write!(row, "  {word:<width$}"),
                    _ => write!(row, "  {word:>width$}"),
                }
                .ok();
            }
            text.push_str(row.trim_end());
            text.push('\n');
        }
        text
    }

    /// For a README.
    pub fn markdown(&self) -> String {
        let line = |words: &[String]| format!("| {} |\n", words.join(" | "));
        let mut rule = vec!["---".to_owned()];
        rule.resize(self.head.len(), "---:".to_owned());
        let rows: String = self.rows.iter().map(|row| line(row)).collect();
        format!("{}{}{rows}", line(&self.head), line(&rule))
    }
}

impl Section {
    /// The heading of its table.
    pub fn title(self) -> &'static str {
        match self {
            Self::Schedules => "Sync and async at several latencies",
            Self::Threshold => "When to ask: g",
            Self::Steps => "How much of a chunk to execute: n_action_steps in sync mode",
            Self::Merge => "Merge functions",
            Self::Windows => "How often the task is done in a fixed window",
            Self::Bound => "Where starvation begins",
            Self::Evaluation => "Evaluation",
        }
    }

    /// The table of the rows of this section; `None` without any.
    pub fn table(self, rows: &[Row]) -> Option<Table> {
        let mut own = rows.iter().filter(|row| row.section == self).peekable();
        own.peek()?;
        let own: Vec<&Row> = own.collect();
        Some(match self {
            Self::Schedules => schedules(&own),
            Self::Windows => windows(&own),
            Self::Bound => bound(&own),
            Self::Threshold | Self::Steps | Self::Merge | Self::Evaluation => plain(&own),
        })
    }
}

const PLAIN: [&str; 9] = [
    "setting",
    "latency",
    "success",
    "time, s",
    "idle, %",
    "longest wait, s",
    "requests a minute",
    "seam p95",
    "jerk, °/s³",
];

fn cells(row: &Row) -> Vec<String> {
    let fps = f64::from(row.knobs.fps);
    vec![
        row.label.clone(),
        row.latency.clone(),
        format!("{}/{}", row.successes, row.episodes),
        time(row),
        format!("{:.1}", row.idle_share() * 100.0),
        format!("{:.2}", row.longest_gap_ticks as f64 / fps),
        format!("{:.0}", row.requests_a_minute()),
        format!("{:.1}", row.seam_p95),
        format!("{:.0}", row.jerk_rms),
    ]
}

/// Mean and standard deviation of the successes.
fn time(row: &Row) -> String {
    match (row.mean_time_s, row.sd_time_s) {
        (Some(mean), Some(sd)) => format!("{mean:.2} ± {sd:.2}"),
        (Some(mean), None) => format!("{mean:.2}"),
        (None, _) => "–".to_owned(),
    }
}

fn plain(rows: &[&Row]) -> Table {
    let mut table = Table::new(&PLAIN);
    table.rows = rows.iter().map(|row| cells(row)).collect();
    table
}

/// The first row of the same latency is what the others are compared with.
fn schedules(rows: &[&Row]) -> Table {
    let mut table = Table::new(&PLAIN);
    table.head.insert(4, "against sync, %".to_owned());
    for row in rows {
        let first = rows.iter().find(|first| first.latency == row.latency);
        let first = first.and_then(|first| first.mean_time_s);
        let against = row.mean_time_s.zip(first);
        let against = against.map(|(time, first)| format!("{:+.0}", (time / first - 1.0) * 100.0));
        let mut cells = cells(row);
        cells.insert(4, against.unwrap_or_else(|| "–".to_owned()));
        table.rows.push(cells);
    }
    table
}

fn windows(rows: &[&Row]) -> Table {
    let mut table = Table::new(&[
        "setting",
        "latency",
        "windows",
        "length, s",
        "done a window",
        "idle, %",
        "requests a minute",
    ]);
    for row in rows {
        table.rows.push(vec![
            row.label.clone(),
            row.latency.clone(),
            row.episodes.to_string(),
            format!("{:.0}", row.window_s.unwrap_or_default()),
            format!("{:.1}", row.done_a_window()),
            format!("{:.1}", row.idle_share() * 100.0),
            format!("{:.0}", row.requests_a_minute()),
        ]);
    }
    table
}

/// What one latency showed of the bound.
pub struct Onset {
    pub latency_ms: f64,
    /// `E[l] / (n Δt)`.
    pub predicted: f64,
    /// The least g of the sweep from which on nothing starved, if there was one.
    pub seen: Option<f32>,
    /// The distance between two g of the sweep.
    pub step: f32,
    /// The least share of ticks starved at any g, and at g 1, 0 to 1.
    pub least: f64,
}

/// The rows of the sweep, latency by latency.
pub fn onsets(rows: &[&Row]) -> Vec<Onset> {
    let mut onsets: Vec<Onset> = vec![];
    let mut latencies: Vec<f64> = rows.iter().map(|row| row.latency_ms).collect();
    latencies.dedup();
    for latency_ms in latencies {
        let sweep: Vec<_> = rows
            .iter()
            .filter(|row| row.latency_ms == latency_ms)
            .collect();
        let fed = sweep.iter().rev().take_while(|row| row.starved_ticks == 0);
        let g = |row: &Row| row.knobs.chunk_size_threshold;
        onsets.push(Onset {
            latency_ms,
            predicted: sweep.first().map_or(0.0, |row| row.g_min),
            seen: fed.last().map(|row| g(row)),
            step: match &sweep[..] {
                [first, second, ..] => g(second) - g(first),
                _ => 0.0,
            },
            least: sweep
                .iter()
                .map(|row| row.starved_share())
                .fold(1.0, f64::min),
        });
    }
    onsets
}

fn bound(rows: &[&Row]) -> Table {
    let mut table = Table::new(&[
        "latency",
        "bound E[l]/(n Δt)",
        "no starvation from g",
        "least starved at any g, %",
    ]);
    for onset in onsets(rows) {
        table.rows.push(vec![
            format!("{:.0} ms", onset.latency_ms),
            format!("{:.2}", onset.predicted),
            match onset.seen {
                Some(g) => format!("{g:.2}"),
                None => "none".to_owned(),
            },
            format!("{:.1}", onset.least * 100.0),
        ]);
    }
    table
}

/// What became of the disturbances.
pub fn outcomes(outcomes: &[Outcome]) -> Table {
    let mut table = Table::new(&["disturbance", "expected", "seen", "verdict"]);
    for outcome in outcomes {
        table.rows.push(vec![
            outcome.name.clone(),
            outcome.expected.clone(),
            outcome.seen.clone(),
            outcome.verdict().to_owned(),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_word() {
        let mut table = Table::new(&["a", "b"]);
        table.rows.push(vec!["°°°".to_owned(), "1".to_owned()]);
        table.rows.push(vec!["x".to_owned(), "22".to_owned()]);
        assert_eq!(table.aligned(), "  a     b\n  °°°   1\n  x    22\n");
        assert_eq!(
            table.markdown(),
            "| a | b |\n| --- | ---: |\n| °°° | 1 |\n| x | 22 |\n"
        );
    }
}
