//! The plots of a report: how the queue lives, what g costs and brings, and where starvation begins.

mod compare;
mod panel;

use self::panel::{Axis, COLOURS, Mark, Panel, Series, draw};
use crate::lab::flight::Error;
use crate::lab::grid::Section;
use crate::lab::meter::TracePoint;
use crate::lab::row::Row;
use crate::lab::table::onsets;

pub use self::compare::comparison;

/// Seconds of a run that the queue's plot shows, at most.
const SHOWN_S: f32 = 12.0;
/// Sizes of a panel, pixels.
const WIDE: (u32, u32) = (860, 190);
const USUAL: (u32, u32) = (860, 320);
const HALF: (u32, u32) = (430, 280);

/// A drawing and the name of its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plot {
    pub name: &'static str,
    /// What it shows, for those who cannot see it.
    pub caption: &'static str,
    pub svg: String,
}

/// Every plot that these rows are enough for.
///
/// # Errors
/// What the drawing crate says.
pub fn plots(rows: &[Row]) -> Result<Vec<Plot>, Error> {
    let of = |section| -> Vec<&Row> { rows.iter().filter(|row| row.section == section).collect() };
    let drawings = [
        (
            "queue.svg",
            "Level of the action queue over time at three g",
            queue(&of(Section::Threshold)),
            WIDE,
            1,
        ),
        (
            "threshold.svg",
            "Success and time of an episode against g",
            threshold(&of(Section::Threshold)),
            HALF,
            2,
        ),
        (
            "schedules.svg",
            "Time of an episode against latency, sync and async",
            schedules(&of(Section::Schedules)),
            USUAL,
            1,
        ),
        (
            "windows.svg",
            "How often the task is done in a minute, sync and async",
            windows(&of(Section::Windows)),
            USUAL,
            1,
        ),
        (
            "starvation.svg",
            "Share of starved ticks against g at several latencies, with the predicted bounds",
            starvation(&of(Section::Bound)),
            USUAL,
            1,
        ),
    ];
    let mut plots = vec![];
    for (name, caption, panels, size, columns) in drawings {
        if panels.is_empty() {
            continue;
        }
        let svg = draw(&panels, size, columns).map_err(|why| Error::Plot { name, why })?;
        plots.push(Plot { name, caption, svg });
    }
    Ok(plots)
}

fn axis(label: &'static str, to: f64, digits: usize) -> Axis {
    Axis {
        label,
        from: 0.0,
        // An axis without length cannot be drawn.
        to: if to > 0.0 { to } else { 1.0 },
        digits,
    }
}

fn series(name: impl Into<String>, colour: usize, mark: Mark, points: Vec<(f64, f64)>) -> Series {
    Series {
        name: name.into(),
        colour: COLOURS[colour % COLOURS.len()],
        mark,
        points,
    }
}

/// One panel for g 0, one for 0.7 and one for 1, as in figure 5 of the SmolVLA paper.
fn queue(rows: &[&Row]) -> Vec<Panel> {
    let shown = [0.0_f32, 0.7, 1.0];
    let panels = shown.iter().filter_map(|g| {
        let is_it = |row: &&&Row| (row.knobs.chunk_size_threshold - g).abs() < 1e-6;
        let row = rows.iter().find(is_it)?;
        let trace = &row.per_episode.first()?.measures.trace;
        (!trace.is_empty()).then(|| queue_panel(row, trace))
    });
    panels.collect()
}

fn queue_panel(row: &Row, trace: &[TracePoint]) -> Panel {
    let shown = || trace.iter().filter(|point| point.at_s <= SHOWN_S);
    let at = |of: fn(&TracePoint) -> bool| {
        let marked = shown().filter(|point| of(point));
        marked.map(|point| (f64::from(point.at_s), 0.0)).collect()
    };
    let level = shown().map(|point| (f64::from(point.at_s), f64::from(point.queue)));
    let n = row.knobs.actions_per_chunk as f64;
    let g = f64::from(row.knobs.chunk_size_threshold);
    let line = vec![(0.0, g * n), (f64::from(SHOWN_S), g * n)];
    Panel {
        title: format!("g {g:.1}, latency {}", row.latency),
        x: axis("time, s", f64::from(SHOWN_S), 0),
        y: axis("queued actions", n + 4.0, 0),
        words: vec![],
        series: vec![
            series("level", 0, Mark::Line, level.collect()),
            series("g", 5, Mark::Dashes, line),
            series("request", 2, Mark::Strokes, at(|point| point.requested)),
            series("starved", 1, Mark::Strokes, at(|point| point.starved)),
        ],
    }
}

