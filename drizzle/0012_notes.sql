-- compatible: the table is new.
CREATE TABLE "connection_notes" (
	"tenant" text NOT NULL,
	"connection" text NOT NULL,
	"family" text NOT NULL,
	"key" text NOT NULL,
	"subject" text,
	"value" jsonb NOT NULL,
	"expires_at" timestamp with time zone NOT NULL,
	CONSTRAINT "connection_notes_tenant_connection_family_key_pk" PRIMARY KEY("tenant","connection","family","key")
);
--> statement-breakpoint
CREATE INDEX "connection_notes_expiry" ON "connection_notes" USING btree ("tenant","expires_at");