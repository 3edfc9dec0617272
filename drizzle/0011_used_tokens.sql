-- compatible
CREATE TABLE "used_tokens" (
	"tenant" text NOT NULL,
	"key" text NOT NULL,
	"expires_at" timestamp with time zone NOT NULL,
	CONSTRAINT "used_tokens_tenant_key_pk" PRIMARY KEY("tenant","key")
);
--> statement-breakpoint
CREATE INDEX "used_tokens_expiry" ON "used_tokens" USING btree ("expires_at");