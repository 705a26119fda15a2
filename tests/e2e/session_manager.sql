-- The shape of a database that the session manager has made: whole-number sessions, foreign keys, no `source`.
CREATE TABLE goose_db_version (id INTEGER PRIMARY KEY, version_id INTEGER NOT NULL, is_applied INTEGER NOT NULL);
CREATE TABLE sessions (
    id INTEGER PRIMARY KEY AUTOINCREMENT, tier INTEGER NOT NULL, model TEXT NOT NULL, started_at TEXT NOT NULL
);
CREATE TABLE events (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id INTEGER REFERENCES sessions(id),
    level TEXT NOT NULL,
    service TEXT,
    message TEXT NOT NULL,
    created_at TEXT NOT NULL
);
CREATE TABLE cooldown_actions (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    service TEXT NOT NULL,
    action_type TEXT NOT NULL,
    timestamp TEXT NOT NULL,
    success INTEGER NOT NULL,
    tier INTEGER NOT NULL,
    error TEXT,
    session_id INTEGER REFERENCES sessions(id)
);
INSERT INTO sessions (id, tier, model, started_at) VALUES (7, 2, 'sonnet', '2026-03-21 14:00:00');
