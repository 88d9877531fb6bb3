//! The report of a lab: text for a terminal, Markdown and JSON for files, and the plots beside them.

use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::lab::flight::Error;
use crate::lab::grid::Section;
use crate::lab::plot::{Plot, plots};
use crate::lab::row::Row;
use crate::lab::scenario::Outcome;
use crate::lab::table::{Table, outcomes};

/// Everything that was measured.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    pub rows: Vec<Row>,
    pub scenarios: Vec<Outcome>,
}

/// The heading of what went wrong on purpose.
const DISTURBANCES: &str = "Disturbances";

impl Report {
    /// Headings and tables of the rows, in their order.
    fn tables(&self) -> impl Iterator<Item = (&'static str, Table)> {
        let of = |section: Section| Some((section.title(), section.table(&self.rows)?));
        Section::ALL.into_iter().filter_map(of)
    }

    /// For a terminal.
    pub fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail, here and below.
        for (title, table) in self.tables() {
            write!(text, "{title}\n\n{}\n", table.aligned()).ok();
        }
        if !self.scenarios.is_empty() {
            writeln!(text, "{DISTURBANCES}\n").ok();
        }
        for outcome in &self.scenarios {
            writeln!(text, "  {}  {}", outcome.verdict(), outcome.name).ok();
            writeln!(text, "        expected: {}", outcome.expected).ok();
            writeln!(text, "        seen:     {}\n", outcome.seen).ok();
        }
        let findings = self.findings();
        if !findings.is_empty() {
            text.push_str("What it says\n\n");
        }
        for finding in findings {
            writeln!(text, "  - {finding}").ok();
        }
        text
    }

    /// For a README.
    fn markdown(&self, plots: &[Plot]) -> String {
        let mut text = String::from("# Lab\n\n");
        text.push_str(
            "Every run is flown by the real control loop, driver and bus on a virtual clock: the same seed gives the same row, \
             whatever the machine and however busy it is.\n\n",
        );
        for finding in self.findings() {
            writeln!(text, "- {finding}").ok();
        }
        for (title, table) in self.tables() {
            write!(text, "\n## {title}\n\n{}", table.markdown()).ok();
        }
        if !self.scenarios.is_empty() {
            let table = outcomes(&self.scenarios).markdown();
            write!(text, "\n## {DISTURBANCES}\n\n{table}").ok();
        }
        for plot in plots {
            write!(text, "\n![{}]({})\n", plot.caption, plot.name).ok();
        }
        text
    }

    /// Whether every disturbance ended as expected.
    pub fn passed(&self) -> bool {
        self.scenarios.iter().all(|outcome| outcome.passed)
    }

    /// Makes the folder, and sees whether a report can be written there before anything is flown for it.
    ///
    /// # Errors
    /// The folder or a file in it cannot be written, with its path.
    pub fn claim(folder: &Path) -> Result<(), Error> {
        let failed = |path: PathBuf| |source| Error::Write { path, source };
        std::fs::create_dir_all(folder).map_err(failed(folder.to_owned()))?;
        for name in ["lab.md", "lab.json"] {
            let path = folder.join(name);
            let opened = OpenOptions::new().append(true).create(true).open(&path);
            opened.map_err(failed(path))?;
        }
        Ok(())
    }

    /// Writes `lab.json`, `lab.md` and the plots into a folder; returns their paths.
    ///
    /// # Errors
    /// The folder or a file cannot be written, with its path.
    pub fn write(&self, folder: &Path) -> Result<Vec<PathBuf>, Error> {
        let plots = plots(&self.rows)?;
        let json = serde_json::to_string_pretty(self).map_err(std::io::Error::from);
        let mut files = vec![(folder.join("lab.md"), Ok(self.markdown(&plots)))];
        files.push((folder.join("lab.json"), json));
        for plot in plots {
            files.push((folder.join(plot.name), Ok(plot.svg)));
        }
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| Error::Write { path, source }
        };
        std::fs::create_dir_all(folder).map_err(failed(folder))?;
        let mut paths = vec![];
        for (path, text) in files {
            let written = text.and_then(|text| std::fs::write(&path, text));
            written.map_err(failed(&path))?;
            paths.push(path);
        }
        Ok(paths)
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_folder_that_cannot_hold_a_report_is_refused_before_the_flight() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("taken");
        std::fs::write(&file, "").unwrap();
        let why = Report::claim(&file).unwrap_err().to_string();
        assert!(why.contains("taken"), "{why}");
        let old = folder.path().join("lab.md");
        std::fs::write(&old, "old").unwrap();
        Report::claim(folder.path()).unwrap();
        assert_eq!(std::fs::read_to_string(&old).unwrap(), "old");
    }

    use super::*;
    use crate::lab::course::EpisodeRow;
    use crate::lab::meter::{Measures, TracePoint};
    use crate::lab::plot::tests::is_well_formed;
    use crate::runtime::Knobs;

    /// A row that every table and plot of its section can be made of.
    fn row(section: Section, mode: &'static str, g: f32) -> Row {
        let point = |tick: u8| TracePoint {
            at_s: f32::from(tick) / 30.0,
            queue: u32::from(50 - tick % 50),
            requested: tick.is_multiple_of(15),
            arrived: false,
            starved: tick.is_multiple_of(50),
        };
        let run = EpisodeRow {
            seed: 1,
            success: true,
            time_s: Some(9.5),
            ended: "success".to_owned(),
            progress: 1.0,
            done: 1,
            measures: Measures {
                trace: (0..200).map(point).collect(),
                ..Measures::default()
            },
        };
        Row {
            section,
            label: format!("{mode} at {g}"),
            mode,
            latency: "300 ms".to_owned(),
            latency_ms: 300.0,
            g_min: 0.18,
            episodes: 1,
            successes: 1,
            mean_time_s: Some(9.5),
            window_s: Some(60.0),
            done: 4,
            ticks: 300,
            knobs: Knobs {
                chunk_size_threshold: g,
                ..Knobs::default()
            },
            per_episode: vec![run],
            ..Row::default()
        }
    }

    fn report() -> Report {
        let mut rows = vec![];
        for section in Section::ALL {
            for (mode, g) in [("sync", 0.0), ("async", 0.7), ("async", 1.0)] {
                rows.push(row(section, mode, g));
            }
        }
        let outcome = Outcome {
            name: "servo mute".to_owned(),
            expected: "stopped".to_owned(),
            seen: "stopped after 6 ticks".to_owned(),
            passed: true,
        };
        Report {
            rows,
            scenarios: vec![outcome],
        }
    }

    #[test]
    fn the_folder_holds_each_row_and_well_formed_plots() {
        let folder = tempfile::tempdir().unwrap();
        let below = folder.path().join("new");
        let report = report();
        let paths = report.write(&below).unwrap();
        let read = |name: &str| std::fs::read_to_string(below.join(name)).unwrap();
        let (markdown, text) = (read("lab.md"), report.text());
        for row in report.rows.iter().filter(|it| it.section != Section::Bound) {
            assert!(
                markdown.contains(&format!("| {} |", row.label)),
                "{}",
                row.label
            );
            assert!(text.contains(&row.label), "{}", row.label);
        }
        assert!(markdown.contains("| 300 ms | 0.18 |") && markdown.contains("PASS"));
        let json: serde_json::Value = serde_json::from_str(&read("lab.json")).unwrap();
        assert_eq!(
            json["rows"].as_array().map(Vec::len),
            Some(report.rows.len())
        );
        let svgs = paths
            .iter()
            .filter(|path| path.extension().is_some_and(|it| it == "svg"));
        let mut count = 0;
        for path in svgs {
            let svg = std::fs::read_to_string(path).unwrap();
            assert!(is_well_formed(&svg), "{}", path.display());
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            assert!(markdown.contains(&format!("({name})")), "{name}");
            count += 1;
        }
        assert_eq!(count, 5);
    }

    #[test]
    fn a_row_has_the_documented_keys() {
        let json = serde_json::to_value(row(Section::Evaluation, "async", 0.7)).unwrap();
        for key in [
            "task",
            "policy",
            "mode",
            "episodes",
            "successes",
            "success_rate",
            "mean_time_s",
            "starved_ticks",
            "requests",
            "seeds",
            "per_episode",
        ] {
            assert!(!json[key].is_null(), "{key}");
        }
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_named() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let why = Report::default()
            .write(file.path())
            .unwrap_err()
            .to_string();
        assert!(why.contains(&file.path().display().to_string()), "{why}");
    }
}
