-- compatible: the release before this one finds commands by the names of their conversations and never reads this column.
ALTER TABLE "lanes" ADD COLUMN "is_control" boolean DEFAULT false NOT NULL;--> statement-breakpoint
CREATE INDEX "lanes_control" ON "lanes" USING btree ("tenant","next_at") WHERE is_control and pending > 0;--> statement-breakpoint
-- The names that commands were found by until now; a lane that the earlier release opens waits for a free slot instead.
UPDATE "lanes" l SET "is_control" = true FROM "conversations" c
WHERE c."id" = l."conversation_id" AND (starts_with(c."external_id", '~control ') OR starts_with(c."external_id",
  '~' || replace(replace(coalesce(c."owner_subject", ''), '%', '%25'), '~', '%7E') || '~' || '~control '));
