CREATE TABLE "pairing_overflows" (
	"tenant" text NOT NULL,
	"connection" text NOT NULL,
	"sender_group" text NOT NULL,
	"messages" bigint NOT NULL,
	"since" timestamp with time zone NOT NULL,
	"last_at" timestamp with time zone NOT NULL,
	"told_until" timestamp with time zone NOT NULL,
	CONSTRAINT "pairing_overflows_tenant_connection_sender_group_pk" PRIMARY KEY("tenant","connection","sender_group")
);
--> statement-breakpoint
ALTER TABLE "pairings" ADD COLUMN "sender_group" text;--> statement-breakpoint
ALTER TABLE "pairings" ADD COLUMN "group_slot" integer;--> statement-breakpoint
ALTER TABLE "pairings" ADD COLUMN "connection_slot" integer;--> statement-breakpoint
CREATE UNIQUE INDEX "pairings_connection_slot" ON "pairings" USING btree ("tenant","connection","connection_slot") WHERE status = 'pending';--> statement-breakpoint
CREATE UNIQUE INDEX "pairings_group_slot" ON "pairings" USING btree ("tenant","connection","sender_group","group_slot") WHERE status = 'pending';--> statement-breakpoint
CREATE INDEX "inbox_answered" ON "inbox" USING btree ("tenant","connection","subject") WHERE state = 'answered' and subject is not null;