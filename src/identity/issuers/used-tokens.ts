// The port of tokens that count once: which were used, in every replica, until they would have expired anyway.

export interface UsedTokens {
  /** True for the first who uses it. `key` is a hash; `expiresAt` in seconds. */
  use(key: string, expiresAt: number): Promise<boolean>
}
