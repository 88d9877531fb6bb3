//! Understands a task as people type it: in any case, with or without articles and punctuation, in the words that come first.

use std::str::FromStr;

use crate::sim::Colour;
use crate::sim::task::Task;

/// What is understood, with … where a colour stands.
pub const SENTENCES: [&str; 6] = [
    "put the … cube in the box",
    "pick up the … cube",
    "touch the … cube",
    "push the … cube to the mark",
    "stack the … cube on the … cube",
    "sort the cubes",
];

/// A sentence that no task was found in.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{text}\" is no task of the simulated table. It understands: {}. Cubes are {colours}", SENTENCES.join("; "))]
pub struct UnknownTask {
    text: String,
    colours: String,
}

impl UnknownTask {
    fn of(text: &str) -> Self {
        Self {
            text: text.trim().to_owned(),
            colours: Colour::CUBES.map(Colour::name).join(", "),
        }
    }
}

const BOXES: [&str; 7] = ["box", "boxes", "tray", "trays", "bin", "bins", "container"];
const MARKS: [&str; 6] = ["mark", "target", "spot", "circle", "marker", "goal"];
const PUSH: [&str; 7] = ["push", "slide", "shove", "move", "bring", "nudge", "put"];
const PUT: [&str; 13] = [
    "put", "place", "drop", "move", "bring", "lay", "set", "store", "pick", "grab", "take", "get",
    "transfer",
];
const STACK: [&str; 5] = ["stack", "put", "place", "set", "pile"];
const TOUCH: [&str; 4] = ["touch", "tap", "poke", "reach"];
const PICK: [&str; 9] = [
    "pick", "grab", "lift", "grasp", "take", "get", "hold", "raise", "fetch",
];
const ON: [&str; 6] = ["on", "onto", "top", "over", "above", "atop"];
/// A sentence with one of these asks for something else than its other words say.
const NEGATIONS: [&str; 6] = ["not", "dont", "don't", "never", "avoid", "without"];

/// The words of a sentence.
struct Words(Vec<String>);

impl Words {
    fn of(text: &str) -> Self {
        let parts = text.split(|c: char| !(c.is_alphanumeric() || c == '\''));
        let words = parts.filter(|word| !word.is_empty());
        Self(words.map(str::to_lowercase).collect())
    }

    fn has(&self, any: &[&str]) -> bool {
        self.0.iter().any(|word| any.contains(&word.as_str()))
    }

    /// Colours in the order of their mention.
    fn colours(&self) -> Vec<Colour> {
        let colour = |word: &String| {
            Colour::CUBES
                .into_iter()
                .find(|colour| colour.name() == word)
        };
        self.0.iter().filter_map(colour).collect()
    }

    /// The word before the last mention of a box is a colour: a certain box is meant.
    fn names_a_box(&self) -> bool {
        let is_box = |word: &String| BOXES.contains(&word.as_str());
        let named =
            |pair: &[String]| is_box(&pair[1]) && Colour::CUBES.iter().any(|c| c.name() == pair[0]);
        self.0.windows(2).any(named)
    }
}

impl FromStr for Task {
    type Err = UnknownTask;

    fn from_str(text: &str) -> Result<Self, UnknownTask> {
        let words = Words::of(text);
        let found = if words.has(&NEGATIONS) {
            None
        } else {
            sorting(&words).or_else(|| match *words.colours().as_slice() {
                [cube] => about_one(&words, cube),
                [top, base] if top != base => stacking(&words, top, base),
                _ => None,
            })
        };
        found.ok_or_else(|| UnknownTask::of(text))
    }
}

fn sorting(words: &Words) -> Option<Task> {
    let colours = words.colours();
    let is_sort = words.has(&["sort"]) && colours.iter().all(|c| super::SORTED.contains(c));
    let is_spelt_out = words.has(&BOXES)
        && colours.len() == 4
        && (colours[0] == colours[1] && colours[2] == colours[3] && colours[0] != colours[2])
        && colours.iter().all(|c| super::SORTED.contains(c));
    (is_sort || is_spelt_out).then_some(Task::Sort)
}

fn about_one(words: &Words, cube: Colour) -> Option<Task> {
    let into_box = words.has(&BOXES);
    let to_mark = words.has(&MARKS);
    if into_box && to_mark {
        return None;
    }
    if into_box {
        return (words.has(&PUT) && !words.names_a_box()).then_some(Task::PutInBox(cube));
    }
    if to_mark {
        return words.has(&PUSH).then_some(Task::Push(cube));
    }
    match (words.has(&TOUCH), words.has(&PICK)) {
        (true, false) => Some(Task::Touch(cube)),
        (false, true) => Some(Task::PickUp(cube)),
        _ => None,
    }
}

fn stacking(words: &Words, top: Colour, base: Colour) -> Option<Task> {
    let elsewhere = words.has(&BOXES) || words.has(&MARKS);
    let stacks = words.has(&["stack"]) || (words.has(&STACK) || words.has(&PICK)) && words.has(&ON);
    (stacks && !elsewhere).then_some(Task::Stack(top, base))
}

#[cfg(test)]
mod tests {
    use super::*;
    use Colour::{Blue, Green, Red, Yellow};

    #[test]
    fn people_say_it_in_many_ways() {
        let cases = [
            (
                "Pick up the red cube and place it in the box.",
                Task::PutInBox(Red),
            ),
            ("put blue cube into the box", Task::PutInBox(Blue)),
            ("PUT THE YELLOW BLOCK IN THE TRAY!", Task::PutInBox(Yellow)),
            ("put the red cube in the teal box", Task::PutInBox(Red)),
            ("grab the green cube", Task::PickUp(Green)),
            ("Lift the blue cube", Task::PickUp(Blue)),
            ("  pick the red one up ", Task::PickUp(Red)),
            ("touch the green cube", Task::Touch(Green)),
            ("Stack red on top of blue", Task::Stack(Red, Blue)),
            (
                "put the green cube onto the yellow cube",
                Task::Stack(Green, Yellow),
            ),
            ("push the blue cube to the mark", Task::Push(Blue)),
            ("slide the red block onto the target", Task::Push(Red)),
            ("sort the cubes", Task::Sort),
            (
                "Put the red cubes into the red box, and the blue ones into the blue box",
                Task::Sort,
            ),
        ];
        for (text, task) in cases {
            assert_eq!(text.parse(), Ok(task), "{text}");
        }
    }

    #[test]
    fn a_task_understands_its_own_sentence() {
        let more = [
            Task::Touch(Green),
            Task::Stack(Yellow, Red),
            Task::Push(Blue),
        ];
        for task in Task::ALL.into_iter().chain(more) {
            assert_eq!(task.to_string().parse(), Ok(task), "{task}");
        }
    }

    #[test]
    fn what_is_not_understood_is_answered_with_what_is() {
        for text in [
            "",
            "fold the towel",
            "pick up the cube",
            "pick up the purple cube",
            "do not touch the red cube",
            "stack the red cube on the red cube",
            "put the blue cube in the red box",
            "touch the red cube and pick it up",
            "touch the red cube and then the blue cube",
            "sort the green cubes",
        ] {
            let error = text.parse::<Task>().unwrap_err().to_string();
            for part in [text, "stack the", "pick up the", "red, blue, green, yellow"] {
                assert!(error.contains(part), "{error}");
            }
        }
    }
}
