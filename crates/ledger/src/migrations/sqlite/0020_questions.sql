-- Questions to a person, a row each: a call that the policy asks about instead of denying it. `actions` and `reasons` are
-- JSON lists. An approval is used once: `used_at` is set in the transaction that reserves the budgets of the call.
-- `at_terminal`: the client asks the person at the terminal.
CREATE TABLE questions (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id  TEXT NOT NULL,
    tool_use_id TEXT NOT NULL,
    digest      TEXT NOT NULL,
    command     TEXT NOT NULL,
    actions     TEXT NOT NULL,
    service     TEXT,
    reasons     TEXT NOT NULL,
    tier        INTEGER,
    words       TEXT,
    asked_at    TEXT NOT NULL,
    expires_at  TEXT NOT NULL,
    at_terminal INTEGER NOT NULL DEFAULT 0,
    used_at     TEXT
);

-- Before a call: the questions of its session.
CREATE INDEX questions_by_session ON questions(session_id, tool_use_id);

-- `opsctl approvals`, and the rate limits.
CREATE INDEX questions_by_time ON questions(asked_at);

-- The answers, at most one each. The signature covers all columns and the question.
CREATE TABLE question_answers (
    question_id INTEGER PRIMARY KEY,
    answer      TEXT NOT NULL CHECK (answer IN ('approve', 'refuse')),
    answered_by TEXT NOT NULL,
    answered_at TEXT NOT NULL,
    expires_at  TEXT NOT NULL,
    note        TEXT,
    signature   TEXT NOT NULL
);

-- Budgets that a person has given in advance. The signature covers all other columns.
CREATE TABLE grants (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    service    TEXT NOT NULL,
    kind       TEXT NOT NULL CHECK (kind IN ('restart', 'redeployment')),
    count      INTEGER NOT NULL,
    granted_by TEXT NOT NULL,
    granted_at TEXT NOT NULL,
    expires_at TEXT NOT NULL,
    note       TEXT,
    signature  TEXT NOT NULL
);

-- Before an action that exceeds its budget.
CREATE INDEX grants_by_service ON grants(service, kind, expires_at);

-- The actions that used a grant. The use of a reservation that is released or expires is free again.
CREATE TABLE grant_uses (
    grant_id  INTEGER NOT NULL,
    action_id INTEGER NOT NULL,
    used_at   TEXT NOT NULL,
    PRIMARY KEY (grant_id, action_id)
) WITHOUT ROWID;
