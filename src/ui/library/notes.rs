//! What the library is doing, what it did last, what went wrong, and what a check found.

use std::sync::Arc;
use std::time::Duration;

use egui::{Label, RichText, ScrollArea, Ui, Vec2};

use crate::dataset::Interrupted;
use crate::runtime::{Command, LibraryOrder, LibraryView, Snapshot};
use crate::ui::card::{card_ui, weak_ui};
use crate::ui::draft::Draft;
use crate::ui::library::order;
use crate::ui::record::interrupted::{Verdict, interrupted_ui};
use crate::ui::record::recorded_root;
use crate::ui::record::saving::sized_bar_ui;
use crate::ui::theme;
use crate::ui::words;

/// Height of the list of findings at most, points.
const FINDINGS: f32 = 110.0;

/// Draws the notes above the episode.
pub fn notes_ui(
    ui: &mut Ui,
    snapshot: &Snapshot,
    library: &LibraryView,
    draft: &mut Draft,
    commands: &mut Vec<Command>,
) {
    let tokens = theme::tokens(ui);
    if let Some((what, share)) = &library.doing {
        ui.horizontal(|ui| {
            let cancel = ui.button("Cancel");
            if cancel.on_hover_text("What is whole is kept.").clicked() {
                order(commands, LibraryOrder::Cancel);
            }
            let text = match share {
                Some(share) => format!("{what} · {:.0} %", share * 100.0),
                None => what.clone(),
            };
            let size = Vec2::new(ui.available_width(), 20.0);
            sized_bar_ui(ui, size, &text, share.unwrap_or(0.0), tokens.recorded);
        });
        // The bar goes on although nothing else moves.
        ui.ctx().request_repaint_after(Duration::from_millis(100));
    }
    if let Some(trouble) = &library.trouble {
        card_ui(ui, tokens.fault, |ui| {
            ui.add(Label::new(trouble).wrap());
        });
    } else if let Some(done) = library.done.as_ref().filter(|_| library.doing.is_none()) {
        ui.add(Label::new(RichText::new(done).size(theme::SMALL).color(tokens.weak)).truncate())
            .on_hover_text(done);
    }
    let open = library.open.as_ref().map(|open| open.root.as_path());
    let interrupted: &[Interrupted] = match recorded_root(snapshot) {
        Some(recorded) if Some(recorded) == open => &[],
        _ => &library.interrupted,
    };
    if let Some(verdict) = interrupted_ui(ui, interrupted, &mut draft.library.forgets) {
        order(
            commands,
            match verdict {
                Verdict::Recover(id) => LibraryOrder::Recover(id),
                Verdict::Forget(id) => LibraryOrder::Forget(id),
            },
        );
    }
    findings_ui(ui, library, draft);
}

/// What the last check found, until it is closed.
fn findings_ui(ui: &mut Ui, library: &LibraryView, draft: &mut Draft) {
    let Some(findings) = &library.findings else {
        return;
    };
    let read = &mut draft.library.read;
    if read
        .as_ref()
        .is_some_and(|read| Arc::ptr_eq(read, findings))
    {
        return;
    }
    let tokens = theme::tokens(ui);
    let errors = findings.iter().filter(|finding| finding.is_error).count();
    let (edge, headline) = match (errors, findings.len()) {
        (0, 0) => (tokens.good, "Checked: nothing is wrong".to_owned()),
        (0, remarks) => (
            tokens.line,
            format!("Checked: no error, {}", words::plural(remarks, "remark")),
        ),
        (errors, _) => (
            tokens.fault,
            format!("Checked: {}", words::plural(errors, "error")),
        ),
    };
    card_ui(ui, edge, |ui| {
        ui.horizontal(|ui| {
            ui.label(theme::strong(headline));
            if ui.small_button("Dismiss").clicked() {
                *read = Some(Arc::clone(findings));
            }
        });
        ScrollArea::vertical()
            .id_salt("findings")
            .max_height(FINDINGS)
            .show(ui, |ui| {
                for finding in findings.iter() {
                    if finding.is_error {
                        ui.label(RichText::new(&finding.text).color(tokens.fault_text));
                    } else {
                        weak_ui(ui, finding.text.as_str());
                    }
                }
            });
    });
}
