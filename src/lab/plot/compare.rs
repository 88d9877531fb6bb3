//! What a policy would have done, drawn over what was done: a panel a joint, and the error against how far ahead it looks.

use super::panel::{Axis, COLOURS, Mark, Panel, Series, draw};
use super::{HALF, axis, series};
use crate::lab::compare::Comparison;

/// Colours of the record and of predictions.
const RECORD: usize = 0;
const PREDICTION: usize = 3;

/// The drawing as SVG.
///
/// # Errors
/// What the drawing crate says.
pub fn comparison(found: &Comparison) -> Result<String, String> {
    let mut panels: Vec<Panel> = (0..found.names.len())
        .map(|joint| joint_panel(found, joint))
        .collect();
    panels.push(error_panel(found));
    draw(&panels, HALF, 2)
}

fn joint_panel(found: &Comparison, joint: usize) -> Panel {
    let at = |row: usize, value: &[f32]| (row as f64 / found.fps, f64::from(value[joint]));
    let rows = found.recorded.iter().enumerate();
    let record: Vec<_> = rows.map(|(row, value)| at(row, value)).collect();
    let last = found.recorded.len();
    let chunks = found.asked.iter().map(|asked| {
        let steps = (asked.row..last).zip(&asked.actions);
        steps.map(|(row, value)| at(row, value)).collect::<Vec<_>>()
    });
    let chunks: Vec<_> = chunks.collect();
    let values = || record.iter().chain(chunks.iter().flatten()).map(|it| it.1);
    let (least, most) = (
        values().fold(f64::INFINITY, f64::min),
        values().fold(f64::NEG_INFINITY, f64::max),
    );
    let room = ((most - least) * 0.06).max(0.5);
    let mut lines = vec![series("recorded", RECORD, Mark::Line, record)];
    for (at, points) in chunks.into_iter().enumerate() {
        // One name in the legend for all of them.
        let name = if at == 0 { "predicted" } else { "" };
        lines.push(Series {
            name: name.to_owned(),
            colour: COLOURS[PREDICTION],
            mark: Mark::Dashes,
            points,
        });
    }
    Panel {
        title: found.names[joint].clone(),
        x: axis("time, s", last as f64 / found.fps, 1),
        y: Axis {
            label: "robot units",
            from: least - room,
            to: most + room,
            digits: 0,
        },
        words: vec![],
        series: lines,
    }
}

/// The mean of all joints by step ahead.
fn error_panel(found: &Comparison) -> Panel {
    let mean = |values: &[f32]| values.iter().sum::<f32>() / values.len().max(1) as f32;
    let steps = found.by_step.iter().enumerate();
    let points: Vec<_> = steps
        .map(|(step, values)| (step as f64, f64::from(mean(values))))
        .collect();
    let most = points.iter().map(|it| it.1).fold(0.0, f64::max);
    Panel {
        title: "Mean error of all joints".to_owned(),
        x: axis(
            "steps ahead",
            found.by_step.len().saturating_sub(1) as f64,
            0,
        ),
        y: axis("robot units", most * 1.1, 1),
        words: vec![],
        series: vec![series("", PREDICTION, Mark::Line, points)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::compare::Asked;
    use crate::lab::plot::tests::is_well_formed;

    #[test]
    fn record_and_predictions_are_drawn_joint_by_joint() {
        let found = Comparison {
            fps: 30.0,
            names: vec!["pan".to_owned(), "lift".to_owned()],
            recorded: (0..40u8).map(|at| vec![f32::from(at), 3.0]).collect(),
            asked: [0, 20]
                .map(|row| Asked {
                    row,
                    actions: vec![vec![5.0, 4.0]; 30],
                })
                .to_vec(),
            by_step: vec![vec![1.0, 2.0]; 30],
            ..Comparison::default()
        };
        let svg = comparison(&found).unwrap();
        assert!(is_well_formed(&svg), "{svg}");
        for word in ["pan", "lift", "recorded", "predicted", "steps ahead"] {
            assert!(svg.contains(word), "{word}");
        }
        assert_eq!(
            svg.matches(">predicted<").count() + svg.matches("predicted\n").count(),
            2
        );
        // Nothing to draw is no reason to fail.
        assert!(comparison(&Comparison::default()).is_ok());
    }
}
