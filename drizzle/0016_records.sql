-- compatible: the table is new, and the indexes hold no row of the release before this one.
CREATE TABLE "channel_records" (
	"tenant" text NOT NULL,
	"connection" text NOT NULL,
	"family" text NOT NULL,
	"key" text NOT NULL,
	"agent" text,
	"subject" text,
	"value" jsonb NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "channel_records_tenant_connection_family_key_pk" PRIMARY KEY("tenant","connection","family","key")
);
--> statement-breakpoint
CREATE UNIQUE INDEX "outbox_protocol" ON "outbox" USING btree ("tenant","connection","client_id") WHERE purpose = 'protocol';--> statement-breakpoint
CREATE INDEX "send_lanes_idle" ON "send_lanes" USING btree ("tenant","next_at") WHERE pending = 0 and left(order_key, 3) = 'to:';