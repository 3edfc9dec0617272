-- compatible: the release before this one writes none of these tables, and leaves what this one wrote (rows of version 2) to it.
-- It claims without asking whose row it is, so a second tenant joins the database after its last replica is gone.
CREATE TABLE "audit_log" (
	"seq" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "audit_log_seq_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"tenant" text NOT NULL,
	"at" timestamp with time zone DEFAULT now() NOT NULL,
	"action" text NOT NULL,
	"outcome" text NOT NULL,
	"code" text,
	"rule" text,
	"principal_id" uuid,
	"actor" text,
	"evidence" jsonb,
	"connection" text,
	"agent" text,
	"conversation_id" uuid,
	"inbox_id" uuid,
	"object_id" text,
	"trace_id" text,
	"detail" jsonb
);
--> statement-breakpoint
CREATE TABLE "thread_agents" (
	"tenant" text NOT NULL,
	"connection" text NOT NULL,
	"external_id" text NOT NULL,
	"agent" text NOT NULL,
	"updated_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "thread_agents_tenant_connection_external_id_pk" PRIMARY KEY("tenant","connection","external_id")
);
--> statement-breakpoint
CREATE TABLE "caller_chains" (
	"tenant" text NOT NULL,
	"root" text NOT NULL,
	"agent" text NOT NULL,
	"host" text NOT NULL,
	"depth" integer NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "caller_chains_tenant_root_agent_host_pk" PRIMARY KEY("tenant","root","agent","host")
);
--> statement-breakpoint
CREATE TABLE "consents" (
	"tenant" text NOT NULL,
	"id" uuid NOT NULL,
	"operation" text NOT NULL,
	"is_allowed" boolean NOT NULL,
	"reason" text NOT NULL,
	"subject" text,
	"connection" text,
	"agent" text,
	"session_id" uuid,
	"audit" jsonb NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "consents_tenant_id_pk" PRIMARY KEY("tenant","id")
);
--> statement-breakpoint
CREATE TABLE "grants" (
	"tenant" text NOT NULL,
	"id" uuid NOT NULL,
	"subject" text NOT NULL,
	"effect" text NOT NULL,
	"role" text,
	"connection" text,
	"agent" text,
	"workspace_id" text,
	"source" text NOT NULL,
	"created_by" text NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"expires_at" timestamp with time zone,
	"revoked_at" timestamp with time zone,
	"revoked_by" text,
	CONSTRAINT "grants_tenant_id_pk" PRIMARY KEY("tenant","id")
);
--> statement-breakpoint
CREATE TABLE "identity_links" (
	"tenant" text NOT NULL,
	"subject" text NOT NULL,
	"principal" text NOT NULL,
	"created_by" text NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "identity_links_tenant_subject_pk" PRIMARY KEY("tenant","subject")
);
--> statement-breakpoint
CREATE TABLE "pairings" (
	"tenant" text NOT NULL,
	"id" uuid NOT NULL,
	"connection" text NOT NULL,
	"agent" text NOT NULL,
	"subject" text NOT NULL,
	"code" text NOT NULL,
	"status" text NOT NULL,
	"conversation_id" uuid NOT NULL,
	"shown_name" text,
	"evidence" jsonb,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"expires_at" timestamp with time zone NOT NULL,
	"decided_at" timestamp with time zone,
	"decided_by" text,
	CONSTRAINT "pairings_tenant_id_pk" PRIMARY KEY("tenant","id")
);
--> statement-breakpoint
CREATE TABLE "principals" (
	"tenant" text NOT NULL,
	"id" uuid NOT NULL,
	"subject" text NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "principals_tenant_id_pk" PRIMARY KEY("tenant","id")
);
--> statement-breakpoint
DROP INDEX "lanes_due";--> statement-breakpoint
DROP INDEX "inbox_state";--> statement-breakpoint
DROP INDEX "inbox_ended";--> statement-breakpoint
DROP INDEX "outbox_vendor";--> statement-breakpoint
DROP INDEX "outbox_failed";--> statement-breakpoint
DROP INDEX "outbox_settled";--> statement-breakpoint
DROP INDEX "send_lanes_due";--> statement-breakpoint
DROP INDEX "timers_due";--> statement-breakpoint
DROP INDEX "turns_ended";--> statement-breakpoint
ALTER TABLE "tokens" ADD COLUMN "agent" text;--> statement-breakpoint
ALTER TABLE "tokens" ADD COLUMN "allowed_capabilities" jsonb;--> statement-breakpoint
ALTER TABLE "tokens" ADD COLUMN "client_id" text;--> statement-breakpoint
ALTER TABLE "tokens" ADD COLUMN "created_by" text;--> statement-breakpoint
ALTER TABLE "inbox" ADD COLUMN "pairing_id" uuid;--> statement-breakpoint
ALTER TABLE "sessions" ADD COLUMN "is_kept" boolean DEFAULT true NOT NULL;--> statement-breakpoint
ALTER TABLE "sessions" ADD COLUMN "consent_id" uuid;--> statement-breakpoint
CREATE INDEX "audit_log_tenant" ON "audit_log" USING btree ("tenant","seq");--> statement-breakpoint
CREATE INDEX "audit_log_principal" ON "audit_log" USING btree ("tenant","principal_id","seq") WHERE principal_id is not null;--> statement-breakpoint
CREATE INDEX "audit_log_inbox" ON "audit_log" USING btree ("inbox_id") WHERE inbox_id is not null;--> statement-breakpoint
CREATE INDEX "caller_chains_created" ON "caller_chains" USING btree ("created_at");--> statement-breakpoint
CREATE INDEX "consents_subject" ON "consents" USING btree ("tenant","subject","operation","created_at");--> statement-breakpoint
CREATE INDEX "consents_session" ON "consents" USING btree ("session_id") WHERE session_id is not null;--> statement-breakpoint
CREATE INDEX "grants_subject" ON "grants" USING btree ("tenant","subject") WHERE revoked_at is null;--> statement-breakpoint
CREATE INDEX "identity_links_principal" ON "identity_links" USING btree ("tenant","principal");--> statement-breakpoint
CREATE UNIQUE INDEX "pairings_person" ON "pairings" USING btree ("tenant","connection","agent","subject") WHERE status = 'pending';--> statement-breakpoint
CREATE UNIQUE INDEX "pairings_code" ON "pairings" USING btree ("tenant","code") WHERE status = 'pending';--> statement-breakpoint
CREATE INDEX "pairings_expiry" ON "pairings" USING btree ("expires_at") WHERE status = 'pending';--> statement-breakpoint
CREATE UNIQUE INDEX "principals_subject" ON "principals" USING btree ("tenant","subject");--> statement-breakpoint
CREATE INDEX "conversations_forgotten" ON "conversations" USING btree ("id") WHERE external_id like '~~forgotten %';--> statement-breakpoint
CREATE INDEX "participants_subject" ON "participants" USING btree ("subject");--> statement-breakpoint
CREATE INDEX "inbox_held" ON "inbox" USING btree ("pairing_id") WHERE state = 'held';--> statement-breakpoint
CREATE INDEX "sessions_unkept" ON "sessions" USING btree ("expires_at") WHERE not is_kept and expires_at is not null;--> statement-breakpoint
CREATE INDEX "turns_door" ON "turns" USING btree ("conversation_id","started_at") WHERE kind = 'door';--> statement-breakpoint
CREATE INDEX "lanes_due" ON "lanes" USING btree ("tenant","next_at") WHERE pending > 0;--> statement-breakpoint
CREATE INDEX "inbox_state" ON "inbox" USING btree ("tenant","state","seq") WHERE state in ('dead', 'ignored');--> statement-breakpoint
CREATE INDEX "inbox_ended" ON "inbox" USING btree ("tenant","ended_at") WHERE ended_at is not null;--> statement-breakpoint
CREATE INDEX "outbox_vendor" ON "outbox" USING btree ("tenant","vendor_id") WHERE vendor_id is not null;--> statement-breakpoint
CREATE INDEX "outbox_failed" ON "outbox" USING btree ("tenant","state","seq") WHERE state in ('unknown', 'refused', 'dead');--> statement-breakpoint
CREATE INDEX "outbox_settled" ON "outbox" USING btree ("tenant","settled_at") WHERE settled_at is not null;--> statement-breakpoint
CREATE INDEX "send_lanes_due" ON "send_lanes" USING btree ("tenant","next_at") WHERE pending > 0;--> statement-breakpoint
CREATE INDEX "timers_due" ON "timers" USING btree ("tenant","due_at") WHERE fired_at is null;--> statement-breakpoint
CREATE INDEX "turns_ended" ON "turns" USING btree ("tenant","ended_at") WHERE ended_at is not null;--> statement-breakpoint
-- What waits for a pairing is in flight: nobody has decided about it yet.
CREATE OR REPLACE VIEW "books" AS
SELECT i.*, coalesce(d."duplicates", 0)::int AS "duplicates"
FROM (
  SELECT "tenant", "connection",
    count(*) FILTER (WHERE "state" <> 'ignored')::int AS "received",
    count(*) FILTER (WHERE "state" = 'answered')::int AS "answered",
    count(*) FILTER (WHERE "state" = 'merged')::int AS "merged",
    count(*) FILTER (WHERE "state" = 'refused')::int AS "refused",
    count(*) FILTER (WHERE "state" = 'dead')::int AS "dead",
    count(*) FILTER (WHERE "state" IN ('queued', 'in_turn', 'held'))::int AS "in_flight",
    count(*) FILTER (WHERE "state" = 'ignored')::int AS "ignored"
  FROM "inbox" GROUP BY "tenant", "connection"
) i LEFT JOIN (
  SELECT "tenant", "connection", sum("count") AS "duplicates" FROM "duplicates" GROUP BY "tenant", "connection"
) d USING ("tenant", "connection");--> statement-breakpoint
-- Lines of the audit log are written once. Only retention removes them, and it has to say so in its own transaction.
CREATE FUNCTION "keep_audit"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP <> 'UPDATE' AND current_setting('parley.retention', true) = 'on' THEN RETURN OLD; END IF;
  RAISE EXCEPTION 'the audit log is append-only' USING ERRCODE = 'insufficient_privilege';
END $$;--> statement-breakpoint
CREATE TRIGGER "audit_kept" BEFORE UPDATE OR DELETE ON "audit_log" FOR EACH ROW EXECUTE FUNCTION "keep_audit"();--> statement-breakpoint
CREATE TRIGGER "audit_not_truncated" BEFORE TRUNCATE ON "audit_log" FOR EACH STATEMENT EXECUTE FUNCTION "keep_audit"();
