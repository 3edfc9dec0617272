CREATE TABLE "strangers" (
	"tenant" text NOT NULL,
	"connection" text NOT NULL,
	"day" date NOT NULL,
	"kind" text NOT NULL,
	"messages" bigint DEFAULT 0 NOT NULL,
	"received" bigint DEFAULT 0 NOT NULL,
	"stored" bigint DEFAULT 0 NOT NULL,
	"refused" bigint DEFAULT 0 NOT NULL,
	CONSTRAINT "strangers_tenant_connection_day_kind_pk" PRIMARY KEY("tenant","connection","day","kind")
);
--> statement-breakpoint
CREATE INDEX "inbox_refused" ON "inbox" USING btree ("tenant","ended_at") WHERE state in ('refused', 'ignored') and (message is not null or raw is not null);--> statement-breakpoint
CREATE INDEX "inbox_unproven" ON "inbox" USING btree ("tenant","ended_at") WHERE state = 'refused' and conversation_id is null and subject is null and message is null and raw is null;