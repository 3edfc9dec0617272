// Attacks that worked on others (mail 2.1, 2.2) and the ones next to them: each is refused, and nobody is asked on the way unless
// the key could be the actor's.
import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { createGate, type GateDeps } from '../../../adapters/activitypub/gate/open-gate.ts'
import type { RawArrival } from '../../../src/contract/index.ts'
import {
  arrivalOf,
  createdNow,
  createNote,
  keySource,
  makePeer,
  ourOrigin,
  peerNow,
  post,
  signCavage,
  signMessage,
  together,
} from '../../doubles/activitypub-peer.ts'

const victim = makePeer('https://victim.example/users/victim')
const mallory = makePeer('https://evil.example/users/mallory')
const note = post(createNote(victim))
const other = post(createNote(victim, {}, { content: 'what the victim never wrote' }))
const seconds = peerNow / 1000

function gateFor(more: Partial<GateDeps> = {}) {
  const keys = keySource([victim, mallory])
  return { keys, gate: createGate({ keys, now: () => peerNow, origin: ourOrigin, ...more }) }
}

async function outcome(arrival: RawArrival) {
  const { keys, gate } = gateFor()
  const verdict = await gate.open(arrival)
  return [verdict.kind === 'refused' ? verdict.reason : verdict.kind, keys.asked.length] as const
}

const rewritten = (arrival: RawArrival, headers: Record<string, string>): RawArrival => ({
  ...arrival,
  headers: { ...arrival.headers, ...headers },
})
/** The signature of one request with the body of another, and whatever digest goes with that. */
const withBody = (arrival: RawArrival, { bytes, headers }: typeof other, names: readonly string[]): RawArrival => ({
  ...rewritten(arrival, Object.fromEntries(names.map((name) => [name, headers[name] ?? '']))),
  bytes,
})
const replaced = (arrival: RawArrival, header: string, from: string | RegExp, to: string): RawArrival =>
  rewritten(arrival, { [header]: (arrival.headers[header] ?? '').replace(from, to) })

