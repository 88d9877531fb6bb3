//! Quiet charts as SVG: transparent, in middle tones that are read on a light and on a dark page, the legend above the plot so
//! that it hides nothing.

use plotters::backend::SVGBackend;
use plotters::chart::{ChartBuilder, ChartContext};
use plotters::coord::Shift;
use plotters::coord::cartesian::Cartesian2d;
use plotters::coord::types::RangedCoordf64;
use plotters::drawing::{DrawingArea, DrawingAreaErrorKind, IntoDrawingArea as _};
use plotters::element::{Circle, PathElement, Rectangle, Text};
use plotters::series::{DashedLineSeries, LineSeries};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color as _, IntoFont as _, RGBColor, ShapeStyle, TextStyle};

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;
type Drawn = Result<(), DrawingAreaErrorKind<std::io::Error>>;

/// What is drawn in no colour of its own: axes and words.
const INK: RGBColor = RGBColor(125, 130, 138);
/// Told apart by colour-blind eyes, too (after Okabe and Ito, in tones between light and dark).
pub const COLOURS: [RGBColor; 6] = [
    RGBColor(40, 126, 200),
    RGBColor(222, 136, 32),
    RGBColor(28, 150, 116),
    RGBColor(164, 100, 200),
    RGBColor(206, 92, 76),
    RGBColor(110, 150, 180),
];

/// Font sizes, pixels.
const WORDS: i32 = 12;
const TITLE: i32 = 14;
/// Height of the title and the legend.
const HEAD: i32 = 30;
/// Width of a letter as a share of the font's size: a guess that no font exceeds much.
const LETTER: f64 = 0.52;

/// One axis.
#[derive(Clone, Debug)]
pub struct Axis {
    /// With its unit.
    pub label: &'static str,
    pub from: f64,
    pub to: f64,
    /// Digits behind the point of its numbers.
    pub digits: usize,
}

/// How points are drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mark {
    Line,
    /// A line with a dot at each point.
    Dots,
    /// A bar of this width from zero up, with its value above it.
    Bars(f64),
    /// A dashed line.
    Dashes,
    /// A short stroke from the foot of the chart up.
    Strokes,
}

/// Points of one kind.
#[derive(Clone, Debug)]
pub struct Series {
    /// For the legend; an empty one is not in it.
    pub name: String,
    pub colour: RGBColor,
    pub mark: Mark,
    pub points: Vec<(f64, f64)>,
}

/// One chart.
#[derive(Clone, Debug)]
pub struct Panel {
    pub title: String,
    pub x: Axis,
    pub y: Axis,
    /// In the place of the numbers of the x axis: words at 0, 1, 2, …, in one or two lines.
    pub words: Vec<String>,
    pub series: Vec<Series>,
}

/// Draws panels below each other, `size` pixels each.
///
/// # Errors
/// What the drawing crate says.
pub fn draw(panels: &[Panel], size: (u32, u32), columns: usize) -> Result<String, String> {
    let rows = panels.len().div_ceil(columns.max(1));
    let whole = (size.0 * columns as u32, size.1 * rows as u32);
    let mut text = String::new();
    {
        let root = SVGBackend::with_string(&mut text, whole).into_drawing_area();
        for (area, panel) in root.split_evenly((rows, columns)).iter().zip(panels) {
            draw_panel(area, panel).map_err(|error| error.to_string())?;
        }
        root.present().map_err(|error| error.to_string())?;
    }
    Ok(text)
}

fn words<'a>(size: i32) -> TextStyle<'a> {
    ("sans-serif", size).into_font().color(&INK)
}

fn draw_panel(area: &Area<'_>, panel: &Panel) -> Drawn {
    let (head, body) = area.split_vertically(HEAD);
    draw_head(&head, panel)?;
    let label = |axis: &Axis, value: f64| format!("{value:.*}", axis.digits);
    let mut chart = ChartBuilder::on(&body)
        .margin_right(16)
        .margin_bottom(4)
        .x_label_area_size(40)
        .y_label_area_size(52)
        .build_cartesian_2d(panel.x.from..panel.x.to, panel.y.from..panel.y.to)?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .max_light_lines(0)
        .bold_line_style(INK.mix(0.25))
        .axis_style(INK.mix(0.7))
        .label_style(words(WORDS))
        .axis_desc_style(words(WORDS))
        .x_desc(panel.x.label)
        .y_desc(panel.y.label)
        .x_labels(if panel.words.is_empty() { 8 } else { 0 })
        .y_labels(5)
        .x_label_formatter(&|x| label(&panel.x, *x))
        .y_label_formatter(&|y| label(&panel.y, *y))
        .draw()?;
    draw_words(&body, &chart, panel)?;
    for series in &panel.series {
        draw_series(&mut chart, panel, series)?;
    }
    Ok(())
}

