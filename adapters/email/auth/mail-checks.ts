// Checks the signatures of a mail in the order of what they cost: what the mail's head alone can refute is never hashed.

import { type BodyForm, hashBody, normalizeToCrlf } from '../dkim/body-hash.ts'
import type { Resolve } from '../dns.ts'
import { findHeadEnd } from '../mime/part-head.ts'
import {
  type ArcSet,
  type CheckedArc,
  type CheckedDmarc,
  type CheckedSignature,
  type CheckedSpf,
  type DmarcQuestion,
  type HeadChecks,
  type HeadSignature,
  loadHeadChecks,
  type SpfQuestion,
} from './head-checks.ts'

export type { ArcTag, CheckedArc, CheckedDmarc, CheckedSignature } from './head-checks.ts'

export type CheckedMail = {
  readonly headerFrom: readonly string[]
  readonly fromFields: number
  readonly results: readonly CheckedSignature[]
  readonly arc?: CheckedChain
}

export type CheckedChain = {
  readonly chain: false | readonly ArcSet[]
  readonly check: (options: CheckOptions) => Promise<CheckedArc>
}

type CheckOptions = { readonly resolver: Resolve; readonly strict: boolean }
type DkimOptions = CheckOptions & { readonly minBitLength: number; readonly curTime: Date }

export type MailChecks = {
  readonly checkSignatures: (raw: Uint8Array, options: DkimOptions) => Promise<CheckedMail>
  readonly checkSpf: (options: SpfQuestion & { readonly resolver: Resolve }) => Promise<CheckedSpf>
  readonly checkDmarc: (question: DmarcQuestion & { readonly resolver: Resolve }) => Promise<CheckedDmarc>
  readonly checkArc: (arc: CheckedMail['arc'], options: CheckOptions) => Promise<CheckedArc>
}

/** Where the bytes of a body are hashed. */
export type HashBody = (raw: Uint8Array, bodyStart: number, forms: readonly BodyForm[]) => Promise<readonly string[]>

/** Bytes of one mail that are hashed, all forms of its body together. Twice the largest mail: one signature in each form. */
const maxHashedBytes = 64 * 1024 * 1024
/** A larger body is hashed for signatures only that could speak for its author. */
const smallBytes = 1024 * 1024

/** In this thread. */
export async function loadMailChecks(): Promise<MailChecks> {
  return createMailChecks(await loadHeadChecks(), (raw, bodyStart, forms) => hashBody(raw.subarray(bodyStart), forms))
}

export function createMailChecks(checks: HeadChecks, hash: HashBody): MailChecks {
  return {
    async checkSignatures(raw, { resolver, minBitLength, curTime }) {
      const { bodyStart } = findHeadEnd(raw, 0, raw.length)
      const head = normalizeToCrlf(raw.subarray(0, bodyStart))
      const question = { head, minRsaBits: minBitLength, now: curTime.getTime() }
      const { chain, results, ...from } = await checks.checkHead(question, resolver)
      const confirm = createBodyHashCheck(raw, bodyStart, hash)
      return {
        ...from,
        results: await confirm(results),
        arc: {
          chain,
          async check({ resolver: asked }) {
            const { status, signature } = await checks.checkArc(question, asked)
            if (status.result !== 'pass' || signature === undefined || signature === false) return { status }
            // A relay is believed because it is trusted, and not because it is the author's.
            const [confirmed] = await confirm([{ ...signature, status: { ...signature.status, aligned: 'relay' } }])
            return confirmed?.status.result === 'pass'
              ? { status, signature }
              : { status: { result: 'fail', comment: 'body hash did not verify' } }
          },
        },
      }
    },
    checkArc: async (arc, options) => (await arc?.check(options)) ?? { status: { result: 'none' } },
    checkSpf: ({ resolver, ...question }) => checks.checkSpf(question, resolver),
    checkDmarc: ({ resolver, ...question }) => checks.checkDmarc(question, resolver),
  }
}

/** Signatures that hold over the head, held against the body: those that could be the author's first. */
function createBodyHashCheck(raw: Uint8Array, bodyStart: number, hash: HashBody) {
  const known = new Map<string, string>()
  const bodyBytes = raw.length - bodyStart
  let hashedBytes = 0
  const tryTakeHashBudget = ({ status }: HeadSignature): boolean => {
    if (bodyBytes > smallBytes && typeof status.aligned !== 'string') return false
    hashedBytes += bodyBytes
    return hashedBytes <= maxHashedBytes
  }
  return async (results: readonly HeadSignature[]): Promise<readonly CheckedSignature[]> => {
    const holding = results.filter(({ status, body }) => status.result === 'pass' && body !== undefined)
    const kinFirst = holding.toSorted(
      (one, other) => Number(isAlignedSignature(other)) - Number(isAlignedSignature(one)),
    )
    const wanted = new Map<string, BodyForm>()
    for (const signature of kinFirst) {
      const { body } = signature
      if (
        body === undefined ||
        known.has(bodyCanonicalizationKey(body)) ||
        wanted.has(bodyCanonicalizationKey(body)) ||
        !tryTakeHashBudget(signature)
      )
        continue
      wanted.set(bodyCanonicalizationKey(body), { canonicalization: body.canonicalization, length: body.length })
    }
    const hashes = wanted.size === 0 ? [] : await hash(raw, bodyStart, [...wanted.values()])
    for (const [at, key] of [...wanted.keys()].entries()) known.set(key, hashes[at] ?? '')
    return results.map((signature) =>
      holding.includes(signature) ? failSignatureOnBodyMismatch(signature, known) : signature,
    )
  }
}

const isAlignedSignature = ({ status }: HeadSignature): boolean => typeof status.aligned === 'string'
const bodyCanonicalizationKey = ({ canonicalization, length }: BodyForm): string =>
  `${canonicalization} ${length ?? ''}`

function failSignatureOnBodyMismatch(signature: HeadSignature, known: ReadonlyMap<string, string>): CheckedSignature {
  const { body, status } = signature
  const hash = body === undefined ? undefined : known.get(bodyCanonicalizationKey(body))
  if (hash !== undefined && hash === body?.hash) return signature
  const comment = hash === undefined ? 'body not hashed' : 'body hash did not verify'
  return { ...signature, status: { ...status, result: 'fail', comment } }
}
