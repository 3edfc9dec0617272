// Twelve fates through the real gateway, and what explain says of each: the same as docs/explain.md shows.
// PARLEY_WRITE_DOCS=1 writes the document anew.

import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type AgentDefinition, defineAgent } from '../../src/agents/define-agent.ts'
import { type Explanation, explainById } from '../../src/api/explain/explain.ts'
import { renderTimeline } from '../../src/cli/explain.ts'
import { textOf } from '../../src/contract/index.ts'
import { nameStatement } from '../../src/db/client.ts'
import { approvePairing, rejectPairing } from '../../src/db/pairings.ts'
import { listEndedMessages, listMessageCountsByConnection, retryDelivery } from '../../src/db/receipts.ts'
import { GatewayError } from '../../src/lib/errors.ts'
import type { Fault } from '../../src/testing/scripted-server.ts'
import { loopbackSecret } from '../doubles/loopback/fixtures.ts'
import { createTestGateway, loopbackConnections, settleUntil, type TestGateway } from '../doubles/test-gateway.ts'
import { startVendorStub, type VendorStub } from '../doubles/vendor-stub.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'
import { openTenantDb } from '../setup/tenant-db.ts'
import { documentedStory, evenStory } from '../unit/api/timeline-document.ts'

const states = nameStatement('test_states', `select state from inbox where message_id = $1`)
const pause = (mode: string) => nameStatement('test_pause', `update lanes set mode = '${mode}'`)
const expire = nameStatement('test_expire', "update lanes set lease_until = now() - interval '1 second'")
const expireSends = nameStatement(
  'test_expire_sends',
  "update send_lanes set lease_until = now() - interval '1 second'",
)

const answering = (status: number): Fault => ({ kind: 'answer', status, body: '{}', headers: { 'retry-after': '0' } })
const lost: Fault = { kind: 'drop', when: 'after' }
const canary = 'canary-7f3a'

