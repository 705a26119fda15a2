-- For a ledger that opsctl has created: the tables of the session manager of Claude Ops as its migrations 1 to 7 leave
-- them, and its record that they are applied. It creates tables without IF NOT EXISTS, so that it could not start on a
-- database with `events` and `cooldown_actions`; it applies later migrations itself.

-- `session_id` has no type: it holds the client's session id until the session manager uses the database, and the
-- number of one of its sessions afterwards. The last row ids stay: resets and the mark refer to them.
CREATE TABLE events_new (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id,
    level      TEXT NOT NULL,
    service    TEXT,
    message    TEXT NOT NULL,
    created_at TEXT NOT NULL,
    source     TEXT
);
INSERT INTO events_new (id, session_id, level, service, message, created_at, source)
    SELECT id, session_id, level, service, message, created_at, source FROM events;
CREATE TABLE cooldown_actions_new (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    service     TEXT NOT NULL,
    action_type TEXT NOT NULL,
    timestamp   TEXT NOT NULL,
    success     INTEGER NOT NULL,
    tier        INTEGER NOT NULL,
    error       TEXT,
    session_id
);
INSERT INTO cooldown_actions_new (id, service, action_type, timestamp, success, tier, error, session_id)
    SELECT id, service, action_type, timestamp, success, tier, error, session_id FROM cooldown_actions;
DELETE FROM sqlite_sequence WHERE name IN ('events_new', 'cooldown_actions_new');
UPDATE sqlite_sequence SET name = name || '_new' WHERE name IN ('events', 'cooldown_actions');
DROP TABLE events;
DROP TABLE cooldown_actions;
ALTER TABLE events_new RENAME TO events;
ALTER TABLE cooldown_actions_new RENAME TO cooldown_actions;
CREATE INDEX idx_events_created ON events(created_at);
CREATE INDEX idx_cooldown_actions_service ON cooldown_actions(service, action_type, timestamp);

-- Nothing else has written to this ledger: rows without a reservation were recorded by hand.
INSERT OR IGNORE INTO recorded_actions (action_id, session_id, by_hand)
    SELECT id, session_id, 1 FROM cooldown_actions;

CREATE TABLE IF NOT EXISTS config (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL,
    updated_at TEXT NOT NULL DEFAULT (datetime('now'))
);
CREATE TABLE IF NOT EXISTS goose_db_version (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    version_id INTEGER NOT NULL,
    is_applied INTEGER NOT NULL,
    tstamp TIMESTAMP DEFAULT (datetime('now'))
);
CREATE TABLE IF NOT EXISTS health_checks (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id INTEGER REFERENCES sessions (id),
    service TEXT NOT NULL,
    check_type TEXT NOT NULL,
    status TEXT NOT NULL,
    response_time_ms INTEGER,
    error_detail TEXT,
    checked_at TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS memories (
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
CREATE TABLE IF NOT EXISTS sessions (
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
    SELECT version, 1 FROM applied WHERE version NOT IN (SELECT version_id FROM goose_db_version);

-- The first session of the session manager: it cannot read a client's session id.
CREATE TRIGGER session_manager_begins AFTER INSERT ON sessions
WHEN NOT EXISTS (SELECT 1 FROM sessions WHERE id <> NEW.id)
BEGIN
    INSERT OR IGNORE INTO recorded_events (event_id, session_id, source)
        SELECT id, session_id, coalesce(source, 'hook') FROM events WHERE session_id IS NOT NULL;
    UPDATE events SET session_id = NULL;
    UPDATE cooldown_actions SET session_id = NULL;
END;
