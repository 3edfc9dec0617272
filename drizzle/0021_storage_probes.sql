-- compatible: a new table that the release before this one does not know.
CREATE TABLE "storage_probes" (
	"tenant" text NOT NULL,
	"probed_at" timestamp with time zone,
	"seen_at" timestamp with time zone,
	CONSTRAINT "storage_probes_tenant_pk" PRIMARY KEY("tenant")
);
