// mailauth, loaded when the first mail is proven, behind the few of its answers that are read.
import type { Resolve } from '../dns/resolver.ts'

/** One signature as the library found it; of a signature that is not readable little more than its result is there. */
export type CheckedSignature = {
  /** SHA-256 of `b=`. */
  readonly id?: string
  readonly signingDomain?: string
  readonly selector?: string
  readonly signTime?: string | null
  readonly modulusLength?: number
  readonly canonBodyLengthLimited?: boolean
  readonly signingHeaders?: { readonly keys: string }
  readonly status: {
    readonly result: string
    readonly comment?: string
    /** The signing domain, where it shares its registered domain with the author. */
    readonly aligned?: string | false
    readonly testing?: boolean
    readonly policy?: Readonly<Record<string, string>>
  }
}

export type CheckedMail = {
  readonly headerFrom: readonly string[]
  readonly fromFields: number
  readonly results: readonly CheckedSignature[]
  readonly arc?: { readonly chain?: false | readonly ArcSet[] }
}

type Options = { readonly resolver: Resolve; readonly strict: boolean }
type DkimOptions = Options & { readonly minBitLength: number; readonly curTime: Date }
type SpfOptions = Options & {
  readonly ip: string
  readonly helo: string
  readonly sender: string
  readonly mta: string
}

export type CheckedSpf = { readonly domain?: string; readonly status: { readonly result: string } }

export type DmarcQuestion = Options & {
  readonly headerFrom: readonly string[]
  readonly fromFields: number
  readonly spfDomains: readonly string[]
  readonly dkimDomains: readonly { readonly id: string; readonly domain: string; readonly underSized: number }[]
}

export type CheckedDmarc = {
  readonly response:
    | false
    | {
        readonly status: { readonly result: string; readonly header: { readonly from: string } }
        readonly policy?: 'none' | 'quarantine' | 'reject'
      }
  readonly dkimAligned?: ReadonlySet<string>
  readonly reason?: string
}

/** The three fields of one relay, by their names, as tags. */
export type ArcSet = Readonly<
  Record<string, { readonly parsed?: Readonly<Record<string, ArcTag | undefined>> } | undefined>
>
export type ArcTag = { readonly value?: unknown; readonly header?: { readonly from?: unknown } }

export type CheckedArc = {
  readonly status: { readonly result: string; readonly comment?: string }
  readonly signature?: CheckedSignature | false
}

export type Library = {
  readonly checkSignatures: (raw: Uint8Array, options: DkimOptions) => Promise<CheckedMail>
  readonly checkSpf: (options: SpfOptions) => Promise<CheckedSpf>
  readonly checkDmarc: (question: DmarcQuestion) => Promise<CheckedDmarc>
  readonly checkArc: (arc: CheckedMail['arc'], options: Options) => Promise<CheckedArc>
}

let loaded: Promise<Library> | undefined

// On Workers it is bundled with names for RSA's digests that workerd knows (scripts/worker-crypto.js); self-test.ts finds out.
export function loadLibrary(): Promise<Library> {
  loaded ??= load()
  return loaded
}

async function load(): Promise<Library> {
  const mailauth = await import('./mailauth.ts')
  // The library's own types say more than it keeps, and less than it answers: the shapes above are what the tests hold it to.
  return {
    checkSignatures: mailauth.dkimVerify as unknown as Library['checkSignatures'],
    checkSpf: mailauth.spf as unknown as Library['checkSpf'],
    checkDmarc: mailauth.evaluateDmarc as unknown as Library['checkDmarc'],
    checkArc: mailauth.arc as unknown as Library['checkArc'],
  }
}
