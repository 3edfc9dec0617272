// How statements remember what happened to a row, in the same update that makes it happen.

/** Older entries make room; a row that is tried for a day stays small. */
const keptEntries = 20

/** An instant as explanations show it. */
export const historyTimeSql = (instant: string): string =>
  `to_char(${instant} at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`

/** `row.history` with one more entry. `fields` are the arguments of jsonb_build_object; absent ones leave no trace. */
export function historyEntrySql(row: string, fields: string): string {
  const entry = `jsonb_strip_nulls(jsonb_build_object('at', ${historyTimeSql('now()')}, ${fields}))`
  return `case when jsonb_array_length(${row}.history) >= ${keptEntries} then ${row}.history - 0 else ${row}.history end || ${entry}`
}
