// Socket Mode against a peer that speaks it on loopback: nothing is acknowledged before it is stored, and nothing from outside
// can pass for an envelope.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { slackChannel } from '../../../../adapters/slack/index.ts'
import { createSocketRequestRegistry, pollSocketMode } from '../../../../adapters/slack/socket-mode.ts'
import type { PolledBatch } from '../../../../src/contract/adapter.ts'
import type { RawRequest, TransportAnswer } from '../../../../src/contract/index.ts'
import { createWebHmac } from '../../../../src/lib/index.ts'
import { secret } from '../../../../src/lib/secret.ts'
import { type SocketPeer, startSlackSocket } from '../../../doubles/slack-socket.ts'
import { connection, messageEvent, signingSecret } from '../../../doubles/slack-tenants.ts'

const token = 'xapp-1-test-token-of-the-double'

let peer: SocketPeer
let stop: AbortController

beforeEach(async () => {
  peer = await startSlackSocket()
  stop = new AbortController()
})

afterEach(async () => {
  stop.abort()
  await peer.close()
})

const own = createSocketRequestRegistry()
const open = (appToken = token): AsyncIterable<PolledBatch> =>
  pollSocketMode({ appToken: secret(appToken), apiUrl: peer.apiUrl }, { fetch, now: Date.now, own, firstPauseMs: 5 })(
    undefined,
    stop.signal,
  )

const event = (id: string, more: object = {}) => ({
  envelope_id: id,
  type: 'events_api',
  payload: { type: 'event_callback', event_id: `Ev${id}`, event: { type: 'message', text: `hello ${id}` } },
  accepts_response_payload: false,
  ...more,
})

const ok: TransportAnswer = { status: 200 }
const textOf = (arrival: RawRequest | undefined) => new TextDecoder().decode(arrival?.bytes)
const jsonOf = (arrival: RawRequest | undefined): unknown => JSON.parse(textOf(arrival))

/** What runs a source: stores each batch, then acknowledges; ends where storing fails. */
async function run(store: (batch: PolledBatch) => Promise<readonly TransportAnswer[]>): Promise<void> {
  for await (const batch of open()) await batch.acknowledge?.(await store(batch))
}

/** The first batch, with its source left open until the test ends. */
async function firstBatch(message: object): Promise<PolledBatch> {
  const batches = open()[Symbol.asyncIterator]()
  const next = batches.next()
  await peer.until(() => peer.connections() === 1)
  peer.send(message)
  const { value } = await next
  stop.signal.addEventListener('abort', () => void batches.return?.())
  return value as PolledBatch
}

