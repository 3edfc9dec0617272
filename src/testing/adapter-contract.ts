// The adapter kit: the clauses every channel keeps, as plain functions that declare tests.
import * as fc from 'fast-check'
import type { NormalizeResult, OptionalVerbs } from '../contract/adapter.ts'
import type { OnceClaim } from '../contract/inbound-event.ts'
import {
  type Adapter,
  formatAddress,
  type InboundMessage,
  parseAddress,
  type RawRequest,
  type Sender,
} from '../contract/index.ts'
import { assuranceClasses, isNamespacedSubject } from '../contract/mint-evidence.ts'
import { validateMessage } from '../contract/validate-message.ts'
import { checkEvidence } from '../identity/evidence.ts'
import { isGatewayError } from '../lib/errors.ts'
import { declareFileClauses } from './adapter-contract-files.ts'
import { declareOutboundClauses } from './adapter-contract-outbound.ts'
import { declareRecipientClauses } from './adapter-contract-recipients.ts'
import {
  type AdapterFixtures,
  type Clause,
  clauses,
  createAdapterFromFixtures,
  type DeclareClause,
} from './adapter-fixtures.ts'
import { expect } from './expect.ts'

/** What declares tests: `{ describe, test }` of vitest, or of `node:test`. */
export type TestRunner = {
  readonly describe: (name: string, declare: () => void) => unknown
  readonly test: DeclareTest & { readonly skip: DeclareTest }
  /** How many generated payloads `normalize` is given. */
  readonly payloads?: number
}

type DeclareTest = (name: string, run: () => void | Promise<void>) => unknown

/**
 * Declares a test for every clause of the contract; a clause is left out only with a written reason.
 *
 * @example
 * ```ts
 * import { describe, test } from 'node:test'
 * import { adapterContract } from 'parley-gateway/testing'
 * import { fixtures } from './fixtures.ts'
 *
 * adapterContract(fixtures, { describe, test })
 * ```
 */
export function adapterContract(fixtures: AdapterFixtures, { describe, test, payloads = 300 }: TestRunner): void {
  const way = fixtures.variant === undefined ? '' : ` ${fixtures.variant}`
  describe(`the ${fixtures.definition.channel} adapter${way}`, () => {
    const declared = new Set<Clause>()
    const absent = absentVerbClauses(fixtures)
    const declareClause: DeclareClause = (name, run) => {
      declared.add(name)
      const reason = fixtures.skips[name] ?? (absent.has(name) ? notImplemented : undefined)
      if (reason === undefined) test(name, run)
      else if (reason.trim().length < 10) test(name, () => expect.unreachable('a skip needs a written reason'))
      else test.skip(`${name} (${reason})`, run)
    }
    declareVerifyClauses(fixtures, declareClause)
    declareConfigClauses(fixtures, declareClause)
    declareNormalizeClauses(fixtures, declareClause, payloads)
    declareEvidenceClauses(fixtures, declareClause)
    declareOutboundClauses(fixtures, declareClause)
    declareFileClauses(fixtures, declareClause)
    declareRecipientClauses(fixtures, declareClause)
    declareClause('truth: every declared capability has a clause that runs', () => {
      expect([...declared].toSorted()).toEqual([...clauses].toSorted())
      for (const needed of clausesOfCapabilities(createAdapterFromFixtures(fixtures)))
        expect(fixtures.skips[needed], needed).toBeUndefined()
    })
  })
}

const fileClause: Clause = 'verb: openFile gives the bytes, or says why not, and never how it asked'

type Verb = Exclude<keyof OptionalVerbs, 'ingress'>

const verbClauses: Readonly<Record<Verb, Clause>> = {
  acknowledge: 'verb: acknowledge answers every acceptance',
  reconcile: 'verb: reconcile finds what arrived and misses what did not',
  openFile: fileClause,
  fetchAncestors: 'verb: fetchAncestors says nothing where nothing is answered, or the turn is over',
  fetchReferenced: 'verb: fetchReferenced asks at no address that is not safe',
  live: 'verb: live finishes in place what it opened',
  expand: 'verb: expand keeps the answer to its requester, and says the same again',
  webfinger: 'verb: webfinger names URLs of its own agents and of no others',
  admin: 'verb: admin takes or refuses whatever is asked, with what to do',
  follow: 'verb: follow shows a stream only to clients that ask for one',
  serve: 'verb: serve answers whatever is asked of its paths in its own form',
  probe: 'verb: probe says what is wrong and what to do, and never a secret',
  senderName: 'verb: senderName tells a name or nothing, whatever the platform answers',
  presence: 'verb: presence is one call at most, and no turn waits for it',
}
const runtimeEventClause: Clause =
  'verb: ingress answers what the runtime hands over for its own addresses alone, after the commit'

