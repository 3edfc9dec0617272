-- compatible: the column may be empty, and the release before this one sends such a call as it always did.
ALTER TABLE "outbox" ADD COLUMN "question" jsonb;