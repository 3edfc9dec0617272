// Wording that leaves a plan only one index to choose. A plan that is made while the tables are empty finds every index equally
// cheap and is kept when they are full: a row by its id would then be looked for among all rows of its tenant.

/** SQL: a text column that is compared, and that no index can be entered by. The row is found by its key, which stands beside it. */
export function unindexed(column: string): string {
  return `${column} || ''`
}
