// Port: the keys our own handles are signed with. Rows, so that every replica verifies what another one signed.
export type SigningKey = { readonly id: string; readonly secret: Uint8Array }

export interface SigningKeys {
  /** The one to sign with; made at the first call, once, whichever replica asks. */
  current(): Promise<SigningKey>
  /** One to verify with: the current one or one retired within the last hour. Undefined: no replica of ours made it. */
  find(id: string): Promise<SigningKey | undefined>
  /** A new current key; older handles end within the hour. */
  rotate(actor: string): Promise<void>
}
