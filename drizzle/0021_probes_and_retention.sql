-- compatible: a new table, and two indexes in place of one; the release before this one sweeps by them more slowly.
CREATE TABLE "storage_probes" (
	"tenant" text NOT NULL,
	"probed_at" timestamp with time zone,
	"seen_at" timestamp with time zone,
	CONSTRAINT "storage_probes_tenant_pk" PRIMARY KEY("tenant")
);
--> statement-breakpoint
DROP INDEX "inbox_ended";--> statement-breakpoint
CREATE INDEX "inbox_content" ON "inbox" USING btree ("tenant","ended_at") WHERE ended_at is not null and (message is not null or raw is not null);--> statement-breakpoint
CREATE INDEX "inbox_bare" ON "inbox" USING btree ("tenant","ended_at") WHERE ended_at is not null and message is null and raw is null;