//! Text with unknown stretches.
//!
//! A stretch that cannot be determined without running the script (an unset variable, the output of a
//! program) is replaced by a mark. Marks survive quoting, joining and repeated parsing: in
//! `ssh host "docker restart $NAME"`, the script on the host still contains the mark of `$NAME`.

mod field;
mod stretch;
mod unknown;
mod unknowns;
mod word;

pub use field::{FAILED, Listing, Origin};
pub(crate) use field::{Field, join};
pub use stretch::is_name;
pub(crate) use stretch::{Stretch, begins_as_pattern, is_all_unknown, is_known, stretches};
pub(crate) use unknown::Filter;
pub use unknown::Unknown;
pub(crate) use unknowns::Unknowns;
pub use word::Word;
