-- compatible: the release before this one asks the same of the table, and is answered by other indexes.
DROP INDEX "tasks_owner";--> statement-breakpoint
CREATE INDEX "tasks_listed" ON "tasks" USING btree ("tenant","connection","owner","state_at" DESC NULLS LAST,"id" DESC NULLS LAST,"state","agent") WHERE said -> 'direct' is null;--> statement-breakpoint
CREATE INDEX "tasks_context" ON "tasks" USING btree ("tenant","connection","context_id","agent","owner");