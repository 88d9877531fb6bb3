//! The whole window from one snapshot: fixed panels, because a cockpit is not rearranged by accident.

use egui::{CentralPanel, Frame, Margin, Panel, ScrollArea, Stroke, Ui, UiBuilder};

use crate::runtime::{Command, Mode, Snapshot};
use crate::ui::camera_panel::camera_ui;
use crate::ui::draft::{Draft, Page};
use crate::ui::hand;
use crate::ui::health_panel::{self, health_ui};
use crate::ui::help_page::help_ui;
use crate::ui::jog_panel::jog_ui;
use crate::ui::joint_panel::joint_ui;
use crate::ui::keys::keys_ui;
use crate::ui::knob_panel::knob_ui;
use crate::ui::lab_page::lab_ui;
use crate::ui::latency_panel::{self, latency_ui};
use crate::ui::leader_panel::leader_ui;
use crate::ui::library::library_ui;
use crate::ui::log_page::log_ui;
use crate::ui::notice_panel::notice_ui;
use crate::ui::policy_panel::policy_ui;
use crate::ui::queue_panel::queue_ui;
use crate::ui::record::session_ui;
use crate::ui::rig_panel::rig_ui;
use crate::ui::scene_panel::scene_ui;
use crate::ui::settings_page::settings_ui;
use crate::ui::setup_page::setup_ui;
use crate::ui::status_bar::{self, status_bar_ui};
use crate::ui::task_panel::task_ui;
use crate::ui::theme;
use crate::ui::top_bar::{self, top_bar_ui};

/// How wide and how high the panels are before anybody drags them: shares of the window, and bounds in points.
const CAMERAS_WIDTH: (f32, [f32; 2]) = (0.175, [150.0, 460.0]);
const KNOBS_WIDTH: (f32, [f32; 2]) = (0.244, [270.0, 420.0]);
const PLOTS_HEIGHT: (f32, [f32; 2]) = (0.345, [190.0, 560.0]);
/// Height that the panels by which a person drives need, points.
const DRIVEN_HEIGHT: f32 = 430.0;
/// Share of the plots' height that the queue scope takes.
const QUEUE_SHARE: f32 = 0.46;

/// Draws the window from a snapshot and collects what the operator asks for.
pub fn cockpit_ui(
    ui: &mut Ui,
    snapshot: &Snapshot,
    draft: &mut Draft,
    commands: &mut Vec<Command>,
) {
    let now = ui.input(|input| input.time);
    draft.follow(snapshot, now);
    draft.pictures.refresh(ui.ctx(), &snapshot.cameras);
    draft.scene.wanted = [0, 0];
    draft.scene.subject = None;
    let ctx = ui.ctx().clone();
    keys_ui(&ctx, snapshot, draft, commands);
    hand::held_keys(&ctx, snapshot, draft);
    let ground = top_bar::ground(ui, snapshot);
    Panel::top("top bar")
        .exact_size(top_bar::HEIGHT)
        .frame(frame(ui, Margin::symmetric(10, 0)).fill(ground))
        .show(ui, |ui| top_bar_ui(ui, snapshot, draft, commands));
    Panel::bottom("status bar")
        .exact_size(status_bar::HEIGHT)
        .frame(frame(ui, Margin::symmetric(10, 0)))
        .show(ui, |ui| status_bar_ui(ui, snapshot, draft, commands));
    if draft.shows_health {
        Panel::bottom("health")
            .exact_size(health_panel::HEIGHT)
            .frame(frame(ui, Margin::symmetric(10, 6)))
            .show(ui, |ui| {
                unmoved_ui(ui, |ui| health_ui(ui, snapshot, draft, commands));
            });
    }
    draft.library.heed_recording(snapshot, commands);
    if draft.page != Page::Data {
        draft.library.leave();
    }
    if draft.page == Page::Cockpit {
        panels_ui(ui, snapshot, draft, commands);
        hand::say(now, snapshot, draft, commands);
        return;
    }
    hand::say(now, snapshot, draft, commands);
    CentralPanel::no_frame()
        .frame(frame(ui, Margin::symmetric(24, 16)))
        .show(ui, |ui| match draft.page {
            Page::Cockpit => {}
            Page::Setup => setup_ui(ui, snapshot, draft, commands),
            Page::Data => library_ui(ui, snapshot, draft, commands),
            Page::Lab => lab_ui(ui, snapshot, draft, commands),
            Page::Settings => settings_ui(ui, snapshot, draft, commands),
            Page::Log => log_ui(ui, snapshot, draft, commands),
            Page::Help => help_ui(ui, snapshot, draft, commands),
        });
}

