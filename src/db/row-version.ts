// The format of stored rows. Every inbox, turn and outbox row carries the version of the release that wrote it.
//
// A release writes this version, and reads it and every older one: a release that raises it brings older rows into the new shape
// as the stores claim them. A newer row stays where it is until a newer release claims it, and so does all that waits
// behind it in its lane: the order of a conversation outlives an upgrade.
//
// Version 2: only this release and later ones know access challenges, grants, blocks and the audit log. One of version 1 would
// run an agent for a sender who is not admitted yet, and refuse held messages once their sender is admitted.

export const rowVersion = 2

/** SQL: whether the row that comes next, given as a sub-select of its version, can be read here; no row at all can. */
export function isReadableSql(nextVersion: string): string {
  return `coalesce(${nextVersion}, 0) <= ${rowVersion}`
}

/** The rows before the first one that only a newer release can read. */
export function readableRows<Row extends { readonly v: number }>(rows: readonly Row[]): readonly Row[] {
  for (const [index, { v }] of rows.entries()) if (v > rowVersion) return rows.slice(0, index)
  return rows
}
