// What is used of the library's verifier; it brings no types of its own for it.
declare module 'mailauth/lib/dkim/dkim-verifier.js' {
  export type SignatureHeader = {
    readonly type: 'DKIM' | 'ARC'
    readonly bodyHashKey?: string
    readonly bodyCanon: 'simple' | 'relaxed'
    /** `l=`; empty where there is none. */
    readonly maxBodyLength: number | ''
    readonly parsed?: { readonly bh?: { readonly value?: string } }
  }

  export class DkimVerifier {
    constructor(options: object)
    readonly bodyHashes: Map<string, object>
    readonly headerFrom: string[]
    readonly fromFields: number
    readonly results: object[]
    readonly arc: object
    addBodyHash(canonicalization: string, algorithm: string, length: number | ''): string
    verifySignature(header: SignatureHeader, fallback?: boolean): Promise<{ readonly status: object }>
    on(event: 'finish', listener: () => void): this
    on(event: 'error', listener: (error: Error) => void): this
    end(bytes: Uint8Array): void
  }
}
