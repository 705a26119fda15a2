-- The client keeps no record of this session, so nobody waits for one again.
ALTER TABLE session_reminders ADD COLUMN record_missing INTEGER NOT NULL DEFAULT 0;
