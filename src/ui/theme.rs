//! The one place with colours, type and spacing: each colour has one meaning, in a dark and a light room.

#![expect(
    clippy::disallowed_methods,
    reason = "this is the file in which colours live"
)]

use egui::{
    Color32, CornerRadius, FontDefinitions, FontFamily, FontId, Margin, RichText, Shadow, Stroke,
    Style, TextStyle, Theme, Ui, Vec2, Visuals, style::HandleShape,
};

/// Every colour of the window, by what it means. A shape or a word always stands beside it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tokens {
    /// Behind everything.
    pub ground: Color32,
    /// Panels.
    pub panel: Color32,
    /// Cards and buttons on a panel.
    pub raised: Color32,
    /// What the pointer is on.
    pub hovered: Color32,
    /// Wells: plots, pictures, text fields.
    pub well: Color32,
    /// Borders and grid lines.
    pub line: Color32,
    /// Reading text.
    pub text: Color32,
    /// Labels and units.
    pub weak: Color32,
    /// What is off.
    pub faint: Color32,
    /// Chosen, when the choice says nothing about who drives.
    pub chosen: Color32,
    /// Text on `chosen`.
    pub on_chosen: Color32,
    /// What the servos report.
    pub measured: Color32,
    /// What was sent to the servos.
    pub commanded: Color32,
    /// What the policy predicts: the newest chunk, the queue, the policy at the helm.
    pub predicted: Color32,
    /// The chunk before the newest.
    pub previous: Color32,
    /// Text on `predicted`.
    pub on_predicted: Color32,
    /// A person drives.
    pub human: Color32,
    /// Text on `human`.
    pub on_human: Color32,
    /// Is being recorded, or was: the light of a recording, and recorded actions at the helm.
    pub recorded: Color32,
    /// Text on `recorded`.
    pub on_recorded: Color32,
    /// Something is wrong, or stops.
    pub fault: Color32,
    /// Text in the fault colour on a panel.
    pub fault_text: Color32,
    /// Text on `fault`.
    pub on_fault: Color32,
    /// Acknowledged, confirmed.
    pub good: Color32,
    /// The stages of the latency strip, first to last; shades of one hue, told apart by place and label.
    pub stages: [Color32; 5],
}

const fn rgb(hex: u32) -> Color32 {
    Color32::from_rgb((hex >> 16) as u8, (hex >> 8) as u8, hex as u8)
}

/// For a dim laboratory.
pub const DARK: Tokens = Tokens {
    ground: rgb(0x0B0D10),
    panel: rgb(0x14171C),
    raised: rgb(0x21262D),
    hovered: rgb(0x2D343D),
    well: rgb(0x0D0F13),
    line: rgb(0x2A3038),
    text: rgb(0xF0F2F5),
    weak: rgb(0xA6B0BC),
    faint: rgb(0x6E7986),
    chosen: rgb(0xD5DAE1),
    on_chosen: rgb(0x12151A),
    measured: rgb(0xCFD5DD),
    commanded: rgb(0x4A9EFF),
    predicted: rgb(0xB58CFF),
    previous: rgb(0x725AA6),
    on_predicted: rgb(0x170E2B),
    human: rgb(0xF4B43A),
    on_human: rgb(0x211600),
    recorded: rgb(0x2CC7C0),
    on_recorded: rgb(0x00201F),
    fault: rgb(0xD92D3A),
    fault_text: rgb(0xFF6B73),
    on_fault: rgb(0xFFFFFF),
    good: rgb(0x4CC38A),
    stages: [
        rgb(0x3E4C5C),
        rgb(0x5A7188),
        rgb(0x7D98B2),
        rgb(0xA6BFD6),
        rgb(0x2F3742),
    ],
};

/// For a bright one.
pub const LIGHT: Tokens = Tokens {
    ground: rgb(0xE4E7EB),
    panel: rgb(0xF7F8FA),
    raised: rgb(0xE6E9EE),
    hovered: rgb(0xD9DEE5),
    well: rgb(0xFFFFFF),
    line: rgb(0xCFD5DD),
    text: rgb(0x0E1116),
    weak: rgb(0x434D59),
    faint: rgb(0x7C8792),
    chosen: rgb(0x2B333D),
    on_chosen: rgb(0xFFFFFF),
    measured: rgb(0x3A434E),
    commanded: rgb(0x0A66D0),
    predicted: rgb(0x703FDB),
    previous: rgb(0xB39DE3),
    on_predicted: rgb(0xFFFFFF),
    human: rgb(0xF2AE2E),
    on_human: rgb(0x2A1B00),
    recorded: rgb(0x08706D),
    on_recorded: rgb(0xFFFFFF),
    fault: rgb(0xCB1F2D),
    fault_text: rgb(0xB81521),
    on_fault: rgb(0xFFFFFF),
    good: rgb(0x137A46),
    stages: [
        rgb(0xB9C7D6),
        rgb(0x8FA6BD),
        rgb(0x63819E),
        rgb(0x3B5C7D),
        rgb(0xD9DFE6),
    ],
};