fn frame(ui: &Ui, margin: Margin) -> Frame {
    Frame::new()
        .fill(theme::tokens(ui).panel)
        .inner_margin(margin)
        .stroke(Stroke::NONE)
}

fn panels_ui(ui: &mut Ui, snapshot: &Snapshot, draft: &mut Draft, commands: &mut Vec<Command>) {
    let window = ui.max_rect().size();
    let [cameras, knobs, plots] = [
        (CAMERAS_WIDTH, window.x),
        (KNOBS_WIDTH, window.x),
        (PLOTS_HEIGHT, window.y),
    ]
    .map(|((share, [least, most]), side)| (share * side).clamp(least, most));
    // Panels keep the size that a hand gave them, for windows of about this size.
    let class = (window / 400.0).round();
    let id = |name: &'static str| (name, class.x as i32, class.y as i32);
    Panel::right(id("knobs"))
        .default_size(knobs)
        .size_range(250.0..=KNOBS_WIDTH.1[1])
        .frame(frame(ui, Margin::symmetric(10, 8)))
        .show(ui, |ui| {
            unmoved_ui(ui, |ui| right_ui(ui, snapshot, draft, commands));
        });
    Panel::bottom(id("plots"))
        .default_size(plots)
        .size_range(170.0..=PLOTS_HEIGHT.1[1])
        .resizable(true)
        .frame(frame(ui, Margin::symmetric(10, 6)))
        .show(ui, |ui| {
            unmoved_ui(ui, |ui| {
                let height = (ui.available_height() * QUEUE_SHARE - 38.0).max(40.0);
                queue_ui(ui, snapshot, draft, commands, height);
                joint_ui(ui, snapshot, draft, commands);
            });
        });
    Panel::left(id("cameras"))
        .default_size(cameras)
        .size_range(CAMERAS_WIDTH.1[0]..=CAMERAS_WIDTH.1[1])
        .frame(frame(ui, Margin::symmetric(10, 8)))
        .show(ui, |ui| {
            unmoved_ui(ui, |ui| {
                ScrollArea::vertical()
                    .id_salt("cameras")
                    .auto_shrink(false)
                    .show(ui, |ui| camera_ui(ui, snapshot, draft, commands));
            });
        });
    CentralPanel::no_frame()
        .frame(frame(ui, Margin::symmetric(10, 8)))
        .show(ui, |ui| {
            task_ui(ui, snapshot, draft, commands);
            ui.add_space(2.0);
            rig_ui(ui, snapshot, draft, commands);
            session_ui(ui, snapshot, draft, commands);
            notice_ui(ui, snapshot, draft, commands);
            scene_ui(ui, snapshot, draft, commands);
        });
}

/// Draws into exactly the space that the panel has: what is inside cannot push its border.
fn unmoved_ui(ui: &mut Ui, add: impl FnOnce(&mut Ui)) {
    let rect = ui.available_rect_before_wrap();
    let mut inner = ui.new_child(UiBuilder::new().max_rect(rect));
    inner.shrink_clip_rect(rect.expand(4.0));
    add(&mut inner);
    ui.advance_cursor_after_rect(rect);
}

/// The right column: the policy and its knobs, or the joints while a person drives; latency below both.
fn right_ui(ui: &mut Ui, snapshot: &Snapshot, draft: &mut Draft, commands: &mut Vec<Command>) {
    // While a person drives, what they drive by comes before the policy's times.
    let is_driven = snapshot.mode.is_human() && snapshot.stopped.is_none();
    if !is_driven || ui.available_height() >= DRIVEN_HEIGHT + latency_panel::HEIGHT {
        Panel::bottom("latency")
            .exact_size(latency_panel::HEIGHT)
            .frame(Frame::new().inner_margin(Margin {
                top: 8,
                ..Margin::ZERO
            }))
            .show(ui, |ui| latency_ui(ui, snapshot, draft, commands));
    }
    CentralPanel::no_frame().show(ui, |ui| {
        ScrollArea::vertical()
            .id_salt("knobs")
            .auto_shrink(false)
            .show(ui, |ui| {
                match snapshot.mode {
                    Mode::Jog if snapshot.stopped.is_none() => {
                        return jog_ui(ui, snapshot, draft, commands);
                    }
                    Mode::Teleop => return leader_ui(ui, snapshot, draft, commands),
                    _ => {}
                }
                policy_ui(ui, snapshot, draft, commands);
                ui.add_space(6.0);
                knob_ui(ui, snapshot, draft, commands);
            });
    });
}