describe('an envelope', () => {
  test('is acknowledged by its id after it was stored, and not before', async () => {
    const stored = Promise.withResolvers<void>()
    const seen: RawRequest[] = []
    const running = run(async (batch) => {
      seen.push(...batch.requests)
      await stored.promise
      return batch.requests.map(() => ok)
    })
    await peer.until(() => peer.connections() === 1)
    peer.send(event('one'))
    peer.send({ ...event('two'), type: 'unheard_of' })
    await expect.poll(() => seen.length).toBeGreaterThan(0)
    expect(peer.heard).toEqual([])
    stored.resolve()
    await peer.until(() => peer.heard.length === 2)
    expect(peer.heard.map(({ envelope_id }) => envelope_id)).toEqual(['one', 'two'])
    expect(peer.opened).toEqual([`Bearer ${token}`])
    stop.abort()
    await running
    await peer.until(() => peer.connections() === 0)
  })

  test('of the Events API becomes the JSON request it would have been, retries included', async () => {
    const batch = await firstBatch(event('e', { retry_attempt: 2, retry_reason: 'timeout' }))
    const [arrival] = batch.requests
    expect(jsonOf(arrival)).toEqual(event('e').payload)
    expect(arrival?.headers).toEqual({
      'content-type': 'application/json',
      'x-slack-retry-num': '2',
      'x-slack-retry-reason': 'timeout',
    })
    expect(arrival?.from).toBe('remote')
  })

  test('of a click becomes a form whose payload is JSON', async () => {
    const payload = { type: 'block_actions', user: { id: 'U1' }, actions: [{ value: 'a&b=c' }] }
    const batch = await firstBatch({ envelope_id: 'c', type: 'interactive', payload, accepts_response_payload: true })
    const [arrival] = batch.requests
    expect(arrival?.headers['content-type']).toBe('application/x-www-form-urlencoded')
    expect(JSON.parse(new URLSearchParams(textOf(arrival)).get('payload') ?? '')).toEqual(payload)
  })

  test('of a command becomes a flat form, and is answered with the body it asks for', async () => {
    const payload = { command: '/ask', text: 'what & why', team_id: 'T1', is_enterprise_install: 'false' }
    const batch = await firstBatch({
      envelope_id: 's',
      type: 'slash_commands',
      payload,
      accepts_response_payload: true,
    })
    expect(Object.fromEntries(new URLSearchParams(textOf(batch.requests[0])))).toEqual(payload)
    await batch.acknowledge?.([{ status: 200, body: '{"response_type":"ephemeral","text":"on it"}' }])
    await peer.until(() => peer.heard.length === 1)
    expect(peer.heard).toEqual([
      { connection: 1, envelope_id: 's', payload: { response_type: 'ephemeral', text: 'on it' } },
    ])
  })

  test('that takes no body gets none', async () => {
    const batch = await firstBatch(event('n'))
    await batch.acknowledge?.([{ status: 200, body: '{"ok":true}' }])
    await peer.until(() => peer.heard.length === 1)
    expect(peer.heard).toEqual([{ connection: 1, envelope_id: 'n' }])
  })

  test('that was turned away is not acknowledged', async () => {
    const batches = open()[Symbol.asyncIterator]()
    const next = batches.next()
    await peer.until(() => peer.connections() === 1)
    peer.send(event('bad'))
    const { value } = await next
    await (value as PolledBatch).acknowledge?.([{ status: 401 }])
    const later = batches.next()
    peer.send(event('good'))
    await ((await later).value as PolledBatch).acknowledge?.([ok])
    await peer.until(() => peer.heard.length === 1)
    expect(peer.heard.map(({ envelope_id }) => envelope_id)).toEqual(['good'])
  })

  test('without an event, and words that are no envelope, do no harm', async () => {
    const batches = open()[Symbol.asyncIterator]()
    const next = batches.next()
    await peer.until(() => peer.connections() === 1)
    for (const noise of ['not JSON', '[]', 'null', '{"type":"events_api"}', '{"envelope_id":7,"type":"x"}'])
      peer.send(noise)
    peer.send({ envelope_id: 'limited', type: 'events_api', payload: { type: 'app_rate_limited' } })
    const { value } = await next
    expect((value as PolledBatch).requests.map(jsonOf)).toEqual([{ type: 'app_rate_limited' }])
    await batches.return?.()
  })
})

