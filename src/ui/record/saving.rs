//! What the recorder is busy with: pictures that wait for an encoder, episodes on their way to the disk, and the room there.

use egui::{
    Align2, CornerRadius, Rect, RichText, Role, Sense, Stroke, StrokeKind, Ui, Vec2, WidgetInfo,
};

use crate::dataset::{DiskView, RecorderView, Running};
use crate::ui::card::weak_ui;
use crate::ui::theme::{self, Tokens};
use crate::ui::words;

/// A backlog above this share is worth a word.
const BEHIND: f32 = 0.5;
/// Size of a bar with its words, points.
const BAR: Vec2 = Vec2::new(176.0, 18.0);

/// The room in minutes where a rate is known, else in bytes.
pub fn disk_words(disk: &DiskView) -> String {
    disk.time_left.map_or_else(
        || format!("disk {}", words::bytes(disk.bytes_left)),
        |left| format!("disk {}", words::long(left)),
    )
}

/// Everything that runs beside the recording, in lines that wrap.
pub fn saving_ui(ui: &mut Ui, recorder: &RecorderView) {
    ui.horizontal_wrapped(|ui| {
        if let Some(running) = &recorder.running {
            faults_ui(ui, running);
            backlog_ui(ui, running);
        }
        for saving in &recorder.saving {
            let words = format!("saving episode {}: {}", saving.episode, saving.stage);
            bar_ui(ui, &words, saving.share, theme::tokens(ui).recorded);
        }
        if let Some(disk) = &recorder.disk {
            disk_ui(ui, disk);
        }
        weak_ui(ui, format!("{} on disk", recorder.episodes))
            .on_hover_text("Whole episodes in this data set, those of earlier sessions included.");
    });
}

/// Rows and pictures that could not be taken at their instant; they are marked in the data set, and counted here.
fn faults_ui(ui: &mut Ui, running: &Running) {
    let tokens = theme::tokens(ui);
    let alarm = |ui: &mut Ui, text: String, hint: &str| {
        let text = RichText::new(text).size(theme::SMALL);
        ui.label(text.color(tokens.fault_text)).on_hover_text(hint);
    };
    if running.missed > 0 {
        let rows = words::count(running.missed);
        alarm(
            ui,
            format!("! {rows} rows filled"),
            "Nothing could be taken at their instant; they repeat the row before and are marked.",
        );
    }
    for (camera, count) in running.repeated.iter().filter(|(_, count)| *count > 0) {
        alarm(
            ui,
            format!("! {camera} repeated {}", words::count(*count)),
            "Pictures that were shown again because the camera had sent no newer one; they are marked.",
        );
    }
}

fn backlog_ui(ui: &mut Ui, running: &Running) {
    let (waiting, room) = running.backlog;
    if waiting == 0 || room == 0 {
        return;
    }
    let tokens = theme::tokens(ui);
    let share = waiting as f32 / room as f32;
    let ink = if share > BEHIND {
        tokens.fault
    } else {
        tokens.recorded
    };
    let words = format!("{waiting} pictures to encode");
    bar_ui(ui, &words, share, ink).on_hover_text(
        "Pictures that wait for an encoder. Where the queue is full, rows are missed and counted: record fewer or smaller \
         cameras, or choose a faster codec.",
    );
}

fn disk_ui(ui: &mut Ui, disk: &DiskView) {
    let tokens = theme::tokens(ui);
    let hint = format!(
        "{} left. Below the reserve the running episode is ended and kept.",
        words::bytes(disk.bytes_left)
    );
    let (words, ink) = if disk.is_low() {
        (format!("! {} left", disk_words(disk)), tokens.fault_text)
    } else {
        (format!("{} left", disk_words(disk)), tokens.weak)
    };
    ui.label(RichText::new(words).size(theme::SMALL).color(ink))
        .on_hover_text(hint);
}

/// A bar with its words on it.
pub fn bar_ui(ui: &mut Ui, words: &str, share: f32, ink: egui::Color32) -> egui::Response {
    sized_bar_ui(ui, BAR, words, share, ink)
}

/// A bar of this size with its words on it.
pub fn sized_bar_ui(
    ui: &mut Ui,
    size: Vec2,
    words: &str,
    share: f32,
    ink: egui::Color32,
) -> egui::Response {
    let tokens = theme::tokens(ui);
    let (rect, response) = ui.allocate_exact_size(size, Sense::hover());
    response.widget_info(|| WidgetInfo::labeled(Role::ProgressIndicator, true, words));
    let radius = CornerRadius::same(4);
    let painter = ui.painter().with_clip_rect(rect);
    painter.rect_filled(rect, radius, tokens.well);
    let width = rect.width() * share.clamp(0.0, 1.0);
    let done = Rect::from_min_size(rect.min, Vec2::new(width, rect.height()));
    painter.rect_filled(done, radius, Tokens::wash(ink, 0.45));
    let edge = Stroke::new(1.0, tokens.line);
    painter.rect_stroke(rect, radius, edge, StrokeKind::Inside);
    painter.text(
        rect.left_center() + Vec2::new(7.0, 0.0),
        Align2::LEFT_CENTER,
        words,
        theme::font(theme::SMALL),
        tokens.text,
    );
    response
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_disk_is_low_by_its_bytes_or_by_its_time() {
        let disk = |bytes_left, minutes: Option<u64>| DiskView {
            bytes_left,
            time_left: minutes.map(Duration::from_mins),
        };
        assert!(!disk(40_000_000_000, None).is_low());
        assert!(!disk(40_000_000_000, Some(250)).is_low());
        assert!(disk(40_000_000_000, Some(9)).is_low());
        assert!(disk(900_000_000, None).is_low());
        assert_eq!(disk_words(&disk(1, Some(250))), "disk 4 h 10 min");
        assert_eq!(disk_words(&disk(900_000_000, None)), "disk 900 MB");
    }
}
