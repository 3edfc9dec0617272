// Whom the operator turned away while the gateway ran. It is the operator's own, and nobody's to be forgotten with.

export const blockFamilies = {
  /** Key: a host, or the address of an actor. Value: `{ severity, comment }`. */
  peer: 'blocked_peer',
  /** Another one after every change, so that whoever holds the list knows when to read it again. Key: `all`. Value: `{ version }`. */
  version: 'blocked_version',
} as const

export const versionKey = 'all'
