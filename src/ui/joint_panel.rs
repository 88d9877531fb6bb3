//! Six small plots on the queue's time axis: what was measured, what was commanded, the old chunk, the new chunk, the seam.

use egui::{Align2, Rect, RichText, Sense, Stroke, Ui, Vec2};

use crate::clock::Tick;
use crate::joint::{JOINT_COUNT, Joint};
use crate::runtime::{ChunkView, Command, Snapshot};
use crate::ui::chart::{Chart, TimeAxis, age, steady_range};
use crate::ui::draft::Draft;
use crate::ui::queue_panel::nearest;
use crate::ui::theme::{self, Tokens};
use crate::ui::words;

/// A plot never shows less than this, robot units, so that sensor noise does not look like motion.
const LEAST_SPAN: f32 = 10.0;
const GAP: f32 = 8.0;
const TITLE: f32 = 17.0;
/// A plot narrower than this has no room for the whole name, points.
const NARROW: f32 = 125.0;

/// Draws the plots into the space that is left.
pub fn joint_ui(ui: &mut Ui, snapshot: &Snapshot, draft: &mut Draft, _commands: &mut Vec<Command>) {
    ui.horizontal(|ui| {
        ui.label(theme::section(ui, "JOINTS"));
        ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
            legend_ui(ui, snapshot);
        });
    });
    let size = ui.available_size().max(Vec2::new(60.0, 40.0));
    let (rect, response) = ui.allocate_exact_size(size, Sense::hover());
    let width = (rect.width() - GAP * (JOINT_COUNT - 1) as f32) / JOINT_COUNT as f32;
    let axis = TimeAxis::new(draft.preferences.plot_seconds);
    for joint in Joint::ALL {
        let left = rect.left() + (width + GAP) * joint.index() as f32;
        let place = Rect::from_min_size(
            egui::pos2(left.round(), rect.top()),
            Vec2::new(width.floor(), rect.height()),
        );
        let chart = one_ui(ui, snapshot, joint, place, axis);
        let pointer = response.hover_pos();
        if let Some(pointer) = pointer.filter(|pointer| chart.rect.contains(*pointer)) {
            draft.plot_hover.seen = Some(chart.seconds(pointer.x));
        }
        if let Some(seconds) = draft.plot_hover.shown {
            hover(theme::tokens(ui), &chart, snapshot, joint, seconds);
        }
    }
}

fn legend_ui(ui: &mut Ui, snapshot: &Snapshot) {
    let tokens = theme::tokens(ui);
    ui.spacing_mut().item_spacing.x = 8.0;
    let seam = snapshot.chunk.as_ref().map_or(0.0, |chunk| chunk.seam);
    let entries = [
        (format!("┃ seam {seam:.1} °/%"), tokens.text),
        ("– – old chunk".to_owned(), tokens.previous),
        ("— new chunk".to_owned(), tokens.predicted),
        ("— commanded".to_owned(), tokens.commanded),
        ("— measured".to_owned(), tokens.measured),
    ];
    for (text, ink) in entries {
        let is_seam = text.starts_with('┃');
        let label = ui.label(RichText::new(text).size(theme::SMALL).color(ink));
        if is_seam {
            label.on_hover_text(
                "Largest step of a joint where the newest chunk was merged: degrees, of the gripper %.",
            );
        }
    }
}

fn one_ui(ui: &Ui, snapshot: &Snapshot, joint: Joint, place: Rect, axis: TimeAxis) -> Chart {
    let tokens = theme::tokens(ui);
    let painter = ui.painter();
    let font = theme::font(theme::SMALL);
    let name = if place.width() < NARROW {
        words::joint_short(joint)
    } else {
        words::joint(joint)
    };
    painter.text(place.left_top(), Align2::LEFT_TOP, name, font, tokens.weak);
    let value = words::joint_value(joint, snapshot.measured[joint]);
    let font = theme::figures(theme::SMALL);
    painter.text(
        place.right_top(),
        Align2::RIGHT_TOP,
        value,
        font,
        tokens.text,
    );
    let rect = place.with_min_y(place.top() + TITLE);
    let (low, high) = range(snapshot, joint, axis);
    let chart = Chart::begin(ui, rect, axis, low, high);
    paint(tokens, &chart, snapshot, joint);
    chart.bounds("");
    chart
}

