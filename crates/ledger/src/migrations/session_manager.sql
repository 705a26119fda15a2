-- For a file that opsctl has created: the indexes of the shared tables, the other tables of the session manager of Claude Ops as
-- its migrations 1 to 7 leave them, and its record that they are applied. It creates tables without IF NOT EXISTS, so that it
-- could not start on a database with `events` and `cooldown_actions`; it applies later migrations itself.

-- SessionStart: the latest events.
CREATE INDEX idx_events_created ON events(created_at);
-- PreToolUse: what one service has used.
CREATE INDEX idx_cooldown_actions_service ON cooldown_actions(service, action_type, timestamp);

CREATE TABLE config (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL,
    updated_at TEXT NOT NULL DEFAULT (datetime('now'))
);
CREATE TABLE goose_db_version (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    version_id INTEGER NOT NULL,
    is_applied INTEGER NOT NULL,
    tstamp TIMESTAMP DEFAULT (datetime('now'))
);
CREATE TABLE health_checks (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id INTEGER REFERENCES sessions (id),
    service TEXT NOT NULL,
    check_type TEXT NOT NULL,
    status TEXT NOT NULL,
    response_time_ms INTEGER,
    error_detail TEXT,
    checked_at TEXT NOT NULL
);
CREATE TABLE memories (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    service TEXT,
    category TEXT NOT NULL,
    observation TEXT NOT NULL,
    confidence REAL NOT NULL DEFAULT 0.7,
    active INTEGER NOT NULL DEFAULT 1,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    session_id INTEGER REFERENCES sessions (id),
    tier INTEGER NOT NULL DEFAULT 1
);
CREATE TABLE sessions (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    tier INTEGER NOT NULL,
    model TEXT NOT NULL,
    prompt_file TEXT NOT NULL,
    status TEXT NOT NULL,
    started_at TEXT NOT NULL,
    ended_at TEXT,
    exit_code INTEGER,
    log_file TEXT,
    context TEXT,
    response TEXT,
    cost_usd REAL,
    num_turns INTEGER,
    duration_ms INTEGER,
    trigger TEXT NOT NULL DEFAULT 'scheduled',
    prompt_text TEXT,
    parent_session_id INTEGER REFERENCES sessions (id),
    summary TEXT
);
WITH RECURSIVE applied(version) AS (VALUES (0) UNION ALL SELECT version + 1 FROM applied WHERE version < 7)
INSERT INTO goose_db_version (version_id, is_applied)
    SELECT version, 1 FROM applied;

-- The first session of the session manager: it cannot read a client's session id, which another program may have written.
CREATE TRIGGER session_manager_begins AFTER INSERT ON sessions
WHEN NOT EXISTS (SELECT 1 FROM sessions WHERE id <> NEW.id)
BEGIN
    INSERT OR IGNORE INTO recorded_events (event_id, session_id, source)
        SELECT id, session_id, coalesce(source, 'hook') FROM events WHERE session_id IS NOT NULL;
    UPDATE events SET session_id = NULL;
    UPDATE cooldown_actions SET session_id = NULL;
END;
