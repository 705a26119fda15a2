//! The terminal: input, text and tables, failures and exit codes. Verbs import what most of them use from here.

mod exit_code;
mod failure;
pub mod input;
mod listing;
pub mod mistakes;
mod output;
pub mod person;
pub mod progress;
mod project;
pub mod screen;
mod table;
pub mod text;
pub mod time;
pub mod watch;

pub use exit_code::{DENIED, FAILED, OK};
pub use failure::{Failure, utf8};
pub use listing::{Agents, Listing, Pages, limited};
pub use output::{
    Stream, check_written, complain, complain_all, complain_as_is, complain_in_colours, pass_on, print,
    print_json, print_page, try_print, wait,
};
pub use project::{environment_in_force, installation_in_force};
pub use table::print_table;
pub use text::Text;
