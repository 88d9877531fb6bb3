//! The queue scope: how full the plan is over time, with the theory drawn on it: g, its lower bound, requests, arrivals,
//! starvation, and the moments at which a knob was turned.

use egui::{Align2, Label, Pos2, Rect, RichText, Sense, Stroke, Ui, Vec2};

use crate::runtime::{Command, Sample, Scheduling, Snapshot};
use crate::ui::card::weak_ui;
use crate::ui::chart::{Chart, TimeAxis, age, runs};
use crate::ui::draft::Draft;
use crate::ui::preferences::Preferences;
use crate::ui::segmented::{Segment, segmented_ui};
use crate::ui::theme::{self, Tokens};
use crate::ui::words;

/// The legend is left out where it would run into the words, points.
const LEGEND_WIDTH: f32 = 330.0;
/// Farther than any time axis reaches, seconds.
const AHEAD: f32 = 60.0;
/// Height of a label in the plot with the line under it, points.
const LABEL_HEIGHT: f32 = 17.0;
/// Room for the label of g, points.
const LABEL_WIDTH: f32 = 52.0;
/// Room for the labels of the time axis, points.
const SECONDS_HEIGHT: f32 = 12.0;

/// Draws the scope; `height` is that of the plot alone.
pub fn queue_ui(
    ui: &mut Ui,
    snapshot: &Snapshot,
    draft: &mut Draft,
    _commands: &mut Vec<Command>,
    height: f32,
) {
    ui.horizontal(|ui| {
        ui.label(theme::section(ui, "QUEUE"));
        sentence_ui(ui, snapshot);
        ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
            span_ui(ui, draft);
            if ui.available_width() > LEGEND_WIDTH {
                legend_ui(ui, snapshot);
            }
        });
    });
    let size = Vec2::new(ui.available_width(), height + SECONDS_HEIGHT);
    let (whole, response) = ui.allocate_exact_size(size, Sense::hover());
    let rect = whole.with_max_y(whole.bottom() - SECONDS_HEIGHT);
    let axis = TimeAxis::new(draft.preferences.plot_seconds);
    let top = level_bound(snapshot, axis.from);
    let chart = Chart::begin(ui, rect, axis, 0.0, top);
    if let Some(pointer) = response.hover_pos() {
        draft.plot_hover.seen = Some(chart.seconds(pointer.x));
    }
    paint(theme::tokens(ui), &chart, snapshot);
    chart.bounds("");
    chart.seconds_below(ui.painter());
    if snapshot.history.is_empty() {
        let ink = theme::tokens(ui).weak;
        chart.text(
            rect.center(),
            Align2::CENTER_CENTER,
            "the queue appears here once the control loop runs",
            ink,
        );
    }
    if let Some(seconds) = draft.plot_hover.shown {
        hover(theme::tokens(ui), &chart, snapshot, seconds);
    }
}

/// The top of the level axis: the longest chunk in sight, that is, since `from` seconds.
fn level_bound(snapshot: &Snapshot, from: f32) -> f32 {
    snapshot
        .history
        .iter()
        .filter(|sample| age(snapshot, sample) >= from)
        .map(|sample| sample.actions_per_chunk.max(sample.queue))
        .max()
        .unwrap_or(snapshot.knobs.actions_per_chunk as u32)
        .max(1) as f32
        * 1.08
}

fn sentence_ui(ui: &mut Ui, snapshot: &Snapshot) {
    let tokens = theme::tokens(ui);
    let queued = snapshot.queue.upcoming.len();
    let level = format!("{queued:>3} / {} actions", snapshot.knobs.actions_per_chunk);
    ui.label(theme::figure(level, theme::BODY).strong());
    if snapshot.queue.no_g_keeps_fresh {
        let text = RichText::new(too_slow(snapshot)).size(theme::SMALL);
        ui.add(Label::new(text.color(tokens.fault_text)).truncate())
            .on_hover_text(
                "The latency is above half a chunk. Fewer steps, a longer chunk, a lower fps or a faster device help.",
            );
        return;
    }
    if let Some(text) = forecast(snapshot) {
        weak_ui(ui, text);
    }
}

/// Why no setting of g helps, with the two times that say so.
fn too_slow(snapshot: &Snapshot) -> String {
    let latency = words::span(snapshot.latency.total.p50);
    let plan = snapshot.knobs.actions_per_chunk as f32 / snapshot.knobs.fps.max(1.0);
    format!(
        "a chunk takes {latency}, longer than half of its {plan:.2} s: no g keeps the plan fresh; \
         the arm holds between chunks"
    )
}