function clausesOfCapabilities(adapter: Adapter): readonly Clause[] {
  const { capabilities, ingress } = adapter
  const needed: Clause[] = ['render: no part exceeds the limit and no words are lost']
  if (capabilities.idempotentSend === 'client-id') needed.push('deliver: the idempotency key is the same on every try')
  if (capabilities.idempotentSend === 'lookup')
    needed.push('verb: reconcile finds what arrived and misses what did not')
  if (capabilities.coversNames === true) needed.push('render: hostile markup is inert')
  if (ingress?.onEmailEvent !== undefined) needed.push(runtimeEventClause)
  for (const verb of Object.keys(verbClauses) as Verb[]) if (adapter[verb] !== undefined) needed.push(verbClauses[verb])
  return needed
}

const notImplemented = 'the adapter does not implement it'

/** Of verbs that the adapter leaves out, and that none of its capabilities needs. */
function absentVerbClauses(fixtures: AdapterFixtures): ReadonlySet<Clause> {
  let adapter: Adapter
  try {
    adapter = createAdapterFromFixtures(fixtures)
  } catch {
    // The clauses run, and fail with what it threw.
    return new Set()
  }
  const needed = clausesOfCapabilities(adapter)
  return new Set(Object.values(verbClauses).filter((name) => !needed.includes(name)))
}

function declareVerifyClauses(fixtures: AdapterFixtures, clause: DeclareClause): void {
  const { now } = fixtures
  const firstPayloadBytes = () => jsonToBytes(fixtures.captured[0]?.payload)
  clause('verify: accepts a genuine request', async () => {
    expect(await receiveRequest(fixtures, await fixtures.sign(firstPayloadBytes()))).toMatchObject({ kind: 'read' })
  })
  clause('verify: rejects one changed byte', async () => {
    const rawRequest = await fixtures.sign(firstPayloadBytes())
    for (const at of [0, rawRequest.bytes.length >> 1, rawRequest.bytes.length - 1]) {
      const bytes = rawRequest.bytes.slice()
      bytes[at] = (bytes[at] ?? 0) ^ 1
      expect(await receiveRequest(fixtures, { ...rawRequest, bytes })).toMatchObject({ kind: 'rejected' })
    }
  })
  clause('verify: rejects a wrong key', async () => {
    expect(await receiveRequest(fixtures, await fixtures.sign(firstPayloadBytes(), { key: 'wrong' }))).toMatchObject({
      kind: 'rejected',
    })
  })
  clause('verify: rejects a missing credential header', async () => {
    expect(fixtures.credentialHeaders, 'credentialHeaders in the fixtures').not.toEqual([])
    const rawRequest = await fixtures.sign(firstPayloadBytes())
    for (const header of fixtures.credentialHeaders) {
      const { [header]: removed, ...headers } = rawRequest.headers
      expect(removed).toBeDefined()
      expect(await receiveRequest(fixtures, { ...rawRequest, headers })).toMatchObject({ kind: 'rejected' })
    }
  })
  clause('verify: rejects an old timestamp', async () => {
    const reception = await receiveRequest(fixtures, await fixtures.sign(firstPayloadBytes(), { at: now - 6 * 60_000 }))
    expect(reception).toEqual({ kind: 'rejected', reason: 'stale_timestamp' })
  })
  clause('verify: rejects a future timestamp', async () => {
    const reception = await receiveRequest(fixtures, await fixtures.sign(firstPayloadBytes(), { at: now + 6 * 60_000 }))
    expect(reception).toEqual({ kind: 'rejected', reason: 'future_timestamp' })
  })
  clause('verify: answers the handshake', async () => {
    const { handshake } = fixtures
    if (handshake === undefined) return expect.unreachable('give a handshake, or skip this clause with a reason')
    const bytes = jsonToBytes(handshake.payload)
    const reception = await receiveRequest(fixtures, await fixtures.sign(bytes))
    expect(reception).toEqual({ kind: 'handshake', answer: handshake.answer })
    if (handshake.isUnsigned === true) return
    const forged = await receiveRequest(fixtures, await fixtures.sign(bytes, { key: 'wrong' }))
    expect(forged, 'a handshake that is signed with a wrong key').toMatchObject({ kind: 'rejected' })
  })
  clause('verify: never normalizes a rejected request', async () => {
    const notJson = new TextEncoder().encode('{"not json')
    expect(await receiveRequest(fixtures, await fixtures.sign(notJson, { key: 'wrong' }))).toMatchObject({
      kind: 'rejected',
    })
  })
}