describe('what activitypub-express takes', () => {
  test('a signature over the date alone, without a digest', async () => {
    const { digest: _, 'content-digest': __, ...headers } = note.headers
    expect(await outcome(signCavage({ ...note, headers }, victim, { headers: 'date' }))).toEqual(['missing_digest', 0])
    expect(await outcome(signCavage(note, victim, { headers: 'date' }))).toEqual(['missing_coverage', 0])
  })

  test('everything signed, with the digest of another body', async () => {
    expect(await outcome({ ...signCavage(note, victim), bytes: other.bytes })).toEqual(['digest_mismatch', 0])
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
  const uncovered = signMessage(note, victim, { components: ['@method', '@target-uri'] })

  test.each([
    ['F1: another body under a signature without its digest', withBody(uncovered, other, ['digest', 'content-digest'])],
    ['F2: a signature over nothing', signMessage(note, victim, { components: [] })],
    ['F4: no host among what is signed', signCavage(note, victim, { headers: '(request-target) date digest' })],
  ])('%s', async (_, arrival) => {
    expect(await outcome(arrival)).toEqual(['missing_coverage', 0])
  })

  test('F3: an end a thousand seconds ago', async () => {
    const params = `${createdNow};expires=${seconds - 1000}`
    expect(await outcome(signMessage(note, victim, { params }))).toEqual(['expired', 0])
  })

  test('F8: a note that is said to be by another of the same host', async () => {
    const body = createNote(victim, {}, { attributedTo: 'https://victim.example/users/admin' })
    expect(await outcome(signCavage(post(body), victim))).toEqual(['dropped', 0])
  })

  test('F9: an id of somebody else’s', async () => {
    const body = createNote(victim, { id: 'https://other.example/activities/1' })
    expect(await outcome(signCavage(post(body), victim))).toEqual(['foreign_activity_id', 0])
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
  const [old, modern] = [signCavage(note, victim), signMessage(note, victim)]

  test.each([
    ['another body with its digest', withBody(old, other, ['digest', 'content-digest']), 'wrong_signature'],
    [
      'another body with its digest (RFC 9421)',
      withBody(modern, other, ['content-digest', 'digest']),
      'wrong_signature',
    ],
    ['another date', rewritten(old, { date: new Date(peerNow + 1000).toUTCString() }), 'wrong_signature'],
    ['another inbox', rewritten(old, { ':path': '/ap/other/inbox' }), 'wrong_signature'],
    ['another inbox (RFC 9421)', rewritten(modern, { ':path': '/ap/other/inbox' }), 'wrong_signature'],
    ['a query (RFC 9421)', rewritten(modern, { ':path': '/ap/concierge/inbox?a' }), 'wrong_signature'],
    ['a later beginning', replaced(modern, 'signature-input', createdNow, `created=${seconds + 1}`), 'wrong_signature'],
    ['fewer components', replaced(modern, 'signature-input', ' "content-digest"', ''), 'missing_coverage'],
    [
      'more components',
      replaced(modern, 'signature-input', '"content-digest"', '"content-digest" "date"'),
      'wrong_signature',
    ],
    [
      'a right digest beside a wrong one',
      rewritten(old, { 'content-digest': other.headers['content-digest'] ?? '' }),
      'digest_mismatch',
    ],
  ])('%s', async (_, arrival, reason) => {
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
  const old = signCavage(note, victim)
  const evil = `keyId="${mallory.rsa.key.id}",`

  test.each([
    ['a parameter twice', replaced(old, 'signature', /^/, evil), 'malformed_signature'],
    ['a quote in a quote', replaced(old, 'signature', 'keyId="', 'keyId="a\\",keyId="'), 'malformed_signature'],
    ['a header twice in the list', replaced(old, 'signature', 'host date', 'host host date'), 'malformed_signature'],
    ['nothing at all', rewritten(old, { signature: ' ' }), 'malformed_signature'],
    ['no signature in it', replaced(old, 'signature', /,signature=.*$/, ''), 'malformed_signature'],
    ['a signature of no bytes', replaced(old, 'signature', /signature="[^"]*"/, 'signature=""'), 'malformed_signature'],
    ['no key', replaced(old, 'signature', /keyId="[^"]*"/, 'keyId=""'), 'malformed_signature'],
    ['an algorithm that is none', replaced(old, 'signature', 'rsa-sha256', 'none'), 'unknown_algorithm'],
    ['a symmetric algorithm', replaced(old, 'signature', 'rsa-sha256', 'hmac-sha256'), 'unknown_algorithm'],
    [
      'what stands for the request as a header',
      replaced(old, 'signature', 'host date', 'host :path date'),
      'unknown_component',
    ],
    ['a name of every object', replaced(old, 'signature', 'host date', 'host __proto__ date'), 'unknown_component'],
    ['a header that is not there', replaced(old, 'signature', 'host date', 'host x-none date'), 'unknown_component'],
    [
      'its own time under an old algorithm',
      signCavage(note, victim, { headers: '(request-target) host (created) digest', created: seconds }),
      'unknown_component',
    ],
    [
      'its own end that is past',
      signCavage(note, victim, {
        algorithm: 'hs2019',
        headers: '(request-target) host (created) (expires) digest',
        created: seconds,
        expires: seconds - 1,
      }),
      'expired',
    ],
    [
      'its own time, in the future',
      signCavage(note, victim, {
        algorithm: 'hs2019',
        headers: '(request-target) host (created) digest',
        created: seconds + 4000,
      }),
      'from_the_future',
    ],
    ['no time at all', signCavage(note, victim, { headers: '(request-target) host digest' }), 'missing_coverage'],
  ])('%s', async (_, arrival, reason) => {
    expect(await outcome(arrival)).toEqual([reason, 0])
  })

  test('its own time and end, both good, are taken', async () => {
    const headers = '(request-target) host (created) (expires) digest'
    const times = { created: seconds - 10, expires: seconds + 10 }
    expect((await outcome(signCavage(note, victim, { algorithm: 'hs2019', headers, ...times })))[0]).toBe('genuine')
  })

  const modern = signMessage(note, victim)
  test.each([
    ['a component twice', replaced(modern, 'signature-input', '"@method"', '"@method" "@method"'), 'unknown_component'],
    [
      'a component with a parameter',
      replaced(modern, 'signature-input', '"content-digest"', '"content-digest";req'),
      'unknown_component',
    ],
    [
      'a component of an answer',
      replaced(modern, 'signature-input', '"@method"', '"@method" "@status"'),
      'unknown_component',
    ],
    ['a label without its signature', rewritten(modern, { signature: 'sig2=:YQ==:' }), 'malformed_signature'],
    ['a signature that is no bytes', rewritten(modern, { signature: 'sig1="YQ=="' }), 'malformed_signature'],
    ['no list', rewritten(modern, { 'signature-input': 'sig1=1' }), 'malformed_signature'],
    [
      'five labels',
      together(
        together(modern, replaced(modern, 'signature-input', 'sig1', 'a')),
        rewritten(modern, { 'signature-input': 'b=(),c=(),d=()' }),
      ),
      'malformed_signature',
    ],
  ])('%s (RFC 9421)', async (_, arrival, reason) => {
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
