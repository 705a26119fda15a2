//! One handler for each event of the client.

pub mod context_warning;
pub mod ending;
pub mod notification;
pub mod post_tool_batch;
pub mod post_tool_use;
pub mod pre_tool_use;
pub mod session_end;
pub mod session_start;
pub mod stop;
pub mod stop_failure;
pub mod user_prompt_submit;
pub mod wake_up;
