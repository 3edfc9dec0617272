// The adapter kit's second half: render, deliver and the optional verbs, against a real server that answers as told.
import * as fc from 'fast-check'
import type { Adapter, Attempt, DeliveryResult, NormalizedResponse } from '../contract/index.ts'
import type { AcceptResult } from '../contract/results.ts'
import type { JsonObject } from '../lib/json-value.ts'
import {
  type AdapterFixtures,
  createAdapterFromFixtures,
  type DeclareClause,
  type VendorAnswer,
} from './adapter-fixtures.ts'
import { expect } from './expect.ts'
import { type Fault, type ScriptedServer, startScriptedServer } from './scripted-server.ts'
import { idleDoor } from './serve-context.ts'

export function declareOutboundClauses(fixtures: AdapterFixtures, clause: DeclareClause): void {
  declareRenderClauses(fixtures, clause)
  declareDeliverClauses(fixtures, clause)
  declareVerbClauses(fixtures, clause)
  declareServeClause(fixtures, clause)
  declareFollowClause(fixtures, clause)
  declareEmailEventClause(fixtures, clause)
  declarePresenceAndProbeClauses(fixtures, clause)
}

export function createTextReply(text: string, changes: Partial<NormalizedResponse> = {}): NormalizedResponse {
  return {
    thread_id: 'thread',
    in_reply_to: 'message',
    agent: 'demo',
    parts: text === '' ? [] : [{ kind: 'text', mime: 'text/plain', content: text }],
    status: 'completed',
    ...changes,
  }
}

export function createAttempt(number: number, changes: Partial<Attempt> = {}): Attempt {
  return {
    outboxId: 'outbox-1',
    runId: 'run-1',
    number,
    clientId: 'client-0001',
    isMaybeRepeat: false,
    signal: AbortSignal.timeout(5000),
    ...changes,
  }
}

function declareRenderClauses(fixtures: AdapterFixtures, clause: DeclareClause): void {
  const renderWithFixtures = (reply: NormalizedResponse) =>
    createAdapterFromFixtures(fixtures).render(reply, fixtures.replyTo)
  clause('render: no part exceeds the limit and no words are lost', () => {
    const { maxTextLength } = createAdapterFromFixtures(fixtures).capabilities
    const word = fc.oneof(fc.string({ minLength: 1, maxLength: 30, unit: 'grapheme' }), fc.constant('👩‍👩‍👧‍👦'))
    const text = fc.array(word, { minLength: 1, maxLength: 2000, size: 'max' }).map((words) => words.join(' '))
    fc.assert(
      fc.property(text, (said) => {
        const texts = renderWithFixtures(createTextReply(said)).map(({ call }) => fixtures.textOf(call))
        const longest = Math.max(0, ...texts.map(({ length }) => length))
        if (longest > maxTextLength) expect.unreachable(`a part of ${longest}, and maxTextLength is ${maxTextLength}`)
        const [shown, whole] = [removeWhitespace(texts.join('')), removeWhitespace(normalizeVisibleText(said))]
        if (said.trim() !== '' && shown !== whole) expect.unreachable(describeFirstDifference(shown, whole))
      }),
      // Also the search for a smaller text that fails ends with it.
      { numRuns: 30, interruptAfterTimeLimit: maxRenderMs },
    )
  })
  clause('render: every status has its own text', () => {
    const statuses = ['completed', 'input_required', 'refused', 'failed', 'cancelled'] as const
    for (const said of ['', 'words']) {
      const shown = statuses.map((status) =>
        JSON.stringify(renderWithFixtures(createTextReply(said, { status })).map(({ call }) => call)),
      )
      expect(new Set(shown).size).toBe(statuses.length)
      for (const status of statuses)
        expect(renderWithFixtures(createTextReply(said, { status }))[0]?.primary).toBe(true)
    }
  })
  clause('render: hostile markup is inert', () => {
    expect(fixtures.hostile, 'hostile texts in the fixtures').not.toEqual([])
    for (const { said, isInert } of fixtures.hostile) {
      expect(isInert(renderWithFixtures(createTextReply(said)).map(({ call }) => call)), said).toBe(true)
    }
  })
}

const maxRenderMs = 10_000

