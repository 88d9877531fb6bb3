//! What the rows say, in sentences, beside what theory and the SmolVLA paper say.

use crate::lab::grid::Section;
use crate::lab::report::Report;
use crate::lab::row::Row;
use crate::lab::table::{Onset, onsets};

/// The paper's mean times of an episode, seconds, and cubes in 60 s (arXiv 2506.01844, section 4.6): sync, async.
const PAPER_TIMES_S: [f64; 2] = [13.75, 9.70];
const PAPER_CUBES: [f64; 2] = [9.0, 19.0];
/// One action for the strict comparison with g, and one for the tick that an answer waits for.
const SLACK_ACTIONS: f64 = 2.0;

impl Report {
    /// Sentences, the most important first.
    pub fn findings(&self) -> Vec<String> {
        let of = |section| -> Vec<&Row> {
            let own = self.rows.iter().filter(|row| row.section == section);
            own.collect()
        };
        let mut findings = speed(&of(Section::Schedules));
        findings.extend(cubes(&of(Section::Windows)));
        findings.extend(bound(&of(Section::Bound)));
        findings
    }
}

/// The rows of one latency, the sync one that executes the most of a chunk and the async one.
fn pairs<'a>(rows: &[&'a Row]) -> Vec<(&'a Row, &'a Row)> {
    let is_async = |row: &&&Row| row.mode == "async";
    let pair = |fast: &&'a Row| {
        let same = rows.iter().filter(|row| row.latency_ms == fast.latency_ms);
        let sync = same.filter(|row| row.mode == "sync");
        let whole = sync.max_by_key(|row| row.knobs.n_action_steps)?;
        Some((*whole, *fast))
    };
    rows.iter().filter(is_async).filter_map(pair).collect()
}

fn change(from: f64, to: f64) -> f64 {
    (to / from - 1.0) * 100.0
}

fn speed(rows: &[&Row]) -> Vec<String> {
    let said = pairs(rows).into_iter().filter_map(|(sync, fast)| {
        let (slow_s, fast_s) = (sync.mean_time_s?, fast.mean_time_s?);
        Some(format!(
            "at {}: async {fast_s:.1} s, sync with whole chunks {slow_s:.1} s, {:+.0} % at {} against {} of {} successes",
            fast.latency,
            change(slow_s, fast_s),
            fast.successes,
            sync.successes,
            sync.episodes,
        ))
    });
    let mut said: Vec<_> = said.collect();
    if !said.is_empty() {
        let [sync, fast] = PAPER_TIMES_S;
        said.push(format!(
            "the paper: async {fast:.1} s, sync {sync:.1} s, {:+.0} % at similar success",
            change(sync, fast)
        ));
    }
    said
}

fn cubes(rows: &[&Row]) -> Vec<String> {
    let said = pairs(rows).into_iter().map(|(sync, fast)| {
        let (slow, quick) = (sync.done_a_window(), fast.done_a_window());
        format!(
            "in {:.0} s at {}: async {quick:.1} times, sync with whole chunks {slow:.1} times (the paper: {:.0} and {:.0})",
            fast.window_s.unwrap_or_default(),
            fast.latency,
            PAPER_CUBES[1],
            PAPER_CUBES[0]
        )
    });
    said.collect()
}

fn bound(rows: &[&Row]) -> Vec<String> {
    let Some(first) = rows.first() else {
        return vec![];
    };
    let action = 1.0 / first.knobs.actions_per_chunk as f64;
    let (fresh, late): (Vec<Onset>, Vec<Onset>) = onsets(rows)
        .into_iter()
        .partition(|onset| onset.predicted <= 0.5);
    let holds = |onset: &&Onset| {
        let seen = onset.seen.map(f64::from);
        let most = onset.predicted + SLACK_ACTIONS * action + f64::from(onset.step);
        seen.is_some_and(|seen| seen >= onset.predicted && seen <= most)
    };
    let mut said = vec![format!(
        "the bound g ≥ E[l]/(n Δt) tells the onset of starvation to {SLACK_ACTIONS:.0} actions and the step of the sweep at {} of \
         {} latencies up to half a chunk",
        fresh.iter().filter(holds).count(),
        fresh.len()
    )];
    for onset in late {
        let starved = onset.seen.is_none();
        said.push(format!(
            "at {:.0} ms, more than half a chunk, {}: what is left of a new chunk does not last until the next one, whatever \
             the bound of {:.2} says",
            onset.latency_ms,
            if starved {
                format!("no g helps ({:.0} % of the ticks starve at best)", onset.least * 100.0)
            } else {
                "the queue was fed nevertheless".to_owned()
            },
            onset.predicted
        ));
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::Knobs;

    fn row(section: Section, mode: &'static str, time_s: f64, g: f32) -> Row {
        Row {
            section,
            mode,
            latency: "700 ms".to_owned(),
            latency_ms: 700.0,
            mean_time_s: Some(time_s),
            episodes: 10,
            successes: 9,
            ticks: 100,
            g_min: 0.42,
            knobs: Knobs {
                chunk_size_threshold: g,
                ..Knobs::default()
            },
            ..Row::default()
        }
    }

    #[test]
    fn async_is_compared_with_sync_of_the_same_latency() {
        let rows = vec![
            row(Section::Schedules, "sync", 10.0, 0.7),
            row(Section::Schedules, "async", 7.0, 0.7),
        ];
        let report = Report {
            rows,
            ..Report::default()
        };
        let said = report.findings();
        assert!(
            said[0].contains("-30 %") && said[0].contains("9 against 9 of 10"),
            "{said:?}"
        );
        assert!(
            said[1].contains("the paper") && said[1].contains("-29 %"),
            "{said:?}"
        );
    }

    #[test]
    fn the_bound_holds_where_the_onset_is_a_little_above_it() {
        let starved = |g, ticks| Row {
            starved_ticks: ticks,
            ..row(Section::Bound, "async", 1.0, g)
        };
        let report = |onset: usize| Report {
            rows: [0.0, 0.2, 0.4, 0.5, 0.6]
                .into_iter()
                .enumerate()
                .map(|(at, g)| starved(g, u64::from(at < onset)))
                .collect(),
            ..Report::default()
        };
        assert!(report(3).findings()[0].contains("1 of 1"));
        assert!(
            report(1).findings()[0].contains("0 of 1"),
            "fed below the bound"
        );
    }
}
