-- compatible: no release before this one writes or reads a row of blobs, and the other tables are new.
CREATE TABLE "attachments" (
	"tenant" text NOT NULL,
	"id" uuid NOT NULL,
	"blob_id" uuid NOT NULL,
	"name" text,
	"mime_type" text NOT NULL,
	"size" bigint NOT NULL,
	"owner" text NOT NULL,
	"thread_id" text,
	"session_id" uuid,
	"inbox_id" uuid,
	"received_via" text NOT NULL,
	"native_id" text,
	"status" text NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"used_at" timestamp with time zone,
	"workspace_type" text DEFAULT 'tenant' NOT NULL,
	"workspace_id" text DEFAULT 'default' NOT NULL,
	CONSTRAINT "attachments_tenant_id_pk" PRIMARY KEY("tenant","id")
);
--> statement-breakpoint
CREATE TABLE "signing_keys" (
	"tenant" text NOT NULL,
	"id" uuid NOT NULL,
	"secret" text NOT NULL,
	"created_by" text NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"retired_at" timestamp with time zone,
	CONSTRAINT "signing_keys_tenant_id_pk" PRIMARY KEY("tenant","id")
);
--> statement-breakpoint
ALTER TABLE "blobs" ALTER COLUMN "sha256" DROP NOT NULL;--> statement-breakpoint
ALTER TABLE "blobs" ALTER COLUMN "bytes" DROP NOT NULL;--> statement-breakpoint
ALTER TABLE "blobs" ALTER COLUMN "driver" DROP NOT NULL;--> statement-breakpoint
ALTER TABLE "blobs" ALTER COLUMN "location" DROP NOT NULL;--> statement-breakpoint
ALTER TABLE "blobs" ADD COLUMN "store" text NOT NULL;--> statement-breakpoint
ALTER TABLE "blobs" ADD COLUMN "bucket" text NOT NULL;--> statement-breakpoint
ALTER TABLE "blobs" ADD COLUMN "path" text NOT NULL;--> statement-breakpoint
ALTER TABLE "blobs" ADD COLUMN "status" text DEFAULT 'pending' NOT NULL;--> statement-breakpoint
ALTER TABLE "blobs" ADD COLUMN "changes" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "blobs" ADD COLUMN "is_loose" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "blobs" ADD COLUMN "tried_at" timestamp with time zone;--> statement-breakpoint
CREATE INDEX "attachments_blob" ON "attachments" USING btree ("blob_id");--> statement-breakpoint
CREATE INDEX "attachments_owner" ON "attachments" USING btree ("tenant","owner");--> statement-breakpoint
CREATE INDEX "attachments_session" ON "attachments" USING btree ("session_id") WHERE session_id is not null;--> statement-breakpoint
CREATE INDEX "attachments_inbox" ON "attachments" USING btree ("inbox_id") WHERE inbox_id is not null;--> statement-breakpoint
CREATE INDEX "attachments_used" ON "attachments" USING btree ("tenant","used_at") WHERE session_id is not null;--> statement-breakpoint
CREATE INDEX "attachments_loose" ON "attachments" USING btree ("tenant","created_at") WHERE session_id is null;--> statement-breakpoint
CREATE UNIQUE INDEX "signing_keys_current" ON "signing_keys" USING btree ("tenant") WHERE retired_at is null;--> statement-breakpoint
CREATE UNIQUE INDEX "blobs_object" ON "blobs" USING btree ("tenant","store","bucket","path");--> statement-breakpoint
CREATE UNIQUE INDEX "blobs_content" ON "blobs" USING btree ("tenant","store","sha256") WHERE status = 'ready';--> statement-breakpoint
CREATE INDEX "blobs_due" ON "blobs" USING btree ("tenant") WHERE status <> 'ready' or is_loose;--> statement-breakpoint
-- Whatever takes a descriptor away, a person or the sweeper: somebody has to look whether its object is still needed.
CREATE FUNCTION "loosen_blob"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE "blobs" SET "is_loose" = true, "changes" = "changes" + 1 WHERE "id" = OLD."blob_id";
  RETURN NULL;
END $$;--> statement-breakpoint
CREATE TRIGGER "attachment_gone" AFTER DELETE OR UPDATE OF "status" ON "attachments" FOR EACH ROW EXECUTE FUNCTION "loosen_blob"();
