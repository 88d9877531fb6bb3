//! The desktop window: shows the newest snapshot, passes commands on without waiting, and stops the arm before anything else.

use std::sync::Arc;
use std::time::Duration;

use anyhow::anyhow;
use burn_wgpu::WgpuSetup;
use crossbeam_channel::{Sender, TrySendError};
use eframe::egui::{self, Context, Vec2, ViewportBuilder};
use eframe::egui_wgpu;

use crate::app::fault_log::FaultLog;
use crate::app::global_keys::GlobalKeys;
use crate::clock::Clock;
use crate::latest::Latest;
use crate::runtime::{Command, RigOrder, Snapshot};
use crate::ui::{
    self, Draft, FrameClock, FrameReport, InputStatus, LogLines, Preferences, SceneTexture,
    cockpit_ui, theme,
};

/// Size of the window at a scale of one, points of the display.
const SIZE: Vec2 = Vec2::new(1280.0, 800.0);
/// The panels need at least this much room, points; where a scale would leave less, the window is drawn smaller.
const LEAST: Vec2 = Vec2::new(900.0, 560.0);
/// Below this nothing can be read, however small the window is.
const LEAST_ZOOM: f32 = 0.75;

/// What the window is connected to.
pub struct WindowSetup {
    /// Where the control thread leaves its picture of the world.
    pub snapshots: Latest<Snapshot>,
    /// The bounded queue that the control thread drains; the window never waits for room in it.
    pub commands: Sender<Command>,
    /// Raises the emergency stop; called before the command is queued. Must not block.
    pub stop: Arc<dyn Fn() + Send + Sync>,
    /// Whether the program is to end: the window closes by itself then.
    pub is_over: Box<dyn Fn() -> bool>,
    /// What the window remembered.
    pub preferences: Preferences,
    /// Takes changed preferences to where they are kept. Must not block: write on another thread.
    pub save: Box<dyn Fn(&Preferences)>,
    /// The program's log lines.
    pub log: Option<LogLines>,
    /// The gamepad, if one is looked for.
    pub pad: Latest<InputStatus>,
    /// The device to draw on; without it the window opens its own, so that no picture waits for a chunk.
    pub shared: Option<WgpuSetup>,
    /// Where the window leaves how punctual its frames were.
    pub frames: Latest<FrameReport>,
}

/// Opens the window and stays until it is closed.
///
/// # Errors
/// No display, or no adapter that can draw; the message says what to do.
pub fn run(setup: WindowSetup) -> anyhow::Result<()> {
    let viewport = ViewportBuilder::default()
        .with_title("smolpilot")
        .with_app_id("smolpilot")
        .with_icon(Arc::new(ui::icon()))
        .with_inner_size(SIZE * setup.preferences.scale)
        .with_min_inner_size([960.0, 600.0]);
    let mut options = eframe::NativeOptions {
        viewport,
        renderer: eframe::Renderer::Wgpu,
        persist_window: false,
        ..eframe::NativeOptions::default()
    };
    if let Some(shared) = setup.shared.clone() {
        options.wgpu_options.wgpu_setup = drawn_on(shared);
    }
    let create: eframe::AppCreator<'_> =
        Box::new(move |creation| Ok(Box::new(Window::new(creation, setup))));
    eframe::run_native("smolpilot", options, create).map_err(|why| {
        anyhow!(
            "The window could not be opened: {why}. It needs a display and a Vulkan, Metal or DirectX 12 driver \
             (on Linux without a GPU, Mesa's lavapipe: package mesa-vulkan-drivers). Without a window, use `smolpilot run`."
        )
    })
}

/// The window's device is one that is open already.
fn drawn_on(shared: WgpuSetup) -> egui_wgpu::WgpuSetup {
    egui_wgpu::WgpuSetup::Existing(egui_wgpu::WgpuSetupExisting {
        instance: shared.instance,
        adapter: shared.adapter,
        device: shared.device,
        queue: shared.queue,
    })
}

/// The window.
pub struct Window {
    setup: WindowSetup,
    snapshot: Arc<Snapshot>,
    draft: Draft,
    /// The preferences as last applied and saved.
    applied: Preferences,
    /// The zoom that was last set.
    zoom: f32,
    scene: Option<SceneTexture>,
    commands: Vec<Command>,
    faults: FaultLog,
    keys: GlobalKeys,
    clock: Clock,
    frames: FrameClock,
}

impl Window {
    fn new(creation: &eframe::CreationContext<'_>, setup: WindowSetup) -> Self {
        theme::install(&creation.egui_ctx);
        let draft = Draft::new(setup.preferences.clone());
        let applied = draft.preferences.clone();
        creation
            .egui_ctx
            .set_theme(egui::ThemePreference::from(applied.theme));
        creation.egui_ctx.set_zoom_factor(applied.scale);
        let scene = creation.wgpu_render_state.clone().map(SceneTexture::new);
        let keys = GlobalKeys::new(setup.commands.clone(), Arc::clone(&setup.stop));
        Self {
            keys,
            snapshot: setup.snapshots.get().unwrap_or_default(),
            setup,
            draft,
            zoom: applied.scale,
            applied,
            scene,
            commands: Vec::new(),
            faults: FaultLog::default(),
            clock: Clock::real(),
            frames: FrameClock::default(),
        }
    }

