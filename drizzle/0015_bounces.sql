-- compatible: the table is new, and the release before this one never reads the new columns.
CREATE TABLE "reply_windows" (
	"tenant" text NOT NULL,
	"connection" text NOT NULL,
	"scope" text NOT NULL,
	"answered" jsonb DEFAULT '[]' NOT NULL,
	"told_until" timestamp with time zone,
	"expires_at" timestamp with time zone NOT NULL,
	CONSTRAINT "reply_windows_tenant_connection_scope_pk" PRIMARY KEY("tenant","connection","scope")
);
--> statement-breakpoint
ALTER TABLE "outbox" ADD COLUMN "bounce_kind" text;--> statement-breakpoint
ALTER TABLE "outbox" ADD COLUMN "bounce_reason" text;--> statement-breakpoint
ALTER TABLE "outbox" ADD COLUMN "bounced_at" timestamp with time zone;--> statement-breakpoint
CREATE INDEX "reply_windows_over" ON "reply_windows" USING btree ("tenant","expires_at");--> statement-breakpoint
CREATE INDEX "outbox_bounced" ON "outbox" USING btree ("tenant","seq") WHERE bounce_kind is not null;