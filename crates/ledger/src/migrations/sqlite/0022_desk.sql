-- Logins at the desk, the page for people. The cookie itself is not stored, only its SHA-256 in hexadecimal.
CREATE TABLE desk_logins (
    digest TEXT PRIMARY KEY,
    who TEXT NOT NULL,
    created_at TEXT NOT NULL,
    expires_at TEXT NOT NULL
);
-- The last check that the ledger can be written.
CREATE TABLE desk_check (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    checked_at TEXT NOT NULL
);
