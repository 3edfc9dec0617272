-- compatible: the release before this one writes none of these columns and reads the books by name.
CREATE TABLE "duplicates" (
	"inbox_id" uuid PRIMARY KEY NOT NULL,
	"tenant" text NOT NULL,
	"connection" text NOT NULL,
	"count" integer NOT NULL,
	"last_at" timestamp with time zone DEFAULT now() NOT NULL,
	"last_delivery_id" text
);
--> statement-breakpoint
ALTER TABLE "inbox" ADD COLUMN "access_rule" text;--> statement-breakpoint
ALTER TABLE "outbox" ADD COLUMN "history" jsonb DEFAULT '[]'::jsonb NOT NULL;--> statement-breakpoint
ALTER TABLE "turns" ADD COLUMN "history" jsonb DEFAULT '[]'::jsonb NOT NULL;--> statement-breakpoint
CREATE INDEX "outbox_vendor" ON "outbox" USING btree ("vendor_id") WHERE vendor_id is not null;--> statement-breakpoint
-- Redeliveries are counted beside what was received, never in it (ruling 29).
CREATE OR REPLACE VIEW "books" AS
SELECT i.*, coalesce(d."duplicates", 0)::int AS "duplicates"
FROM (
  SELECT "tenant", "connection",
    count(*) FILTER (WHERE "state" <> 'ignored')::int AS "received",
    count(*) FILTER (WHERE "state" = 'answered')::int AS "answered",
    count(*) FILTER (WHERE "state" = 'merged')::int AS "merged",
    count(*) FILTER (WHERE "state" = 'refused')::int AS "refused",
    count(*) FILTER (WHERE "state" = 'dead')::int AS "dead",
    count(*) FILTER (WHERE "state" IN ('queued', 'in_turn'))::int AS "in_flight",
    count(*) FILTER (WHERE "state" = 'ignored')::int AS "ignored"
  FROM "inbox" GROUP BY "tenant", "connection"
) i LEFT JOIN (
  SELECT "tenant", "connection", sum("count") AS "duplicates" FROM "duplicates" GROUP BY "tenant", "connection"
) d USING ("tenant", "connection");
