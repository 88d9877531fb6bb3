//! The report of a lab: text for a terminal, Markdown and JSON for files, and the plots beside them.

use std::fmt::Write as _;
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

const SECTIONS: [Section; 7] = [
    Section::Schedules,
    Section::Threshold,
    Section::Steps,
    Section::Merge,
    Section::Windows,
    Section::Bound,
    Section::Evaluation,
];

impl Report {
    /// Headings and tables, in their order.
    fn tables(&self) -> Vec<(&'static str, Table)> {
        let of = |section: Section| Some((section.title(), section.table(&self.rows)?));
        let mut tables: Vec<_> = SECTIONS.into_iter().filter_map(of).collect();
        if !self.scenarios.is_empty() {
            tables.push(("Disturbances", outcomes(&self.scenarios)));
        }
        tables
    }

    /// For a terminal.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for (title, table) in self.tables() {
            // Writing to a string cannot fail.
            let _ = write!(text, "{title}\n\n{}\n", table.aligned());
        }
        let findings = self.findings();
        if !findings.is_empty() {
            text.push_str("What it says\n\n");
        }
        for finding in findings {
            let _ = writeln!(text, "  - {finding}");
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
            let _ = writeln!(text, "- {finding}");
        }
        for (title, table) in self.tables() {
            let _ = write!(text, "\n## {title}\n\n{}", table.markdown());
        }
        for plot in plots {
            let _ = write!(text, "\n![{}]({})\n", plot.caption, plot.name);
        }
        text
    }

    /// Whether every disturbance ended as expected.
    pub fn passed(&self) -> bool {
        self.scenarios.iter().all(|outcome| outcome.passed)
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
