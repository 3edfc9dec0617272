// A time as JSON spells it; the two drivers would give two kinds of objects.

export function isoTime(column: string): string {
  return `to_char(${column} at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`
}

/** Instants that are shown, and compared with what was shown, have no more digits than that. */
export const instantNow = "date_trunc('milliseconds', now())"