/** A whole text can be too long to show. */
function describeFirstDifference(shown: string, said: string): string {
  let at = 0
  while (at < said.length && shown[at] === said[at]) at += 1
  const excerptAround = (text: string) => JSON.stringify(text.slice(Math.max(0, at - 20), at + 20))
  return `words are lost or added at ${at}: shown ${excerptAround(shown)}, said ${excerptAround(said)}`
}

/** Without the control characters no channel carries, in the one Unicode form we keep. */
function normalizeVisibleText(text: string): string {
  return text
    .replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202d\u202e]/g, '')
    .toWellFormed()
    .normalize('NFC')
}

function removeWhitespace(text: string): string {
  return text.replace(/\s+/gu, '')
}

function declareDeliverClauses(fixtures: AdapterFixtures, clause: DeclareClause): void {
  const vendor = fixtures.vendor
  const deliverAndGetOutcome = async (answer: VendorAnswer | undefined) => {
    if (answer === undefined) return expect.unreachable('no vendor answers in the fixtures')
    return runWithVendor(fixtures, { kind: 'answer', ...answer }, async (send, server) => {
      const outcome = await send(createAttempt(1))
      expect(server.calls, 'one call per attempt').toHaveLength(1)
      return outcome
    })
  }
  clause('deliver: success is delivered', async () => {
    expect(await deliverAndGetOutcome(vendor?.success)).toMatchObject({
      kind: 'delivered',
      vendorId: expect.any(String),
    })
  })
  clause('deliver: a rate limit is a retry with its delay', async () => {
    expect(await deliverAndGetOutcome(vendor?.rateLimit)).toMatchObject({ kind: 'retry', afterMs: expect.any(Number) })
  })
  clause('deliver: a server fault is never called delivered or refused', async () => {
    expect(await deliverAndGetOutcome(vendor?.serverFault)).toMatchObject({ kind: vendor?.ambiguous })
  })
  clause('deliver: a refusal is final', async () => {
    expect(await deliverAndGetOutcome(vendor?.refusal)).toMatchObject({ kind: 'refused' })
  })
  clause('deliver: a time-out is settled by what repeating would do', async () => {
    await runWithVendor(fixtures, { kind: 'hang' }, async (send, server) => {
      const outcome = await send(createAttempt(1, { signal: AbortSignal.timeout(150) }))
      expect(outcome.kind).toBe(vendor?.ambiguous)
      expect(server.calls).toHaveLength(1)
    })
  })
  clause('deliver: nothing but the vendor is contacted', async () => {
    const said = 'see http://169.254.169.254/latest/meta-data and http://localhost:1/ and https://example.com/x'
    await runWithVendor(
      fixtures,
      { kind: 'answer', ...requireFixtureAnswer(vendor?.success) },
      async (send, server, origins) => {
        await send(createAttempt(1), said)
        expect([...origins]).toEqual([server.origin])
      },
    )
    await withScriptedServer(async (elsewhere) => {
      const headers = { location: `${elsewhere.origin}/` }
      const redirect: Fault = { kind: 'answer', status: 307, body: '{}', headers }
      await runWithVendor(fixtures, redirect, async (send, _server, origins) => {
        const outcome = await send(createAttempt(1), said)
        expect(elsewhere.calls.length, 'requests to where a redirect leads; set redirect: "manual"').toBe(0)
        expect([...origins]).not.toContain(elsewhere.origin)
        expect(outcome.kind, 'outcome of a redirect').not.toBe('delivered')
      })
    })
  })
  clause('deliver: the idempotency key is the same on every try', async () => {
    const tries = await deliverTwiceAndListEffects(fixtures)
    expect(tries).toHaveLength(2)
    // What goes out under a name that is made from the key has that name every time.
    const isNamed = vendor === undefined && createAdapterFromFixtures(fixtures).capabilities.appends !== true
    if (fixtures.keyOf !== undefined || isNamed) expect(new Set(tries).size).toBe(1)
    else for (const each of tries) expect(each).toContain('client-0001')
  })
}