function declareConfigClauses(fixtures: AdapterFixtures, clause: DeclareClause): void {
  const { definition, secrets } = fixtures
  const settings = fixtures.settings('http://127.0.0.1:9')
  clause('config: leaving out any secret fails at start', () => {
    if (Object.keys(secrets).length === 0) expect.unreachable('name the secrets, or skip this clause with a reason')
    for (const name of Object.keys(secrets)) {
      const { [name]: removed, ...rest } = settings
      expect(removed).toBeDefined()
      expect(definition.settingsSchema.safeParse(rest).success, name).toBe(false)
      expect(() => createAdapterWithSettings(fixtures, rest), name).toThrow(`[${definition.channel}]`)
      expect(() => createAdapterWithSettings(fixtures, { ...settings, [name]: '' }), name).toThrow(
        `[${definition.channel}]`,
      )
    }
  })
  clause('config: an incomplete environment names what is missing', () => {
    expect(definition.fromEnvironment({})).toBeUndefined()
    const { surroundings } = fixtures
    expect(definition.fromEnvironment({ ...fixtures.environment, ...surroundings })).toHaveProperty('settings')
    for (const name of Object.keys(fixtures.environment)) {
      const { [name]: removed, ...rest } = fixtures.environment
      expect(definition.fromEnvironment({ ...rest, ...surroundings })).toEqual({ missing: [name] })
      expect(definition.fromEnvironment({ ...rest, ...surroundings, [name]: '' })).toEqual({ missing: [name] })
      expect(removed).toBeDefined()
    }
  })
  clause('config: a secret never shows in text, JSON or error', () => {
    const parsed = definition.settingsSchema.parse(settings)
    const problem = catchError(() => createAdapterWithSettings(fixtures, { ...settings, surprise: true }))
    expect(isGatewayError(problem, 'config_invalid')).toBe(true)
    const shown = [
      JSON.stringify(parsed),
      String(problem),
      JSON.stringify(problem),
      JSON.stringify(createAdapterFromFixtures(fixtures)),
    ]
    const environment = JSON.stringify(definition.fromEnvironment(fixtures.environment))
    for (const value of Object.values(secrets)) expect([...shown, environment].join('\n')).not.toContain(value)
  })
}

