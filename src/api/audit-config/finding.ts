// A finding of `parley audit config`: a weakness by an id that stays the same, its severity, and what to do about it.

/** `critical`: an attacker gets in, or reads what is not theirs. `warning`: weaker than need be. `info`: know that it is so. */
export type Severity = 'critical' | 'warning' | 'info'

export type Finding = {
  readonly id: FindingId
  readonly severity: Severity
  /** Where: a connection, an agent, a token, a variable. */
  readonly where: string
  readonly weak: string
  readonly remedy: string
}

/** Every id there is, with what it means. An id is never given a second meaning; docs/audit.md lists them. */
export const findingIds = {
  'AC-001': 'a connection is open to every verified sender',
  'AC-002': 'a connection with an empty allow list',
  'AC-003': 'a connection asks for pairing, and no operator can approve',
  'AC-004': 'a rule lets in a whole namespace',
  'AC-005': 'a rule lets people in on weak or any evidence',
  'AC-006': 'a denial that can never match',
  'AC-007': 'replies may notify every person',
  'AC-008': 'an agent that writes answers every sender',
  'AC-009': 'an agent with tools of other servers answers every sender',
  'AC-010': 'another gateway is trusted without a limit of its own on age',
  'AC-011': 'another gateway may speak on behalf of people',
  'AC-012': 'every token of an issuer may do something, whatever its scopes',
  'AC-013': 'tokens of an issuer count for longer than an hour',
  'AC-014': 'tokens of an issuer are for all agents',
  'AC-015': 'a public gateway asks an issuer without TLS',
  'AC-016': 'a tool has terms of approval and runs without it',
  'AC-101': 'the listener is open to the network without TLS',
  'AC-102': 'the metrics are public',
  'AC-103': 'a webhook channel without a public address',
  'AC-104': 'a webhook secret that can be guessed',
  'AC-105': 'the first admin token can be guessed',
  'AC-106': 'strangers behind a proxy or tunnel are guests',
  'AC-107': 'the public URL does not lead here as it should',
  'AC-108': 'connections from this machine are believed behind a public URL',
  'AC-110': 'plain http to servers of this machine behind a public URL',
  'AC-201': 'a token that never expires',
  'AC-202': 'an unused token',
  'AC-203': 'an admin token whose label says nothing',
  'AC-301': 'the database is reached over the network without TLS',
  'AC-303': 'data is kept longer than by default',
  'AC-304': 'the data folder can be read by others',
} as const

export type FindingId = keyof typeof findingIds
