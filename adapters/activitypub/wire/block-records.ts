// Servers and accounts that the operator blocked while the gateway ran. The list is the operator's own, and no person's erasure removes it.

export const blockFamilies = {
  /** Key: a host, or the address of an actor. Value: `{ severity, comment }`. */
  peer: 'blocked_peer',
  /** Another one after every change, so that a replica that holds the list knows when to read it again. Key: `all`. Value: `{ version }`. */
  version: 'blocked_version',
} as const

export const versionKey = 'all'
