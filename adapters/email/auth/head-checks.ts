// DKIM, SPF, DMARC and ARC by mailauth, each as data in and data out but for DNS. Of a mail it reads the head only: a signature
// says which hash the body should have, and whether it does is asked afterwards, of signatures that hold (mail-checks.ts).

import type { BodyForm } from '../dkim/body-hash.ts'
import type { Resolve } from '../dns.ts'
import type { KeyCache, SignatureHeader } from './mailauth.ts'

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

/** A signature over the head, with what it says of the body. */
export type HeadSignature = CheckedSignature & { readonly body?: BodyForm & { readonly hash: string } }

/** The three fields of one relay, by their names, as tags. */
export type ArcSet = Readonly<
  Record<string, { readonly parsed?: Readonly<Record<string, ArcTag | undefined>> } | undefined>
>
export type ArcTag = { readonly value?: unknown; readonly header?: { readonly from?: unknown } }

export type HeadQuestion = {
  /** With lines that end in CRLF, and the empty line behind it. */
  readonly head: Uint8Array
  readonly minRsaBits: number
  readonly now: number
}

export type CheckedHead = {
  readonly headerFrom: readonly string[]
  readonly fromFields: number
  readonly results: readonly HeadSignature[]
  readonly chain: false | readonly ArcSet[]
}

export type CheckedArc = {
  readonly status: { readonly result: string; readonly comment?: string }
  readonly signature?: HeadSignature | false
}

export type SpfQuestion = {
  readonly ip: string
  readonly helo: string
  readonly sender: string
  readonly mta: string
  readonly strict: boolean
}

export type CheckedSpf = { readonly domain?: string; readonly status: { readonly result: string } }

