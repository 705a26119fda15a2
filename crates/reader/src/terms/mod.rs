//! The terms of a reading: actions, their targets and effects.

pub mod action;
pub mod class;
pub mod effect;
pub mod guest;
pub mod message;
pub mod mode;
pub mod plain_text;
pub mod reference;
mod text_form;
pub mod verb;
mod words;
pub mod workload;
