//! The little that a live plot needs: a time axis that ends in the future, lines, marks, hatching.

use egui::{
    Align2, Color32, CornerRadius, Painter, Pos2, Rect, Shape, Stroke, StrokeKind, Ui, Vec2, lerp,
    pos2, remap,
};

use crate::runtime::{Sample, Snapshot};
use crate::ui::theme::{self, Tokens};

/// How much of the time axis lies after now, as a share of the past shown.
const FUTURE_SHARE: f32 = 0.2;

/// A time axis in seconds from now: negative is past.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimeAxis {
    pub from: f32,
    pub to: f32,
}

impl TimeAxis {
    /// The axis that all plots share.
    pub fn new(plot_seconds: u32) -> Self {
        let past = plot_seconds as f32;
        Self {
            from: -past,
            to: past * FUTURE_SHARE,
        }
    }

    /// The axis of something that is over: from its beginning to its end.
    pub fn whole(seconds: f32) -> Self {
        Self {
            from: 0.0,
            to: seconds.max(0.1),
        }
    }

    /// A distance between labels that keeps them apart.
    fn step(self) -> f32 {
        match self.to - self.from {
            span if span <= 15.0 => 1.0,
            span if span <= 60.0 => 5.0,
            span if span <= 300.0 => 30.0,
            _ => 120.0,
        }
    }
}

/// Seconds from now of a sample, never positive.
pub fn age(snapshot: &Snapshot, sample: &Sample) -> f32 {
    -snapshot.now.saturating_sub(sample.at).as_secs_f32()
}

/// A plot area with its scales.
pub struct Chart {
    pub rect: Rect,
    time: TimeAxis,
    low: f32,
    high: f32,
    painter: Painter,
    tokens: &'static Tokens,
}

impl Chart {
    /// Paints the well and the vertical grid of a plot that ends in the future.
    pub fn begin(ui: &Ui, rect: Rect, time: TimeAxis, low: f32, high: f32) -> Self {
        let chart = Self::still(ui, rect, time, low, high);
        chart.future();
        chart
    }

    /// Paints the well and the vertical grid of a plot of something that is over.
    pub fn still(ui: &Ui, rect: Rect, time: TimeAxis, low: f32, high: f32) -> Self {
        let tokens = theme::tokens(ui);
        let painter = ui.painter().with_clip_rect(rect.expand(0.5));
        painter.rect(
            rect,
            CornerRadius::same(3),
            tokens.well,
            Stroke::new(1.0, tokens.line),
            StrokeKind::Inside,
        );
        let chart = Self {
            rect,
            time,
            low,
            high: if high > low { high } else { low + 1.0 },
            painter,
            tokens,
        };
        chart.grid();
        chart
    }

    fn grid(&self) {
        let step = self.time.step();
        let mut second = (self.time.from / step).ceil() * step;
        let faint = Stroke::new(1.0, self.tokens.line.gamma_multiply(0.6));
        while second < self.time.to {
            if second != 0.0 {
                self.painter
                    .vline(self.x(second), self.rect.y_range(), faint);
            }
            second += step;
        }
    }

    fn future(&self) {
        // What is right of this line has not happened yet.
        let future = self.rect.with_min_x(self.x(0.0));
        self.painter
            .rect_filled(future, 0.0, self.tokens.text.gamma_multiply(0.035));
        let now = Stroke::new(1.0, self.tokens.faint);
        self.painter.vline(self.x(0.0), self.rect.y_range(), now);
    }

    /// The place of a moment.
    pub fn x(&self, seconds: f32) -> f32 {
        remap(
            seconds,
            self.time.from..=self.time.to,
            self.rect.left()..=self.rect.right(),
        )
    }

    /// The place of a value.
    pub fn y(&self, value: f32) -> f32 {
        let share = (value - self.low) / (self.high - self.low);
        lerp(self.rect.bottom() - 2.0..=self.rect.top() + 2.0, share)
    }

    /// The place of both.
    pub fn at(&self, seconds: f32, value: f32) -> Pos2 {
        pos2(self.x(seconds), self.y(value))
    }

    /// The moment under a place.
    pub fn seconds(&self, x: f32) -> f32 {
        remap(
            x,
            self.rect.left()..=self.rect.right(),
            self.time.from..=self.time.to,
        )
    }

