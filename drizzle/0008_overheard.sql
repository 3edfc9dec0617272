-- compatible: the table is new; what a release before this one overhears it does not remember.
CREATE TABLE "overheard" (
	"inbox_id" uuid PRIMARY KEY NOT NULL,
	"tenant" text NOT NULL,
	"connection" text NOT NULL,
	"agent" text NOT NULL,
	"room" text NOT NULL,
	"main_line" text,
	"conversation_id" uuid NOT NULL,
	"seq" bigint NOT NULL,
	"subject" text,
	"principal" text NOT NULL,
	"bytes" integer NOT NULL,
	"envelope" jsonb NOT NULL,
	"expires_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE INDEX "overheard_conversation" ON "overheard" USING btree ("conversation_id","seq");--> statement-breakpoint
CREATE INDEX "overheard_room" ON "overheard" USING btree ("tenant","connection","agent","room","seq");--> statement-breakpoint
CREATE INDEX "overheard_expires" ON "overheard" USING btree ("tenant","expires_at");