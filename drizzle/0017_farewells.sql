-- compatible: the table is new, and the indexes change nothing for the release before this one.
CREATE TABLE "farewells" (
	"tenant" text NOT NULL,
	"connection" text NOT NULL,
	"subject" text NOT NULL,
	"inbox_id" uuid NOT NULL,
	"at" timestamp with time zone NOT NULL,
	"phase" text DEFAULT 'conversations' NOT NULL,
	"after" uuid,
	"removed" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"due_at" timestamp with time zone NOT NULL,
	"epoch" bigint DEFAULT 0 NOT NULL,
	CONSTRAINT "farewells_tenant_connection_subject_pk" PRIMARY KEY("tenant","connection","subject")
);
--> statement-breakpoint
CREATE INDEX "farewells_due" ON "farewells" USING btree ("tenant","due_at");--> statement-breakpoint
CREATE INDEX "channel_records_subject" ON "channel_records" USING btree ("tenant","connection","subject") WHERE subject is not null;--> statement-breakpoint
CREATE INDEX "inbox_stray" ON "inbox" USING btree ("tenant","connection","subject") WHERE conversation_id is null and subject is not null;