describe('when it goes wrong', () => {
  test('what could not be stored is not acknowledged, and is stored when it comes again', async () => {
    const stored: unknown[] = []
    const failing = run(async () => Promise.reject(new Error('database gone')))
    await peer.until(() => peer.connections() === 1)
    peer.send(event('x'))
    await expect(failing).rejects.toThrow('database gone')
    await peer.until(() => peer.connections() === 0)
    expect(peer.heard).toEqual([])
    const again = run(async (batch) => {
      stored.push(...batch.requests.map(jsonOf))
      return [ok]
    })
    await peer.until(() => peer.connections() === 1)
    peer.send(event('x', { retry_attempt: 1 }))
    await peer.until(() => peer.heard.length === 1)
    expect(stored).toEqual([event('x').payload])
    stop.abort()
    await again
  })

  test('a lost connection is opened again, and a copy of what was stored before is acknowledged on the new one', async () => {
    const seen: unknown[] = []
    const running = run(async (batch) => {
      seen.push(...batch.requests.map(jsonOf))
      if (seen.length === 1) {
        peer.drop()
        await peer.until(() => peer.opened.length === 2 && peer.connections() === 1)
      }
      return batch.requests.map(() => ok)
    })
    await peer.until(() => peer.connections() === 1)
    peer.send(event('x'))
    await peer.until(() => peer.opened.length === 2 && peer.connections() === 1)
    peer.send(event('x', { retry_attempt: 1 }))
    await peer.until(() => peer.heard.length === 1)
    expect(peer.heard).toEqual([{ connection: 2, envelope_id: 'x' }])
    expect(seen).toEqual([event('x').payload, event('x').payload])
    stop.abort()
    await running
  })

  test('asked to refresh, it opens the next connection first and still acknowledges on the old one', async () => {
    const stored = Promise.withResolvers<void>()
    const running = run(async (batch) => {
      await stored.promise
      return batch.requests.map(() => ok)
    })
    await peer.until(() => peer.connections() === 1)
    peer.send(event('late'))
    peer.send({ type: 'disconnect', reason: 'refresh_requested' })
    await peer.until(() => peer.connections() === 2)
    stored.resolve()
    await peer.until(() => peer.heard.length === 1 && peer.connections() === 1)
    expect(peer.heard).toEqual([{ connection: 1, envelope_id: 'late' }])
    peer.send(event('next'))
    await peer.until(() => peer.heard.length === 2)
    expect(peer.heard.at(-1)).toEqual({ connection: 2, envelope_id: 'next' })
    stop.abort()
    await running
    await peer.until(() => peer.connections() === 0)
  })

  test('a failing platform is asked again until it answers', async () => {
    peer.refuse = 'internal_error'
    const running = run(async (batch) => batch.requests.map(() => ok))
    await peer.until(() => peer.opened.length === 3)
    peer.refuse = undefined
    await peer.until(() => peer.connections() === 1)
    stop.abort()
    await running
  })

  test('a token that is refused ends it with a remedy and without the token', async () => {
    peer.refuse = 'invalid_auth'
    const failure = await run(async () => []).catch((error: unknown) => error)
    expect(String(failure)).toMatch(/app-level token was refused; .*SLACK_APP_TOKEN/)
    expect(JSON.stringify(failure) + String((failure as Error).stack)).not.toContain(token)
    expect(peer.opened).toHaveLength(1)
  })
})

test('through the adapter an envelope is genuine, and the same words over HTTP are not', async () => {
  const settings = { botToken: 'xoxb-token-of-one', signingSecret, appToken: token, apiUrl: peer.apiUrl }
  const deps = { connection, fetch, now: Date.now, hmac: createWebHmac() }
  const [adapter, another] = [slackChannel.create(settings, deps), slackChannel.create(settings, deps)]
  const batches = adapter.ingress?.poll?.(undefined, stop.signal)[Symbol.asyncIterator]()
  const next = batches?.next()
  await peer.until(() => peer.connections() === 1)
  peer.send({ ...event('e'), payload: messageEvent('T0ONE') })
  const batch = (await next)?.value as PolledBatch | undefined
  const arrival = batch?.requests[0]
  if (arrival === undefined) throw new Error('nothing came')
  expect(await adapter.receive(arrival, connection)).toMatchObject({ kind: 'read', events: [{ kind: 'message' }] })
  // Nothing of ours is shown to whoever gave a command or pressed a button.
  expect(adapter.acknowledge?.([{ kind: 'accepted', inboxId: 'i', flagged: false }], undefined)).toEqual({
    status: 200,
  })
  const copied = { ...arrival, bytes: arrival.bytes.slice() }
  const rejected = { kind: 'rejected', reason: 'missing_credential' }
  expect(await adapter.receive(copied, connection)).toEqual(rejected)
  expect(await another.receive(arrival, connection)).toEqual(rejected)
  await batches?.return?.()
})

test('only bytes that came over the socket are known as its own', async () => {
  const [arrival] = (await firstBatch(event('mine'))).requests
  if (arrival === undefined) throw new Error('nothing came')
  expect(own.has(arrival)).toBe(true)
  expect(own.has({ ...arrival })).toBe(true)
  expect(own.has({ ...arrival, bytes: arrival.bytes.slice() })).toBe(false)
  expect(createSocketRequestRegistry().has(arrival)).toBe(false)
})
