-- The terminal in which a session runs, for programs that write prompts to it.
ALTER TABLE hook_sessions ADD COLUMN tmux_pane TEXT;
