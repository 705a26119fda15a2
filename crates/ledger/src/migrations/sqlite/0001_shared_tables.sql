-- The tables shared with the session manager of Claude Ops. Where it has created them they stay as they
-- are; elsewhere they are created here, with `source` to tell a hook's event from an agent's.
CREATE TABLE IF NOT EXISTS events (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id TEXT,
    level      TEXT NOT NULL,
    service    TEXT,
    message    TEXT NOT NULL,
    created_at TEXT NOT NULL,
    source     TEXT
);

CREATE TABLE IF NOT EXISTS cooldown_actions (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    service     TEXT NOT NULL,
    action_type TEXT NOT NULL,
    timestamp   TEXT NOT NULL,
    success     INTEGER NOT NULL,
    tier        INTEGER NOT NULL,
    error       TEXT,
    session_id  TEXT
);

-- SessionStart: the latest events, and the services with a budget in use.
CREATE INDEX IF NOT EXISTS idx_events_created ON events(created_at);
-- PreToolUse: what one service has used.
CREATE INDEX IF NOT EXISTS idx_cooldown_actions_service ON cooldown_actions(service, action_type, timestamp);
