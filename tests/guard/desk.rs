//! The desk: logins, answers, links, and its pages in a real browser. The pictures are in `target/tmp/guard`.

mod http;
mod links;
mod logins;
mod pages;
mod protection;
mod server;
mod session;
