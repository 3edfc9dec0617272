-- compatible: the release before this one goes on writing; the triggers count for it.
CREATE TABLE "tallies" (
	"kind" text NOT NULL,
	"tenant" text NOT NULL,
	"connection" text NOT NULL,
	"state" text NOT NULL,
	"reason" text DEFAULT '' NOT NULL,
	"standing" bigint NOT NULL,
	"ever" bigint NOT NULL,
	"last_at" timestamp with time zone,
	CONSTRAINT "tallies_kind_tenant_connection_state_reason_pk" PRIMARY KEY("kind","tenant","connection","state","reason")
);
--> statement-breakpoint
CREATE TABLE "tally_changes" (
	"kind" text NOT NULL,
	"tenant" text NOT NULL,
	"connection" text NOT NULL,
	"state" text NOT NULL,
	"reason" text DEFAULT '' NOT NULL,
	"delta" integer NOT NULL,
	"at" timestamp with time zone
);
--> statement-breakpoint
CREATE INDEX "inbox_in_flight" ON "inbox" USING btree ("tenant","connection","state","received_at") WHERE ended_at is null;--> statement-breakpoint
-- Changes come and go all the time, tallies are a handful of rows.
ALTER TABLE "tally_changes" SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);--> statement-breakpoint
-- Called only for rows that end, come back, or are removed after their end: what is merely on its way costs nothing.
CREATE FUNCTION "tally_message"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP <> 'INSERT' AND OLD.ended_at IS NOT NULL THEN
    INSERT INTO tally_changes VALUES ('message', OLD.tenant, OLD.connection, OLD.state, coalesce(OLD.reason, ''), -1, NULL);
  END IF;
  IF TG_OP <> 'DELETE' AND NEW.ended_at IS NOT NULL THEN
    INSERT INTO tally_changes
    VALUES ('message', NEW.tenant, NEW.connection, NEW.state, coalesce(NEW.reason, ''), 1, NEW.received_at);
  END IF;
  RETURN NULL;
END $$;--> statement-breakpoint
CREATE FUNCTION "tally_call"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP <> 'INSERT' AND OLD.settled_at IS NOT NULL THEN
    INSERT INTO tally_changes VALUES ('call', OLD.tenant, OLD.connection, OLD.state, coalesce(OLD.reason, ''), -1, NULL);
  END IF;
  IF TG_OP <> 'DELETE' AND NEW.settled_at IS NOT NULL THEN
    INSERT INTO tally_changes
    VALUES ('call', NEW.tenant, NEW.connection, NEW.state, coalesce(NEW.reason, ''), 1, NEW.settled_at);
  END IF;
  RETURN NULL;
END $$;--> statement-breakpoint
CREATE TRIGGER "tally_inserted" AFTER INSERT ON "inbox" FOR EACH ROW
  WHEN (NEW.ended_at IS NOT NULL) EXECUTE FUNCTION "tally_message"();--> statement-breakpoint
CREATE TRIGGER "tally_updated" AFTER UPDATE ON "inbox" FOR EACH ROW
  WHEN ((OLD.ended_at IS NOT NULL, OLD.state, OLD.reason) IS DISTINCT FROM (NEW.ended_at IS NOT NULL, NEW.state, NEW.reason)
    AND (OLD.ended_at IS NOT NULL OR NEW.ended_at IS NOT NULL)) EXECUTE FUNCTION "tally_message"();--> statement-breakpoint
CREATE TRIGGER "tally_deleted" AFTER DELETE ON "inbox" FOR EACH ROW
  WHEN (OLD.ended_at IS NOT NULL) EXECUTE FUNCTION "tally_message"();--> statement-breakpoint
CREATE TRIGGER "tally_inserted" AFTER INSERT ON "outbox" FOR EACH ROW
  WHEN (NEW.settled_at IS NOT NULL) EXECUTE FUNCTION "tally_call"();--> statement-breakpoint
CREATE TRIGGER "tally_updated" AFTER UPDATE ON "outbox" FOR EACH ROW
  WHEN ((OLD.settled_at IS NOT NULL, OLD.state, OLD.reason) IS DISTINCT FROM (NEW.settled_at IS NOT NULL, NEW.state, NEW.reason)
    AND (OLD.settled_at IS NOT NULL OR NEW.settled_at IS NOT NULL)) EXECUTE FUNCTION "tally_call"();--> statement-breakpoint
CREATE TRIGGER "tally_deleted" AFTER DELETE ON "outbox" FOR EACH ROW
  WHEN (OLD.settled_at IS NOT NULL) EXECUTE FUNCTION "tally_call"();--> statement-breakpoint
-- What ended before there were tallies. The triggers' locks keep everybody else from writing until this commits.
INSERT INTO "tallies" ("kind", "tenant", "connection", "state", "reason", "standing", "ever", "last_at")
SELECT 'message', tenant, connection, state, coalesce(reason, ''), count(*), count(*), max(received_at)
FROM "inbox" WHERE ended_at IS NOT NULL GROUP BY 2, 3, 4, 5
UNION ALL
SELECT 'call', tenant, connection, state, coalesce(reason, ''), count(*), count(*), max(settled_at)
FROM "outbox" WHERE settled_at IS NOT NULL GROUP BY 2, 3, 4, 5;
