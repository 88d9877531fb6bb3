//! The account of a chunk for people: what each stage launched, copied and took, down to the kind of kernel.

use std::io::{self, Write};

use super::account::{Account, KernelAccount};
use super::report::{StageReport, Stages, known};

/// Kinds of kernels that are listed one by one; the rest is one line.
const LISTED: usize = 16;

/// Prints what was kept of the counts; nothing if nothing was.
pub fn print(stages: &Stages, out: &mut dyn Write) -> io::Result<()> {
    let accounts: Vec<_> = stages
        .named()
        .into_iter()
        .filter_map(|(name, stage)| Some((name, stage, stage.account.as_ref()?)))
        .collect();
    if accounts.is_empty() {
        return Ok(());
    }
    if accounts
        .iter()
        .all(|(_, _, account)| account.kernels.is_none())
    {
        return writeln!(
            out,
            "\naccount: the CPU launches, submits and copies nothing; the operations run in the calling thread and its pool"
        );
    }
    writeln!(
        out,
        "\n{:<8} {:>8} {:>8} {:>9} {:>12} {:>10} {:>10} {:>8} {:>8} {:>9} {:>12}",
        "account",
        "kernels",
        "submits",
        "host ms",
        "µs/launch",
        "device ms",
        "to dev KB",
        "back KB",
        "groups",
        "pipelines",
        "memory KB"
    )?;
    for (name, stage, account) in &accounts {
        writeln!(out, "{}", line(name, stage, account))?;
    }
    writeln!(
        out,
        "µs/launch: host time between launches; memory: what the driver gave and did not get back by the end of the stage"
    )?;
    for (name, _, account) in accounts.iter().filter(|(name, ..)| *name != "total") {
        print_kernels(name, &account.by_kernel, out)?;
    }
    Ok(())
}

fn line(name: &str, stage: &StageReport, account: &Account) -> String {
    let apart = stage
        .host_ms
        .zip(account.kernels)
        .filter(|(_, kernels)| *kernels > 0);
    let kilobytes = |bytes: u64| format!("{:.1}", bytes as f64 / 1e3);
    let taken = &account.allocations;
    format!(
        "{name:<8} {:>8} {:>8} {:>9} {:>12} {:>10} {:>10} {:>8} {:>8} {:>9} {:>12}",
        known(account.kernels),
        known(account.submits),
        known(stage.host_ms.map(|ms| format!("{ms:.2}"))),
        known(apart.map(|(ms, kernels)| format!("{:.2}", ms * 1e3 / kernels as f64))),
        known(account.device_ms.map(|ms| format!("{ms:.2}"))),
        kilobytes(account.copies.to_device_bytes),
        kilobytes(account.copies.to_host_bytes),
        known(taken.bind_groups),
        known(taken.pipelines),
        known(
            taken
                .driver_bytes
                .map(|bytes| format!("{:.1}", bytes as f64 / 1e3))
        ),
    )
}

fn print_kernels(stage: &str, kinds: &[KernelAccount], out: &mut dyn Write) -> io::Result<()> {
    for kind in kinds.iter().take(LISTED) {
        let mut words = vec![format!(
            "  {stage:<8} {:>6} × {}",
            kind.launches, kind.kernel
        )];
        words.extend(kind.device_ms.map(|ms| format!("{ms:.3} ms")));
        words.extend(kind.flops.zip(kind.bytes).map(|(flops, bytes)| {
            format!(
                "{:.3} GFLOP, {:.2} MB",
                flops as f64 / 1e9,
                bytes as f64 / 1e6
            )
        }));
        writeln!(out, "{}", words.join(", "))?;
    }
    let rest: u64 = kinds.iter().skip(LISTED).map(|kind| kind.launches).sum();
    if rest > 0 {
        let count = kinds.len() - LISTED;
        writeln!(out, "  {stage:<8} {rest:>6} × {count} other kinds")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn traced(account: &Account) -> String {
        let stage = StageReport {
            host_ms: Some(2.0),
            account: Some(account.clone()),
            ..StageReport::default()
        };
        let stages = Stages {
            vision: stage.clone(),
            prefix: stage.clone(),
            denoise: stage.clone(),
            total: stage,
        };
        let mut out = Vec::new();
        print(&stages, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_stage_is_told_down_to_its_kernels() {
        let kinds = (0..20).map(|number| KernelAccount {
            kernel: format!("kind{number}"),
            launches: 5,
            flops: Some(2_000_000_000),
            bytes: Some(3_000_000),
            device_ms: Some(0.25),
        });
        let text = traced(&Account {
            kernels: Some(100),
            by_kernel: kinds.collect(),
            ..Account::default()
        });
        let vision = text
            .lines()
            .find(|line| line.starts_with("vision"))
            .unwrap();
        assert!(
            vision.contains(" 20.00 "),
            "two ms over 100 launches: {vision}"
        );
        assert!(
            text.contains("5 × kind0, 0.250 ms, 2.000 GFLOP, 3.00 MB"),
            "{text}"
        );
        assert!(text.contains("20 × 4 other kinds"), "{text}");
    }

    #[test]
    fn the_cpu_is_told_in_words() {
        let text = traced(&Account::default());
        assert!(
            text.contains("the CPU launches, submits and copies nothing"),
            "{text}"
        );
        let mut out = Vec::new();
        print(&Stages::default(), &mut out).unwrap();
        assert!(out.is_empty());
    }
}
