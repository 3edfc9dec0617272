-- Lanes are updated several times per turn: leave room on the page, so that an update touches no index.
ALTER TABLE "lanes" SET (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);--> statement-breakpoint
ALTER TABLE "send_lanes" SET (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);--> statement-breakpoint
ALTER TABLE "inbox" SET (fillfactor = 85);--> statement-breakpoint
ALTER TABLE "outbox" SET (fillfactor = 85);--> statement-breakpoint
-- The books: received = answered + merged + refused + dead + in flight. Ignored arrivals stand outside (ruling 29).
CREATE VIEW "books" AS
SELECT "tenant", "connection",
  count(*) FILTER (WHERE "state" <> 'ignored')::int AS "received",
  count(*) FILTER (WHERE "state" = 'answered')::int AS "answered",
  count(*) FILTER (WHERE "state" = 'merged')::int AS "merged",
  count(*) FILTER (WHERE "state" = 'refused')::int AS "refused",
  count(*) FILTER (WHERE "state" = 'dead')::int AS "dead",
  count(*) FILTER (WHERE "state" IN ('queued', 'in_turn'))::int AS "in_flight",
  count(*) FILTER (WHERE "state" = 'ignored')::int AS "ignored"
FROM "inbox" GROUP BY "tenant", "connection";