/// The tokens of the theme that `ui` is drawn in.
pub fn tokens(ui: &Ui) -> &'static Tokens {
    if ui.visuals().dark_mode {
        &DARK
    } else {
        &LIGHT
    }
}

impl Tokens {
    /// `color` as a wash over the panel, for areas and backgrounds.
    pub fn wash(color: Color32, strength: f32) -> Color32 {
        color.gamma_multiply(strength)
    }
}

/// Labels of axes and marks inside a plot, points.
pub const TINY: f32 = 11.0;
/// Legends, remarks, counters.
pub const SMALL: f32 = 12.5;
/// Reading text.
pub const BODY: f32 = 13.5;
/// Names and the task.
pub const LARGE: f32 = 15.0;
/// What is read from across the room: state, mode.
pub const LEAD: f32 = 17.0;
/// The word on the stop button.
pub const STOP: f32 = 24.0;

/// How much smaller the figures are set than the words beside them, so that both look equally high.
const FIGURES_SCALE: f32 = 0.93;

/// A font for words. There is one weight: rank shows in size, case and colour.
pub fn font(size: f32) -> FontId {
    FontId::proportional(size)
}

/// A font for readings: figures of one width, which stand still while they count, heavier than the words.
pub fn figures(size: f32) -> FontId {
    FontId::monospace(size * FIGURES_SCALE)
}

/// A reading beside words of `size`.
pub fn figure(text: impl Into<String>, size: f32) -> RichText {
    RichText::new(text).font(figures(size))
}

/// A name or a headline: the full ink, where labels have a weaker one.
pub fn strong(text: impl Into<String>) -> RichText {
    RichText::new(text).strong()
}

/// The small capitals over a section.
pub fn section(ui: &Ui, text: &str) -> RichText {
    RichText::new(text)
        .font(font(TINY))
        .color(tokens(ui).weak)
        .extra_letter_spacing(1.2)
}

/// Gives a context the fonts and both styles.
pub fn install(ctx: &egui::Context) {
    ctx.set_fonts(fonts());
    ctx.set_style_of(Theme::Dark, style(&DARK, Visuals::dark()));
    ctx.set_style_of(Theme::Light, style(&LIGHT, Visuals::light()));
}

/// The faces that come with egui.
fn fonts() -> FontDefinitions {
    let mut fonts = FontDefinitions::default();
    let figures = fonts.families.get(&FontFamily::Monospace);
    let figures = figures.and_then(|faces| faces.first()).cloned();
    let words = fonts.families.entry(FontFamily::Proportional).or_default();
    // Marks that the face for words lacks (▲ ◆ ●) come from the face for figures, before the emoji have a say.
    if let Some(face) = figures {
        words.insert(words.len().min(1), face);
    }
    fonts
}

fn style(tokens: &Tokens, base: Visuals) -> Style {
    let mut style = Style {
        visuals: visuals(tokens, base),
        text_styles: [
            (TextStyle::Heading, font(20.0)),
            (TextStyle::Body, font(BODY)),
            (TextStyle::Button, font(BODY)),
            (TextStyle::Small, font(SMALL)),
            (TextStyle::Monospace, figures(BODY)),
        ]
        .into(),
        drag_value_text_style: TextStyle::Monospace,
        ..Style::default()
    };
    style.spacing.item_spacing = Vec2::new(8.0, 5.0);
    style.spacing.button_padding = Vec2::new(8.0, 3.0);
    style.spacing.interact_size = Vec2::new(24.0, 22.0);
    style.spacing.slider_rail_height = 4.0;
    style.spacing.menu_margin = Margin::same(6);
    style.spacing.combo_height = 320.0;
    style.spacing.tooltip_width = 340.0;
    // A bar that lies over numbers hides them.
    style.spacing.scroll.floating_allocated_width = 8.0;
    style.interaction.selectable_labels = false;
    style.interaction.tooltip_delay = 0.35;
    style.url_in_tooltip = true;
    style
}

