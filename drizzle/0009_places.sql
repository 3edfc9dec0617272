CREATE TABLE "closed_places" (
	"tenant" text NOT NULL,
	"connection" text NOT NULL,
	"place" text NOT NULL,
	"reason" text,
	"subject" text,
	"changed_at" timestamp with time zone NOT NULL,
	"noted_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "closed_places_tenant_connection_place_pk" PRIMARY KEY("tenant","connection","place")
);
--> statement-breakpoint
CREATE INDEX "inbox_edits" ON "inbox" USING btree ("tenant","connection","edit_of") WHERE edit_of is not null;