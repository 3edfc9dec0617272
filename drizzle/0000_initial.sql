-- The schema of the first release: tables and indexes as generated from src/db/schema.ts, then what is written by hand:
-- storage parameters, a view, and triggers.
CREATE TABLE "ambient_context" (
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
CREATE TABLE "blobs" (
	"id" uuid PRIMARY KEY NOT NULL,
	"tenant" text NOT NULL,
	"sha256" text,
	"bytes" bigint,
	"driver" text,
	"location" text,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"store" text NOT NULL,
	"bucket" text NOT NULL,
	"path" text NOT NULL,
	"status" text DEFAULT 'pending' NOT NULL,
	"changes" bigint DEFAULT 0 NOT NULL,
	"needs_check" boolean DEFAULT false NOT NULL,
	"tried_at" timestamp with time zone
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
CREATE TABLE "audit_log" (
	"seq" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "audit_log_seq_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"tenant" text NOT NULL,
	"at" timestamp with time zone DEFAULT now() NOT NULL,
	"action" text NOT NULL,
	"outcome" text NOT NULL,
	"code" text,
	"rule" text,
	"principal_id" uuid,
	"actor" text,
	"evidence" jsonb,
	"connection" text,
	"agent" text,
	"conversation_id" uuid,
	"inbox_id" uuid,
	"object_id" text,
	"trace_id" text,
	"detail" jsonb
);
--> statement-breakpoint
CREATE TABLE "channel_records" (
	"tenant" text NOT NULL,
	"connection" text NOT NULL,
	"family" text NOT NULL,
	"key" text NOT NULL,
	"agent" text,
	"subject" text,
	"value" jsonb NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "channel_records_tenant_connection_family_key_pk" PRIMARY KEY("tenant","connection","family","key")
);
--> statement-breakpoint
CREATE TABLE "room_status" (
	"tenant" text NOT NULL,
	"connection" text NOT NULL,
	"room" text NOT NULL,
	"reason" text,
	"subject" text,
	"changed_at" timestamp with time zone NOT NULL,
	"recorded_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "room_status_tenant_connection_room_pk" PRIMARY KEY("tenant","connection","room")
);
--> statement-breakpoint
CREATE TABLE "connection_limits" (
	"tenant" text NOT NULL,
	"connection" text NOT NULL,
	"scope" text NOT NULL,
	"not_before" timestamp with time zone,
	"spent_until" timestamp with time zone DEFAULT 'epoch'::timestamptz NOT NULL,
	CONSTRAINT "connection_limits_tenant_connection_scope_pk" PRIMARY KEY("tenant","connection","scope")
);
--> statement-breakpoint
CREATE TABLE "ttl_entries" (
	"tenant" text NOT NULL,
	"connection" text NOT NULL,
	"family" text NOT NULL,
	"key" text NOT NULL,
	"subject" text,
	"value" jsonb NOT NULL,
	"expires_at" timestamp with time zone NOT NULL,
	CONSTRAINT "ttl_entries_tenant_connection_family_key_pk" PRIMARY KEY("tenant","connection","family","key")
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
CREATE TABLE "reply_windows" (
	"tenant" text NOT NULL,
	"connection" text NOT NULL,
	"scope" text NOT NULL,
	"answered" jsonb DEFAULT '[]' NOT NULL,
	"notified_until" timestamp with time zone,
	"expires_at" timestamp with time zone NOT NULL,
	CONSTRAINT "reply_windows_tenant_connection_scope_pk" PRIMARY KEY("tenant","connection","scope")
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
	"epoch" bigint DEFAULT 0 NOT NULL,
	"is_control" boolean DEFAULT false NOT NULL
);
--> statement-breakpoint
CREATE TABLE "participants" (
	"conversation_id" uuid NOT NULL,
	"subject" text NOT NULL,
	"joined_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "participants_conversation_id_subject_pk" PRIMARY KEY("conversation_id","subject")
);
--> statement-breakpoint
CREATE TABLE "thread_agents" (
	"tenant" text NOT NULL,
	"connection" text NOT NULL,
	"external_id" text NOT NULL,
	"agent" text NOT NULL,
	"updated_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "thread_agents_tenant_connection_external_id_pk" PRIMARY KEY("tenant","connection","external_id")
);
--> statement-breakpoint
CREATE TABLE "call_chains" (
	"tenant" text NOT NULL,
	"root" text NOT NULL,
	"agent" text NOT NULL,
	"host" text NOT NULL,
	"depth" integer NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "call_chains_tenant_root_agent_host_pk" PRIMARY KEY("tenant","root","agent","host")
);
--> statement-breakpoint
CREATE TABLE "consents" (
	"tenant" text NOT NULL,
	"id" uuid NOT NULL,
	"operation" text NOT NULL,
	"is_allowed" boolean NOT NULL,
	"reason" text NOT NULL,
	"subject" text,
	"connection" text,
	"agent" text,
	"session_id" uuid,
	"audit" jsonb NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "consents_tenant_id_pk" PRIMARY KEY("tenant","id")
);
--> statement-breakpoint
CREATE TABLE "account_deletions" (
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
	CONSTRAINT "account_deletions_tenant_connection_subject_pk" PRIMARY KEY("tenant","connection","subject")
);
--> statement-breakpoint
CREATE TABLE "grants" (
	"tenant" text NOT NULL,
	"id" uuid NOT NULL,
	"subject" text NOT NULL,
	"effect" text NOT NULL,
	"role" text,
	"connection" text,
	"agent" text,
	"workspace_id" text,
	"source" text NOT NULL,
	"created_by" text NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"expires_at" timestamp with time zone,
	"revoked_at" timestamp with time zone,
	"revoked_by" text,
	CONSTRAINT "grants_tenant_id_pk" PRIMARY KEY("tenant","id")
);
--> statement-breakpoint
CREATE TABLE "identity_links" (
	"tenant" text NOT NULL,
	"subject" text NOT NULL,
	"principal" text NOT NULL,
	"created_by" text NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "identity_links_tenant_subject_pk" PRIMARY KEY("tenant","subject")
);
--> statement-breakpoint
CREATE TABLE "pairing_overflows" (
	"tenant" text NOT NULL,
	"connection" text NOT NULL,
	"sender_group" text NOT NULL,
	"messages" bigint NOT NULL,
	"since" timestamp with time zone NOT NULL,
	"last_at" timestamp with time zone NOT NULL,
	"notified_until" timestamp with time zone NOT NULL,
	CONSTRAINT "pairing_overflows_tenant_connection_sender_group_pk" PRIMARY KEY("tenant","connection","sender_group")
);
--> statement-breakpoint
CREATE TABLE "pairings" (
	"tenant" text NOT NULL,
	"id" uuid NOT NULL,
	"connection" text NOT NULL,
	"agent" text NOT NULL,
	"subject" text NOT NULL,
	"code" text NOT NULL,
	"status" text NOT NULL,
	"conversation_id" uuid NOT NULL,
	"shown_name" text,
	"evidence" jsonb,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"expires_at" timestamp with time zone NOT NULL,
	"decided_at" timestamp with time zone,
	"decided_by" text,
	"sender_group" text,
	"group_slot" integer,
	"connection_slot" integer,
	CONSTRAINT "pairings_tenant_id_pk" PRIMARY KEY("tenant","id")
);
--> statement-breakpoint
CREATE TABLE "principals" (
	"tenant" text NOT NULL,
	"id" uuid NOT NULL,
	"subject" text NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "principals_tenant_id_pk" PRIMARY KEY("tenant","id")
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
	"last_used_at" timestamp with time zone,
	"agent" text,
	"allowed_capabilities" jsonb,
	"client_id" text,
	"created_by" text,
	CONSTRAINT "tokens_tenant_id_pk" PRIMARY KEY("tenant","id")
);
--> statement-breakpoint
CREATE TABLE "used_tokens" (
	"tenant" text NOT NULL,
	"key" text NOT NULL,
	"expires_at" timestamp with time zone NOT NULL,
	CONSTRAINT "used_tokens_tenant_key_pk" PRIMARY KEY("tenant","key")
);
--> statement-breakpoint
CREATE TABLE "proof_claims" (
	"tenant" text NOT NULL,
	"key" text NOT NULL,
	"event_id" uuid NOT NULL,
	"inbox_id" uuid NOT NULL,
	"expires_at" timestamp with time zone NOT NULL,
	CONSTRAINT "proof_claims_tenant_key_pk" PRIMARY KEY("tenant","key")
);
--> statement-breakpoint
CREATE TABLE "duplicates" (
	"inbox_id" uuid PRIMARY KEY NOT NULL,
	"tenant" text NOT NULL,
	"connection" text NOT NULL,
	"count" integer NOT NULL,
	"last_at" timestamp with time zone DEFAULT now() NOT NULL,
	"last_delivery_id" text
);
--> statement-breakpoint
CREATE TABLE "inbox" (
	"id" uuid PRIMARY KEY NOT NULL,
	"seq" bigint GENERATED ALWAYS AS IDENTITY (sequence name "inbox_seq_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"tenant" text NOT NULL,
	"connection" text NOT NULL,
	"dedupe_key" text NOT NULL,
	"content_hash" text NOT NULL,
	"is_flagged" boolean DEFAULT false NOT NULL,
	"v" integer NOT NULL,
	"kind" text NOT NULL,
	"agent" text NOT NULL,
	"recipient" text,
	"subject" text,
	"principal" text,
	"conversation_id" uuid,
	"state" text NOT NULL,
	"reason" text,
	"must_reply_individually" text,
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
	"runs_alone" boolean DEFAULT false NOT NULL,
	"parent_turn" uuid,
	"trace_id" text NOT NULL,
	"workspace_type" text DEFAULT 'tenant' NOT NULL,
	"workspace_id" text DEFAULT 'default' NOT NULL,
	"access_rule" text,
	"pairing_id" uuid,
	"task_id" uuid,
	"joined_at_poll" integer,
	"continues_turn" boolean DEFAULT false NOT NULL
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
	"trace_id" text NOT NULL,
	"history" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"bounce_kind" text,
	"bounce_reason" text,
	"bounced_at" timestamp with time zone,
	"question" jsonb
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
CREATE TABLE "storage_probes" (
	"tenant" text NOT NULL,
	"probed_at" timestamp with time zone,
	"seen_at" timestamp with time zone,
	CONSTRAINT "storage_probes_tenant_pk" PRIMARY KEY("tenant")
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
	"workspace_id" text DEFAULT 'default' NOT NULL,
	"run_id" text,
	"conversation_id" uuid,
	"owner" text,
	"resumes" uuid,
	"summary" jsonb,
	"cancel_requested_at" timestamp with time zone,
	"cancelled_by" text
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
	"workspace_id" text DEFAULT 'default' NOT NULL,
	"title" text,
	"metadata" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"last_read_at" timestamp with time zone,
	"expires_at" timestamp with time zone,
	"is_retained" boolean DEFAULT true NOT NULL,
	"consent_id" uuid,
	"erasures" integer DEFAULT 0 NOT NULL
);
--> statement-breakpoint
CREATE TABLE "stranger_usage" (
	"tenant" text NOT NULL,
	"connection" text NOT NULL,
	"day" date NOT NULL,
	"kind" text NOT NULL,
	"messages" bigint DEFAULT 0 NOT NULL,
	"received_bytes" bigint DEFAULT 0 NOT NULL,
	"stored_bytes" bigint DEFAULT 0 NOT NULL,
	"refused" bigint DEFAULT 0 NOT NULL,
	CONSTRAINT "stranger_usage_tenant_connection_day_kind_pk" PRIMARY KEY("tenant","connection","day","kind")
);
--> statement-breakpoint
CREATE TABLE "counters" (
	"kind" text NOT NULL,
	"tenant" text NOT NULL,
	"connection" text NOT NULL,
	"state" text NOT NULL,
	"reason" text DEFAULT '' NOT NULL,
	"current" bigint NOT NULL,
	"total" bigint NOT NULL,
	"last_at" timestamp with time zone,
	CONSTRAINT "counters_kind_tenant_connection_state_reason_pk" PRIMARY KEY("kind","tenant","connection","state","reason")
);
--> statement-breakpoint
CREATE TABLE "counter_changes" (
	"kind" text NOT NULL,
	"tenant" text NOT NULL,
	"connection" text NOT NULL,
	"state" text NOT NULL,
	"reason" text DEFAULT '' NOT NULL,
	"delta" integer NOT NULL,
	"at" timestamp with time zone
);
--> statement-breakpoint
CREATE TABLE "push_configs" (
	"tenant" text NOT NULL,
	"task_id" uuid NOT NULL,
	"id" text NOT NULL,
	"url" text NOT NULL,
	"scheme" text,
	"sealed_secrets" jsonb,
	"dialect" text NOT NULL,
	"disabled_at" timestamp with time zone,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "push_configs_tenant_task_id_id_pk" PRIMARY KEY("tenant","task_id","id")
);
--> statement-breakpoint
CREATE TABLE "tasks" (
	"id" uuid PRIMARY KEY NOT NULL,
	"tenant" text NOT NULL,
	"connection" text NOT NULL,
	"agent" text NOT NULL,
	"owner" text,
	"context_id" text NOT NULL,
	"conversation_id" uuid NOT NULL,
	"state" text NOT NULL,
	"state_at" timestamp with time zone DEFAULT now() NOT NULL,
	"status_message" jsonb,
	"dialect" text NOT NULL,
	"metadata" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"waiting_inbox_id" uuid,
	"has_push" boolean DEFAULT false NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"ended_at" timestamp with time zone
);
--> statement-breakpoint
CREATE TABLE "journal" (
	"turn_id" uuid NOT NULL,
	"step" text NOT NULL,
	"state" text NOT NULL,
	"epoch" bigint NOT NULL,
	"result" jsonb,
	"error" text,
	"started_at" timestamp with time zone DEFAULT now() NOT NULL,
	"finished_at" timestamp with time zone,
	"is_effect" boolean DEFAULT true NOT NULL,
	"label" text,
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
	"trace_id" text NOT NULL,
	"history" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"task_id" uuid,
	"task_order" integer,
	"journal_turn" uuid,
	"view" jsonb,
	"crash_epochs" bigint[] DEFAULT '{}' NOT NULL
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
	"agent" text,
	"session_id" uuid,
	"run_id" text,
	"tool_name" text,
	"tool_call_id" text,
	"resolvers" text DEFAULT 'anyone' NOT NULL,
	"resume" jsonb,
	"decided_hash" text,
	"resolution_result" jsonb,
	"resolution_error" text,
	"resolution_metadata" jsonb,
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
	"request_id" text,
	"owner" text,
	"agent" text,
	"session_id" uuid,
	"run_id" text,
	"tool_call_id" text,
	"request" jsonb,
	"resume" jsonb,
	"resolver" text,
	"resolved_at" timestamp with time zone,
	CONSTRAINT "runtime_tool_requests_tenant_id_pk" PRIMARY KEY("tenant","id")
);
--> statement-breakpoint
CREATE INDEX "ambient_context_conversation" ON "ambient_context" USING btree ("conversation_id","seq");--> statement-breakpoint
CREATE INDEX "ambient_context_room" ON "ambient_context" USING btree ("tenant","connection","agent","room","seq");--> statement-breakpoint
CREATE INDEX "ambient_context_expiry" ON "ambient_context" USING btree ("tenant","expires_at");--> statement-breakpoint
CREATE INDEX "attachments_blob" ON "attachments" USING btree ("blob_id");--> statement-breakpoint
CREATE INDEX "attachments_owner" ON "attachments" USING btree ("tenant","owner");--> statement-breakpoint
CREATE INDEX "attachments_session" ON "attachments" USING btree ("session_id") WHERE session_id is not null;--> statement-breakpoint
CREATE INDEX "attachments_inbox" ON "attachments" USING btree ("inbox_id") WHERE inbox_id is not null;--> statement-breakpoint
CREATE INDEX "attachments_used" ON "attachments" USING btree ("tenant","used_at") WHERE session_id is not null;--> statement-breakpoint
CREATE INDEX "attachments_unsent" ON "attachments" USING btree ("tenant","created_at") WHERE session_id is null;--> statement-breakpoint
CREATE UNIQUE INDEX "blobs_object" ON "blobs" USING btree ("tenant","store","bucket","path");--> statement-breakpoint
CREATE UNIQUE INDEX "blobs_content" ON "blobs" USING btree ("tenant","store","sha256") WHERE status = 'ready';--> statement-breakpoint
CREATE INDEX "blobs_due" ON "blobs" USING btree ("tenant") WHERE status <> 'ready' or needs_check;--> statement-breakpoint
CREATE UNIQUE INDEX "signing_keys_current" ON "signing_keys" USING btree ("tenant") WHERE retired_at is null;--> statement-breakpoint
CREATE INDEX "audit_log_tenant" ON "audit_log" USING btree ("tenant","seq");--> statement-breakpoint
CREATE INDEX "audit_log_principal" ON "audit_log" USING btree ("tenant","principal_id","seq") WHERE principal_id is not null;--> statement-breakpoint
CREATE INDEX "audit_log_inbox" ON "audit_log" USING btree ("inbox_id") WHERE inbox_id is not null;--> statement-breakpoint
CREATE INDEX "channel_records_subject" ON "channel_records" USING btree ("tenant","connection","subject") WHERE subject is not null;--> statement-breakpoint
CREATE INDEX "ttl_entries_expiry" ON "ttl_entries" USING btree ("tenant","expires_at");--> statement-breakpoint
CREATE INDEX "reply_windows_expiry" ON "reply_windows" USING btree ("tenant","expires_at");--> statement-breakpoint
CREATE UNIQUE INDEX "conversations_external" ON "conversations" USING btree ("tenant","connection","agent","external_id");--> statement-breakpoint
CREATE INDEX "conversations_erased" ON "conversations" USING btree ("id") WHERE external_id like '~~erased %';--> statement-breakpoint
CREATE INDEX "lanes_due" ON "lanes" USING btree ("tenant","next_at") WHERE pending > 0;--> statement-breakpoint
CREATE INDEX "lanes_control" ON "lanes" USING btree ("tenant","next_at") WHERE is_control and pending > 0;--> statement-breakpoint
CREATE INDEX "participants_subject" ON "participants" USING btree ("subject");--> statement-breakpoint
CREATE INDEX "call_chains_created" ON "call_chains" USING btree ("created_at");--> statement-breakpoint
CREATE INDEX "consents_subject" ON "consents" USING btree ("tenant","subject","operation","created_at");--> statement-breakpoint
CREATE INDEX "consents_session" ON "consents" USING btree ("session_id") WHERE session_id is not null;--> statement-breakpoint
CREATE INDEX "account_deletions_due" ON "account_deletions" USING btree ("tenant","due_at");--> statement-breakpoint
CREATE INDEX "grants_subject" ON "grants" USING btree ("tenant","subject") WHERE revoked_at is null;--> statement-breakpoint
CREATE INDEX "identity_links_principal" ON "identity_links" USING btree ("tenant","principal");--> statement-breakpoint
CREATE UNIQUE INDEX "pairings_person" ON "pairings" USING btree ("tenant","connection","agent","subject") WHERE status = 'pending';--> statement-breakpoint
CREATE UNIQUE INDEX "pairings_code" ON "pairings" USING btree ("tenant","code") WHERE status = 'pending';--> statement-breakpoint
CREATE INDEX "pairings_expiry" ON "pairings" USING btree ("expires_at") WHERE status = 'pending';--> statement-breakpoint
CREATE UNIQUE INDEX "pairings_connection_slot" ON "pairings" USING btree ("tenant","connection","connection_slot") WHERE status = 'pending';--> statement-breakpoint
CREATE UNIQUE INDEX "pairings_group_slot" ON "pairings" USING btree ("tenant","connection","sender_group","group_slot") WHERE status = 'pending';--> statement-breakpoint
CREATE UNIQUE INDEX "principals_subject" ON "principals" USING btree ("tenant","subject");--> statement-breakpoint
CREATE UNIQUE INDEX "tokens_hash" ON "tokens" USING btree ("hash");--> statement-breakpoint
CREATE INDEX "used_tokens_expiry" ON "used_tokens" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "proof_claims_expiry" ON "proof_claims" USING btree ("tenant","expires_at");--> statement-breakpoint
CREATE UNIQUE INDEX "inbox_claim" ON "inbox" USING btree ("dedupe_key","content_hash");--> statement-breakpoint
CREATE INDEX "inbox_waiting" ON "inbox" USING btree ("conversation_id","seq") WHERE state = 'queued';--> statement-breakpoint
CREATE INDEX "inbox_turn" ON "inbox" USING btree ("turn_id") WHERE turn_id is not null;--> statement-breakpoint
CREATE INDEX "inbox_message_id" ON "inbox" USING btree ("tenant","connection","message_id");--> statement-breakpoint
CREATE INDEX "inbox_in_flight" ON "inbox" USING btree ("tenant","connection","state","received_at") WHERE ended_at is null;--> statement-breakpoint
CREATE INDEX "inbox_held" ON "inbox" USING btree ("pairing_id") WHERE state = 'held';--> statement-breakpoint
CREATE INDEX "inbox_state" ON "inbox" USING btree ("tenant","state","seq") WHERE state in ('dead', 'ignored');--> statement-breakpoint
CREATE INDEX "inbox_edits" ON "inbox" USING btree ("tenant","connection","edit_of") WHERE edit_of is not null;--> statement-breakpoint
CREATE INDEX "inbox_task" ON "inbox" USING btree ("task_id","seq") WHERE task_id is not null;--> statement-breakpoint
CREATE INDEX "inbox_stray" ON "inbox" USING btree ("tenant","connection","subject") WHERE conversation_id is null and subject is not null;--> statement-breakpoint
CREATE INDEX "inbox_content" ON "inbox" USING btree ("tenant","ended_at") WHERE ended_at is not null and (message is not null or raw is not null);--> statement-breakpoint
CREATE INDEX "inbox_emptied" ON "inbox" USING btree ("tenant","ended_at") WHERE ended_at is not null and message is null and raw is null;--> statement-breakpoint
CREATE INDEX "inbox_answered" ON "inbox" USING btree ("tenant","connection","subject") WHERE state = 'answered' and subject is not null;--> statement-breakpoint
CREATE INDEX "inbox_refused" ON "inbox" USING btree ("tenant","ended_at") WHERE state in ('refused', 'ignored') and (message is not null or raw is not null);--> statement-breakpoint
CREATE INDEX "inbox_unproven" ON "inbox" USING btree ("tenant","ended_at") WHERE state = 'refused' and conversation_id is null and subject is null and message is null and raw is null;--> statement-breakpoint
CREATE UNIQUE INDEX "outbox_origin" ON "outbox" USING btree ("origin","ordinal");--> statement-breakpoint
CREATE INDEX "outbox_open" ON "outbox" USING btree ("tenant","connection","order_key","seq") WHERE settled_at is null;--> statement-breakpoint
CREATE INDEX "outbox_turn" ON "outbox" USING btree ("turn_id");--> statement-breakpoint
CREATE INDEX "outbox_vendor" ON "outbox" USING btree ("tenant","vendor_id") WHERE vendor_id is not null;--> statement-breakpoint
CREATE INDEX "outbox_failed" ON "outbox" USING btree ("tenant","state","seq") WHERE state in ('unknown', 'refused', 'dead');--> statement-breakpoint
CREATE INDEX "outbox_settled" ON "outbox" USING btree ("tenant","settled_at") WHERE settled_at is not null;--> statement-breakpoint
CREATE INDEX "outbox_bounced" ON "outbox" USING btree ("tenant","seq") WHERE bounce_kind is not null;--> statement-breakpoint
CREATE UNIQUE INDEX "outbox_protocol" ON "outbox" USING btree ("tenant","connection","client_id") WHERE purpose = 'protocol';--> statement-breakpoint
CREATE INDEX "send_lanes_due" ON "send_lanes" USING btree ("tenant","next_at") WHERE pending > 0;--> statement-breakpoint
CREATE INDEX "send_lanes_idle" ON "send_lanes" USING btree ("tenant","next_at") WHERE pending = 0 and left(order_key, 3) = 'to:';--> statement-breakpoint
CREATE INDEX "messages_inbox" ON "messages" USING btree ("inbox_id");--> statement-breakpoint
CREATE UNIQUE INDEX "run_events_key" ON "run_events" USING btree ("run_id","key");--> statement-breakpoint
CREATE INDEX "runs_turn" ON "runs" USING btree ("turn_id");--> statement-breakpoint
CREATE UNIQUE INDEX "runs_run_id" ON "runs" USING btree ("tenant","run_id","conversation_id");--> statement-breakpoint
CREATE INDEX "runs_created" ON "runs" USING btree ("tenant","created_at");--> statement-breakpoint
CREATE INDEX "runs_resumes" ON "runs" USING btree ("resumes") WHERE resumes is not null;--> statement-breakpoint
CREATE INDEX "sessions_conversation" ON "sessions" USING btree ("conversation_id");--> statement-breakpoint
CREATE INDEX "sessions_owner" ON "sessions" USING btree ("tenant","owner","id");--> statement-breakpoint
CREATE INDEX "sessions_unretained" ON "sessions" USING btree ("expires_at") WHERE not is_retained and expires_at is not null;--> statement-breakpoint
CREATE INDEX "tasks_conversation" ON "tasks" USING btree ("conversation_id");--> statement-breakpoint
CREATE INDEX "tasks_old" ON "tasks" USING btree ("tenant","state_at");--> statement-breakpoint
CREATE INDEX "tasks_listed" ON "tasks" USING btree ("tenant","connection","owner","state_at" DESC NULLS LAST,"id" DESC NULLS LAST,"state","agent") WHERE status_message -> 'direct' is null;--> statement-breakpoint
CREATE INDEX "tasks_context" ON "tasks" USING btree ("tenant","connection","context_id","agent","owner");--> statement-breakpoint
CREATE INDEX "signals_waiting" ON "signals" USING btree ("conversation_id","seq") WHERE state = 'queued';--> statement-breakpoint
CREATE INDEX "signals_turn" ON "signals" USING btree ("turn_id");--> statement-breakpoint
CREATE UNIQUE INDEX "timers_origin" ON "timers" USING btree ("origin","name");--> statement-breakpoint
CREATE INDEX "timers_due" ON "timers" USING btree ("tenant","due_at") WHERE fired_at is null;--> statement-breakpoint
CREATE INDEX "turns_conversation" ON "turns" USING btree ("conversation_id","started_at");--> statement-breakpoint
CREATE INDEX "turns_access_challenge" ON "turns" USING btree ("conversation_id","started_at") WHERE kind = 'access_challenge';--> statement-breakpoint
CREATE INDEX "turns_ended" ON "turns" USING btree ("tenant","ended_at") WHERE ended_at is not null;--> statement-breakpoint
CREATE INDEX "turns_task" ON "turns" USING btree ("task_id","task_order") WHERE task_id is not null;--> statement-breakpoint
CREATE INDEX "turns_suspected" ON "turns" USING btree ("tenant") WHERE crash_epochs <> '{}' and state in ('running', 'split');--> statement-breakpoint
CREATE INDEX "pending_actions_conversation" ON "pending_actions" USING btree ("conversation_id");--> statement-breakpoint
CREATE INDEX "pending_actions_turn" ON "pending_actions" USING btree ("turn_id");--> statement-breakpoint
CREATE INDEX "pending_actions_status" ON "pending_actions" USING btree ("tenant","status","created_at");--> statement-breakpoint
CREATE INDEX "runtime_tool_requests_turn" ON "runtime_tool_requests" USING btree ("turn_id");--> statement-breakpoint
CREATE UNIQUE INDEX "runtime_tool_requests_request" ON "runtime_tool_requests" USING btree ("tenant","request_id");--> statement-breakpoint
CREATE INDEX "runtime_tool_requests_status" ON "runtime_tool_requests" USING btree ("tenant","status","created_at");--> statement-breakpoint
-- Lanes are updated several times per turn: leave room on the page, so that an update touches no index.
ALTER TABLE "lanes" SET (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);--> statement-breakpoint
ALTER TABLE "send_lanes" SET (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);--> statement-breakpoint
ALTER TABLE "inbox" SET (fillfactor = 85);--> statement-breakpoint
ALTER TABLE "outbox" SET (fillfactor = 85);--> statement-breakpoint
-- Changes come and go all the time, counters are a handful of rows.
ALTER TABLE "counter_changes" SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);--> statement-breakpoint
-- Messages per connection: received = answered + merged + refused + dead + in flight, and a message that waits for a pairing is
-- in flight. Ignored events and duplicates are counted beside what was received, never in it.
CREATE VIEW "ledger" AS
SELECT i.*, coalesce(d."duplicates", 0)::int AS "duplicates"
FROM (
  SELECT "tenant", "connection",
    count(*) FILTER (WHERE "state" <> 'ignored')::int AS "received",
    count(*) FILTER (WHERE "state" = 'answered')::int AS "answered",
    count(*) FILTER (WHERE "state" = 'merged')::int AS "merged",
    count(*) FILTER (WHERE "state" = 'refused')::int AS "refused",
    count(*) FILTER (WHERE "state" = 'dead')::int AS "dead",
    count(*) FILTER (WHERE "state" IN ('queued', 'in_turn', 'held'))::int AS "in_flight",
    count(*) FILTER (WHERE "state" = 'ignored')::int AS "ignored"
  FROM "inbox" GROUP BY "tenant", "connection"
) i LEFT JOIN (
  SELECT "tenant", "connection", sum("count") AS "duplicates" FROM "duplicates" GROUP BY "tenant", "connection"
) d USING ("tenant", "connection");--> statement-breakpoint
-- Called only for rows that end, are retried, or are removed after their end: a row that is still in flight costs nothing.
CREATE FUNCTION "count_message"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP <> 'INSERT' AND OLD.ended_at IS NOT NULL THEN
    INSERT INTO counter_changes VALUES ('message', OLD.tenant, OLD.connection, OLD.state, coalesce(OLD.reason, ''), -1, NULL);
  END IF;
  IF TG_OP <> 'DELETE' AND NEW.ended_at IS NOT NULL THEN
    INSERT INTO counter_changes
    VALUES ('message', NEW.tenant, NEW.connection, NEW.state, coalesce(NEW.reason, ''), 1, NEW.received_at);
  END IF;
  RETURN NULL;
END $$;--> statement-breakpoint
CREATE FUNCTION "count_call"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP <> 'INSERT' AND OLD.settled_at IS NOT NULL THEN
    INSERT INTO counter_changes VALUES ('call', OLD.tenant, OLD.connection, OLD.state, coalesce(OLD.reason, ''), -1, NULL);
  END IF;
  IF TG_OP <> 'DELETE' AND NEW.settled_at IS NOT NULL THEN
    INSERT INTO counter_changes
    VALUES ('call', NEW.tenant, NEW.connection, NEW.state, coalesce(NEW.reason, ''), 1, NEW.settled_at);
  END IF;
  RETURN NULL;
END $$;--> statement-breakpoint
CREATE TRIGGER "counted_on_insert" AFTER INSERT ON "inbox" FOR EACH ROW
  WHEN (NEW.ended_at IS NOT NULL) EXECUTE FUNCTION "count_message"();--> statement-breakpoint
CREATE TRIGGER "counted_on_update" AFTER UPDATE ON "inbox" FOR EACH ROW
  WHEN ((OLD.ended_at IS NOT NULL, OLD.state, OLD.reason) IS DISTINCT FROM (NEW.ended_at IS NOT NULL, NEW.state, NEW.reason)
    AND (OLD.ended_at IS NOT NULL OR NEW.ended_at IS NOT NULL)) EXECUTE FUNCTION "count_message"();--> statement-breakpoint
CREATE TRIGGER "counted_on_delete" AFTER DELETE ON "inbox" FOR EACH ROW
  WHEN (OLD.ended_at IS NOT NULL) EXECUTE FUNCTION "count_message"();--> statement-breakpoint
CREATE TRIGGER "counted_on_insert" AFTER INSERT ON "outbox" FOR EACH ROW
  WHEN (NEW.settled_at IS NOT NULL) EXECUTE FUNCTION "count_call"();--> statement-breakpoint
CREATE TRIGGER "counted_on_update" AFTER UPDATE ON "outbox" FOR EACH ROW
  WHEN ((OLD.settled_at IS NOT NULL, OLD.state, OLD.reason) IS DISTINCT FROM (NEW.settled_at IS NOT NULL, NEW.state, NEW.reason)
    AND (OLD.settled_at IS NOT NULL OR NEW.settled_at IS NOT NULL)) EXECUTE FUNCTION "count_call"();--> statement-breakpoint
CREATE TRIGGER "counted_on_delete" AFTER DELETE ON "outbox" FOR EACH ROW
  WHEN (OLD.settled_at IS NOT NULL) EXECUTE FUNCTION "count_call"();--> statement-breakpoint
-- Lines of the audit log are written once. Only retention removes them, and it has to say so in its own transaction.
CREATE FUNCTION "protect_audit_log"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP <> 'UPDATE' AND current_setting('parley.retention', true) = 'on' THEN RETURN OLD; END IF;
  RAISE EXCEPTION 'the audit log is append-only' USING ERRCODE = 'insufficient_privilege';
END $$;--> statement-breakpoint
CREATE TRIGGER "audit_append_only" BEFORE UPDATE OR DELETE ON "audit_log" FOR EACH ROW EXECUTE FUNCTION "protect_audit_log"();--> statement-breakpoint
CREATE TRIGGER "audit_not_truncated" BEFORE TRUNCATE ON "audit_log" FOR EACH STATEMENT EXECUTE FUNCTION "protect_audit_log"();--> statement-breakpoint
-- When a descriptor is deleted or changes its state, the sweeper has to check whether its object is still needed.
CREATE FUNCTION "mark_blob_for_check"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE "blobs" SET "needs_check" = true, "changes" = "changes" + 1 WHERE "id" = OLD."blob_id";
  RETURN NULL;
END $$;--> statement-breakpoint
CREATE TRIGGER "attachment_gone" AFTER DELETE OR UPDATE OF "status" ON "attachments" FOR EACH ROW EXECUTE FUNCTION "mark_blob_for_check"();--> statement-breakpoint
-- A message that is refused or dead ends its task.
CREATE FUNCTION "end_task_of_message"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE "tasks" SET "state" = CASE NEW."state" WHEN 'refused' THEN 'rejected' ELSE 'failed' END,
    "state_at" = date_trunc('milliseconds', now()), "ended_at" = now(), "waiting_inbox_id" = NULL
  WHERE "id" = NEW."task_id" AND "ended_at" IS NULL AND "waiting_inbox_id" IS NOT DISTINCT FROM NEW."id";
  RETURN NULL;
END $$;--> statement-breakpoint
CREATE TRIGGER "message_ended" AFTER UPDATE OF "state" ON "inbox" FOR EACH ROW
  WHEN (NEW."task_id" IS NOT NULL AND NEW."state" IN ('refused', 'dead') AND OLD."state" <> NEW."state")
  EXECUTE FUNCTION "end_task_of_message"();--> statement-breakpoint
-- Every change of a task's state is queued in the outbox for the webhooks that asked for it, in order.
CREATE FUNCTION "push_task_state"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  WITH calls AS (
    INSERT INTO "outbox" ("id", "tenant", "connection", "origin", "ordinal", "order_key", "primary", "purpose", "v", "call",
      "client_id", "state", "trace_id")
    SELECT c.id, NEW."tenant", NEW."connection", c.id, 0, 'push:' || NEW."id" || ':' || c.config, false, 'push', 2,
      jsonb_build_object('push', jsonb_build_object('taskId', NEW."id", 'configId', c.config, 'state', NEW."state",
        'at', to_char(NEW."state_at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))),
      c.id::text, 'queued', replace(NEW."id"::text, '-', '')
    FROM (SELECT gen_random_uuid() AS id, p."id" AS config FROM "push_configs" p
      WHERE p."tenant" = NEW."tenant" AND p."task_id" = NEW."id" AND p."disabled_at" IS NULL ORDER BY p."id") c
    RETURNING "order_key")
  INSERT INTO "send_lanes" ("tenant", "connection", "order_key", "pending")
  SELECT NEW."tenant", NEW."connection", "order_key", 1 FROM calls
  ON CONFLICT ("tenant", "connection", "order_key") DO UPDATE SET "pending" = "send_lanes"."pending" + 1;
  RETURN NULL;
END $$;--> statement-breakpoint
CREATE TRIGGER "task_state_changed" AFTER UPDATE OF "state" ON "tasks" FOR EACH ROW
  WHEN (NEW."has_push" AND OLD."state" <> NEW."state") EXECUTE FUNCTION "push_task_state"();
