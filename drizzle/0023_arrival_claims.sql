-- compatible: the table is new; what a release before this one accepts claims nothing.
CREATE TABLE "arrival_claims" (
	"tenant" text NOT NULL,
	"key" text NOT NULL,
	"arrival_id" uuid NOT NULL,
	"inbox_id" uuid NOT NULL,
	"expires_at" timestamp with time zone NOT NULL,
	CONSTRAINT "arrival_claims_tenant_key_pk" PRIMARY KEY("tenant","key")
);
--> statement-breakpoint
CREATE INDEX "arrival_claims_expiry" ON "arrival_claims" USING btree ("tenant","expires_at");