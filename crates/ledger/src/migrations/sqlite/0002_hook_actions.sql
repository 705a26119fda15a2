-- Every action that a hook let through: reserved before it runs, settled when it has run. It holds what
-- cooldown_actions has no column for: the tool call, the verb, the host, and starts that close a stop
-- (counts = 0, never copied to cooldown_actions).
CREATE TABLE hook_actions (
    id          INTEGER PRIMARY KEY,
    session_id  TEXT,
    tool_use_id TEXT,
    service     TEXT NOT NULL,
    kind        TEXT NOT NULL,
    verb        TEXT NOT NULL,
    host        TEXT,
    counts      INTEGER NOT NULL,
    state       TEXT NOT NULL CHECK (state IN ('reserved', 'done', 'failed', 'released')),
    reserved_at TEXT NOT NULL,
    expires_at  TEXT NOT NULL,
    settled_at  TEXT
);

-- PreToolUse: open reservations and the last verb of one service.
CREATE INDEX hook_actions_by_service ON hook_actions(service, kind, id);
-- PostToolUse and SessionEnd: what a tool call or a session has reserved.
CREATE INDEX hook_actions_by_session ON hook_actions(session_id, tool_use_id);

-- Commands that were denied, and failures that were let through.
CREATE TABLE hook_decisions (
    id          INTEGER PRIMARY KEY,
    at          TEXT NOT NULL,
    session_id  TEXT,
    tool_use_id TEXT,
    verdict     TEXT NOT NULL CHECK (verdict IN ('deny', 'fail-open', 'fail-closed')),
    rule        TEXT NOT NULL,
    actions     TEXT NOT NULL,
    reason      TEXT NOT NULL
);
