// Agents and connections that hold all the slots they may in this process: a claim looks past them.

/** Whose lanes are left alone for now; `pairs` are an agent on a connection, see `pairKey`. */
export type FullSlots = {
  readonly agents: readonly string[]
  readonly connections: readonly string[]
  readonly pairs: readonly string[]
}

/** An agent on a connection, in one word. */
export function pairKey(connection: string, agent: string): string {
  return `${connection} ${agent}`
}
