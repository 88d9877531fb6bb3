//! A window over a fixed snapshot: press what a person would press, read the commands it gave.

use egui::Key;
use egui::accesskit::Role;
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable as _;
use smolpilot::runtime::{Command, Snapshot};
use smolpilot::ui::{Draft, cockpit_ui, theme};

/// What the panels read and write.
pub struct Cockpit {
    pub snapshot: Snapshot,
    pub draft: Draft,
    pub commands: Vec<Command>,
}

/// The window under test.
pub struct Rig(pub Harness<'static, Cockpit>);

impl Rig {
    /// A window of 1280 × 800 points over this snapshot.
    pub fn new(snapshot: Snapshot) -> Self {
        Self::sized(snapshot, [1280.0, 800.0])
    }

    /// A window of a given size, points.
    pub fn sized(snapshot: Snapshot, size: [f32; 2]) -> Self {
        let mut draft = Draft::default();
        draft.preferences.tasks = vec!["wave".to_owned(), "stack the cubes".to_owned()];
        let cockpit = Cockpit {
            snapshot,
            draft,
            commands: Vec::new(),
        };
        let harness = Harness::builder()
            .with_size(size)
            // Short frames, so that two clicks can be a double click.
            .with_step_dt(0.02)
            .with_context_setup(theme::install)
            .build_ui_state(
                |ui, cockpit: &mut Cockpit| {
                    cockpit_ui(
                        ui,
                        &cockpit.snapshot,
                        &mut cockpit.draft,
                        &mut cockpit.commands,
                    );
                },
                cockpit,
            );
        let mut rig = Self(harness);
        rig.settle();
        rig.take();
        rig
    }

    /// Draws a few frames, so that what was pressed has happened and what opened is laid out.
    pub fn settle(&mut self) {
        self.0.run_steps(3);
    }

    /// The commands since the last call.
    pub fn take(&mut self) -> Vec<Command> {
        std::mem::take(&mut self.0.state_mut().commands)
    }

    /// Presses a button and returns the commands.
    pub fn press(&mut self, label: &str) -> Vec<Command> {
        self.0.get_by_role_and_label(Role::Button, label).click();
        self.settle();
        self.take()
    }

    /// Presses the first of several buttons of one name.
    pub fn press_first(&mut self, label: &str) -> Vec<Command> {
        let button = self.0.get_all_by_role_and_label(Role::Button, label).next();
        button.expect("a button of that name").click();
        self.settle();
        self.take()
    }

    /// Ticks a box, or takes its tick away.
    pub fn press_checkbox(&mut self, label: &str) {
        self.0.get_by_role_and_label(Role::CheckBox, label).click();
        self.settle();
    }

    /// A click of the mouse at a place.
    pub fn click_at(&mut self, place: egui::Pos2) {
        self.drag(place, place);
    }

    /// The mouse goes down at one place and up at another.
    pub fn drag(&mut self, from: egui::Pos2, to: egui::Pos2) {
        self.0.hover_at(from);
        self.0.run_steps(1);
        self.0.drag_at(from);
        self.0.run_steps(1);
        self.0.hover_at(to);
        self.0.run_steps(1);
        self.0.drop_at(to);
        self.settle();
    }

    /// Chooses a segment and returns the commands.
    pub fn choose(&mut self, label: &str) -> Vec<Command> {
        self.0
            .get_by_role_and_label(Role::RadioButton, label)
            .click();
        self.settle();
        self.take()
    }

    /// Presses a key and returns the commands.
    pub fn key(&mut self, key: Key) -> Vec<Command> {
        self.0.key_press(key);
        self.settle();
        self.take()
    }

    /// Sets a slider and returns the commands.
    pub fn slide(&mut self, label: &str, value: f64) -> Vec<Command> {
        self.0
            .get_by_role_and_label(Role::Slider, label)
            .set_value_accesskit(value);
        self.settle();
        self.take()
    }

    /// Opens a combo box and picks an entry.
    pub fn pick(&mut self, combo: &str, entry: &str) -> Vec<Command> {
        self.0.get_by_role_and_label(Role::ComboBox, combo).click();
        self.settle();
        self.0.get_by_role_and_label(Role::Button, entry).click();
        self.settle();
        self.take()
    }

    /// Types into a text field, by its label.
    pub fn write(&mut self, field: &str, text: &str) {
        self.0.get_by_role_and_label(Role::TextInput, field).focus();
        self.settle();
        self.0
            .get_by_role_and_label(Role::TextInput, field)
            .type_text(text);
        self.settle();
    }

    /// Replaces what is in a text field.
    pub fn rewrite(&mut self, field: &str, text: &str) {
        self.0.get_by_role_and_label(Role::TextInput, field).focus();
        self.settle();
        self.0.key_press_modifiers(egui::Modifiers::COMMAND, Key::A);
        self.settle();
        self.write(field, text);
    }

    /// Where the 3D picture is.
    pub fn scene(&self) -> egui::Rect {
        self.0.get_by_label("3D view").rect()
    }

    /// Whether something with this text is shown.
    pub fn shows(&self, text: &str) -> bool {
        self.0.query_all_by_label_contains(text).next().is_some()
    }
}
