-- Hand-overs link sessions to chains: the session that handed over, and the first session of the chain.
ALTER TABLE client_runs ADD COLUMN parent_session TEXT;
ALTER TABLE client_runs ADD COLUMN first_session TEXT;

-- The sessions of a chain, for its cost.
CREATE INDEX client_runs_by_first_session ON client_runs(first_session);
