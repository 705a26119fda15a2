//! Bash text → the simple commands that it would really run.