fn threshold(rows: &[&Row]) -> Vec<Panel> {
    if rows.is_empty() {
        return vec![];
    }
    let against = |of: fn(&Row) -> Option<f64>| -> Vec<(f64, f64)> {
        let point = |row: &&Row| Some((f64::from(row.knobs.chunk_size_threshold), of(row)?));
        rows.iter().filter_map(point).collect()
    };
    let success = against(|row| Some(row.success_rate * 100.0));
    let time = against(|row| row.mean_time_s);
    let longest = time.iter().map(|(_, time)| *time).fold(0.0, f64::max);
    let panel = |title: &str, y: Axis, colour, points| Panel {
        title: title.to_owned(),
        x: axis("g", 1.0, 1),
        y,
        words: vec![],
        series: vec![series("", colour, Mark::Dots, points)],
    };
    vec![
        panel("Success", axis("success, %", 105.0, 0), 2, success),
        panel(
            "Time of a success",
            axis("time, s", longest * 1.15, 1),
            0,
            time,
        ),
    ]
}

fn schedules(rows: &[&Row]) -> Vec<Panel> {
    let mut labels: Vec<&str> = vec![];
    for row in rows {
        if !labels.contains(&row.label.as_str()) {
            labels.push(&row.label);
        }
    }
    if labels.is_empty() {
        return vec![];
    }
    let line = |(colour, label): (usize, &&str)| {
        let own = rows.iter().filter(|row| row.label == **label);
        let points = own.filter_map(|row| Some((row.latency_ms, row.mean_time_s?)));
        // RTC takes as long as async, and would hide it.
        let mark = if label.starts_with("RTC") {
            Mark::Dashes
        } else {
            Mark::Dots
        };
        series(*label, colour, mark, points.collect())
    };
    let series: Vec<_> = labels.iter().enumerate().map(line).collect();
    let most = |of: fn(&(f64, f64)) -> f64| {
        let points = series.iter().flat_map(|it| &it.points);
        points.map(of).fold(0.0, f64::max)
    };
    vec![Panel {
        title: "Time of a success".to_owned(),
        x: axis("latency, ms", most(|at| at.0) * 1.05, 0),
        y: axis("time, s", most(|at| at.1) * 1.1, 0),
        words: vec![],
        series,
    }]
}

fn windows(rows: &[&Row]) -> Vec<Panel> {
    if rows.is_empty() {
        return vec![];
    }
    let words = rows
        .iter()
        .map(|row| format!("{}\n{}", row.label, row.latency));
    let points = rows.iter().enumerate();
    let bars = |mode: &str, colour| {
        let own = points.clone().filter(|(_, row)| row.mode == mode);
        let points = own.map(|(at, row)| (at as f64, row.done_a_window()));
        series(mode, colour, Mark::Bars(0.6), points.collect())
    };
    let most = rows.iter().map(|row| row.done_a_window());
    let length = rows[0].window_s.unwrap_or_default();
    vec![Panel {
        title: format!("Done in {length:.0} s"),
        x: Axis {
            label: "",
            from: -0.6,
            to: rows.len() as f64 - 0.4,
            digits: 0,
        },
        y: axis("times", most.fold(0.0, f64::max) * 1.2, 1),
        words: words.collect(),
        series: vec![bars("sync", 1), bars("async", 0)],
    }]
}

fn starvation(rows: &[&Row]) -> Vec<Panel> {
    let mut lines = vec![];
    let mut most = 0.0_f64;
    for (colour, onset) in onsets(rows).iter().enumerate() {
        let own = rows.iter().filter(|row| row.latency_ms == onset.latency_ms);
        let point = |row: &&Row| {
            let g = f64::from(row.knobs.chunk_size_threshold);
            (g, row.starved_share() * 100.0)
        };
        let points: Vec<_> = own.map(point).collect();
        most = points.iter().map(|(_, share)| *share).fold(most, f64::max);
        let name = format!("{:.0} ms", onset.latency_ms);
        lines.push((colour, name, onset.predicted, points));
    }
    if lines.is_empty() {
        return vec![];
    }
    let top = most * 1.1;
    let drawn = lines.into_iter().flat_map(|(colour, name, bound, points)| {
        let rule = vec![(bound, 0.0), (bound, top)];
        [
            series(name, colour, Mark::Dots, points),
            series("", colour, Mark::Dashes, rule),
        ]
    });
    vec![Panel {
        title: "Starved ticks (dashes: the predicted bound)".to_owned(),
        x: axis("g", 1.0, 1),
        y: axis("starved, %", top, 0),
        words: vec![],
        series: drawn.collect(),
    }]
}

#[cfg(test)]
pub mod tests {
    pub use super::panel::tests::is_well_formed;
    use super::*;

    #[test]
    fn rows_of_no_section_make_no_plot() {
        assert!(plots(&[]).is_ok_and(|plots| plots.is_empty()));
    }
}