/// The range of everything that is drawn, rounded so that the axis stands still.
fn range(snapshot: &Snapshot, joint: Joint, axis: TimeAxis) -> (f32, f32) {
    let mut low = f32::INFINITY;
    let mut high = f32::NEG_INFINITY;
    let mut take = |value: f32| {
        if value.is_finite() {
            low = low.min(value);
            high = high.max(value);
        }
    };
    for sample in snapshot.history.iter() {
        if age(snapshot, sample) >= axis.from {
            take(sample.measured[joint]);
            take(sample.commanded[joint]);
        }
    }
    for chunk in [&snapshot.chunk, &snapshot.previous_chunk]
        .into_iter()
        .flatten()
    {
        chunk.actions.iter().for_each(|action| take(action[joint]));
    }
    steady_range(low, high, LEAST_SPAN)
}

fn paint(tokens: &Tokens, chart: &Chart, snapshot: &Snapshot, joint: Joint) {
    if let Some(chunk) = &snapshot.previous_chunk {
        let stroke = Stroke::new(1.2, tokens.previous);
        chart.dashed(chunk_points(snapshot, chunk, joint), stroke, 4.0);
    }
    if let Some(chunk) = &snapshot.chunk {
        let stroke = Stroke::new(1.6, tokens.predicted);
        chart.line(chunk_points(snapshot, chunk, joint), stroke);
    }
    let measured = snapshot
        .history
        .iter()
        .map(|sample| (age(snapshot, sample), sample.measured[joint]));
    chart.line(measured, Stroke::new(1.3, tokens.measured));
    let commanded = snapshot
        .history
        .iter()
        .map(|sample| (age(snapshot, sample), sample.commanded[joint]));
    chart.line(commanded, Stroke::new(1.3, tokens.commanded));
    // The seam of this joint is the step that it was told to make when the chunk came in.
    for (before, after) in snapshot.history.iter().zip(snapshot.history.iter().skip(1)) {
        if after.arrived && after.seam > 0.0 {
            let ends = (before.commanded[joint], after.commanded[joint]);
            chart.seam(age(snapshot, after), ends, tokens.text);
        }
    }
}

/// The actions of a chunk that were not yet past when it arrived, in seconds from now.
fn chunk_points<'a>(
    snapshot: &'a Snapshot,
    chunk: &'a ChunkView,
    joint: Joint,
) -> impl Iterator<Item = (f32, f32)> + 'a {
    let period = 1.0 / snapshot.knobs.fps.max(1.0);
    let Tick(now) = snapshot.tick;
    let Tick(first) = chunk.first_tick;
    let lead = first as f64 - now as f64;
    chunk
        .actions
        .iter()
        .enumerate()
        .skip(chunk.skipped)
        .map(move |(k, action)| ((lead as f32 + k as f32) * period, action[joint]))
}

fn hover(tokens: &Tokens, chart: &Chart, snapshot: &Snapshot, joint: Joint, seconds: f32) {
    chart.moment(seconds, tokens.text.gamma_multiply(0.5));
    let Some(sample) = nearest(snapshot, seconds) else {
        return;
    };
    // On the side of the past, where the pointer is not.
    let is_left = seconds > -1.0;
    let corner = if is_left {
        chart.rect.left_top() + Vec2::new(2.0, 2.0)
    } else {
        chart.rect.right_top() + Vec2::new(-54.0, 2.0)
    };
    let plate = Rect::from_min_size(corner, Vec2::new(52.0, 29.0));
    let painter = chart.painter();
    painter.rect_filled(plate, 3.0, tokens.raised.gamma_multiply(0.92));
    let place = plate.right_top() + Vec2::new(-4.0, 1.0);
    let text = words::joint_value(joint, sample.measured[joint]);
    let line = chart.text(place, Align2::RIGHT_TOP, text, tokens.measured);
    let text = words::joint_value(joint, sample.commanded[joint]);
    let below = line.right_bottom();
    chart.text(below, Align2::RIGHT_TOP, text, tokens.commanded);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::joint::JointVec;
    use crate::policy::StageTimes;

    #[test]
    fn a_chunk_lies_where_its_ticks_are() {
        let snapshot = Snapshot {
            tick: Tick(130),
            ..Snapshot::default()
        };
        let chunk = ChunkView {
            first_tick: Tick(100),
            arrived_at: Tick(103),
            actions: vec![JointVec([1.0; 6]); 50].into(),
            skipped: 3,
            seam: 0.0,
            times: StageTimes::default(),
        };
        let points: Vec<(f32, f32)> = chunk_points(&snapshot, &chunk, Joint::Gripper).collect();
        assert_eq!(points.len(), 47);
        assert!((points[0].0 + 0.9).abs() < 1e-5);
        assert!((points[46].0 - 19.0 / 30.0).abs() < 1e-5);
    }
}