function declareNormalizeClauses(fixtures: AdapterFixtures, clause: DeclareClause, payloads: number): void {
  const { captured } = fixtures
  clause('normalize: captured payloads equal their twins', async () => {
    expect(captured.length, 'captured payloads in the fixtures').toBeGreaterThanOrEqual(3)
    for (const { name, payload, arrived } of captured) {
      const arrivals = await receiveSignedPayload(fixtures, payload)
      expect(arrivals.map(omitRawBytes), name).toEqual(arrived)
      for (const each of arrivals) expect(each.kind === 'message' ? each.message.raw : each.raw).toEqual(payload)
    }
  })
  clause('normalize: every message passes validation', async () => {
    for (const { name, payload } of captured) {
      for (const arrived of filterMessages(await receiveSignedPayload(fixtures, payload))) {
        expect(validateInbound(fixtures, arrived), name).toMatchObject({
          ok: true,
          warnings: [],
          message: arrived.message,
        })
      }
    }
  })
  clause('normalize: the agent’s own messages vanish', async () => {
    expect(fixtures.own, 'own messages in the fixtures').not.toEqual([])
    for (const payload of fixtures.own) {
      expect(await receiveSignedPayload(fixtures, payload)).toMatchObject([{ kind: 'ignored', reason: 'own_message' }])
    }
  })
  clause('normalize: arbitrary JSON never crashes', async () => {
    const mutated = fc
      .tuple(fc.constantFrom(...captured.map(({ payload }) => payload)), fc.nat(), fc.jsonValue({ maxDepth: 3 }))
      .map(([payload, at, value]) => replaceFieldAt(payload, at, value))
    await fc.assert(
      fc.asyncProperty(fc.oneof(fc.jsonValue(), mutated), async (payload) => {
        const reception = await receiveRequest(fixtures, await fixtures.sign(jsonToBytes(payload)))
        expect(['read', 'unreadable', 'handshake', 'rejected_event']).toContain(reception.kind)
        if (reception.kind === 'unreadable') expect(reception.reason).not.toBe('normalize_failed')
        if (reception.kind !== 'read') return
        for (const arrived of filterMessages(reception.events)) {
          expect(validateInbound(fixtures, arrived)).toMatchObject({ ok: true })
        }
      }),
      { numRuns: payloads },
    )
  })
  clause('normalize: a redelivery yields the same key, two messages yield two', async () => {
    const listMessageKeys = async (index: number) =>
      filterMessages(await receiveSignedPayload(fixtures, captured[index]?.payload)).map(messageDedupeKey)
    expect(await listMessageKeys(0)).toEqual(await listMessageKeys(0))
    expect(await listMessageKeys(0)).toHaveLength(1)
    expect(await listMessageKeys(1)).toHaveLength(1)
    expect(await listMessageKeys(0)).not.toEqual(await listMessageKeys(1))
  })
  clause('normalize: a proof that counts once is named after the channel and the same in every delivery', async () => {
    for (const { name, payload } of captured) {
      const rawRequest = await fixtures.sign(jsonToBytes(payload))
      const receiveOnceClaims = async () => listOnceClaims(await receiveRequest(fixtures, rawRequest))
      const claims = await receiveOnceClaims()
      expect(await receiveOnceClaims(), name).toEqual(claims)
      for (const { key, forMs } of claims) {
        expect(key.startsWith(`${fixtures.definition.channel}:`), key).toBe(true)
        // A receipt is kept for a month, and a replay is told as the duplicate of one.
        expect(forMs > 0 && forMs <= 28 * 86_400_000, key).toBe(true)
      }
    }
  })
  clause('address: decode(encode(x)) equals x', async () => {
    for (const { name, payload } of captured) {
      for (const { replyTo, message } of filterMessages(await receiveSignedPayload(fixtures, payload))) {
        expect(JSON.parse(JSON.stringify(replyTo)), name).toEqual(replyTo)
        for (const address of [message.sender.address, message.recipient]) {
          const parsed = parseAddress(address)
          expect(parsed && formatAddress(parsed), name).toBe(address)
        }
      }
    }
  })
}

function listOnceClaims(reception: NormalizeResult): readonly OnceClaim[] {
  if (reception.kind === 'unreadable') return reception.once ?? []
  return reception.kind === 'read' ? reception.events.flatMap(({ once = [] }) => once) : []
}

