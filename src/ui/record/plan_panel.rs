//! The plan of a session to be edited: where it goes, how often and how long, which tasks and cameras, and how it is encoded.

use egui::{ComboBox, DragValue, Key, TextEdit, Ui};

use crate::runtime::Snapshot;
use crate::ui::card::weak_ui;
use crate::ui::draft::Draft;
use crate::ui::record::form::{EPISODE_SECONDS, EPISODES, FPS, PAUSE_SECONDS, PlanForm};

const BUILT_IN: &str = "H.264 (built in)";

/// Draws the form.
pub fn plan_ui(ui: &mut Ui, snapshot: &Snapshot, draft: &mut Draft) {
    let form = &mut draft.preferences.recording;
    folder_ui(ui, snapshot, form);
    times_ui(ui, form);
    tasks_ui(ui, snapshot, form, &mut draft.record.task);
    streams_ui(ui, snapshot, form);
    columns_ui(ui, snapshot, form);
}

fn folder_ui(ui: &mut Ui, snapshot: &Snapshot, form: &mut PlanForm) {
    ui.horizontal(|ui| {
        weak_ui(ui, "Data set");
        let name = form.default_name(snapshot);
        let field = TextEdit::singleline(&mut form.folder)
            .hint_text(name)
            .desired_width(ui.available_width());
        ui.add(field)
            .accessible_name("Data set folder")
            .on_hover_text("A name, or a folder. One that is there already is added to, if its cameras and its rate fit.");
    });
    weak_ui(ui, form.root(snapshot).display().to_string());
}

/// How often and how long, as a sentence of numbers.
fn times_ui(ui: &mut Ui, form: &mut PlanForm) {
    ui.horizontal_wrapped(|ui| {
        let number = |ui: &mut Ui,
                      name: &str,
                      value: &mut u32,
                      range: &std::ops::RangeInclusive<u32>,
                      unit: &str,
                      hint: &str| {
            weak_ui(ui, name);
            ui.add(
                DragValue::new(value)
                    .range(range.clone())
                    .suffix(unit)
                    .speed(0.3),
            )
            .accessible_name(name)
            .on_hover_text(hint);
        };
        number(
            ui,
            "Episodes",
            &mut form.episodes,
            &EPISODES,
            "",
            "In this session; 0 goes on until you end it.",
        );
        number(
            ui,
            "of up to",
            &mut form.episode_seconds,
            &EPISODE_SECONDS,
            " s",
            "A longer one is kept by itself.",
        );
        number(
            ui,
            "reset",
            &mut form.reset_seconds,
            &PAUSE_SECONDS,
            " s",
            "Time to put things back between episodes; 0 waits for you.",
        );
        number(
            ui,
            "warm-up",
            &mut form.warm_up_seconds,
            &PAUSE_SECONDS,
            " s",
            "Time to get ready before the first; 0 waits for you.",
        );
        number(
            ui,
            "rows",
            &mut form.fps,
            &FPS,
            " /s",
            "Rows and pictures a second; a data set has one rate.",
        );
    });
}

/// The tasks in turn; without any, the task in force is recorded, also when it changes within an episode.
fn tasks_ui(ui: &mut Ui, snapshot: &Snapshot, form: &mut PlanForm, typed: &mut String) {
    ui.horizontal_wrapped(|ui| {
        weak_ui(ui, "Tasks in turn");
        let mut gone = None;
        for (i, task) in form.tasks.iter().enumerate() {
            let hint = "Click to take it out.";
            if ui.button(format!("{task} ×")).on_hover_text(hint).clicked() {
                gone = Some(i);
            }
        }
        if let Some(i) = gone {
            form.tasks.remove(i);
        }
        if form.tasks.is_empty() {
            weak_ui(ui, "the task in force");
        }
        let field = TextEdit::singleline(typed)
            .hint_text(snapshot.task.as_str())
            .desired_width(180.0);
        let response = ui.add(field).accessible_name("Another task");
        let is_entered = response.lost_focus() && ui.input(|input| input.key_pressed(Key::Enter));
        let add = ui.button("Add");
        if is_entered || add.clicked() {
            let task = match typed.trim() {
                "" => snapshot.task.trim(),
                task => task,
            };
            if !task.is_empty() {
                form.tasks.push(task.to_owned());
            }
            typed.clear();
        }
    });
}

/// Cameras and how their pictures are encoded.
fn streams_ui(ui: &mut Ui, snapshot: &Snapshot, form: &mut PlanForm) {
    ui.horizontal_wrapped(|ui| {
        weak_ui(ui, "Cameras");
        let is_left_out = |form: &PlanForm, name: &String| form.without.contains(name);
        let names: Vec<&String> = snapshot.cameras.iter().map(|camera| &camera.name).collect();
        if names.iter().all(|name| is_left_out(form, name)) {
            // A plan without any is one of all: those of another day were left out, not these.
            form.without.retain(|name| !names.contains(&name));
        }
        let taken = names.iter().filter(|name| !is_left_out(form, name)).count();
        for name in &names {
            let mut is_taken = !is_left_out(form, name);
            let is_last = is_taken && taken == 1;
            let response = ui
                .add_enabled(!is_last, egui::Checkbox::new(&mut is_taken, name.as_str()))
                .on_disabled_hover_text("At least one is recorded.");
            if response.changed() {
                form.without.retain(|other| other != *name);
                if !is_taken {
                    form.without.push((*name).clone());
                }
            }
        }
        if names.is_empty() {
            weak_ui(ui, "none: only the joints are recorded");
        }
        weak_ui(ui, "encoded as");
        codec_ui(ui, snapshot, form);
    });
}

fn codec_ui(ui: &mut Ui, snapshot: &Snapshot, form: &mut PlanForm) {
    let library = snapshot.library.as_deref();
    let encoders = library.map_or(&[][..], |library| &library.encoders);
    let shown = match form.encoder.as_str() {
        "" => BUILT_IN,
        encoder => encoder,
    };
    let combo = ComboBox::from_id_salt("codec")
        .selected_text(shown)
        .show_ui(ui, |ui| {
            ui.selectable_value(&mut form.encoder, String::new(), BUILT_IN);
            for encoder in encoders {
                ui.selectable_value(&mut form.encoder, encoder.clone(), encoder);
            }
        });
    combo
        .response
        .accessible_name("Codec")
        .on_hover_text("Those of an installed ffmpeg are listed when it is there.");
}

/// Columns beside LeRobot's own.
fn columns_ui(ui: &mut Ui, snapshot: &Snapshot, form: &mut PlanForm) {
    ui.horizontal_wrapped(|ui| {
        ui.checkbox(&mut form.provenance, "Who drove, and with what")
            .on_hover_text("Columns that training ignores: driver, intervention, g, latency, the instant of each row.");
        ui.add_enabled_ui(form.provenance, |ui| {
            ui.checkbox(&mut form.chunk, "Predicted chunk")
                .on_hover_text("The newest chunk of the policy with each row: makes the tables much larger.");
        });
        if snapshot.rig.is_some() {
            ui.checkbox(&mut form.judged, "Judged by the rig").on_hover_text(
                "The referee ends and keeps an episode, marked a success, when its task is done, and lays the next table. \
                 While the policy drives, the next one follows without a pause.",
            );
        }
    });
}