fn visuals(tokens: &Tokens, base: Visuals) -> Visuals {
    let mut visuals = base;
    let radius = CornerRadius::same(4);
    visuals.panel_fill = tokens.panel;
    visuals.window_fill = tokens.panel;
    visuals.window_stroke = Stroke::new(1.0, tokens.line);
    visuals.window_corner_radius = CornerRadius::same(8);
    visuals.menu_corner_radius = CornerRadius::same(6);
    visuals.popup_shadow = Shadow {
        offset: [0, 4],
        blur: 14,
        spread: 0,
        color: Color32::from_black_alpha(if visuals.dark_mode { 140 } else { 50 }),
    };
    visuals.window_shadow = visuals.popup_shadow;
    visuals.extreme_bg_color = tokens.well;
    visuals.text_edit_bg_color = Some(tokens.well);
    visuals.faint_bg_color = tokens.raised;
    visuals.code_bg_color = tokens.raised;
    visuals.weak_text_color = Some(tokens.weak);
    visuals.hyperlink_color = tokens.text;
    visuals.warn_fg_color = tokens.text;
    visuals.error_fg_color = tokens.fault_text;
    visuals.selection.bg_fill = Tokens::wash(tokens.commanded, 0.45);
    visuals.selection.stroke = Stroke::new(1.0, tokens.text);
    visuals.slider_trailing_fill = true;
    visuals.handle_shape = HandleShape::Circle;
    visuals.disabled_alpha = 0.45;
    let widgets = [
        (&mut visuals.widgets.inactive, tokens.raised, tokens.line),
        (&mut visuals.widgets.hovered, tokens.hovered, tokens.faint),
        (&mut visuals.widgets.active, tokens.hovered, tokens.weak),
        (&mut visuals.widgets.open, tokens.hovered, tokens.line),
    ];
    for (widget, fill, edge) in widgets {
        widget.bg_fill = fill;
        widget.weak_bg_fill = fill;
        widget.bg_stroke = Stroke::new(1.0, edge);
        widget.fg_stroke = Stroke::new(1.0, tokens.text);
        widget.corner_radius = radius;
        widget.expansion = 0.0;
    }
    visuals.widgets.noninteractive.bg_stroke = Stroke::new(1.0, tokens.line);
    visuals.widgets.noninteractive.fg_stroke = Stroke::new(1.0, tokens.text);
    visuals.widgets.noninteractive.corner_radius = radius;
    visuals
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Relative luminance of WCAG 2.
    fn luminance(color: Color32) -> f32 {
        let linear = egui::Rgba::from(color);
        0.2126 * linear.r() + 0.7152 * linear.g() + 0.0722 * linear.b()
    }

    fn contrast(a: Color32, b: Color32) -> f32 {
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    #[test]
    fn text_can_be_read_on_what_it_stands_on() {
        // 4.5 is the AA bound of WCAG 2 for small text.
        for tokens in [DARK, LIGHT] {
            for (ink, paper) in [
                (tokens.text, tokens.panel),
                (tokens.weak, tokens.panel),
                (tokens.text, tokens.raised),
                (tokens.fault_text, tokens.panel),
                (tokens.on_fault, tokens.fault),
                (tokens.on_human, tokens.human),
                (tokens.on_recorded, tokens.recorded),
                (tokens.recorded, tokens.raised),
                (tokens.on_predicted, tokens.predicted),
                (tokens.on_chosen, tokens.chosen),
            ] {
                assert!(
                    contrast(ink, paper) >= 4.5,
                    "{ink:?} on {paper:?}: {}",
                    contrast(ink, paper)
                );
            }
        }
    }

    #[test]
    fn lines_of_different_meaning_differ_in_brightness_or_hue() {
        for tokens in [DARK, LIGHT] {
            let meanings = [
                tokens.measured,
                tokens.commanded,
                tokens.predicted,
                tokens.previous,
                tokens.human,
                tokens.recorded,
                tokens.fault,
                tokens.good,
            ];
            for (i, a) in meanings.iter().enumerate() {
                for b in &meanings[i + 1..] {
                    assert_ne!(a, b);
                }
            }
        }
    }

    #[test]
    fn figures_of_both_faces_have_one_width() {
        let ctx = egui::Context::default();
        install(&ctx);
        let mut widths = Vec::new();
        let output = ctx.run_ui(egui::RawInput::default(), |ui| {
            for font in [font(BODY), figures(BODY)] {
                let width = |digit| ui.fonts_mut(|fonts| fonts.glyph_width(&font, digit));
                widths.push(('0'..='9').map(width).collect::<Vec<f32>>());
            }
        });
        drop(output);
        assert_eq!(widths.len(), 2);
        for of_one_face in widths {
            assert!(of_one_face.iter().all(|width| *width == of_one_face[0]));
            assert!(of_one_face[0] > 4.0, "{of_one_face:?}");
        }
    }
}