function declareEvidenceClauses(fixtures: AdapterFixtures, clause: DeclareClause): void {
  const { captured, now, definition, subjectPrefixes = [`${definition.channel}:`] } = fixtures
  clause('evidence: is valid for its recipient, made here, and in the channel’s own namespace', async () => {
    for (const { name, payload } of captured) {
      for (const { message, subject } of filterMessages(await receiveSignedPayload(fixtures, payload))) {
        const { verified, identities = [] } = message.sender
        expect(identities.length > 0, name).toBe(verified)
        if (verified) expect(identities[0]?.subject, name).toBe(subject)
        for (const evidence of identities) {
          const claimContext = { audience: message.recipient, now, origin: 'in-process' } as const
          expect(checkEvidence(evidence, claimContext), name).toEqual({ ok: true, evidence })
          expect(evidence.audience, name).toBe(message.recipient)
          expect(['transport', 'bearer-token'], name).toContain(evidence.proof.type)
          expect(isNamespacedSubject(evidence.subject), name).toBe(true)
          expect(
            subjectPrefixes.some((prefix) => evidence.subject.startsWith(prefix)),
            evidence.subject,
          ).toBe(true)
          expect(assuranceClasses, name).toContain(evidence.assurance)
        }
      }
    }
  })
  clause('evidence: no name a sender chose is part of it', async () => {
    for (const { name, payload } of captured) {
      const before = filterMessages(await receiveSignedPayload(fixtures, payload))
      const chosen = new Set(before.flatMap(({ message }) => listSelfChosenSenderNames(message.sender)))
      const renamed: unknown = JSON.parse(
        JSON.stringify(payload, (_key, value: unknown) =>
          typeof value === 'string' && chosen.has(value) ? 'Mallory' : value,
        ),
      )
      const after = filterMessages(await receiveSignedPayload(fixtures, renamed))
      const listIdentities = (all: readonly InboundMessage[]) => all.map(({ message }) => message.sender.identities)
      expect(listIdentities(after), name).toEqual(listIdentities(before))
      if (chosen.size > 0) expect(JSON.stringify(after), name).toContain('Mallory')
    }
  })
}

function listSelfChosenSenderNames({ display_name = '', profile }: Sender): readonly string[] {
  const names = [display_name, ...display_name.split(' '), profile?.display_name ?? '', profile?.username ?? '']
  return names.filter((name) => name.length > 1)
}

async function receiveRequest(fixtures: AdapterFixtures, rawRequest: RawRequest): Promise<NormalizeResult> {
  return createAdapterFromFixtures(fixtures).receive(rawRequest, fixtures.connection)
}

async function receiveSignedPayload(fixtures: AdapterFixtures, payload: unknown): Promise<NormalizedEvents> {
  const reception = await receiveRequest(fixtures, await fixtures.sign(jsonToBytes(payload)))
  if (reception.kind !== 'read') expect.unreachable(`not read: ${JSON.stringify(reception)}`)
  return reception.events
}

type NormalizedEvents = Extract<NormalizeResult, { kind: 'read' }>['events']

function filterMessages(arrivals: NormalizedEvents): readonly InboundMessage[] {
  return arrivals.filter((arrived) => arrived.kind === 'message')
}

function validateInbound(fixtures: AdapterFixtures, { message }: InboundMessage): ReturnType<typeof validateMessage> {
  const { receivedVia, authMethods } = createAdapterFromFixtures(fixtures).capabilities
  return validateMessage(message, {
    from: 'adapter',
    receivedVia: new Set([receivedVia]),
    authMethods: new Set(authMethods),
  })
}

function messageDedupeKey({ agent, semanticId, version, isSenderChosenId, subject, message }: InboundMessage): unknown {
  return [agent, message.channel?.event, semanticId, version, isSenderChosenId ? subject : null]
}

/** What a proof counts for is a clause of its own. */
function omitRawBytes({ once: _once, ...arrived }: NormalizedEvents[number]): unknown {
  const copy = structuredClone(arrived)
  if (copy.kind === 'ignored') return { ...copy, raw: undefined }
  // What is to be kept of it is its raw bytes again.
  return { ...copy, message: { ...copy.message, raw: undefined }, pendingBlob: undefined }
}

function replaceFieldAt(payload: unknown, position: number, value: unknown): unknown {
  const copy: unknown = structuredClone(payload)
  const spots: (() => void)[] = []
  const collectFieldSetters = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return
    const fields = node as Record<string, unknown>
    for (const key of Object.keys(fields)) {
      spots.push(() => {
        fields[key] = value
      })
      collectFieldSetters(fields[key])
    }
  }
  collectFieldSetters(copy)
  spots[position % Math.max(1, spots.length)]?.()
  return copy
}

function createAdapterWithSettings(fixtures: AdapterFixtures, settings: unknown): Adapter {
  return createAdapterFromFixtures({ ...fixtures, settings: () => settings as Record<string, unknown> })
}

function catchError(run: () => unknown): unknown {
  try {
    run()
  } catch (error) {
    return error
  }
  return undefined
}

export function jsonToBytes(payload: unknown): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(payload))
}
