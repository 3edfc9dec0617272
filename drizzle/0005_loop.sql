-- compatible: the release before this one never touches these columns, and writes no runs.
ALTER TABLE "pending_actions" ADD COLUMN "agent" text;--> statement-breakpoint
ALTER TABLE "pending_actions" ADD COLUMN "session_id" uuid;--> statement-breakpoint
ALTER TABLE "pending_actions" ADD COLUMN "run_id" text;--> statement-breakpoint
ALTER TABLE "pending_actions" ADD COLUMN "tool_name" text;--> statement-breakpoint
ALTER TABLE "pending_actions" ADD COLUMN "tool_call_id" text;--> statement-breakpoint
ALTER TABLE "pending_actions" ADD COLUMN "resolvers" text DEFAULT 'anyone' NOT NULL;--> statement-breakpoint
ALTER TABLE "pending_actions" ADD COLUMN "resume" jsonb;--> statement-breakpoint
ALTER TABLE "pending_actions" ADD COLUMN "decided_hash" text;--> statement-breakpoint
ALTER TABLE "pending_actions" ADD COLUMN "resolution_result" jsonb;--> statement-breakpoint
ALTER TABLE "pending_actions" ADD COLUMN "resolution_error" text;--> statement-breakpoint
ALTER TABLE "pending_actions" ADD COLUMN "resolution_metadata" jsonb;--> statement-breakpoint
ALTER TABLE "runtime_tool_requests" ADD COLUMN "request_id" text;--> statement-breakpoint
ALTER TABLE "runtime_tool_requests" ADD COLUMN "owner" text;--> statement-breakpoint
ALTER TABLE "runtime_tool_requests" ADD COLUMN "agent" text;--> statement-breakpoint
ALTER TABLE "runtime_tool_requests" ADD COLUMN "session_id" uuid;--> statement-breakpoint
ALTER TABLE "runtime_tool_requests" ADD COLUMN "run_id" text;--> statement-breakpoint
ALTER TABLE "runtime_tool_requests" ADD COLUMN "tool_call_id" text;--> statement-breakpoint
ALTER TABLE "runtime_tool_requests" ADD COLUMN "request" jsonb;--> statement-breakpoint
ALTER TABLE "runtime_tool_requests" ADD COLUMN "resume" jsonb;--> statement-breakpoint
ALTER TABLE "runtime_tool_requests" ADD COLUMN "resolver" text;--> statement-breakpoint
ALTER TABLE "runtime_tool_requests" ADD COLUMN "resolved_at" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "runs" ADD COLUMN "run_id" text;--> statement-breakpoint
ALTER TABLE "runs" ADD COLUMN "conversation_id" uuid;--> statement-breakpoint
ALTER TABLE "runs" ADD COLUMN "owner" text;--> statement-breakpoint
ALTER TABLE "runs" ADD COLUMN "resumes" uuid;--> statement-breakpoint
ALTER TABLE "runs" ADD COLUMN "summary" jsonb;--> statement-breakpoint
ALTER TABLE "runs" ADD COLUMN "cancel_requested_at" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "runs" ADD COLUMN "cancelled_by" text;--> statement-breakpoint
ALTER TABLE "sessions" ADD COLUMN "title" text;--> statement-breakpoint
ALTER TABLE "sessions" ADD COLUMN "metadata" jsonb DEFAULT '{}'::jsonb NOT NULL;--> statement-breakpoint
ALTER TABLE "sessions" ADD COLUMN "last_read_at" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "sessions" ADD COLUMN "expires_at" timestamp with time zone;--> statement-breakpoint
CREATE INDEX "pending_actions_turn" ON "pending_actions" USING btree ("turn_id");--> statement-breakpoint
CREATE INDEX "pending_actions_status" ON "pending_actions" USING btree ("tenant","status","created_at");--> statement-breakpoint
CREATE INDEX "runtime_tool_requests_turn" ON "runtime_tool_requests" USING btree ("turn_id");--> statement-breakpoint
CREATE UNIQUE INDEX "runtime_tool_requests_request" ON "runtime_tool_requests" USING btree ("tenant","request_id");--> statement-breakpoint
CREATE INDEX "runtime_tool_requests_status" ON "runtime_tool_requests" USING btree ("tenant","status","created_at");--> statement-breakpoint
CREATE UNIQUE INDEX "runs_run_id" ON "runs" USING btree ("tenant","run_id","conversation_id");--> statement-breakpoint
CREATE INDEX "runs_created" ON "runs" USING btree ("tenant","created_at");--> statement-breakpoint
CREATE INDEX "runs_resumes" ON "runs" USING btree ("resumes") WHERE resumes is not null;--> statement-breakpoint
CREATE INDEX "sessions_owner" ON "sessions" USING btree ("tenant","owner","id");