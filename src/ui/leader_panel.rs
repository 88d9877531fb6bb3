//! The leader in a person's hand: is it read, how far is the arm from it, and does the arm follow yet.

use egui::{Align, Color32, CornerRadius, Layout, ProgressBar, Rect, RichText, Sense, Ui, Vec2};

use crate::joint::{Joint, JointVec};
use crate::runtime::{Command, LeaderStatus, LeaderView, Mode, Snapshot};
use crate::ui::card::{dot_ui, heading_ui, weak_cut_ui, weak_ui};
use crate::ui::draft::Draft;
use crate::ui::theme::{self, Tokens};
use crate::ui::words;

/// Half of a bar stands for so many robot units.
const BAR_SPAN: f32 = 45.0;
/// A joint that is nearer than this is there, robot units.
const THERE: f32 = 3.0;
const BAR_HEIGHT: f32 = 10.0;

/// Draws the panel in the right column while the leader drives.
pub fn leader_ui(
    ui: &mut Ui,
    snapshot: &Snapshot,
    _draft: &mut Draft,
    commands: &mut Vec<Command>,
) {
    heading_ui(ui, "TELEOP", |ui| give_back_ui(ui, snapshot, commands));
    let Some(leader) = &snapshot.leader else {
        ui.label("There is no leader arm. Choose one under Set-up, Arms, or drive with JOG.");
        return;
    };
    status_ui(ui, leader);
    ui.add_space(4.0);
    let tokens = theme::tokens(ui);
    if let Some(share) = snapshot.approaching {
        ui.label(theme::strong("The arm comes to the leader").size(theme::LARGE));
        let text = RichText::new(format!("{:.0} %", share * 100.0)).size(theme::SMALL);
        ui.add(
            ProgressBar::new(share)
                .desired_height(16.0)
                .fill(tokens.human)
                .text(text),
        );
        weak_ui(ui, "Move the leader closer, or wait: it never jumps.");
    } else if leader.is_live() {
        ui.label(theme::strong("The arm follows").size(theme::LARGE));
    } else {
        ui.label(theme::strong("The arm holds: the leader is not read").size(theme::LARGE));
        weak_ui(ui, "Once it is read again, the arm comes to it slowly.");
    }
    ui.add_space(6.0);
    if let Some(pose) = leader.pose {
        differences_ui(ui, snapshot.measured, pose);
    }
    ui.add_space(6.0);
    weak_ui(
        ui,
        format!(
            "age p95 {} · {} failed readings · {} repeated packets",
            words::latency(leader.age_p95),
            words::count(leader.errors),
            words::count(leader.retries)
        ),
    );
}

/// The leader in the status bar, where nobody drives by it: is it read, and how far is the arm from it.
pub fn leader_mark_ui(ui: &mut Ui, snapshot: &Snapshot) {
    let Some(leader) = &snapshot.leader else {
        return;
    };
    let (word, color) = status_words(theme::tokens(ui), leader);
    let off = leader
        .pose
        .and_then(|pose| farthest(snapshot.measured, pose));
    let off = off
        .filter(|_| leader.is_live())
        .map_or_else(String::new, |(joint, off)| {
            format!(
                " · {} {} apart",
                words::joint(joint),
                words::joint_value(joint, off)
            )
        });
    ui.scope(|ui| {
        ui.spacing_mut().item_spacing.x = 4.0;
        dot_ui(ui, color, leader.is_live());
        let text = RichText::new(format!("leader {word}{off}"));
        ui.label(text.size(theme::BODY).color(color)).on_hover_text(
            "T: you drive by the leader. The arm comes to it slowly; the closer it is, the sooner.",
        );
    });
}

/// Back to whom the person took over from, or to a hold.
pub fn give_back_ui(ui: &mut Ui, snapshot: &Snapshot, commands: &mut Vec<Command>) {
    if snapshot.interrupted == Some(Mode::Policy) {
        let response = ui
            .small_button("Give back to the policy")
            .on_hover_text("It plans anew from the pose that the arm has. Key T.");
        if response.clicked() {
            commands.push(Command::Takeover);
        }
        return;
    }
    let response = ui.small_button("Give back");
    if response.on_hover_text("Hold the pose. Key H.").clicked() {
        commands.push(Command::SetMode(Mode::Hold));
    }
}

fn status_words(tokens: &Tokens, leader: &LeaderView) -> (String, Color32) {
    match &leader.status {
        LeaderStatus::Connecting => ("being connected".to_owned(), tokens.weak),
        LeaderStatus::Live => (format!("{:.0} Hz", leader.rate_hz), tokens.text),
        LeaderStatus::Stale => ("not read".to_owned(), tokens.fault_text),
        LeaderStatus::Lost(_) => ("lost".to_owned(), tokens.fault_text),
    }
}

fn status_ui(ui: &mut Ui, leader: &LeaderView) {
    let tokens = theme::tokens(ui);
    let (word, color) = status_words(tokens, leader);
    ui.horizontal(|ui| {
        ui.spacing_mut().item_spacing.x = 4.0;
        dot_ui(ui, color, leader.is_live());
        let name = leader.name.rsplit('/').next().unwrap_or_default();
        ui.label(RichText::new(name).size(theme::BODY).color(tokens.text));
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            let label = ui.label(RichText::new(word).size(theme::BODY).color(color));
            if let LeaderStatus::Lost(why) = &leader.status {
                label.on_hover_text(why);
            }
            if let Some(age) = leader.age {
                weak_ui(ui, format!("{} old", words::span(age)));
            }
        });
    });
    if let LeaderStatus::Lost(why) = &leader.status {
        weak_cut_ui(ui, why);
    }
}

/// A bar a joint: how far the leader is from the arm, to either side.
fn differences_ui(ui: &mut Ui, measured: JointVec, leader: JointVec) {
    let tokens = theme::tokens(ui);
    for joint in Joint::ALL {
        let off = leader[joint] - measured[joint];
        ui.horizontal(|ui| {
            ui.allocate_ui(Vec2::new(84.0, 16.0), |ui| {
                ui.set_min_width(84.0);
                weak_ui(ui, words::joint(joint));
            });
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                let text = words::joint_value(joint, off);
                ui.allocate_ui(Vec2::new(52.0, 16.0), |ui| {
                    ui.set_min_width(52.0);
                    ui.label(theme::figure(text, theme::SMALL).color(tokens.text));
                });
                let size = Vec2::new(ui.available_width().max(20.0), BAR_HEIGHT);
                let (rect, _) = ui.allocate_exact_size(size, Sense::hover());
                let radius = CornerRadius::same(2);
                ui.painter().rect_filled(rect, radius, tokens.well);
                let share = (off / BAR_SPAN).clamp(-1.0, 1.0) * 0.5 * rect.width();
                let middle = rect.center().x;
                let (left, right) = (middle.min(middle + share), middle.max(middle + share));
                let bar = Rect::from_x_y_ranges(left..=right.max(left + 1.0), rect.y_range());
                let color = if off.abs() <= THERE {
                    tokens.measured
                } else {
                    tokens.human
                };
                ui.painter().rect_filled(bar, radius, color);
            });
        });
    }
}

/// The joint in which leader and arm are farthest apart, if any is farther than there.
fn farthest(measured: JointVec, leader: JointVec) -> Option<(Joint, f32)> {
    let offs = Joint::ALL.map(|joint| (joint, leader[joint] - measured[joint]));
    let most = offs
        .into_iter()
        .max_by(|(_, a), (_, b)| a.abs().total_cmp(&b.abs()));
    most.filter(|(_, off)| off.abs() > THERE)
}
