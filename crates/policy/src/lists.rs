//! Lists of names, from the YAML files in `lists`.

include!(concat!(env!("OUT_DIR"), "/lists.rs"));
