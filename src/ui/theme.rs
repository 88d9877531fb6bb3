//! The one place with colours, type and spacing: each colour has one meaning, in a dark and a light room.

#![expect(
    clippy::disallowed_methods,
    reason = "this is the file in which colours live"
)]

use std::sync::Arc;

use egui::{
    Color32, CornerRadius, FontData, FontDefinitions, FontFamily, FontId, Margin, RichText, Shadow,
    Stroke, Style, TextStyle, Theme, Ui, Vec2, Visuals, style::HandleShape,
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
    text: rgb(0xE8EBEF),
    weak: rgb(0x9AA4B1),
    faint: rgb(0x5C6672),
    chosen: rgb(0xD5DAE1),
    on_chosen: rgb(0x12151A),
    measured: rgb(0xCFD5DD),
    commanded: rgb(0x4A9EFF),
    predicted: rgb(0xB58CFF),
    previous: rgb(0x725AA6),
    on_predicted: rgb(0x170E2B),
    human: rgb(0xF4B43A),
    on_human: rgb(0x211600),
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
    text: rgb(0x161A20),
    weak: rgb(0x55606D),
    faint: rgb(0x9AA3AE),
    chosen: rgb(0x2B333D),
    on_chosen: rgb(0xFFFFFF),
    measured: rgb(0x3A434E),
    commanded: rgb(0x0A66D0),
    predicted: rgb(0x703FDB),
    previous: rgb(0xB39DE3),
    on_predicted: rgb(0xFFFFFF),
    human: rgb(0xF2AE2E),
    on_human: rgb(0x2A1B00),
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

/// The family of headings and of what must be read at a glance.
pub fn strong_family() -> FontFamily {
    FontFamily::Name("strong".into())
}

/// A font of the strong family.
pub fn strong_font(size: f32) -> FontId {
    FontId::new(size, strong_family())
}

/// A font of the reading family; its figures are tabular.
pub fn font(size: f32) -> FontId {
    FontId::proportional(size)
}

/// Text in the strong family.
pub fn strong(text: impl Into<String>) -> RichText {
    RichText::new(text).family(strong_family())
}

/// The small capitals over a section.
pub fn section(ui: &Ui, text: &str) -> RichText {
    RichText::new(text)
        .font(strong_font(10.5))
        .color(tokens(ui).weak)
        .extra_letter_spacing(0.8)
}

/// Gives a context the fonts and both styles.
pub fn install(ctx: &egui::Context) {
    ctx.set_fonts(fonts());
    ctx.set_style_of(Theme::Dark, style(&DARK, Visuals::dark()));
    ctx.set_style_of(Theme::Light, style(&LIGHT, Visuals::light()));
}

fn fonts() -> FontDefinitions {
    let mut fonts = FontDefinitions::default();
    let faces: [(&str, &'static [u8]); 2] = [
        (
            "Inter",
            include_bytes!("../../assets/font/Inter-Regular.otf"),
        ),
        (
            "Inter SemiBold",
            include_bytes!("../../assets/font/Inter-SemiBold.otf"),
        ),
    ];
    for (name, bytes) in faces {
        let face = Arc::new(FontData::from_static(bytes));
        fonts.font_data.insert(name.to_owned(), face);
    }
    // The built-in faces stay behind ours, for characters that ours lack.
    let fallback = fonts
        .families
        .get(&FontFamily::Proportional)
        .cloned()
        .unwrap_or_default();
    let chain = |first: &str| {
        let mut names = vec![first.to_owned()];
        names.extend(fallback.iter().cloned());
        names
    };
    let (reading, strong) = (chain("Inter"), chain("Inter SemiBold"));
    fonts.families.insert(FontFamily::Proportional, reading);
    fonts.families.insert(strong_family(), strong);
    fonts
}

fn style(tokens: &Tokens, base: Visuals) -> Style {
    let mut style = Style {
        visuals: visuals(tokens, base),
        text_styles: [
            (TextStyle::Heading, strong_font(17.0)),
            (TextStyle::Body, font(13.0)),
            (TextStyle::Button, font(13.0)),
            (TextStyle::Small, font(11.0)),
            (TextStyle::Monospace, FontId::monospace(12.0)),
        ]
        .into(),
        ..Style::default()
    };
    style.spacing.item_spacing = Vec2::new(8.0, 5.0);
    style.spacing.button_padding = Vec2::new(8.0, 3.0);
    style.spacing.interact_size = Vec2::new(24.0, 22.0);
    style.spacing.slider_rail_height = 4.0;
    style.spacing.menu_margin = Margin::same(6);
    style.spacing.combo_height = 320.0;
    style.spacing.tooltip_width = 340.0;
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
}
