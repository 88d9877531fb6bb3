//! Changes to a data set that the page asks for.

use std::path::PathBuf;

use crate::app::library::work::Task;
use crate::runtime::LibraryOrder;

/// The job of an edit.
///
/// # Errors
/// It is none.
pub fn task(order: LibraryOrder, root: PathBuf) -> Result<Task, String> {
    drop(root);
    Err(format!("{order:?} is not known"))
}
