//! What a rule says when it is broken: where, which rule, and why the rule is there.

use std::fmt;

/// One broken rule in one place.
#[derive(Debug, PartialEq, Eq)]
pub struct Violation {
    /// Path from the top of the repository.
    pub file: String,
    /// Counted from one.
    pub line: Option<usize>,
    /// Short name of the rule.
    pub rule: &'static str,
    /// What is wrong here, and the reason of the rule.
    pub why: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, " [{}] {}", self.rule, self.why)
    }
}

#[test]
fn a_violation_names_file_line_rule_and_reason() {
    let violation = Violation {
        file: "src/a.rs".to_owned(),
        line: Some(7),
        rule: "floors",
        why: "because".to_owned(),
    };
    assert_eq!(violation.to_string(), "src/a.rs:7 [floors] because");
}
