// People with real keys at a gate of their own, and in one line what became of each of their requests. Only the fetching of keys
// is a table.
import { createHash } from 'node:crypto'
import {
  createSignatureVerifier,
  type SignatureResult,
  type SignatureVerifierDeps,
} from '../../../adapters/activitypub/signatures/verify-activity.ts'
import type { RawRequest } from '../../../src/contract/index.ts'
import {
  createNote,
  keySource,
  makePeer,
  ourOrigin,
  peerNow,
  post,
  signCavage,
} from '../../doubles/activitypub-peer.ts'
import type { Case } from '../conform.ts'

export const alice = makePeer('https://remote.example/users/alice')
export const mallory = makePeer('https://evil.example/users/mallory')
export const bob = makePeer('https://remote.example/users/bob')
export const seconds = peerNow / 1000
export const minutes = (count: number) => new Date(peerNow + count * 60_000).toUTCString()

export const noteRequest = post(createNote(alice))
export const mismatch = post(createNote(alice), '/ap/concierge/inbox', post('other').headers)

export function gateFor(more: Partial<SignatureVerifierDeps> = {}) {
  const keys = keySource([alice, mallory, bob])
  return { keys, gate: createSignatureVerifier({ keys, now: () => peerNow, origin: ourOrigin, ...more }) }
}

export function told(verdict: SignatureResult): string {
  switch (verdict.kind) {
    case 'genuine':
      return `${verdict.payload.method} ${verdict.payload.keyId}`
    case 'refused':
      return `${verdict.status} ${verdict.reason}`
    case 'departed':
      return 'departed'
    case 'dropped':
      return `dropped ${verdict.reason}`
    case 'screened':
      return `screened ${verdict.answer.status}`
  }
}

export type Judged = { readonly arrival: RawRequest; readonly verdict: string }
let written: Judged[] = []

/** Everything that these cases bring to a gate whose people are who they are, for whoever tries it elsewhere. */
export async function judgedIn(cases: readonly Pick<Case, 'run'>[]): Promise<readonly Judged[]> {
  written = []
  for (const { run } of cases) await run()
  return written
}

/** What becomes of each arrival, at a gate of its own. */
export async function judged(...arrivals: readonly RawRequest[]): Promise<readonly string[]> {
  return Promise.all(arrivals.map(async (arrival) => (await askedFor(arrival)).verdict))
}

/** The same, and who was asked for a key. */
export async function askedFor(arrival: RawRequest, more: Partial<SignatureVerifierDeps> = {}) {
  const { keys, gate } = gateFor(more)
  const verdict = told(await gate.open(arrival))
  if (Object.keys(more).length === 0) written.push({ arrival, verdict })
  return { verdict, asked: keys.asked }
}

export const signed = `ap-http-signature ${alice.rsa.key.id}`
export const withHeaders = (headers: object, body: object | string | Uint8Array = createNote(alice)) =>
  post(body, '/ap/concierge/inbox', headers)
export const signedBody = (body: object | string | Uint8Array) => signCavage(post(body), alice)
export const sha = (algorithm: string, text: string) => createHash(algorithm).update(text).digest('base64')
export const noteText = JSON.stringify(createNote(alice))