async function deliverTwiceAndListEffects(fixtures: AdapterFixtures): Promise<readonly string[]> {
  if (fixtures.vendor !== undefined) return deliverTwiceAndListCalls(fixtures)
  return createAdapterFromFixtures(fixtures).capabilities.appends === true
    ? deliverTwiceAndListKeys(fixtures)
    : deliverTwiceAndListIds(fixtures)
}

async function deliverTwiceAndListIds(fixtures: AdapterFixtures): Promise<readonly string[]> {
  const adapter = createAdapterFromFixtures(fixtures)
  const call = renderFirstCall(fixtures, adapter, 'hello')
  const outcomes = [await adapter.deliver(call, createAttempt(1)), await adapter.deliver(call, createAttempt(2))]
  return outcomes.flatMap((outcome) => (outcome.kind === 'delivered' ? (outcome.vendorId ?? []) : []))
}

async function deliverTwiceAndListCalls(fixtures: AdapterFixtures): Promise<readonly string[]> {
  const fault: Fault = { kind: 'answer', ...requireFixtureAnswer(fixtures.vendor?.success) }
  return runWithVendor(fixtures, fault, async (send, server) => {
    await send(createAttempt(1))
    await send(createAttempt(2))
    return server.calls.map((call) => fixtures.keyOf?.(call.body) ?? JSON.stringify(call))
  })
}

async function deliverTwiceAndListKeys(fixtures: AdapterFixtures): Promise<readonly string[]> {
  const keys: string[] = []
  const runLog = { append: async (_runId: string, key: string) => void keys.push(key) }
  const adapter = createAdapterFromFixtures(fixtures, undefined, undefined, runLog)
  for (const number of [1, 2]) await adapter.deliver(renderFirstCall(fixtures, adapter, 'hello'), createAttempt(number))
  return keys
}

function declareVerbClauses(fixtures: AdapterFixtures, clause: DeclareClause): void {
  clause('verb: reconcile finds what arrived and misses what did not', async () => {
    const reconcileWithFault = (fault: Fault) =>
      runWithVendor(fixtures, fault, async (_send, _server, _origins, adapter) =>
        adapter.reconcile?.(renderFirstCall(fixtures, adapter, 'x'), createAttempt(1)),
      )
    expect(
      await reconcileWithFault({ kind: 'answer', ...requireFixtureAnswer(fixtures.vendor?.success) }),
    ).toMatchObject({
      kind: 'found',
    })
    const absent = fixtures.vendor?.absent ?? { status: 404, body: '{}' }
    expect(await reconcileWithFault({ kind: 'answer', ...absent })).toEqual({ kind: 'absent' })
    expect(await reconcileWithFault({ kind: 'answer', status: 500, body: '{}' })).toMatchObject({ kind: 'undecided' })
    expect(await reconcileWithFault({ kind: 'drop', when: 'before' })).toMatchObject({ kind: 'undecided' })
  })
  clause('verb: acknowledge answers every acceptance', () => {
    const adapter = createAdapterFromFixtures(fixtures)
    const acceptances: readonly AcceptResult[] = [
      { kind: 'accepted', inboxId: 'i', flagged: false },
      { kind: 'duplicate', inboxId: 'i' },
      { kind: 'stale', inboxId: 'i' },
      { kind: 'refused', reason: 'conversation_busy' },
      { kind: 'refused', reason: 'something_new' },
    ]
    for (const acceptance of acceptances) {
      const status = adapter.acknowledge?.([acceptance], undefined).status ?? 0
      expect(status >= 200 && status < 600 && !(status >= 300 && status < 400), JSON.stringify(acceptance)).toBe(true)
    }
  })
}

const methods = ['GET', 'HEAD', 'OPTIONS', 'POST', 'PUT', 'PATCH', 'DELETE']
const bodies = ['', '{', '[]', 'null', '{"a":1}', '<html>']