/// The title at the left, the legend behind it.
fn draw_head(head: &Area<'_>, panel: &Panel) -> Drawn {
    let title = words(TITLE).pos(Pos::new(HPos::Left, VPos::Center));
    let middle = HEAD / 2;
    head.draw(&Text::new(panel.title.clone(), (8, middle), title))?;
    let width =
        |text: &str, size: i32| (text.chars().count() as f64 * f64::from(size) * LETTER) as i32;
    let mut at = 8 + width(&panel.title, TITLE) + 24;
    for series in panel.series.iter().filter(|it| !it.name.is_empty()) {
        let style = ShapeStyle::from(&series.colour).stroke_width(3);
        let line = vec![(at, middle), (at + 14, middle)];
        head.draw(&PathElement::new(line, style))?;
        let name = words(WORDS).pos(Pos::new(HPos::Left, VPos::Center));
        head.draw(&Text::new(series.name.clone(), (at + 20, middle), name))?;
        at += 20 + width(&series.name, WORDS) + 18;
    }
    Ok(())
}

/// Words below the x axis, each at its place.
fn draw_words(body: &Area<'_>, chart: &Chart<'_, '_>, panel: &Panel) -> Drawn {
    let area = chart.plotting_area();
    let foot = area.get_y_axis_pixel_range().end;
    let base = body.get_base_pixel();
    for (at, word) in panel.words.iter().enumerate() {
        let (x, _) = area.map_coordinate(&(at as f64, panel.y.from));
        for (line, text) in (0..).zip(word.lines()) {
            let style = words(WORDS).pos(Pos::new(HPos::Center, VPos::Top));
            let place = (x - base.0, foot - base.1 + 6 + line * (WORDS + 3));
            body.draw(&Text::new(text.to_owned(), place, style))?;
        }
    }
    Ok(())
}

fn draw_series(chart: &mut Chart<'_, '_>, panel: &Panel, series: &Series) -> Drawn {
    let line = ShapeStyle::from(&series.colour).stroke_width(2);
    let points = || series.points.iter().copied();
    match series.mark {
        Mark::Line => {
            chart.draw_series(LineSeries::new(points(), line))?;
        }
        Mark::Dots => {
            chart.draw_series(LineSeries::new(points(), line))?;
            chart.draw_series(points().map(|at| Circle::new(at, 3, series.colour.filled())))?;
        }
        Mark::Dashes => {
            let thin = ShapeStyle::from(&series.colour).stroke_width(1);
            chart.draw_series(DashedLineSeries::new(points(), 5, 4, thin))?;
        }
        Mark::Strokes => {
            let top = panel.y.from + (panel.y.to - panel.y.from) * 0.06;
            let stroke = |(x, _)| PathElement::new(vec![(x, panel.y.from), (x, top)], line);
            chart.draw_series(points().map(stroke))?;
        }
        Mark::Bars(width) => {
            let bar = |(x, y): (f64, f64)| {
                let corners = [(x - width / 2.0, 0.0), (x + width / 2.0, y)];
                Rectangle::new(corners, series.colour.mix(0.85).filled())
            };
            chart.draw_series(points().map(bar))?;
            let style = words(WORDS).pos(Pos::new(HPos::Center, VPos::Bottom));
            let value = |(x, y): (f64, f64)| {
                let text = format!("{y:.*}", panel.y.digits);
                Text::new(text, (x, y), style.clone())
            };
            chart.draw_series(points().map(value))?;
        }
    }
    Ok(())
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// Whether every tag of a document is closed, and its words are escaped.
    pub fn is_well_formed(svg: &str) -> bool {
        let mut open: Vec<&str> = vec![];
        for tag in svg.split('<').skip(1) {
            let Some((inside, text)) = tag.split_once('>') else {
                return false;
            };
            if text.contains('&') && !text.contains(';') {
                return false;
            }
            let name = inside.split([' ', '/', '\n']).find(|word| !word.is_empty());
            if inside.starts_with('/') {
                if open.pop() != name {
                    return false;
                }
            } else if !inside.ends_with('/') {
                open.extend(name);
            }
        }
        open.is_empty() && svg.starts_with("<svg")
    }

    fn panel(mark: Mark) -> Panel {
        let axis = |label| Axis {
            label,
            from: 0.0,
            to: 4.0,
            digits: 1,
        };
        Panel {
            title: "queue & level".to_owned(),
            x: axis("time, s"),
            y: axis("actions"),
            words: vec![],
            series: vec![Series {
                name: "g <0.7".to_owned(),
                colour: COLOURS[0],
                mark,
                points: vec![(0.0, 1.0), (2.0, 3.0), (3.0, 2.0)],
            }],
        }
    }

    #[test]
    fn every_mark_is_drawn_and_the_axes_are_named() {
        let shapes = [
            (Mark::Line, "<polyline"),
            (Mark::Dots, "<circle"),
            (Mark::Bars(0.5), "<rect"),
            (Mark::Dashes, "<line"),
            (Mark::Strokes, "<polyline"),
        ];
        for (mark, shape) in shapes {
            let svg = draw(&[panel(mark), panel(mark)], (480, 240), 1).unwrap();
            assert!(is_well_formed(&svg), "{mark:?}: {svg}");
            for word in [shape, "time, s", "actions", "sans-serif", "&lt;0.7"] {
                assert!(svg.contains(word), "{mark:?} lacks {word}");
            }
        }
        assert!(!is_well_formed("<svg><g></svg>"));
    }
}
