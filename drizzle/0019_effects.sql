ALTER TABLE "inbox" ADD COLUMN "heard_at" integer;--> statement-breakpoint
ALTER TABLE "inbox" ADD COLUMN "goes_on" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "sessions" ADD COLUMN "erasures" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "journal" ADD COLUMN "is_effect" boolean DEFAULT true NOT NULL;--> statement-breakpoint
ALTER TABLE "journal" ADD COLUMN "label" text;--> statement-breakpoint
ALTER TABLE "turns" ADD COLUMN "journal_turn" uuid;--> statement-breakpoint
ALTER TABLE "turns" ADD COLUMN "view" jsonb;