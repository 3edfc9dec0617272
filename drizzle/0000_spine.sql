CREATE TABLE "connection_limits" (
	"tenant" text NOT NULL,
	"connection" text NOT NULL,
	"scope" text NOT NULL,
	"not_before" timestamp with time zone,
	"spent_until" timestamp with time zone DEFAULT 'epoch'::timestamptz NOT NULL,
	CONSTRAINT "connection_limits_tenant_connection_scope_pk" PRIMARY KEY("tenant","connection","scope")
);
--> statement-breakpoint
CREATE TABLE "connections" (
	"tenant" text NOT NULL,
	"id" text NOT NULL,
	"channel" text NOT NULL,
	"agent" text NOT NULL,
	"external_account" text,
	"sealed_credentials" jsonb,
	"status" text DEFAULT 'active' NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "connections_tenant_id_pk" PRIMARY KEY("tenant","id")
);
--> statement-breakpoint
CREATE TABLE "pull_cursors" (
	"tenant" text NOT NULL,
	"connection" text NOT NULL,
	"source" text NOT NULL,
	"cursor" text,
	"connected_at" timestamp with time zone,
	"holder" text,
	"lease_until" timestamp with time zone,
	"epoch" bigint DEFAULT 0 NOT NULL,
	CONSTRAINT "pull_cursors_tenant_connection_source_pk" PRIMARY KEY("tenant","connection","source")
);
--> statement-breakpoint
CREATE TABLE "conversation_aliases" (
	"tenant" text NOT NULL,
	"connection" text NOT NULL,
	"agent" text NOT NULL,
	"external_id" text NOT NULL,
	"conversation_id" uuid NOT NULL,
	CONSTRAINT "conversation_aliases_tenant_connection_agent_external_id_pk" PRIMARY KEY("tenant","connection","agent","external_id")
);
--> statement-breakpoint
CREATE TABLE "conversations" (
	"id" uuid PRIMARY KEY NOT NULL,
	"tenant" text NOT NULL,
	"connection" text NOT NULL,
	"agent" text NOT NULL,
	"external_id" text NOT NULL,
	"session_id" uuid,
	"owner_subject" text,
	"reply_to" jsonb,
	"reply_token_hash" text,
	"last_activity_at" timestamp with time zone DEFAULT now() NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"workspace_type" text DEFAULT 'tenant' NOT NULL,
	"workspace_id" text DEFAULT 'default' NOT NULL
);
--> statement-breakpoint
CREATE TABLE "lanes" (
	"conversation_id" uuid PRIMARY KEY NOT NULL,
	"tenant" text NOT NULL,
	"connection" text NOT NULL,
	"pending" integer DEFAULT 0 NOT NULL,
	"mode" text DEFAULT 'active' NOT NULL,
	"next_at" timestamp with time zone DEFAULT now() NOT NULL,
	"turn_id" uuid,
	"holder" text,
	"lease_until" timestamp with time zone,
	"epoch" bigint DEFAULT 0 NOT NULL
);
--> statement-breakpoint
CREATE TABLE "participants" (
	"conversation_id" uuid NOT NULL,
	"subject" text NOT NULL,
	"joined_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "participants_conversation_id_subject_pk" PRIMARY KEY("conversation_id","subject")
);
--> statement-breakpoint
CREATE TABLE "pending_actions" (
	"tenant" text NOT NULL,
	"id" uuid NOT NULL,
	"turn_id" uuid NOT NULL,
	"conversation_id" uuid NOT NULL,
	"kind" text NOT NULL,
	"summary" text NOT NULL,
	"action_hash" text NOT NULL,
	"action" jsonb NOT NULL,
	"creator" text,
	"resolver" text,
	"status" text NOT NULL,
	"expires_at" timestamp with time zone NOT NULL,
	"resolved_at" timestamp with time zone,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"workspace_type" text DEFAULT 'tenant' NOT NULL,
	"workspace_id" text DEFAULT 'default' NOT NULL,
	CONSTRAINT "pending_actions_tenant_id_pk" PRIMARY KEY("tenant","id")
);
--> statement-breakpoint
CREATE TABLE "runtime_tool_requests" (
	"tenant" text NOT NULL,
	"id" uuid NOT NULL,
	"turn_id" uuid NOT NULL,
	"conversation_id" uuid NOT NULL,
	"tool" text NOT NULL,
	"parameters" jsonb NOT NULL,
	"status" text NOT NULL,
	"result" jsonb,
	"expires_at" timestamp with time zone,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"workspace_type" text DEFAULT 'tenant' NOT NULL,
	"workspace_id" text DEFAULT 'default' NOT NULL,
	CONSTRAINT "runtime_tool_requests_tenant_id_pk" PRIMARY KEY("tenant","id")
);
--> statement-breakpoint
CREATE TABLE "tokens" (
	"tenant" text NOT NULL,
	"id" uuid NOT NULL,
	"hash" text NOT NULL,
	"label" text NOT NULL,
	"scopes" jsonb NOT NULL,
	"principal" text,
	"expires_at" timestamp with time zone,
	"revoked_at" timestamp with time zone,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"workspace_type" text DEFAULT 'tenant' NOT NULL,
	"workspace_id" text DEFAULT 'default' NOT NULL,
	CONSTRAINT "tokens_tenant_id_pk" PRIMARY KEY("tenant","id")
);
--> statement-breakpoint
CREATE TABLE "blobs" (
	"id" uuid PRIMARY KEY NOT NULL,
	"tenant" text NOT NULL,
	"sha256" text NOT NULL,
	"bytes" bigint NOT NULL,
	"driver" text NOT NULL,
	"location" text NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "inbox" (
	"id" uuid PRIMARY KEY NOT NULL,
	"seq" bigint GENERATED ALWAYS AS IDENTITY (sequence name "inbox_seq_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"tenant" text NOT NULL,
	"connection" text NOT NULL,
	"dedupe_key" text NOT NULL,
	"content_hash" text NOT NULL,
	"flagged" boolean DEFAULT false NOT NULL,
	"v" integer NOT NULL,
	"kind" text NOT NULL,
	"agent" text NOT NULL,
	"recipient" text,
	"subject" text,
	"principal" text,
	"conversation_id" uuid,
	"state" text NOT NULL,
	"reason" text,
	"obligation" text,
	"message_id" text,
	"delivery_id" text,
	"event" text DEFAULT 'new' NOT NULL,
	"edit_of" text,
	"message" jsonb,
	"raw" jsonb,
	"blob" uuid,
	"reply_to" jsonb,
	"bytes" integer DEFAULT 0 NOT NULL,
	"platform_at" timestamp with time zone,
	"received_at" timestamp with time zone DEFAULT now() NOT NULL,
	"ended_at" timestamp with time zone,
	"turn_id" uuid,
	"turn_order" integer,
	"attempts" integer DEFAULT 0 NOT NULL,
	"solo" boolean DEFAULT false NOT NULL,
	"parent_turn" uuid,
	"trace_id" text NOT NULL,
	"workspace_type" text DEFAULT 'tenant' NOT NULL,
	"workspace_id" text DEFAULT 'default' NOT NULL
);
--> statement-breakpoint
CREATE TABLE "tombstones" (
	"tenant" text NOT NULL,
	"connection" text NOT NULL,
	"message_id" text NOT NULL,
	"subject" text NOT NULL,
	"event" text NOT NULL,
	"inbox_id" uuid NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "tombstones_tenant_connection_message_id_subject_pk" PRIMARY KEY("tenant","connection","message_id","subject")
);
--> statement-breakpoint
CREATE TABLE "outbox" (
	"id" uuid PRIMARY KEY NOT NULL,
	"seq" bigint GENERATED ALWAYS AS IDENTITY (sequence name "outbox_seq_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"tenant" text NOT NULL,
	"connection" text NOT NULL,
	"conversation_id" uuid,
	"turn_id" uuid,
	"origin" uuid NOT NULL,
	"ordinal" integer NOT NULL,
	"order_key" text NOT NULL,
	"primary" boolean NOT NULL,
	"purpose" text NOT NULL,
	"v" integer NOT NULL,
	"call" jsonb NOT NULL,
	"client_id" text NOT NULL,
	"state" text NOT NULL,
	"reason" text,
	"attempt" integer DEFAULT 0 NOT NULL,
	"epoch" bigint DEFAULT 0 NOT NULL,
	"not_before" timestamp with time zone,
	"expires_at" timestamp with time zone,
	"live_reference" text,
	"vendor_id" text,
	"maybe_repeat" boolean DEFAULT false NOT NULL,
	"sending_at" timestamp with time zone,
	"settled_at" timestamp with time zone,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"trace_id" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "send_lanes" (
	"tenant" text NOT NULL,
	"connection" text NOT NULL,
	"order_key" text NOT NULL,
	"pending" integer DEFAULT 0 NOT NULL,
	"next_at" timestamp with time zone DEFAULT now() NOT NULL,
	"holder" text,
	"lease_until" timestamp with time zone,
	"epoch" bigint DEFAULT 0 NOT NULL,
	CONSTRAINT "send_lanes_tenant_connection_order_key_pk" PRIMARY KEY("tenant","connection","order_key")
);
--> statement-breakpoint
CREATE TABLE "messages" (
	"session_id" uuid NOT NULL,
	"seq" bigint NOT NULL,
	"tenant" text NOT NULL,
	"turn_id" uuid,
	"inbox_id" uuid,
	"role" text NOT NULL,
	"envelope" jsonb NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "messages_session_id_seq_pk" PRIMARY KEY("session_id","seq")
);
--> statement-breakpoint
CREATE TABLE "run_events" (
	"run_id" uuid NOT NULL,
	"seq" integer NOT NULL,
	"key" text NOT NULL,
	"attempt" integer DEFAULT 1 NOT NULL,
	"event" jsonb NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "run_events_run_id_seq_pk" PRIMARY KEY("run_id","seq")
);
--> statement-breakpoint
CREATE TABLE "runs" (
	"id" uuid PRIMARY KEY NOT NULL,
	"tenant" text NOT NULL,
	"turn_id" uuid NOT NULL,
	"session_id" uuid,
	"agent" text NOT NULL,
	"status" text NOT NULL,
	"stop_reason" text,
	"usage" jsonb,
	"budgets" jsonb,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"ended_at" timestamp with time zone,
	"workspace_type" text DEFAULT 'tenant' NOT NULL,
	"workspace_id" text DEFAULT 'default' NOT NULL
);
--> statement-breakpoint
CREATE TABLE "sessions" (
	"id" uuid PRIMARY KEY NOT NULL,
	"tenant" text NOT NULL,
	"connection" text NOT NULL,
	"conversation_id" uuid NOT NULL,
	"agent" text NOT NULL,
	"owner" text,
	"status" text DEFAULT 'open' NOT NULL,
	"next_seq" bigint DEFAULT 0 NOT NULL,
	"provider" text,
	"model" text,
	"provider_response_id" text,
	"last_activity_at" timestamp with time zone DEFAULT now() NOT NULL,
	"ended_at" timestamp with time zone,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"workspace_type" text DEFAULT 'tenant' NOT NULL,
	"workspace_id" text DEFAULT 'default' NOT NULL
);
--> statement-breakpoint
CREATE TABLE "journal" (
	"turn_id" uuid NOT NULL,
	"step" text NOT NULL,
	"args_hash" text NOT NULL,
	"state" text NOT NULL,
	"epoch" bigint NOT NULL,
	"result" jsonb,
	"error" text,
	"started_at" timestamp with time zone DEFAULT now() NOT NULL,
	"finished_at" timestamp with time zone,
	CONSTRAINT "journal_turn_id_step_pk" PRIMARY KEY("turn_id","step")
);
--> statement-breakpoint
CREATE TABLE "signals" (
	"id" uuid PRIMARY KEY NOT NULL,
	"seq" bigint GENERATED ALWAYS AS IDENTITY (sequence name "signals_seq_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"tenant" text NOT NULL,
	"conversation_id" uuid NOT NULL,
	"kind" text NOT NULL,
	"name" text NOT NULL,
	"origin" uuid,
	"payload" jsonb,
	"state" text NOT NULL,
	"reason" text,
	"attempts" integer DEFAULT 0 NOT NULL,
	"turn_id" uuid,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"ended_at" timestamp with time zone
);
--> statement-breakpoint
CREATE TABLE "timers" (
	"id" uuid PRIMARY KEY NOT NULL,
	"tenant" text NOT NULL,
	"conversation_id" uuid NOT NULL,
	"origin" uuid NOT NULL,
	"name" text NOT NULL,
	"kind" text NOT NULL,
	"payload" jsonb,
	"due_at" timestamp with time zone NOT NULL,
	"fired_at" timestamp with time zone,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "turns" (
	"id" uuid PRIMARY KEY NOT NULL,
	"tenant" text NOT NULL,
	"connection" text NOT NULL,
	"conversation_id" uuid NOT NULL,
	"session_id" uuid,
	"agent" text NOT NULL,
	"kind" text NOT NULL,
	"state" text NOT NULL,
	"attempt" integer NOT NULL,
	"failures" integer DEFAULT 0 NOT NULL,
	"epoch" bigint NOT NULL,
	"v" integer NOT NULL,
	"parent_turn" uuid,
	"principal" text,
	"run_id" text,
	"response" jsonb,
	"reason" text,
	"outage_since" timestamp with time zone,
	"started_at" timestamp with time zone DEFAULT now() NOT NULL,
	"deadline_at" timestamp with time zone,
	"ended_at" timestamp with time zone,
	"trace_id" text NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX "conversations_external" ON "conversations" USING btree ("tenant","connection","agent","external_id");--> statement-breakpoint
CREATE INDEX "lanes_due" ON "lanes" USING btree ("next_at") WHERE pending > 0;--> statement-breakpoint
CREATE INDEX "pending_actions_conversation" ON "pending_actions" USING btree ("conversation_id");--> statement-breakpoint
CREATE UNIQUE INDEX "tokens_hash" ON "tokens" USING btree ("hash");--> statement-breakpoint
CREATE UNIQUE INDEX "inbox_claim" ON "inbox" USING btree ("dedupe_key","content_hash");--> statement-breakpoint
CREATE INDEX "inbox_waiting" ON "inbox" USING btree ("conversation_id","seq") WHERE state = 'queued';--> statement-breakpoint
CREATE INDEX "inbox_turn" ON "inbox" USING btree ("turn_id") WHERE turn_id is not null;--> statement-breakpoint
CREATE INDEX "inbox_message_id" ON "inbox" USING btree ("tenant","connection","message_id");--> statement-breakpoint
CREATE INDEX "inbox_state" ON "inbox" USING btree ("state","seq") WHERE state in ('dead', 'ignored');--> statement-breakpoint
CREATE INDEX "inbox_ended" ON "inbox" USING btree ("ended_at") WHERE ended_at is not null;--> statement-breakpoint
CREATE UNIQUE INDEX "outbox_origin" ON "outbox" USING btree ("origin","ordinal");--> statement-breakpoint
CREATE INDEX "outbox_open" ON "outbox" USING btree ("tenant","connection","order_key","seq") WHERE settled_at is null;--> statement-breakpoint
CREATE INDEX "outbox_turn" ON "outbox" USING btree ("turn_id");--> statement-breakpoint
CREATE INDEX "outbox_failed" ON "outbox" USING btree ("state","seq") WHERE state in ('unknown', 'refused', 'dead');--> statement-breakpoint
CREATE INDEX "outbox_settled" ON "outbox" USING btree ("settled_at") WHERE settled_at is not null;--> statement-breakpoint
CREATE INDEX "send_lanes_due" ON "send_lanes" USING btree ("next_at") WHERE pending > 0;--> statement-breakpoint
CREATE INDEX "messages_inbox" ON "messages" USING btree ("inbox_id");--> statement-breakpoint
CREATE UNIQUE INDEX "run_events_key" ON "run_events" USING btree ("run_id","key");--> statement-breakpoint
CREATE INDEX "runs_turn" ON "runs" USING btree ("turn_id");--> statement-breakpoint
CREATE INDEX "sessions_conversation" ON "sessions" USING btree ("conversation_id");--> statement-breakpoint
CREATE INDEX "signals_waiting" ON "signals" USING btree ("conversation_id","seq") WHERE state = 'queued';--> statement-breakpoint
CREATE INDEX "signals_turn" ON "signals" USING btree ("turn_id");--> statement-breakpoint
CREATE UNIQUE INDEX "timers_origin" ON "timers" USING btree ("origin","name");--> statement-breakpoint
CREATE INDEX "timers_due" ON "timers" USING btree ("due_at") WHERE fired_at is null;--> statement-breakpoint
CREATE INDEX "turns_conversation" ON "turns" USING btree ("conversation_id","started_at");--> statement-breakpoint
CREATE INDEX "turns_ended" ON "turns" USING btree ("ended_at") WHERE ended_at is not null;