//! Six small plots of a recorded episode: what was measured, what was sent, where a person stepped in, and what a policy would
//! have done. A click goes to that moment.

use egui::{Align2, Rect, RichText, Sense, Stroke, Ui, Vec2, pos2};

use crate::action::Action;
use crate::joint::{JOINT_COUNT, Joint, JointVec};
use crate::runtime::EpisodeView;
use crate::ui::chart::{Chart, TimeAxis, steady_range};
use crate::ui::library::player::Player;
use crate::ui::theme::{self, Tokens};
use crate::ui::words;

/// A plot never shows less than this, robot units.
const LEAST_SPAN: f32 = 10.0;
const GAP: f32 = 8.0;
const TITLE: f32 = 16.0;
const COLUMNS: usize = 3;
/// A plot narrower than this has no room for the whole name, points.
const NARROW: f32 = 260.0;
/// Chunks drawn at most; the others lie so close that they hide each other.
const CHUNKS: usize = 120;

/// Draws the plots into the space that is left.
pub fn plots_ui(ui: &mut Ui, shown: &EpisodeView, player: &mut Player) {
    if shown.states.is_empty() {
        ui.label(
            "The joints of this data set are not those of an SO-101: only its pictures are shown.",
        );
        return;
    }
    legend_ui(ui, shown);
    let size = ui.available_size().max(Vec2::new(90.0, 60.0));
    let (rect, response) = ui.allocate_exact_size(size, Sense::click_and_drag());
    let rows = JOINT_COUNT.div_ceil(COLUMNS);
    let width = (rect.width() - GAP * (COLUMNS - 1) as f32) / COLUMNS as f32;
    let height = (rect.height() - GAP * (rows - 1) as f32) / rows as f32;
    let axis = TimeAxis::whole(shown.rows as f32 / shown.fps.max(1.0));
    let pointer = response.interact_pointer_pos();
    for joint in Joint::ALL {
        let (column, row) = (joint.index() % COLUMNS, joint.index() / COLUMNS);
        let corner = pos2(
            (rect.left() + (width + GAP) * column as f32).round(),
            rect.top() + (height + GAP) * row as f32,
        );
        let place = Rect::from_min_size(corner, Vec2::new(width.floor(), height));
        let chart = one_ui(ui, shown, joint, place, axis, player.row());
        if let Some(pointer) = pointer.filter(|pointer| chart.rect.expand(2.0).contains(*pointer)) {
            player.is_playing = false;
            player.seek_seconds(chart.seconds(pointer.x));
        }
    }
}

fn legend_ui(ui: &mut Ui, shown: &EpisodeView) {
    let tokens = theme::tokens(ui);
    let mut entries = vec![
        ("— measured", tokens.measured),
        ("— commanded", tokens.commanded),
    ];
    if shown.interventions.contains(&true) {
        entries.push(("█ a person stepped in", tokens.human));
    }
    if shown.filled.contains(&true) {
        entries.push(("/// filled rows", tokens.fault_text));
    }
    if !shown.predictions.is_empty() {
        entries.push(("— would have done", tokens.predicted));
    }
    ui.horizontal(|ui| {
        ui.spacing_mut().item_spacing.x = 10.0;
        ui.label(theme::section(ui, "JOINTS"));
        for (text, ink) in entries {
            ui.label(RichText::new(text).size(theme::SMALL).color(ink));
        }
    });
}

fn one_ui(
    ui: &Ui,
    shown: &EpisodeView,
    joint: Joint,
    place: Rect,
    axis: TimeAxis,
    row: usize,
) -> Chart {
    let tokens = theme::tokens(ui);
    title(ui, shown, joint, place, row);
    let rect = place.with_min_y(place.top() + TITLE);
    let (low, high) = range(shown, joint);
    let chart = Chart::still(ui, rect, axis, low, high);
    let second = |row: usize| row as f32 / shown.fps.max(1.0);
    for (from, to) in runs(&shown.interventions) {
        let ink = Tokens::wash(tokens.human, 0.22);
        chart.wash(second(from), second(to), ink);
    }
    for (from, to) in runs(&shown.filled) {
        chart.hatch(second(from), second(to), tokens.fault);
    }
    let columns = rect.width().max(1.0) as usize;
    let measured = thinned(&shown.states, joint, columns);
    let points = measured
        .into_iter()
        .map(|(row, value)| (second(row), value));
    chart.line(points, Stroke::new(1.2, tokens.measured));
    let sent = thinned(&shown.actions, joint, columns);
    let points = sent.into_iter().map(|(row, value)| (second(row), value));
    chart.line(points, Stroke::new(1.2, tokens.commanded));
    predictions(tokens, &chart, shown, joint, row);
    chart.bounds("");
    chart.moment(second(row), tokens.text);
    chart
}

