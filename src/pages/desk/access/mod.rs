//! Who makes a request of the desk, and what protects it.

pub mod addresses;
pub mod attempts;
pub mod identity;
pub mod logins;
pub mod protection;
pub mod token;
pub mod visitor;