export type DmarcQuestion = {
  readonly headerFrom: readonly string[]
  readonly fromFields: number
  readonly spfDomains: readonly string[]
  readonly dkimDomains: readonly { readonly id: string; readonly domain: string; readonly underSized: number }[]
  readonly strict: boolean
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

export type HeadChecks = {
  readonly checkHead: (question: HeadQuestion, resolver: Resolve) => Promise<CheckedHead>
  /** The chain of relays as a whole, and the newest signature over the head. */
  readonly checkArc: (question: HeadQuestion, resolver: Resolve) => Promise<CheckedArc>
  readonly checkSpf: (question: SpfQuestion, resolver: Resolve) => Promise<CheckedSpf>
  readonly checkDmarc: (question: DmarcQuestion, resolver: Resolve) => Promise<CheckedDmarc>
}

let loaded: Promise<HeadChecks> | undefined

// On Workers it is bundled with names for RSA's digests that workerd knows (scripts/worker-crypto.js); the self-test of
// authenticate.ts finds out.
export function loadHeadChecks(): Promise<HeadChecks> {
  loaded ??= loadMailauth()
  return loaded
}

type Answered = { readonly status: object; readonly body?: HeadSignature['body'] }
type Verified = Pick<CheckedHead, 'headerFrom' | 'fromFields'> & {
  readonly results: readonly HeadSignature[]
  readonly arc: { readonly chain?: false | readonly ArcSet[] }
}

async function loadMailauth(): Promise<HeadChecks> {
  const mailauth = await import('./mailauth.ts')

  /** Takes each signature's word for the hash of the body, and writes down which it was. */
  class HeadVerifier extends mailauth.DkimVerifier {
    readonly #type: SignatureHeader['type']

    constructor(options: object, type: SignatureHeader['type']) {
      super(options)
      this.#type = type
      refuseCostlyKeys(this.keyCache)
    }

    override addBodyHash(canonicalization: string, algorithm: string, length: number | ''): string {
      const key = [canonicalization, algorithm, length].join(':')
      this.bodyHashes.set(key, { setContentType() {}, digest: () => '', getMimeStructureStart: () => 0 })
      return key
    }

    override async verifySignature(header: SignatureHeader): Promise<Answered> {
      if (header.type !== this.#type) return { status: { result: 'neutral', comment: 'not asked for' } }
      const hash = header.parsed?.bh?.value ?? ''
      const claimed = this.bodyHashes.get(header.bodyHashKey ?? '')
      if (claimed !== undefined) Object.assign(claimed, { hash })
      const { bodyCanon, maxBodyLength } = header
      const length = typeof maxBodyLength === 'number' ? maxBodyLength : undefined
      const body: HeadSignature['body'] = { canonicalization: bodyCanon, length, hash }
      return { ...(await super.verifySignature(header)), body }
    }
  }

  const runHeadVerifier = ({ head, minRsaBits, now }: HeadQuestion, resolver: Resolve, type: SignatureHeader['type']) =>
    new Promise<Verified>((resolve, reject) => {
      // A sender, so that it does not look for one in the head.
      const sender = 'nobody@invalid'
      const verifier = new HeadVerifier(
        { resolver, strict: true, minBitLength: minRsaBits, curTime: new Date(now), sender },
        type,
      )
      verifier.on('finish', () => resolve(verifier as unknown as Verified))
      verifier.on('error', reject)
      verifier.end(head)
    })

  // The library's own types say more than it keeps, and less than it answers: the shapes above are what the tests hold it to.
  return {
    async checkHead(question, resolver) {
      const { headerFrom, fromFields, results, arc } = await runHeadVerifier(question, resolver, 'DKIM')
      const chain = arc.chain ? arc.chain.map(pickArcSetFields) : false
      return { headerFrom, fromFields, results: results.map(pickSignatureFields), chain }
    },
    async checkArc(question, resolver) {
      const { arc } = await runHeadVerifier(question, resolver, 'ARC')
      const checkSeals = mailauth.arc as unknown as (given: object, options: object) => Promise<CheckedArc>
      const { status, signature } = await checkSeals(arc, { resolver, strict: true })
      return { status: pickStatusFields(status), signature: signature ? pickSignatureFields(signature) : false }
    },
    async checkSpf(question, resolver) {
      const check = mailauth.spf as unknown as (options: object) => Promise<CheckedSpf>
      const { domain, status } = await check({ ...question, resolver })
      return { ...(domain === undefined ? {} : { domain }), status: { result: status.result } }
    },
    async checkDmarc(question, resolver) {
      const check = mailauth.evaluateDmarc as unknown as (options: object) => Promise<CheckedDmarc>
      const { response, dkimAligned, reason } = await check({ ...question, resolver })
      return {
        response: response === false ? false : pickDmarcResponseFields(response),
        ...(dkimAligned === undefined ? {} : { dkimAligned }),
        ...(reason === undefined ? {} : { reason }),
      }
    },
  }
}

/** No server signs with longer ones (RFC 8301 3.2 asks for 4096), and each use costs the square of it. */
const maxRsaBits = 8192
/** Bytes of a key beside its modulus, with an exponent of 5 bytes (65537 has 3), alone (RFC 8017 A.1.1) and with its algorithm (RFC 5280 4.1). */
const maxBeside = { alone: 16, named: 40 }

/**
 * Any domain can publish a key whose exponent is as long as its modulus: to check one signature costs a thousand times as much then. Such a key
 * counts as one that cannot be read. Seals of relays ask the same cache.
 */
function refuseCostlyKeys(cache: KeyCache): void {
  const get = cache.get.bind(cache)
  cache.get = (...question) => {
    const checked = get(...question).then((key) => {
      const { modulusLength: bits, publicKey } = key
      if (bits === undefined || (bits <= maxRsaBits && exponentExcessBytes(publicKey, bits) <= 0)) return key
      throw Object.assign(new Error('the key costs too much to use'), { code: 'EINVALIDVAL' })
    })
    // Keys of seals are asked for before they are waited for.
    checked.catch(() => {})
    return checked
  }
}

/** How many bytes too long its exponent is. */
function exponentExcessBytes(pem: string, bits: number): number {
  const bytes = Math.floor((pem.replace(/-----[^-]+-----|\s|=/g, '').length * 3) / 4)
  return bytes - bits / 8 - (pem.includes('RSA PUBLIC KEY') ? maxBeside.alone : maxBeside.named)
}

// Only what is read later: everything here may be copied from a thread to another.
function pickSignatureFields(result: HeadSignature): HeadSignature {
  const { id, signingDomain, selector, signTime, modulusLength, canonBodyLengthLimited, signingHeaders, body } = result
  const { aligned, testing, policy } = result.status
  return {
    ...(id === undefined ? {} : { id }),
    ...(signingDomain === undefined ? {} : { signingDomain }),
    ...(selector === undefined ? {} : { selector }),
    ...(signTime === undefined ? {} : { signTime }),
    ...(modulusLength === undefined ? {} : { modulusLength }),
    ...(canonBodyLengthLimited === undefined ? {} : { canonBodyLengthLimited }),
    ...(signingHeaders === undefined ? {} : { signingHeaders: { keys: signingHeaders.keys } }),
    ...(body === undefined ? {} : { body }),
    status: {
      ...pickStatusFields(result.status),
      ...(aligned === undefined ? {} : { aligned }),
      ...(testing === undefined ? {} : { testing }),
      ...(policy === undefined ? {} : { policy }),
    },
  }
}

function pickStatusFields({
  result,
  comment,
}: {
  readonly result: string
  readonly comment?: string
}): CheckedArc['status'] {
  return { result, ...(comment === undefined ? {} : { comment }) }
}

function pickArcSetFields(set: ArcSet): ArcSet {
  const [seal, results] = [set['arc-seal']?.parsed?.['d'], set['arc-authentication-results']?.parsed?.['dmarc']]
  return {
    'arc-seal': { parsed: { d: { value: seal?.value } } },
    'arc-message-signature': { parsed: { b: { value: set['arc-message-signature']?.parsed?.['b']?.value } } },
    'arc-authentication-results': {
      parsed: { dmarc: results && { value: results.value, header: { from: results.header?.from } } },
    },
  }
}

function pickDmarcResponseFields({
  status,
  policy,
}: Exclude<CheckedDmarc['response'], false>): CheckedDmarc['response'] {
  return {
    status: { result: status.result, header: { from: status.header.from } },
    ...(policy === undefined ? {} : { policy }),
  }
}