    /// Passes the commands of this frame on. A stop goes round the queue.
    fn send(&mut self, now: f64) {
        for command in self.commands.drain(..) {
            if command == Command::Stop {
                (self.setup.stop)();
            }
            if let Command::SetTask(task) | Command::Rig(RigOrder::Lay { task }) = &command {
                self.draft.preferences.remember_task(task);
            }
            match self.setup.commands.try_send(command) {
                Ok(()) => {}
                Err(TrySendError::Full(lost)) => {
                    let text = format!("The control thread is busy; this was not sent: {lost:?}");
                    self.draft.notify(text, now);
                }
                Err(TrySendError::Disconnected(_)) => {
                    let text = "The control thread has ended. Close the window and start again.";
                    self.draft.notify(text, now);
                }
            }
        }
    }

    /// Follows the settings page and the zoom keys, and saves what changed.
    fn keep_preferences(&mut self, ctx: &Context) {
        let preferences = &mut self.draft.preferences;
        if ctx.zoom_factor() != self.zoom {
            // Ctrl + and Ctrl − change the zoom behind our back.
            preferences.scale = ctx.zoom_factor();
        }
        if *preferences != self.applied {
            *preferences = preferences.clone().sane();
            ctx.set_theme(egui::ThemePreference::from(preferences.theme));
            (self.setup.save)(preferences);
            self.applied.clone_from(preferences);
        }
        let native = ctx.content_rect().size() * ctx.pixels_per_point()
            / ctx.native_pixels_per_point().unwrap_or(1.0);
        self.zoom = fitting_zoom(self.applied.scale, native);
        ctx.set_zoom_factor(self.zoom);
    }

    /// Holds the global keys that the settings want, and sees how they and the gamepad are.
    fn follow_inputs(&mut self) {
        let preferences = &self.applied;
        let wanted = [&preferences.stop_key, &preferences.takeover_key].map(Clone::clone);
        self.keys.hold(&wanted);
        let inputs = &mut self.draft.inputs;
        [inputs.stop_key, inputs.takeover_key] = self.keys.status();
        inputs.pad = self.setup.pad.get().as_deref().cloned().unwrap_or_default();
    }

    fn draw_scene(&mut self, is_dark: bool) {
        if let Some(scene) = &mut self.scene {
            scene.draw(&self.snapshot, &mut self.draft.scene, is_dark);
        } else {
            let text = "no 3D: the window is not drawn through wgpu";
            self.draft.scene.trouble = Some(text.to_owned());
        }
    }
}

/// The scale that the operator wants, or less where the panels would not fit into a window of `native` points.
fn fitting_zoom(scale: f32, native: Vec2) -> f32 {
    // In steps, so that a rounded size cannot make the zoom, and with it every glyph, change from frame to frame.
    let most = ((native / LEAST).min_elem() * 20.0).floor() / 20.0;
    scale.min(most.max(LEAST_ZOOM))
}

impl eframe::App for Window {
    fn logic(&mut self, ctx: &Context, _frame: &mut eframe::Frame) {
        if let Some(snapshot) = self.setup.snapshots.get() {
            self.snapshot = snapshot;
        }
        for words in self.faults.begun(&self.snapshot.faults) {
            log::warn!("{words}");
        }
        if let Some(log) = &self.setup.log {
            while let Some(line) = log.next() {
                self.draft.push_log(line);
            }
            let dropped = log.take_dropped();
            if dropped > 0 {
                log::warn!("{dropped} lines of the log came too quickly to be shown here");
            }
        }
        self.follow_inputs();
        if (self.setup.is_over)() {
            ctx.send_viewport_cmd(egui::ViewportCommand::Close);
        }
        // Hidden, `ui` is not called: only this goes on, and the runtime on its own threads.
        if let Some(pause) = ctx.input(|input| ui::hidden_pause(input.viewport())) {
            self.frames.rests();
            ctx.request_repaint_after(pause);
        }
    }

    fn ui(&mut self, ui: &mut egui::Ui, frame: &mut eframe::Frame) {
        let began = self.clock.now();
        let work = frame.info().cpu_usage.map(Duration::from_secs_f32);
        self.frames.begins(began, &self.snapshot, work);
        self.draw_scene(ui.visuals().dark_mode);
        cockpit_ui(ui, &self.snapshot, &mut self.draft, &mut self.commands);
        let now = ui.input(|input| input.time);
        self.send(now);
        self.keep_preferences(ui.ctx());
        let is_emulated = self.scene.as_ref().is_some_and(SceneTexture::is_emulated);
        let most = self.draft.preferences.frame_rate;
        // What a hand holds, and a cube that it drags, must be said again before the dead man's time is over.
        let pause = if self.draft.hand.is_driving() || self.draft.scene.held.is_some() {
            Duration::ZERO
        } else {
            ui::pause(&self.snapshot, most, is_emulated)
        };
        ui.ctx().request_repaint_after(pause);
        self.frames.asks(self.clock.now(), pause);
    }

    fn on_exit(&mut self) {
        (self.setup.stop)();
        self.setup.frames.set(self.frames.report());
        if self.setup.commands.try_send(Command::Shutdown).is_err() {
            log::warn!("the control thread could not be told that the window closed");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scale_never_pushes_the_panels_out_of_the_window() {
        let display = Vec2::new(3840.0, 2160.0);
        assert_eq!(fitting_zoom(2.0, display), 2.0);
        assert_eq!(fitting_zoom(1.5, SIZE), 1.4);
        assert_eq!(fitting_zoom(1.0, SIZE), 1.0);
        assert_eq!(fitting_zoom(1.0, Vec2::new(320.0, 200.0)), LEAST_ZOOM);
    }
}