function declareServeClause(fixtures: AdapterFixtures, clause: DeclareClause): void {
  clause('verb: serve answers whatever is asked of its paths in its own form', async () => {
    const adapter = createAdapterFromFixtures(fixtures)
    const paths = adapter.endpoints.flatMap(({ path, answer }) => (answer === 'serve' ? [path] : []))
    for (const path of paths.flatMap((each) => [each.replace('*', 'x'), each.replace('*', 'a/%zz/..;/b')])) {
      for (const method of methods) {
        for (const body of method === 'GET' || method === 'HEAD' ? [undefined] : bodies) {
          const init = {
            method,
            headers: { 'content-type': 'application/json' },
            ...(body === undefined ? {} : { body }),
          }
          const answer = await adapter.serve?.(new Request(`http://127.0.0.1:9${path}`, init), idleDoor)
          if (answer === undefined) continue
          expect(answer.status, `${method} ${path}`).toBeLessThan(500)
          const text = await answer.text()
          // A page or an XRD is a form of its own, and says so.
          const type = answer.headers.get('content-type') ?? ''
          const isMarkup = /^(text\/html|application\/(\w+\+)?xml)\b/.test(type)
          expect(text, `${method} ${path}`).not.toMatch(isMarkup ? /\n {4}at / : /<html|\n {4}at /i)
          if (text !== '' && !isMarkup) expect(() => JSON.parse(text), `${method} ${path}`).not.toThrow()
        }
      }
    }
  })
}

function declareFollowClause(fixtures: AdapterFixtures, clause: DeclareClause): void {
  clause('verb: follow shows a stream only to clients that ask for one', async () => {
    const { follow } = createAdapterFromFixtures(fixtures)
    const asked = {
      acceptance: { kind: 'refused', reason: 'busy' },
      bytes: new Uint8Array(),
      keepOpen: () => {},
    } as const
    for (const headers of [{}, { accept: 'application/json' }, { accept: 'text/event-stream' }])
      expect(await follow?.({ ...asked, headers })).toBeUndefined()
  })
}

function declareEmailEventClause(fixtures: AdapterFixtures, clause: DeclareClause): void {
  clause(
    'verb: ingress answers what the runtime hands over for its own addresses alone, after the commit',
    async () => {
      const { onEmailEvent } = createAdapterFromFixtures(fixtures).ingress ?? {}
      if (onEmailEvent === undefined) return
      const { ours, foreign } = fixtures.handed ?? expect.unreachable('no addresses in the fixtures')
      const createEmailEvent = (to: string) => ({
        from: 'a@b.example',
        to,
        size: 5,
        body: new Blob(['a: b\n']).stream(),
      })
      const answers = [{ kind: 'stored', acceptances: [] } as const, { kind: 'later', reason: 'busy' } as const]
      const kinds = answers.map((answer) => onEmailEvent(createEmailEvent(ours), { receive: async () => answer }))
      expect(await Promise.all(kinds)).toMatchObject([{ kind: 'taken' }, { kind: 'later' }])
      const unasked = { receive: async () => expect.unreachable('it was handed in') }
      expect(await onEmailEvent(createEmailEvent(foreign), unasked)).toBeUndefined()
    },
  )
}