/// The name, the values under the cursor, and how far a policy was off.
fn title(ui: &Ui, shown: &EpisodeView, joint: Joint, place: Rect, row: usize) {
    let tokens = theme::tokens(ui);
    let painter = ui.painter();
    let font = theme::font(theme::SMALL);
    let name = if place.width() < NARROW {
        words::joint_short(joint)
    } else {
        words::joint(joint)
    };
    let name = painter.text(place.left_top(), Align2::LEFT_TOP, name, font, tokens.weak);
    if let Some(error) = shown.error {
        let text = format!("off by {}", words::joint_value(joint, error[joint]));
        let at = name.right_top() + Vec2::new(8.0, 0.0);
        let font = theme::font(theme::SMALL);
        painter.text(at, Align2::LEFT_TOP, text, font, tokens.predicted);
    }
    let mut at = place.right_top();
    for (values, ink) in [
        (&shown.actions, tokens.commanded),
        (&shown.states, tokens.measured),
    ] {
        if let Some(value) = values.get(row) {
            let text = format!("{:>7}", words::joint_value(joint, value[joint]));
            let font = theme::figures(theme::TINY);
            let drawn = painter.text(at, Align2::RIGHT_TOP, text, font, ink);
            at.x = drawn.left() - 6.0;
        }
    }
}

/// Every chunk as a thin line from where it was asked for; the newest at the cursor stands out.
fn predictions(tokens: &Tokens, chart: &Chart, shown: &EpisodeView, joint: Joint, row: usize) {
    let second = |row: usize| row as f32 / shown.fps.max(1.0);
    let step = shown.predictions.len().div_ceil(CHUNKS).max(1);
    let draw = |(asked, chunk): &(usize, std::sync::Arc<[Action]>), stroke: Stroke| {
        let points = chunk
            .iter()
            .enumerate()
            .map(|(k, action)| (second(asked + k), action[joint]));
        chart.line(points, stroke);
    };
    for prediction in shown.predictions.iter().step_by(step) {
        draw(prediction, Stroke::new(1.0, tokens.previous));
    }
    let newest = shown.predictions.iter().rfind(|(asked, _)| *asked <= row);
    if let Some(prediction) = newest {
        draw(prediction, Stroke::new(1.8, tokens.predicted));
    }
}

fn range(shown: &EpisodeView, joint: Joint) -> (f32, f32) {
    let recorded = shown.states.iter().chain(shown.actions.iter());
    let predicted = shown.predictions.iter().flat_map(|(_, chunk)| chunk.iter());
    let (mut low, mut high) = (f32::INFINITY, f32::NEG_INFINITY);
    for value in recorded.chain(predicted).map(|values| values[joint]) {
        if value.is_finite() {
            (low, high) = (low.min(value), high.max(value));
        }
    }
    steady_range(low, high, LEAST_SPAN)
}

/// Runs of rows that are marked, from the first to after the last.
pub fn runs(marks: &[bool]) -> Vec<(usize, usize)> {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for row in marks
        .iter()
        .enumerate()
        .filter_map(|(row, is)| is.then_some(row))
    {
        match runs.last_mut() {
            Some((_, to)) if *to == row => *to = row + 1,
            _ => runs.push((row, row + 1)),
        }
    }
    runs
}

/// No more points than can be told apart: the least and the greatest value of each column of pixels, in their order.
fn thinned(values: &[JointVec], joint: Joint, columns: usize) -> Vec<(usize, f32)> {
    let many = values.len().div_ceil(columns.max(1));
    if many <= 2 {
        let all = values.iter().enumerate();
        return all.map(|(row, values)| (row, values[joint])).collect();
    }
    let mut points = Vec::with_capacity(columns * 2 + 2);
    for (i, column) in values.chunks(many).enumerate() {
        let (mut least, mut most) = ((0, f32::INFINITY), (0, f32::NEG_INFINITY));
        for (k, values) in column.iter().enumerate() {
            let value = values[joint];
            if value < least.1 {
                least = (k, value);
            }
            if value > most.1 {
                most = (k, value);
            }
        }
        let (first, second) = if least.0 <= most.0 {
            (least, most)
        } else {
            (most, least)
        };
        for (k, value) in [first, second] {
            if value.is_finite() {
                points.push((i * many + k, value));
            }
        }
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_half_open() {
        let marks = [false, true, true, false, true];
        assert_eq!(runs(&marks), [(1, 3), (4, 5)]);
        assert!(runs(&[]).is_empty());
    }

    #[test]
    fn a_long_record_keeps_its_peaks_in_few_points() {
        let values: Vec<JointVec> = (0..30_000)
            .map(|row| JointVec([if row == 12_345 { 90.0 } else { 0.0 }; 6]))
            .collect();
        let points = thinned(&values, Joint::Gripper, 300);
        assert!(points.len() <= 602, "{}", points.len());
        assert!(points.contains(&(12_345, 90.0)));
        assert!(points.windows(2).all(|pair| pair[0].0 <= pair[1].0));
        let short = thinned(&values[..50], Joint::Gripper, 300);
        assert_eq!(short.len(), 50);
    }
}
