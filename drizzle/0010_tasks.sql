-- compatible: the release before this one knows no tasks and leaves their columns empty.
CREATE TABLE "push_configs" (
	"tenant" text NOT NULL,
	"task_id" uuid NOT NULL,
	"id" text NOT NULL,
	"url" text NOT NULL,
	"scheme" text,
	"sealed_secrets" jsonb,
	"dialect" text NOT NULL,
	"disabled_at" timestamp with time zone,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "push_configs_tenant_task_id_id_pk" PRIMARY KEY("tenant","task_id","id")
);
--> statement-breakpoint
CREATE TABLE "tasks" (
	"id" uuid PRIMARY KEY NOT NULL,
	"tenant" text NOT NULL,
	"connection" text NOT NULL,
	"agent" text NOT NULL,
	"owner" text,
	"context_id" text NOT NULL,
	"conversation_id" uuid NOT NULL,
	"state" text NOT NULL,
	"state_at" timestamp with time zone DEFAULT now() NOT NULL,
	"said" jsonb,
	"dialect" text NOT NULL,
	"metadata" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"waiting_id" uuid,
	"has_push" boolean DEFAULT false NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"ended_at" timestamp with time zone
);
--> statement-breakpoint
ALTER TABLE "inbox" ADD COLUMN "task_id" uuid;--> statement-breakpoint
ALTER TABLE "turns" ADD COLUMN "task_id" uuid;--> statement-breakpoint
ALTER TABLE "turns" ADD COLUMN "task_order" integer;--> statement-breakpoint
CREATE INDEX "tasks_owner" ON "tasks" USING btree ("tenant","connection","owner","state_at" DESC NULLS LAST,"id" DESC NULLS LAST);--> statement-breakpoint
CREATE INDEX "tasks_conversation" ON "tasks" USING btree ("conversation_id");--> statement-breakpoint
CREATE INDEX "tasks_old" ON "tasks" USING btree ("tenant","state_at");--> statement-breakpoint
CREATE INDEX "inbox_task" ON "inbox" USING btree ("task_id","seq") WHERE task_id is not null;--> statement-breakpoint
CREATE INDEX "turns_task" ON "turns" USING btree ("task_id","task_order") WHERE task_id is not null;--> statement-breakpoint
-- A message that nobody takes, whatever ended it, ends its task.
CREATE FUNCTION "end_task_of_message"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE "tasks" SET "state" = CASE NEW."state" WHEN 'refused' THEN 'rejected' ELSE 'failed' END,
    "state_at" = date_trunc('milliseconds', now()), "ended_at" = now(), "waiting_id" = NULL
  WHERE "id" = NEW."task_id" AND "ended_at" IS NULL AND "waiting_id" IS NOT DISTINCT FROM NEW."id";
  RETURN NULL;
END $$;--> statement-breakpoint
CREATE TRIGGER "message_ended" AFTER UPDATE OF "state" ON "inbox" FOR EACH ROW
  WHEN (NEW."task_id" IS NOT NULL AND NEW."state" IN ('refused', 'dead') AND OLD."state" <> NEW."state")
  EXECUTE FUNCTION "end_task_of_message"();--> statement-breakpoint
-- Whatever changes a task's state, whoever wants to be told is told, in order, through the outbox.
CREATE FUNCTION "push_task_state"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  WITH calls AS (
    INSERT INTO "outbox" ("id", "tenant", "connection", "origin", "ordinal", "order_key", "primary", "purpose", "v", "call",
      "client_id", "state", "trace_id")
    SELECT c.id, NEW."tenant", NEW."connection", c.id, 0, 'push:' || NEW."id" || ':' || c.config, false, 'push', 2,
      jsonb_build_object('push', jsonb_build_object('taskId', NEW."id", 'configId', c.config, 'state', NEW."state",
        'at', to_char(NEW."state_at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))),
      c.id::text, 'queued', replace(NEW."id"::text, '-', '')
    FROM (SELECT gen_random_uuid() AS id, p."id" AS config FROM "push_configs" p
      WHERE p."tenant" = NEW."tenant" AND p."task_id" = NEW."id" AND p."disabled_at" IS NULL ORDER BY p."id") c
    RETURNING "order_key")
  INSERT INTO "send_lanes" ("tenant", "connection", "order_key", "pending")
  SELECT NEW."tenant", NEW."connection", "order_key", 1 FROM calls
  ON CONFLICT ("tenant", "connection", "order_key") DO UPDATE SET "pending" = "send_lanes"."pending" + 1;
  RETURN NULL;
END $$;--> statement-breakpoint
CREATE TRIGGER "task_state_changed" AFTER UPDATE OF "state" ON "tasks" FOR EACH ROW
  WHEN (NEW."has_push" AND OLD."state" <> NEW."state") EXECUTE FUNCTION "push_task_state"();