describeOnDatabase('explain', (database) => {
  let vendor: VendorStub
  let gateway: TestGateway
  type Config = Parameters<typeof createTestGateway>[1]

  const start = (run: AgentDefinition['run'], config: Config = {}, changes: object = {}): TestGateway => {
    // Calls may take long on a busy machine; no fate of this file is one of time.
    const connections = loopbackConnections(vendor.origin, { settings: { callTimeoutMs: 5_000 }, ...changes })
    gateway = createTestGateway(database(), {
      agents: [defineAgent({ slug: 'demo', run })],
      connections,
      turns: { leaseMs: 60_000 },
      ...config,
    })
    return gateway
  }
  const echo: AgentDefinition['run'] = (message) => `re: ${textOf(message.parts)}`
  const ask = (id: string, connection?: string) =>
    explainById({ db: openTenantDb(database(), 'default'), agents: ['demo'] }, id, connection)
  const told = async (id: string): Promise<Explanation> => {
    const explained = await ask(id)
    if (explained.kind !== 'explained') throw new Error(`${id} is ${JSON.stringify(explained)}`)
    return explained.explanation
  }
  const until = (id: string, state: string) =>
    settleUntil(
      gateway,
      async () => (await database().query<{ state: string }>(states, [id]))[0]?.state === state,
      60_000,
    )
  const words = ({ story }: Explanation) => story.lines.map(({ title, text }) => `${title} ${text}`).join('\n')
  const commands = ({ story }: Explanation) => story.next.map((step) => step.command)

  beforeEach(async () => {
    vendor = await startVendorStub()
  })
  afterEach(async () => {
    gateway.stop()
    await vendor.close()
  })

  describe('twelve fates', () => {
    const givenCode = async () => {
      start(echo, {}, { access: { mode: 'pairing', allow: [] } })
      await gateway.deliver({ id: 'm1', from: 'eve', text: 'hello' })
      await settleUntil(gateway, () => vendor.messages.length === 1)
      return /this code: (\S+)/.exec(vendor.messages[0]?.text ?? '')?.[1] ?? ''
    }
    const expectDocumented = (heading: string, explanation: Explanation) => {
      const story = evenStory(explanation)
      expect(documentedStory(heading, story)).toBe(story)
    }

    test('answered: received, proven, admitted, run with its steps, sent at the second try', async () => {
      start(async (message, { step }) => {
        const order = await step('order tea', async () => 17)
        return `ordered ${order} for ${textOf(message.parts)}`
      })
      vendor.failNext('send', answering(429))
      await gateway.deliver({ id: 'm1', from: 'ada', text: 'tea please', deliveryId: 'd1' })
      await until('m1', 'answered')
      const story = await told('m1')
      expect(story.story.headline).toMatch(/^Answered: the reply arrived .* after the message was received\.$/)
      expect(story.story.lines.map((line) => line.title)).toEqual([
        'Received',
        'Sender',
        'Admitted',
        'Turn',
        'Step',
        'Replied',
        'Retry',
        'Delivered',
      ])
      expect(story.facts.deliveries[0]).toMatchObject({ state: 'delivered', vendorId: 'v1', attempt: 2 })
      expectDocumented('Answered', story)
    })

    test('merged: answered together with the message that came last', async () => {
      start(echo)
      for (const id of ['m1', 'm2', 'm3']) await gateway.deliver({ id, from: 'ada', text: id })
      await until('m3', 'answered')
      const story = await told('m1')
      expect(story.story.headline).toContain('Merged: answered together with m3')
      expect(words(story)).toContain('3 messages of one sender taken as one: m1, m2, m3')
      expectDocumented('Merged', story)
    })

    test('refused: who is not on the list, by which rule, and how to let him in', async () => {
      start(echo, {}, { access: { mode: 'allow_list', allow: ['loopback:ada'] } })
      await gateway.deliver({ id: 'm1', from: 'mallory', text: 'let me in' })
      await until('m1', 'refused')
      const story = await told('m1')
      expect(story.story.headline).toContain('Refused: the sender is not on the allow list')
      expect(story.facts.message).toMatchObject({ accessRule: 'allow_list', subject: 'loopback:mallory' })
      expect(commands(story)).toEqual([
        'parley grants add loopback:mallory --connection loopback-client-id/loopback-client-id',
      ])
      expectDocumented('Refused', story)
    })

    test('held: queued in a conversation that is paused', async () => {
      start(echo)
      await gateway.deliver({ id: 'm1', from: 'ada', text: 'one' })
      await until('m1', 'answered')
      await database().query(pause('paused'), [])
      for (const id of ['m2', 'm3']) await gateway.deliver({ id, from: 'ada', text: id })
      await gateway.settle()
      const story = await told('m3')
      expect(story.story.headline).toContain('Held')
      expect(words(story)).toContain('behind 1 earlier in its conversation, but the conversation is paused')
      expectDocumented('Held', story)
    })

    test('held for a pairing: the code, until when, and how to let the sender in', async () => {
      const code = await givenCode()
      const story = await told('m1')
      expect(story.story).toMatchObject({ fate: 'pairing', headline: expect.stringContaining('not known here yet') })
      expect(commands(story)).toEqual([`parley pairings approve ${code}`, `parley pairings reject ${code}`])
      expectDocumented('Held for a pairing', story)
    })

    test('let in: by whom, and what became of the message then', async () => {
      const code = await givenCode()
      await approvePairing(gateway.deps.db, code.replace('-', ''), { name: 'operator:ada', subject: null })
      await until('m1', 'answered')
      const story = await told('m1')
      expect(words(story)).toMatch(/Let in By operator:ada/)
      expect(words(story)).toContain('what an operator wrote down about the sender')
      expectDocumented('Let in', story)
    })

    test('turned away: by whom, and what would let the sender in after all', async () => {
      const code = await givenCode()
      await rejectPairing(gateway.deps.db, code.replace('-', ''), { name: 'operator:ada', subject: null }, true)
      const story = await told('m1')
      expect(words(story)).toMatch(/Turned away By operator:ada[\s\S]*pairing_rejected[\s\S]*No answer was sent/)
      await gateway.deliver({ id: 'm2', from: 'eve', text: 'again' })
      await until('m2', 'refused')
      expect(commands(await told('m2'))).toEqual(['parley grants unblock loopback:eve'])
    })

    test('duplicate: how often it came again, and that nothing was done', async () => {
      start(echo)
      await gateway.deliver({ id: 'm1', from: 'ada', text: 'one', deliveryId: 'd1' })
      await until('m1', 'answered')
      for (const deliveryId of ['d2', 'd3']) await gateway.deliver({ id: 'm1', from: 'ada', text: 'one', deliveryId })
      const story = await told('m1')
      expect(words(story)).toContain('delivered 2 more times, the last time as delivery d3')
      expect(await listMessageCountsByConnection(gateway.deps.db)).toMatchObject([
        { received: 1, answered: 1, duplicates: 2 },
      ])
      expectDocumented('Duplicate', story)
    })

    test('ignored: genuine, and nothing in it asks for an answer', async () => {
      start(echo)
      await gateway.deliver({ id: 'n1', from: 'ada', deliveryId: 'd1' })
      const story = await told('d1')
      expect(story.story.headline).toBe('Ignored: nothing in it asks for an answer (nothing_said).')
      expect(story.facts.message).toMatchObject({ kind: 'rejected_event', state: 'ignored', hasRaw: true })
      expectDocumented('Ignored', story)
    })

    test('dead turn: every attempt, what was thrown, the apology, and the command that queues it again', async () => {
      start(() => {
        throw new TypeError("Cannot read properties of undefined (reading 'name')")
      })
      await gateway.deliver({ id: 'm1', from: 'ada', text: 'fail' })
      await until('m1', 'dead')
      await settleUntil(gateway, () => vendor.messages.length > 0, 60_000)
      await gateway.settle()
      const story = await told('m1')
      expect(story.story.headline).toContain('Dead: the agent could not answer it. The agent failed (agent_failed)')
      expect(story.story.lines.filter((line) => line.title === 'Failed')).toHaveLength(2)
      const [first, ...again] = story.story.lines.filter((line) => line.title === 'Error')
      expect(first?.details?.[0]).toBe("TypeError: Cannot read properties of undefined (reading 'name')")
      expect(first?.details?.[1]).toContain('explain.test.ts')
      expect(again.map(({ text, details }) => [text, details])).toEqual([
        ['Attempt 2: the agent threw the same again.', undefined],
        ['Attempt 3: the agent threw the same again.', undefined],
      ])
      expect(words(story)).toContain('Given up After attempt 3')
      expect(words(story)).toContain('The apology arrived as v1')
      expect(commands(story)).toEqual([`parley dead-letters resubmit ${story.facts.message?.id}`])
      expectDocumented('Dead turn', story)
    })

    test('unknown send: why nobody can tell, why it was not repeated, and how to do it by hand', async () => {
      start(echo)
      vendor.failNext('send', lost)
      await gateway.deliver({ id: 'm1', from: 'ada', text: 'one' }, 'loopback-none')
      await until('m1', 'dead')
      const story = await told('m1')
      expect(story.story.headline).toContain('Unknown: the reply was sent, but it is not known whether it arrived')
      expect(words(story)).toContain('It may or may not have arrived; this channel offers no way to find out')
      const outboxId = story.facts.deliveries[0]?.id
      expect(commands(story)).toEqual([
        `parley deliveries retry ${outboxId}`,
        `parley deliveries drop ${outboxId}`,
        `parley dead-letters resubmit ${story.facts.message?.id}`,
      ])
      expectDocumented('Unknown send', story)
    })

    test('dead send: refused by the platform, the later parts cancelled, one notice in their place', async () => {
      start(echo, {}, { settings: { callTimeoutMs: 5_000, maxTextLength: 20 } })
      vendor.failNext('send', { kind: 'delay', ms: 0 }, answering(403))
      await gateway.deliver({ id: 'm1', from: 'ada', text: 'the quick brown fox jumps over the lazy dog' })
      await until('m1', 'dead')
      await settleUntil(gateway, () => vendor.messages.length > 1, 60_000)
      await gateway.settle()
      const story = await told('m1')
      expect(story.story.headline).toContain('Dead: the reply was made, but the platform refused it')
      expect(words(story)).toMatch(
        /Part 1 of 3 of the reply arrived[\s\S]*Part 2 of 3 .* was refused[\s\S]*Part 3 of 3/,
      )
      expectDocumented('Dead send', story)
    })

    test('edited: once while it waited, once after it was answered', async () => {
      start(echo)
      await gateway.deliver({ id: 'm1', from: 'ada', text: 'helo' })
      await gateway.deliver({ id: 'e1', from: 'ada', text: 'hello', event: 'edit', target: 'm1', version: '1' })
      await until('m1', 'answered')
      await gateway.deliver({ id: 'e2', from: 'ada', text: 'hello!', event: 'edit', target: 'm1', version: '2' })
      await until('e2', 'merged')
      const story = await told('m1')
      expect(words(story)).toContain('(e1). It was still waiting then, so the agent read the new words only.')
      expect(words(story)).toContain('(e2). It had been taken already: the transcript records the change')
      expect((await told('e2')).story.headline).toBe('Recorded: it changed m1, and is answered by nothing of its own.')
      expectDocumented('Edited', story)
    })
  })

  describe('any id', () => {
    test('of a message leads to it: ours, its own, its delivery, its turn, its reply at the platform', async () => {
      start(echo)
      await gateway.deliver({ id: 'm1', from: 'ada', text: 'one', deliveryId: 'd1', conversation: 'chat' })
      await until('m1', 'answered')
      const { facts } = await told('m1')
      const ids = {
        'inbox id': facts.message?.id,
        'platform id': 'chat:m1',
        'delivery id': 'd1',
        'trace id': facts.message?.traceId,
        'turn id': facts.turns[0]?.id,
        'outbox id': facts.deliveries[0]?.id,
        'vendor message id': 'v1',
      }
      for (const [matched, id] of Object.entries(ids)) expect(await told(id ?? '')).toMatchObject({ matched, facts })
    })

    test('that several go by is answered with a choice, or by naming the connection', async () => {
      start(echo)
      for (const connection of ['loopback-client-id', 'loopback-edit'])
        await gateway.deliver({ id: 'm1', from: 'ada', text: 'one' }, connection)
      await gateway.settle()
      const explained = await ask('m1')
      const candidates = explained.kind === 'ambiguous' ? explained.candidates : []
      expect(candidates.map((hit) => hit.connection)).toEqual([
        'loopback-edit/loopback-edit',
        'loopback-client-id/loopback-client-id',
      ])
      for (const { id, connection } of candidates)
        expect((await told(id)).facts.message).toMatchObject({ id, connection })
      expect(await ask('m1', 'loopback-edit/loopback-edit')).toMatchObject({ kind: 'explained' })
      expect(await ask('m1', 'nobody')).toEqual({ kind: 'unknown' })
    })

    test('that nobody goes by is unknown', async () => {
      start(echo)
      for (const id of ['m1', '019c0000-0000-7000-8000-000000000001', "'; drop table inbox", '%'])
        expect(await ask(id)).toEqual({ kind: 'unknown' })
    })
  })

  describe('trouble', () => {
    const poison: AgentDefinition['run'] = (message) => {
      if (textOf(message.parts).includes('poison')) throw new Error('poisoned')
      return 'ok'
    }

    test('a merge that was split is told by each of its messages, and by the turn that was given up', async () => {
      start(poison)
      for (const id of ['one', 'poison']) await gateway.deliver({ id, from: 'ada', text: id })
      await until('poison', 'dead')
      const story = await told('one')
      expect(words(story)).toMatch(/with 2 messages[\s\S]*Split The agent failed[\s\S]*Replied/)
      expect(story.facts.turns.map((turn) => turn.state)).toEqual(['split', 'answered'])
      const split = await told(story.facts.turns[0]?.id ?? '')
      expect(split.story.headline).toBe('A turn whose messages have moved on: split.')
      expect(split.facts.turns[0]?.history[0]?.members).toHaveLength(2)
    })

    test('a process that died in the middle is told apart from a failure', async () => {
      const held: (() => void)[] = []
      start(async (_message, { step }) => {
        await step('first', async () => 1)
        if (held.length === 0) await new Promise<void>((resolve) => held.push(resolve))
        return 'done'
      })
      await gateway.deliver({ id: 'm1', from: 'ada', text: 'go' })
      const deadline = new AbortController()
      const dying = gateway.gateway.drain({ deadline: deadline.signal })
      await expect.poll(() => held.length, { timeout: 60_000 }).toBe(1)
      await database().query(expire, [])
      const successor = start(() => 'done')
      await until('m1', 'answered')
      held[0]?.()
      deadline.abort()
      await dying
      successor.stop()
      const story = await told('m1')
      expect(words(story)).toContain('Resumed Attempt 2 began: the process that ran the one before was gone')
      expect(story.facts.turns[0]?.failures).toBe(0)
    })

    test('a send whose process died is told with what came after it', async () => {
      let isSending = false
      const hang = (name: string): Promise<void> | undefined => {
        if (name !== 'before:deliver') return undefined
        isSending = true
        return new Promise(() => {})
      }
      const agents = [defineAgent({ slug: 'demo', run: echo })]
      const connections = loopbackConnections(vendor.origin)
      const dying = createTestGateway(database(), { agents, connections }, { failpoint: hang })
      await dying.deliver({ id: 'm1', from: 'ada', text: 'one' })
      const deadline = new AbortController()
      void dying.gateway.drain({ deadline: deadline.signal })
      await expect.poll(() => isSending, { timeout: 15_000 }).toBe(true)
      deadline.abort()
      dying.stop()
      await database().query(expireSends, [])
      start(echo)
      await until('m1', 'answered')
      const story = words(await told('m1'))
      expect(story).toMatch(
        /Interrupted The reply was being sent when its process died[\s\S]*\(holder_died\)[\s\S]*Delivered/,
      )
    })

    test('an outage is told while it lasts and afterwards, and does not count', async () => {
      let tries = 0
      let meanwhile: Explanation | undefined
      start(async (_message, { step }) => {
        if (tries === 2) meanwhile = await told('m1')
        return step('ask the model', async () => {
          tries += 1
          if (tries < 3) throw new GatewayError('provider_unavailable', 'down', { retryable: true })
          return 'back'
        })
      })
      await gateway.deliver({ id: 'm1', from: 'ada', text: 'go' })
      await until('m1', 'answered')
      const outages = ({ story }: Explanation) => story.lines.filter((line) => line.title === 'Outage').length
      if (meanwhile === undefined) throw new Error('the agent ran only once')
      expect(meanwhile.story).toMatchObject({ fate: 'in_turn', headline: 'In a turn: the agent has it now.' })
      expect(words(meanwhile)).toContain('Step "ask the model" met an outage')
      expect([outages(meanwhile), outages(await told('m1'))]).toEqual([2, 2])
    })

    test('a turn between two attempts says when the next one is due', async () => {
      start(
        () => {
          throw new Error('broken')
        },
        { turns: { leaseMs: 60_000, retryFirstMs: 600_000 } },
      )
      await gateway.deliver({ id: 'm1', from: 'ada', text: 'go' })
      await gateway.settle()
      expect((await told('m1')).story.headline).toMatch(
        /^In a turn, between two attempts: the next one is due at 2.*Z\.$/,
      )
    })

    test('a second chance is told together with the first', async () => {
      let isBroken = true
      start(() => {
        if (isBroken) throw new Error('broken')
        return 'fixed'
      })
      await gateway.deliver({ id: 'm1', from: 'ada', text: 'go' })
      await until('m1', 'dead')
      isBroken = false
      await gateway.gateway.resubmit((await told('m1')).facts.message?.id ?? '', 'operator:test')
      await until('m1', 'answered')
      const story = await told('m1')
      expect(words(story)).toMatch(/Given up After attempt 3[\s\S]*Resubmitted An operator[\s\S]*The reply arrived/)
      expect(story.facts.turns.map((turn) => turn.state)).toEqual(['dead', 'answered'])
      expect(commands(story)).toEqual([])
    })

    test('a reply sent again by hand is told with its first try', async () => {
      start(echo)
      vendor.failNext('send', lost)
      await gateway.deliver({ id: 'm1', from: 'ada', text: 'one' }, 'loopback-none')
      await until('m1', 'dead')
      await retryDelivery(openTenantDb(database(), 'default'), (await told('m1')).facts.deliveries[0]?.id ?? '', 'me')
      await until('m1', 'answered')
      expect(words(await told('m1'))).toMatch(
        /Unknown The reply[\s\S]*Resent An operator[\s\S]*The reply arrived as v2/,
      )
    })

    test('an unknown outcome that was looked up says what the platform said', async () => {
      start(echo)
      vendor.failNext('send', lost)
      await gateway.deliver({ id: 'm1', from: 'ada', text: 'one' }, 'loopback-lookup')
      await until('m1', 'answered')
      const story = words(await told('m1'))
      expect(story).toContain('It is looked up at the platform in 20 ms')
      expect(story).toContain('a look-up at the platform found it: it had arrived')
    })

    test('a deleted message keeps its story and loses its words', async () => {
      start(echo)
      await gateway.deliver({ id: 'm1', from: 'ada', text: 'secret' })
      await until('m1', 'answered')
      await gateway.deliver({ id: 'x1', from: 'ada', text: '', event: 'delete', target: 'm1' })
      await until('x1', 'merged')
      const story = words(await told('m1'))
      expect(story).toContain('What it said is erased; this receipt stays.')
      expect(story).toContain('Deleted Its author deleted it (x1).')
    })

    test('a reply that no message asked for is told by the timer that did', async () => {
      gateway = createTestGateway(database(), {
        agents: [
          defineAgent({
            slug: 'demo',
            run(_message, { schedule }) {
              schedule('tea', 10, { text: canary })
              return 'set'
            },
            onSignal: () => 'tea is ready',
          }),
        ],
        connections: loopbackConnections(vendor.origin),
      })
      await gateway.deliver({ id: 'm1', from: 'ada', text: 'tea' })
      await settleUntil(gateway, () => vendor.messages.length === 2, 60_000)
      await gateway.settle()
      const story = await told('v2')
      expect(story.facts.message).toBeNull()
      expect(story.story.headline).toBe('A turn begun by a timer tea: answered.')
      expect(JSON.stringify(story)).not.toContain(canary)
    })

    test('an arrival that could not be read says so and can be taken again', async () => {
      start(echo)
      await gateway.deliver({ id: 'm1', from: 'ada', text: canary, event: 'from the future' } as never)
      const story = await told((await listEndedMessages(gateway.deps.db, 'dead', { limit: 1 }))[0]?.id ?? '')
      expect(story.story.headline).toBe('Dead: it is genuine, but could not be taken (invalid_event).')
      expect(commands(story)).toEqual([`parley dead-letters resubmit ${story.facts.message?.id}`])
      expect(JSON.stringify(story)).not.toContain(canary)
    })
  })

  test('nothing of what was said, done or kept secret is in any story; what the agent itself threw is', async () => {
    start(async (message, { step }) => {
      await step('effect', async () => `${canary} result`, { args: { text: `${canary} args` } })
      if (textOf(message.parts).includes('fail')) throw new TypeError(`the shop is closed to Bearer ${canary}-token`)
      return `${canary} reply`
    })
    vendor.failNext('send', answering(429), { kind: 'answer', status: 403, body: `{"why":"${canary}"}` })
    await gateway.deliver({ id: 'm1', from: 'ada', text: `${canary} one` })
    await until('m1', 'dead')
    await gateway.deliver({ id: 'm2', from: 'ada', text: `${canary} fail` })
    await until('m2', 'dead')
    await gateway.deliver({ id: 'm2', from: 'ada', text: `${canary} fail` })
    await gateway.deliver({ id: 'e1', from: 'ada', text: `${canary} edit`, event: 'edit', target: 'm1' })
    await until('e1', 'merged')
    for (const id of ['m1', 'm2', 'e1']) {
      const story = await told(id)
      expect(story.story.lines.length).toBeGreaterThan(2)
      const shown = JSON.stringify(story) + renderTimeline(story, { isColourful: true, columns: 80, now: Date.now() })
      for (const hidden of [canary, loopbackSecret]) expect(shown).not.toContain(hidden)
      expect(shown.includes('the shop is closed to [redacted]')).toBe(id === 'm2')
    }
  })
})
