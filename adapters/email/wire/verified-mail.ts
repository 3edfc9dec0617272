// A verified mail, everything that normalize reads: what was judged, and what took waiting or a secret to find out.
import type { MailThread } from '../threading.ts'
import type { ParsedMail } from './mail.ts'

/** One address of the envelope. `tokenKey`: in the reply token of the address, where it is one of ours. */
export type VerifiedRecipient = { readonly given: string } & (
  | {
      readonly kind: 'agent'
      readonly agent: string
      /** Without a tag. */
      readonly address: string
      readonly tokenKey?: string
      readonly thread: MailThread
    }
  /**
   * Where reports come back. `digest`: SHA-256 of the raw bytes, in hex. `sent`: which mail of ours it is about, where its token
   * proves that it is about one.
   */
  | { readonly kind: 'bounce'; readonly digest: string; readonly sent?: SentMail }
  | { readonly kind: 'unknown' }
)

/** What is remembered of a mail that went out, for reports about it. */
export type SentMail = { readonly clientId: string; readonly to: string }

export type VerifiedMail = ParsedMail & {
  readonly recipients: readonly VerifiedRecipient[]
  /** The Message-ID, or one made from the bytes where it has none. */
  readonly id: string
  /** How many agents in a row wrote to get here, where a gateway of ours vouches for it. */
  readonly hop: number | undefined
}
