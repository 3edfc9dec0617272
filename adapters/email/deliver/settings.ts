// Settings and dependencies of sending.

import type { ChannelDeps } from '../../../src/contract/index.ts'
import type { Secret } from '../../../src/lib/index.ts'
import type { EmailSay } from '../sentences.ts'

export type DkimKey = { readonly selector: string; readonly privateKey: Secret }

export type DeliverySettings = {
  /** Of the agents' addresses, of our message ids and of the signature. */
  readonly domain: string
  /** An address at a provider that we send as: it lets us use no other, and its tags may lead nowhere. */
  readonly mailbox?: string
  /** `smtps://user:password@host:465`, or `smtp://…:587`, which must offer STARTTLS unless it is on this machine. */
  readonly smtpUrl?: Secret
  readonly dkimKeys?: readonly DkimKey[]
  /** A file that `parley email setup` wrote. */
  readonly dkimKeyFile?: string
  /** Without a server: the folder mails are written into. */
  readonly mailFolder?: string
  /** Largest mail with everything in it, before it is encoded. */
  readonly maxMailBytes: number
  /** Domains of other gateways whose agents may answer ours. */
  readonly siblings?: readonly string[]
  /** Shared with those gateways; without it ours alone recognises its hops. */
  readonly siblingSecret?: Secret
  readonly callTimeoutMs: number
  /** False where one mail is all there is. */
  readonly isPooled?: boolean
}

/** Signed keys of threads: threading.ts. */
export interface TokenMint {
  mint(key: string): Promise<string>
}

/** What the binding `send_email` of a Worker takes: it makes the bytes, the id and the signature itself. */
export type BoundMail = {
  readonly from: { readonly name: string; readonly email: string }
  readonly to: string[]
  readonly cc?: string[]
  readonly replyTo: { readonly name: string; readonly email: string }
  readonly subject: string
  readonly text: string
  readonly html: string
  readonly headers: Record<string, string>
  readonly attachments?: BoundFile[]
}

export type BoundFile = {
  readonly content: Uint8Array
  readonly filename: string
  readonly type: string
} & ({ readonly disposition: 'attachment' } | { readonly disposition: 'inline'; readonly contentId: string })

type DeliveryPorts = 'files' | 'closedRooms' | 'ttlStore' | 'hmac' | 'now' | 'publicUrl' | 'connection' | 'mailer'

export type DeliveryDeps = Pick<ChannelDeps, DeliveryPorts> & {
  readonly say: EmailSay
  readonly tokens: () => Promise<TokenMint>
  /** The secret that tokens are made with. */
  readonly secret: () => Promise<string>
}