    /// A line through points in seconds and values.
    pub fn line(&self, points: impl Iterator<Item = (f32, f32)>, stroke: Stroke) {
        let points: Vec<Pos2> = points.map(|(t, v)| self.at(t, v)).collect();
        if points.len() > 1 {
            self.painter.line(points, stroke);
        }
    }

    /// A dashed line.
    pub fn dashed(&self, points: impl Iterator<Item = (f32, f32)>, stroke: Stroke, dash: f32) {
        let points: Vec<Pos2> = points.map(|(t, v)| self.at(t, v)).collect();
        if points.len() > 1 {
            let shapes = Shape::dashed_line(&points, stroke, dash, dash * 0.8);
            self.painter.extend(shapes);
        }
    }

    /// A bar from the bottom up to a value, between two moments.
    pub fn column(&self, from: f32, to: f32, value: f32, color: Color32) {
        let rect = Rect::from_min_max(
            pos2(self.x(from), self.y(value)),
            pos2(self.x(to), self.rect.bottom()),
        );
        self.painter.rect_filled(rect, 0.0, color);
    }

    /// Fills the whole height between two moments.
    pub fn wash(&self, from: f32, to: f32, color: Color32) {
        let area = Rect::from_min_max(
            pos2(self.x(from), self.rect.top()),
            pos2(self.x(to).max(self.x(from) + 1.0), self.rect.bottom()),
        );
        self.painter
            .rect_filled(area.intersect(self.rect), 0.0, color);
    }

    /// Hatches the whole height between two moments.
    pub fn hatch(&self, from: f32, to: f32, color: Color32) {
        let area = Rect::from_min_max(
            pos2(self.x(from), self.rect.top()),
            pos2(self.x(to).max(self.x(from) + 1.0), self.rect.bottom()),
        );
        let painter = self.painter.with_clip_rect(area.intersect(self.rect));
        painter.rect_filled(area, 0.0, color.gamma_multiply(0.18));
        let height = area.height();
        // The stripes are anchored to the plot, not to the area, so that they stand still while it grows.
        let gap = 7.0;
        let first = ((area.left() - height) / gap).floor() * gap;
        let mut x = first;
        while x < area.right() {
            let points = [pos2(x, area.bottom()), pos2(x + height, area.top())];
            painter.line_segment(points, Stroke::new(1.2, color.gamma_multiply(0.8)));
            x += gap;
        }
    }

    /// A triangle that points up, standing on the bottom edge.
    pub fn up(&self, seconds: f32, color: Color32) {
        let tip = pos2(self.x(seconds), self.rect.bottom() - 8.0);
        self.triangle(tip, Vec2::new(3.5, 7.0), color);
    }

    /// A triangle that points down, hanging from the top edge.
    pub fn down(&self, seconds: f32, color: Color32) {
        let tip = pos2(self.x(seconds), self.rect.top() + 8.0);
        self.triangle(tip, Vec2::new(3.5, -7.0), color);
    }

    fn triangle(&self, tip: Pos2, wing: Vec2, color: Color32) {
        let mut points = vec![tip, tip + wing, tip + Vec2::new(-wing.x, wing.y)];
        if wing.y < 0.0 {
            points.reverse();
        }
        self.painter
            .add(Shape::convex_polygon(points, color, Stroke::NONE));
    }

    /// A thin line over the whole height.
    pub fn moment(&self, seconds: f32, color: Color32) {
        let stroke = Stroke::new(1.0, color);
        self.painter
            .vline(self.x(seconds), self.rect.y_range(), stroke);
    }

    /// A vertical stroke from one value to another: a seam. One too small to see leaves no mark.
    pub fn seam(&self, seconds: f32, ends: (f32, f32), color: Color32) {
        let x = self.x(seconds);
        let (from, to) = (self.y(ends.0), self.y(ends.1));
        if (from - to).abs() < 2.5 {
            return;
        }
        self.painter
            .vline(x, from.min(to)..=from.max(to), Stroke::new(2.5, color));
    }

