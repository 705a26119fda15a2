//! Answers of people to questions.

pub mod desk_key;
pub mod link;
