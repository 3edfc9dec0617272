// The parts of mailauth that are used, in one piece; head-checks.ts loads it when the first mail is authenticated. Its root would
// bring BIMI and an HTTP client along.

// @ts-expect-error The library has no types for it; what is used of it stands below.
import { DkimVerifier as Verifier } from 'mailauth/lib/dkim/dkim-verifier.js'

export { arc } from 'mailauth/lib/arc/index.js'
export { evaluateDmarc } from 'mailauth/lib/dmarc/index.js'
export { spf } from 'mailauth/lib/spf/index.js'

export type SignatureHeader = {
  readonly type: 'DKIM' | 'ARC'
  readonly bodyHashKey?: string
  readonly bodyCanon: 'simple' | 'relaxed'
  /** `l=`; empty where there is none. */
  readonly maxBodyLength: number | ''
  readonly parsed?: { readonly bh?: { readonly value?: string } }
}

/** The keys of one mail, as the name system tells them: PEM, and for RSA how many bits. */
export type KeyCache = {
  get: (
    type: string,
    name: string,
    minBits: number,
    options: object,
  ) => Promise<{ readonly publicKey: string; readonly modulusLength?: number }>
}

/** A stream that takes a mail and ends with what it found. */
type DkimVerifier = {
  readonly bodyHashes: Map<string, object>
  readonly keyCache: KeyCache
  addBodyHash(canonicalization: string, algorithm: string, length: number | ''): string
  verifySignature(header: SignatureHeader): Promise<{ readonly status: object }>
  on(event: 'finish', listener: () => void): void
  on(event: 'error', listener: (error: Error) => void): void
  end(bytes: Uint8Array): void
}

export const DkimVerifier: new (options: object) => DkimVerifier = Verifier