    /// Writes the seconds under the grid lines into the strip below the plot.
    pub fn seconds_below(&self, painter: &Painter) {
        let step = if self.time.to - self.time.from > 15.0 {
            5.0
        } else {
            2.0
        };
        let mut second = (self.time.from / step).ceil() * step;
        let y = self.rect.bottom() + 1.0;
        while second < self.time.to {
            let text = if second == 0.0 {
                "now".to_owned()
            } else {
                format!("{second:+.0} s").replace('-', "−")
            };
            let place = pos2(self.x(second), y);
            let align = if second == self.time.from {
                Align2::LEFT_TOP
            } else {
                Align2::CENTER_TOP
            };
            painter.text(
                place,
                align,
                text,
                theme::figures(theme::TINY),
                self.tokens.faint,
            );
            second += step;
        }
    }

    /// Small text inside the plot.
    pub fn text(&self, place: Pos2, align: Align2, text: impl ToString, color: Color32) -> Rect {
        self.painter
            .text(place, align, text, theme::figures(theme::TINY), color)
    }

    /// Scale labels: the top and the bottom value at the left edge.
    pub fn bounds(&self, unit: &str) {
        let ink = self.tokens.faint;
        let place = self.rect.left_top() + Vec2::new(4.0, 2.0);
        let top = format!("{:.0}{unit}", self.high + 0.0);
        self.text(place, Align2::LEFT_TOP, top, ink);
        let place = self.rect.left_bottom() + Vec2::new(4.0, -2.0);
        let bottom = format!("{:.0}{unit}", self.low + 0.0);
        self.text(place, Align2::LEFT_BOTTOM, bottom, ink);
    }

    /// The painter, clipped to the plot.
    pub fn painter(&self) -> &Painter {
        &self.painter
    }
}

/// Runs of samples for which `is_in` holds, as pairs of first and last age in seconds.
pub fn runs(snapshot: &Snapshot, is_in: impl Fn(&Sample) -> bool) -> Vec<(f32, f32)> {
    let mut runs: Vec<(f32, f32)> = Vec::new();
    let mut is_open = false;
    for sample in snapshot.history.iter() {
        let at = age(snapshot, sample);
        if !is_in(sample) {
            // The run lasts until the first sample outside it.
            if is_open && let Some(last) = runs.last_mut() {
                last.1 = at;
            }
            is_open = false;
        } else if is_open {
            if let Some(last) = runs.last_mut() {
                last.1 = at;
            }
        } else {
            runs.push((at, at));
            is_open = true;
        }
    }
    runs
}

/// Rounds a range outwards to steps that do not jitter while the values move, and is never narrower than `least`.
pub fn steady_range(low: f32, high: f32, least: f32) -> (f32, f32) {
    let (low, high) = if low.is_finite() && high.is_finite() && low <= high {
        (low, high)
    } else {
        (0.0, 0.0)
    };
    let middle = f32::midpoint(low, high);
    let half = ((high - low) / 2.0 * 1.08).max(least / 2.0);
    let step = if half > 40.0 { 20.0 } else { 5.0 };
    (
        ((middle - half) / step).floor() * step,
        ((middle + half) / step).ceil() * step,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;
    use std::sync::Arc;
    use std::time::Duration;

    #[test]
    fn runs_end_where_the_next_sample_begins() {
        let history: VecDeque<Sample> = [false, true, true, false, true]
            .into_iter()
            .enumerate()
            .map(|(i, starved)| Sample {
                at: Duration::from_secs(i as u64),
                starved,
                ..Sample::default()
            })
            .collect();
        let snapshot = Snapshot {
            now: Duration::from_secs(4),
            history: Arc::new(history),
            ..Snapshot::default()
        };
        let starved = runs(&snapshot, |sample| sample.starved);
        assert_eq!(starved, [(-3.0, -1.0), (0.0, 0.0)]);
    }

    #[test]
    fn a_range_is_steady_and_never_flat() {
        assert_eq!(steady_range(1.0, 2.0, 10.0), (-5.0, 10.0));
        assert_eq!(steady_range(1.1, 2.2, 10.0), steady_range(1.0, 2.0, 10.0));
        assert_eq!(
            steady_range(f32::INFINITY, f32::NEG_INFINITY, 10.0),
            (-5.0, 5.0)
        );
    }
}
