// Attacks that worked on others and the ones next to them: each is refused, and no server is asked on the way unless
// the key could be the actor's.
import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import {
  createSignatureVerifier,
  type SignatureVerifierDeps,
} from '../../../adapters/activitypub/signatures/verify-activity.ts'
import type { RawRequest } from '../../../src/contract/index.ts'
import {
  arrivalOf,
  createNote,
  keySource,
  ourOrigin,
  peerNow,
  post,
  signCavage,
  signMessage,
} from '../../doubles/activitypub-peer.ts'
import {
  ambiguous,
  ambiguousModern,
  expressTakes,
  fedifyTakes,
  mallory,
  note,
  rewritten,
  taken,
  victim,
} from './forgery-cases.ts'

const seconds = peerNow / 1000

function gateFor(more: Partial<SignatureVerifierDeps> = {}) {
  const keys = keySource([victim, mallory])
  return { keys, gate: createSignatureVerifier({ keys, now: () => peerNow, origin: ourOrigin, ...more }) }
}

async function outcome(arrival: RawRequest) {
  const { keys, gate } = gateFor()
  const verdict = await gate.open(arrival)
  return [verdict.kind === 'refused' ? verdict.reason : verdict.kind, keys.asked.length] as const
}

describe('what activitypub-express takes', () => {
  test.each(expressTakes)('%s', async (_, arrival, reason) => {
    expect(await outcome(arrival)).toEqual([reason, 0])
  })

  test('a key on the attacker’s host whose document says that it is the victim', async () => {
    const { keys, gate } = gateFor()
    const key = { ...mallory.rsa.key, owner: victim.id }
    keys.answers.set(key.id, { kind: 'found', key, actor: { ...victim.actor, keys: [key] } })
    expect(await gate.open(signCavage(note, mallory))).toMatchObject({ reason: 'key_elsewhere' })
    expect(keys.asked).toEqual([])
    const own = post(createNote(mallory))
    expect(await gate.open(signCavage(own, mallory))).toMatchObject({ reason: 'not_the_owner' })
  })
})

describe('what Fedify takes', () => {
  test.each(fedifyTakes)('%s', async (_, arrival, reason) => {
    expect(await outcome(arrival)).toEqual([reason, 0])
  })

  test('F17: a key that does not hold is asked for once where it was just fetched', async () => {
    const { keys, gate } = gateFor()
    const actor = { ...victim.actor, fetchedAt: new Date(peerNow - 1000).toISOString() }
    keys.answers.set(victim.rsa.key.id, { kind: 'found', key: { ...mallory.rsa.key, owner: victim.id }, actor })
    expect(await gate.open(signCavage(note, victim))).toMatchObject({ reason: 'wrong_signature' })
    expect(keys.asked).toEqual([`find ${victim.rsa.key.id}`])
  })
})

describe('a signature taken from one request is none for another', () => {
  const old = signCavage(note, victim)

  test.each(taken)('%s', async (_, arrival, reason) => {
    expect((await outcome(arrival))[0]).toBe(reason)
  })

  test('whichever host the request names, the signature is for ours', async () => {
    expect((await outcome(rewritten(old, { host: 'proxy.internal' })))[0]).toBe('genuine')
    expect((await outcome(rewritten(old, { host: 'AGENTS.example:443' })))[0]).toBe('wrong_signature')
    const elsewhere = post(createNote(victim), note.path, { host: 'other.example' })
    expect((await outcome(signCavage(elsewhere, victim)))[0]).toBe('wrong_signature')
  })
})

describe('headers made to be read in two ways', () => {
  test.each(ambiguous)('%s', async (_, arrival, reason) => {
    expect(await outcome(arrival)).toEqual([reason, 0])
  })

  test('its own time and end, both good, are taken', async () => {
    const headers = '(request-target) host (created) (expires) digest'
    const times = { created: seconds - 10, expires: seconds + 10 }
    expect((await outcome(signCavage(note, victim, { algorithm: 'hs2019', headers, ...times })))[0]).toBe('genuine')
  })

  test.each(ambiguousModern)('%s (RFC 9421)', async (_, arrival, reason) => {
    expect(await outcome(arrival)).toEqual([reason, 0])
  })
})

describe('keys that are of no use', () => {
  test.each([
    ['no key', 'YQ=='],
    ['no base64', 'not a key'],
    ['an endless one', 'A'.repeat(100_000)],
    ['one for another algorithm', mallory.ed25519.key.spki],
  ])('%s is the sender’s fault', async (_, spki) => {
    const { keys, gate } = gateFor()
    keys.answers.set(victim.rsa.key.id, { kind: 'found', key: { ...victim.rsa.key, spki }, actor: victim.actor })
    expect(await gate.open(signCavage(note, victim))).toMatchObject({ status: 401, reason: 'key_unusable' })
  })

  test('a refused key, and one that does not answer the second time', async () => {
    const { keys, gate } = gateFor()
    keys.answers.set(victim.rsa.key.id, { kind: 'refused', reason: 'another id' })
    expect(await gate.open(signCavage(note, victim))).toMatchObject({ reason: 'key_refused' })
    keys.answers.set(victim.rsa.key.id, {
      kind: 'found',
      key: { ...mallory.rsa.key, owner: victim.id },
      actor: victim.actor,
    })
    keys.fresh.set(victim.rsa.key.id, { kind: 'unreachable' })
    expect(await gate.open(signCavage(note, victim))).toMatchObject({ reason: 'wrong_signature' })
  })
})

describe('who leaves', () => {
  const left = { id: `${victim.id}#delete`, type: 'Delete', actor: victim.id, object: victim.id }

  test('as a stranger is not asked about', async () => {
    const { keys, gate } = gateFor({ knows: async () => false })
    expect(await gate.open(signCavage(post(left), victim))).toEqual({ kind: 'dropped', reason: 'stranger_left' })
    expect(keys.asked).toEqual([])
  })

  test('and is known must have signed it', async () => {
    const { gate } = gateFor({ knows: async () => true })
    expect(await gate.open(signCavage(post(left), victim))).toMatchObject({ kind: 'genuine' })
    const forged = signCavage(post(left), victim, { pair: { ...mallory.rsa, key: victim.rsa.key } })
    expect(await gate.open(forged)).toMatchObject({ reason: 'wrong_signature' })
  })
})

test('whom the operator turns away is not asked for a key', async () => {
  const seen: unknown[] = []
  const { keys, gate } = gateFor({
    screen: async (claimed) => {
      seen.push(claimed)
      return { status: 429 }
    },
  })
  expect(await gate.open(signCavage(note, victim))).toEqual({ kind: 'screened', answer: { status: 429 } })
  expect(seen).toEqual([{ actor: victim.id, type: 'Create' }])
  expect(keys.asked).toEqual([])
})

test('a body must be its digest to the last byte', async () => {
  const { bytes } = note
  for (const at of [0, Math.floor(bytes.length / 2), bytes.length - 1]) {
    const changed = new Uint8Array(bytes)
    changed[at] = (changed[at] ?? 0) ^ 1
    expect((await outcome({ ...signCavage(note, victim), bytes: changed }))[0]).toBe('digest_mismatch')
  }
  const sha512 = createHash('sha512').update(bytes).digest('base64')
  const both = post(createNote(victim), note.path, { 'content-digest': `sha-512=:${sha512}:` })
  expect((await outcome(signMessage(both, victim)))[0]).toBe('genuine')
  expect((await outcome(arrivalOf(both, { signature: 'x', 'content-digest': 'sha-512=:YQ==:' })))[0]).toBe(
    'digest_mismatch',
  )
})