/** Where there is no such verb there is nothing to keep. */
function declarePresenceAndProbeClauses(fixtures: AdapterFixtures, clause: DeclareClause): void {
  clause('verb: presence is one call at most, and no turn waits for it', async () => {
    if (createAdapterFromFixtures(fixtures).presence === undefined) return
    const success: Fault = { kind: 'answer', ...requireFixtureAnswer(fixtures.vendor?.success) }
    await runWithVendor(fixtures, success, async (_send, server, origins, adapter) => {
      await adapter.presence?.show(fixtures.replyTo, 'typing')
      expect(server.calls).toHaveLength(1)
      expect([...origins]).toEqual([server.origin])
    })
  })
  clause('verb: probe says what is wrong and what to do, and never a secret', async () => {
    if (createAdapterFromFixtures(fixtures).probe === undefined) return
    const answers: readonly Fault[] = [
      { kind: 'answer', status: 200, body: '{}' },
      { kind: 'answer', status: 401, body: '<h1>no</h1>' },
      { kind: 'answer', status: 500, body: '[]' },
      { kind: 'drop', when: 'before' },
      { kind: 'hang' },
    ]
    for (const fault of answers) {
      await runWithVendor(fixtures, fault, async (_send, _server, _origins, adapter) => {
        const result = await adapter.probe?.({ signal: AbortSignal.timeout(300) })
        for (const { reason, problem, remedy } of result?.problems ?? []) {
          expect(reason).toMatch(/^[a-z][a-z0-9_]{2,40}$/)
          expect(problem).not.toBe('')
          expect(remedy).not.toBe('')
        }
        for (const hidden of Object.values(fixtures.secrets)) expect(JSON.stringify(result)).not.toContain(hidden)
      })
    }
  })
  clause('verb: senderName tells a name or nothing, whatever the platform answers', async () => {
    if (createAdapterFromFixtures(fixtures).senderName === undefined) return
    // All it may look at is the channel's own name for the sender.
    const message = { channel: { sender_id: 'U0SOMEONE' } } as Parameters<NonNullable<Adapter['senderName']>>[0]
    for (const body of ['{}', '[]', '<h1>no</h1>', '{"ok":true,"user":7}', '{"ok":true,"user":{"name":7}}'])
      await runWithVendor(
        fixtures,
        { kind: 'answer', status: 200, body },
        async (_send, _server, _origins, adapter) => {
          const signal = AbortSignal.timeout(300)
          expect(await adapter.senderName?.(message, fixtures.replyTo, signal)).toBeUndefined()
        },
      )
  })
  clause('verb: live finishes in place what it opened', async () => {
    if (createAdapterFromFixtures(fixtures).live === undefined) return
    const success: Fault = { kind: 'answer', ...requireFixtureAnswer(fixtures.vendor?.success) }
    await runWithVendor(fixtures, success, async (_send, server, _origins, adapter) => {
      const opening = adapter.live?.open(fixtures.replyTo, 'first words')
      if (opening === undefined) return expect.unreachable('no live message in the place of the fixtures')
      const opened = await adapter.deliver(JSON.parse(JSON.stringify(opening)), createAttempt(1))
      expect(opened).toMatchObject({ kind: 'delivered', vendorId: expect.any(String) })
      const reference = opened.kind === 'delivered' ? (opened.vendorId ?? '') : ''
      const [last] = adapter.render(createTextReply('all the words'), fixtures.replyTo, new Set(), true)
      const before = server.calls.length
      const call: JsonObject = JSON.parse(JSON.stringify(last?.call))
      const finished = await adapter.deliver(call, createAttempt(1, { liveReference: reference }))
      expect(finished).toMatchObject({ kind: 'delivered' })
      const calls = server.calls.slice(before).map((each) => JSON.stringify(each))
      expect(calls.at(-1)).toContain(reference)
      expect(calls.filter((each) => each.includes(reference))).toEqual(calls)
    })
  })
}

type Send = (attempt: Attempt, said?: string) => Promise<DeliveryResult>

async function runWithVendor<Result>(
  fixtures: AdapterFixtures,
  fault: Fault,
  run: (send: Send, server: ScriptedServer, origins: ReadonlySet<string>, adapter: Adapter) => Promise<Result>,
): Promise<Result> {
  return withScriptedServer((server) => {
    server.failAlways('any', fault)
    const origins = new Set<string>()
    const fetchAndNoteOrigin: typeof fetch = (input, init) => {
      origins.add(new URL(input instanceof Request ? input.url : input).origin)
      return fetch(input, init)
    }
    const adapter = createAdapterFromFixtures(fixtures, server.origin, fetchAndNoteOrigin)
    const deliverFirstCall: Send = (attempt, said = 'hello') =>
      adapter.deliver(renderFirstCall(fixtures, adapter, said), attempt)
    return run(deliverFirstCall, server, origins, adapter)
  })
}

/** A server that takes every request, for as long as the work lasts. */
export async function withScriptedServer<Result>(work: (server: ScriptedServer) => Promise<Result>): Promise<Result> {
  const server = await startScriptedServer({
    notFound: {},
    routeOf: () => 'any',
    apply: () => ({ status: 200, body: {} }),
  })
  try {
    return await work(server)
  } finally {
    await server.close()
  }
}

/** As it comes back from storage. */
function renderFirstCall(fixtures: AdapterFixtures, adapter: Adapter, said: string): JsonObject {
  return JSON.parse(JSON.stringify(adapter.render(createTextReply(said), fixtures.replyTo)[0]?.call))
}

function requireFixtureAnswer(answer: VendorAnswer | undefined): VendorAnswer {
  return answer ?? expect.unreachable('no vendor answers in the fixtures')
}
