// Settings of mail authentication.

export type AuthSettings = {
  /** Domains of relays whose ARC seals are believed. */
  readonly trustedSealers: readonly string[]
  /** Addresses of agents that may get mails which do not name them: behind an alias, or in Bcc. */
  readonly unnamedRecipients: readonly string[]
  readonly minRsaBits: number
  readonly deadlineMs: number
}

export const defaultAuthSettings: AuthSettings = {
  trustedSealers: [],
  unnamedRecipients: [],
  minRsaBits: 1024,
  deadlineMs: 10_000,
}