/// What happens next, in words.
fn forecast(snapshot: &Snapshot) -> Option<String> {
    if let Some(since) = snapshot.queue.requested_at {
        let ticks = snapshot.tick.since(since);
        let waited = ticks as f32 / snapshot.knobs.fps.max(1.0);
        return Some(format!("asked {waited:.1} s ago"));
    }
    if snapshot.knobs.scheduling == Scheduling::Sync || snapshot.queue.upcoming.is_empty() {
        return None;
    }
    let bound = snapshot.knobs.chunk_size_threshold * snapshot.knobs.actions_per_chunk as f32;
    let left = snapshot.queue.upcoming.len() as f32 - bound;
    (left > 0.0).then(|| {
        let seconds = left / snapshot.knobs.fps.max(1.0);
        format!("asks in {seconds:.1} s")
    })
}

fn span_ui(ui: &mut Ui, draft: &mut Draft) {
    let tokens = theme::tokens(ui);
    let labels = Preferences::PLOT_SECONDS.map(|seconds| format!("{seconds} s"));
    let segments: Vec<Segment<'_>> = Preferences::PLOT_SECONDS
        .iter()
        .zip(&labels)
        .map(|(&seconds, label)| {
            let is_chosen = draft.preferences.plot_seconds == seconds;
            Segment::plain(
                tokens,
                label,
                is_chosen,
                "Width of the time axis of all plots.",
            )
        })
        .collect();
    let size = Vec2::new(126.0, 20.0);
    if let Some(i) = segmented_ui(ui, &segments, size, &theme::font(theme::SMALL)) {
        draft.preferences.plot_seconds = Preferences::PLOT_SECONDS[i];
    }
}

/// What the chart draws now: g does nothing in sync, and the bound is there once latencies were measured.
fn legend_ui(ui: &mut Ui, snapshot: &Snapshot) {
    let tokens = theme::tokens(ui);
    ui.spacing_mut().item_spacing.x = 8.0;
    let entries = [
        ("◆ turned", tokens.weak),
        ("▲ asked", tokens.text),
        ("▼ arrived", tokens.predicted),
        ("/// starved", tokens.fault_text),
    ];
    let has_bound = snapshot.queue.g_min.or(snapshot.queue.g_min_p95).is_some();
    let lines = [
        (has_bound, "· · g_min"),
        (snapshot.knobs.scheduling != Scheduling::Sync, "– – g"),
    ];
    let lines = lines.into_iter().filter(|(is_drawn, _)| *is_drawn);
    for (text, ink) in entries
        .into_iter()
        .chain(lines.map(|(_, text)| (text, tokens.text)))
    {
        ui.label(RichText::new(text).size(theme::SMALL).color(ink));
    }
}

fn paint(tokens: &Tokens, chart: &Chart, snapshot: &Snapshot) {
    level(tokens, chart, snapshot);
    drain(tokens, chart, snapshot);
    for (from, to) in runs(snapshot, |sample| sample.starved) {
        chart.hatch(from, to, tokens.fault);
    }
    thresholds(tokens, chart, snapshot);
    for sample in snapshot.history.iter() {
        marks(tokens, chart, age(snapshot, sample), sample);
    }
}

fn level(tokens: &Tokens, chart: &Chart, snapshot: &Snapshot) {
    let fill = Tokens::wash(tokens.predicted, 0.22);
    let samples: Vec<(f32, f32)> = snapshot
        .history
        .iter()
        .map(|sample| (age(snapshot, sample), sample.queue as f32))
        .collect();
    for pair in samples.windows(2) {
        if pair[0].1 > 0.0 {
            chart.column(pair[0].0, pair[1].0, pair[0].1, fill);
        }
    }
    let steps = samples.windows(2).flat_map(|pair| {
        let (from, to) = (pair[0], pair[1]);
        [from, (to.0, from.1)]
    });
    chart.line(steps, Stroke::new(1.5, tokens.predicted));
}

/// How the queue would run down if nothing arrived: the future that the operator is about to have.
fn drain(tokens: &Tokens, chart: &Chart, snapshot: &Snapshot) {
    let queued = snapshot.queue.upcoming.len() as f32;
    if queued == 0.0 {
        return;
    }
    let dry = queued / snapshot.knobs.fps.max(1.0);
    let stroke = Stroke::new(1.0, tokens.predicted);
    chart.dashed([(0.0, queued), (dry, 0.0)].into_iter(), stroke, 4.0);
}

fn thresholds(tokens: &Tokens, chart: &Chart, snapshot: &Snapshot) {
    let now = snapshot.knobs;
    let chunk = now.actions_per_chunk as f32;
    let mut g: Vec<(f32, f32)> = Vec::new();
    for sample in snapshot.history.iter() {
        let value = sample.threshold * sample.actions_per_chunk as f32;
        let at = age(snapshot, sample);
        match g.last() {
            Some(&(_, last)) if last == value => {}
            Some(&(_, last)) => g.extend([(at, last), (at, value)]),
            None => g.push((at, value)),
        }
    }
    let g_now = now.chunk_size_threshold * chunk;
    if let Some(&(_, last)) = g.last() {
        g.extend([(0.0, last), (0.0, g_now)]);
    }
    g.push((AHEAD, g_now));
    if now.scheduling != Scheduling::Sync {
        chart.dashed(g.into_iter(), Stroke::new(1.2, tokens.text), 6.0);
        let place = Pos2::new(chart.rect.right() - 5.0, chart.y(g_now) - 1.0);
        let label = format!("g {:.2}", now.chunk_size_threshold);
        chart.text(place, Align2::RIGHT_BOTTOM, label, tokens.text);
    }
    for (bound, strength) in [
        (snapshot.queue.g_min, 0.55),
        (snapshot.queue.g_min_p95, 1.0),
    ] {
        let Some(bound) = bound else { continue };
        let line = [(-AHEAD, bound * chunk), (AHEAD, bound * chunk)];
        let stroke = Stroke::new(1.2, tokens.text.gamma_multiply(strength));
        chart.dashed(line.into_iter(), stroke, 2.0);
    }
    if let Some(bound) = snapshot.queue.g_min_p95.filter(|bound| *bound <= 1.0) {
        let (x, y) = (chart.rect.right() - 5.0, chart.y(bound * chunk));
        // Beside the label of g where the two would lie on each other.
        let is_crowded = (y - chart.y(g_now)).abs() < LABEL_HEIGHT;
        let aside = if is_crowded { LABEL_WIDTH } else { 0.0 };
        let label = format!("g_min {bound:.2}");
        let place = Pos2::new(x - aside, y - 1.0);
        chart.text(place, Align2::RIGHT_BOTTOM, label, tokens.text);
    }
}

fn marks(tokens: &Tokens, chart: &Chart, at: f32, sample: &Sample) {
    if sample.changed {
        chart.moment(at, tokens.weak.gamma_multiply(0.6));
        let place = Pos2::new(chart.x(at), chart.rect.center().y);
        chart.text(place, Align2::CENTER_CENTER, "◆", tokens.weak);
    }
    if sample.requested {
        chart.up(at, tokens.text);
    }
    if sample.arrived {
        chart.down(at, tokens.predicted);
    }
}

fn hover(tokens: &Tokens, chart: &Chart, snapshot: &Snapshot, seconds: f32) {
    chart.moment(seconds, tokens.text.gamma_multiply(0.5));
    let Some(sample) = nearest(snapshot, seconds) else {
        return;
    };
    let text = format!(
        "{seconds:.1} s   {} / {}   g {:.2}{}",
        sample.queue,
        sample.actions_per_chunk,
        sample.threshold,
        if sample.starved { "   starved" } else { "" }
    );
    let x = chart.x(seconds);
    let is_left = x > chart.rect.center().x;
    let (align, shift) = if is_left {
        (Align2::RIGHT_TOP, -6.0)
    } else {
        (Align2::LEFT_TOP, 6.0)
    };
    let place = Pos2::new(x + shift, chart.rect.top() + 10.0);
    let painter = chart.painter();
    let galley = painter.layout_no_wrap(text, theme::font(theme::SMALL), tokens.text);
    let rect: Rect = align.anchor_size(place, galley.size());
    painter.rect_filled(rect.expand(3.0), 3.0, tokens.raised);
    painter.galley(rect.min, galley, tokens.text);
}

/// The sample nearest to a moment in the past.
pub fn nearest(snapshot: &Snapshot, seconds: f32) -> Option<&Sample> {
    if seconds > 0.0 {
        return None;
    }
    snapshot.history.iter().min_by(|a, b| {
        let a = (age(snapshot, a) - seconds).abs();
        let b = (age(snapshot, b) - seconds).abs();
        a.total_cmp(&b)
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;
    use crate::clock::Tick;
    use crate::joint::JointVec;

    #[test]
    fn a_long_chunk_out_of_sight_does_not_squash_the_plot() {
        let sample = |at: u64, actions_per_chunk| Sample {
            at: Duration::from_secs(at),
            actions_per_chunk,
            ..Sample::default()
        };
        let snapshot = Snapshot {
            now: Duration::from_secs(30),
            history: Arc::new([sample(15, 50), sample(29, 8)].into()),
            ..Snapshot::default()
        };
        assert!(level_bound(&snapshot, -10.0) < 10.0);
        assert!(level_bound(&snapshot, -20.0) > 50.0);
    }

    #[test]
    fn the_forecast_counts_down_to_g() {
        let mut snapshot = Snapshot {
            tick: Tick(100),
            ..Snapshot::default()
        };
        snapshot.queue.upcoming = vec![JointVec::default(); 50].into();
        // 50 queued, g · 50 = 35: fifteen actions at 30 Hz.
        assert_eq!(forecast(&snapshot).as_deref(), Some("asks in 0.5 s"));
        snapshot.queue.requested_at = Some(Tick(70));
        assert_eq!(forecast(&snapshot).as_deref(), Some("asked 1.0 s ago"));
    }
}
