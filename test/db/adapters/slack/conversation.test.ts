// Slack through the whole gateway: a mention is answered once in its thread, whatever happens to the answer on its way.

import { afterEach, beforeEach, expect, test } from 'vitest'
import { slackChannel } from '../../../../adapters/slack/index.ts'
import { questionPart } from '../../../../src/agents/approvals/approval-messages.ts'
import { defineAgent } from '../../../../src/agents/define-agent.ts'
import type { Database } from '../../../../src/db/client.ts'
import { listPairings } from '../../../../src/db/pairings.ts'
import { ada, bot, bytesOf, message } from '../../../conformance/slack/slack-setup.ts'
import { until } from '../../../doubles/background-gateway.ts'
import { apiError, type SlackApi, startSlackApi } from '../../../doubles/slack-api.ts'
import { createTestGateway, settleUntil } from '../../../doubles/test-gateway.ts'
import { fixtures } from '../../../fixtures/slack/index.ts'
import { describeOnDatabase } from '../../../setup/describe-on-database.ts'

describeOnDatabase('a mention on Slack', (database) => {
  let api: SlackApi
  beforeEach(async () => {
    api = await startSlackApi()
  })
  afterEach(async () => {
    expect(api.unexpected).toEqual([])
    await api.close()
  })
  let asked = 0

  test('is answered in its thread, and its two events once', async () => {
    const { gateway, send, ts } = open(database(), api, ++asked)
    const text = `<@${bot}> hello`
    await send(message({ text, ts, event_ts: ts }))
    await send(message({ text, ts, event_ts: ts, type: 'app_mention' }, { event_id: 'Ev2' }))
    await settleUntil(gateway, () => api.posts.length > 0)
    await gateway.settle()
    expect(api.posts.map(({ thread_ts, channel }) => ({ thread_ts, channel }))).toEqual([
      { thread_ts: ts, channel: 'C0GENERAL1' },
    ])
    expect(JSON.stringify(api.posts[0]?.blocks)).toContain('you said: hello')
  })

  test('whose answer arrived in spite of a 500 has one answer', async () => {
    const { gateway, send, ts } = open(database(), api, ++asked)
    const oops = { kind: 'answer', status: 500, body: 'oops', applied: true } as const
    api.failNext('chat.postMessage', oops)
    await send(message({ text: `<@${bot}> once`, ts, event_ts: ts }))
    await settleUntil(gateway, () => api.methods().includes('conversations.replies'))
    await gateway.settle()
    expect(api.posts).toHaveLength(1)
  })

  test('a click on a question that nobody asks any more is answered to the clicker alone', async () => {
    const { gateway, send, ts } = open(database(), api, ++asked)
    await send({
      type: 'block_actions',
      user: { id: ada, team_id: 'T0PARLEY1' },
      team: { id: 'T0PARLEY1' },
      channel: { id: 'C0GENERAL1' },
      container: { message_ts: ts, thread_ts: ts },
      actions: [{ action_id: 'approve', block_id: 'parley_approval', value: 'c0ffee', action_ts: ts }],
    })
    await settleUntil(gateway, () => api.ephemeral.length > 0)
    expect(api.ephemeral).toMatchObject([{ user: ada, channel: 'C0GENERAL1' }])
    expect(api.posts).toEqual([])
  })
})

describeOnDatabase('a stranger on Slack', (database) => {
  let api: SlackApi
  beforeEach(async () => {
    api = await startSlackApi()
  })
  afterEach(async () => {
    expect(api.unexpected).toEqual([])
    await api.close()
  })
  const pairing = { mode: 'pairing', allow: [] } as const

  test('is given a code in a channel alone, and no shell command', async () => {
    const { gateway, send, ts } = open(database(), api, 201, pairing)
    await send(message({ text: `<@${bot}> hello`, ts, event_ts: ts }))
    await settleUntil(gateway, () => api.ephemeral.length > 0)
    expect(api.ephemeral).toMatchObject([{ user: ada, channel: 'C0GENERAL1' }])
    expect(api.ephemeral[0]).not.toHaveProperty('thread_ts')
    const [said] = api.ephemeral.map(({ text }) => text)
    expect(said).toMatch(/Ask an admin to approve this code: [A-Z0-9]{4}-[A-Z0-9]{4}/)
    expect(said).not.toContain('parley pairings')
    expect(api.posts).toEqual([])
  })

  test('is shown to operators by name, asked for once', async () => {
    const { gateway, send, ts } = open(database(), api, 203, pairing)
    const waiting = async () => {
      const pairings = await listPairings(gateway.deps.db, { status: 'pending', limit: 10, before: null })
      return pairings.find(({ subject }) => subject.endsWith('U0LOVELACE'))
    }
    await send(message({ text: `<@${bot}> hello`, ts, event_ts: ts, user: 'U0LOVELACE' }))
    await settleUntil(gateway, async () => (await waiting()) !== undefined)
    await send(message({ text: `<@${bot}> hello?`, ts: `${ts}1`, event_ts: `${ts}1`, user: 'U0LOVELACE' }))
    await gateway.settle()
    expect((await waiting())?.shownName).toBe('Ada Lovelace')
    expect(api.methods().filter((method) => method === 'users.info')).toHaveLength(1)
  })

  test('who presses a button is told alone that they cannot decide, and nothing is kept for later', async () => {
    const { gateway, send, ts } = open(database(), api, 202, pairing)
    await send({
      type: 'block_actions',
      user: { id: 'U0EVE0001', team_id: 'T0PARLEY1' },
      team: { id: 'T0PARLEY1' },
      channel: { id: 'C0GENERAL1' },
      container: { message_ts: ts, thread_ts: ts },
      actions: [{ action_id: 'approve', block_id: 'parley_approval', value: 'c0ffee', action_ts: ts }],
    })
    await settleUntil(gateway, () => api.ephemeral.length > 0)
    expect(api.ephemeral).toMatchObject([
      { user: 'U0EVE0001', text: 'Only people who have access here can decide this.' },
    ])
    const waiting = await listPairings(gateway.deps.db, { status: 'pending', limit: 10, before: null })
    expect(waiting.filter(({ subject }) => subject.endsWith('U0EVE0001'))).toEqual([])
  })
})

describeOnDatabase('a slash command on Slack', (database) => {
  let api: SlackApi
  beforeEach(async () => {
    api = await startSlackApi()
  })
  afterEach(async () => {
    expect(api.unexpected).toEqual([])
    await api.close()
  })
  let asked = 100
  const slash = (text: string) => ({
    command: '/parley',
    text,
    user_id: ada,
    team_id: 'T0PARLEY1',
    channel_id: 'C0GENERAL1',
    trigger_id: `1.${asked}.${text}`,
    response_url: `${api.origin}/response/of-the-command`,
  })
  const answers = () => api.responses.map((body) => (body as { readonly text: string }).text)

  test('alone is help for that person, in commands that Slack lets people send', async () => {
    const { gateway, order } = open(database(), api, ++asked)
    await order(slash(''))
    await settleUntil(gateway, () => api.responses.length > 0)
    expect(answers()[0]).toContain('/parley stop - stop what I am doing for you')
    expect(answers()[0]).not.toMatch(/^\/(?!parley )/m)
    await order(slash('status'))
    await settleUntil(gateway, () => api.responses.length > 1)
    expect(api.posts).toEqual([])
  })

  test('for help names the commands in the form that Slack takes', async () => {
    const { gateway, order } = open(database(), api, ++asked)
    await order(slash('help'))
    const said = () => [...answers(), ...api.posts.map(({ text }) => String(text))]
    await settleUntil(gateway, () => said().length > 0)
    expect(said()[0]).toMatch(/^\/parley stop - /m)
  })

  test('with words is answered to that person, who alone has seen the question', async () => {
    const { gateway, order } = open(database(), api, ++asked)
    await order(slash('hello there'))
    await settleUntil(gateway, () => api.responses.length > 0)
    expect(answers()).toEqual(['you said: hello there'])
    expect(api.responses[0]).toMatchObject({ response_type: 'ephemeral' })
    expect(api.posts).toEqual([])
  })

  test('reaches what waits and what runs in a thread of the channel', async () => {
    const { gateway, send, order, ts } = open(database(), api, ++asked)
    await send(message({ text: `<@${bot}> pay`, ts, event_ts: ts }))
    await settleUntil(gateway, () => api.posts.length === 1)
    const [, code = ''] = /Reply \/parley approve (\w+) or/.exec(JSON.stringify(api.posts[0]?.blocks)) ?? []
    expect(code).toMatch(/^[0-9a-f]{6}$/)
    await order(slash(`approve ${code}`))
    await settleUntil(gateway, () => api.posts.length === 2)
    expect(answers()).toEqual(['Approved: pay 12 EUR. I go on with it.'])
    expect(api.posts[1]).toMatchObject({ thread_ts: ts })
    await settleUntil(gateway, () => String(api.posts[0]?.text).startsWith('Approved'))
    expect(api.posts[0]?.text).toBe('Approved by Ada Lovelace: pay 12 EUR.')
    expect(JSON.stringify(api.posts[0]?.blocks)).not.toContain('/parley approve')

    await send(message({ text: `<@${bot}> pay`, ts: `${ts}9`, event_ts: `${ts}9`, thread_ts: ts }, { event_id: 'Ev9' }))
    await settleUntil(gateway, () => api.posts.length === 3)
    await order(slash('stop'))
    await settleUntil(gateway, () => answers().length === 2)
    expect(answers()[1]).toMatch(/^Stopped\./)
  })
})

describeOnDatabase('a question on Slack', (database) => {
  let api: SlackApi
  beforeEach(async () => {
    api = await startSlackApi()
  })
  afterEach(async () => {
    expect(api.unexpected).toEqual([])
    await api.close()
  })
  let asked = 300
  const slash = (text: string) => ({
    command: '/parley',
    text,
    user_id: ada,
    user_name: 'ada.l',
    team_id: 'T0PARLEY1',
    channel_id: 'C0GENERAL1',
    trigger_id: `3.${asked}`,
    response_url: `${api.origin}/response/of-the-command`,
  })
  /** Asked in a thread; shown is the message with the question. */
  const ask = async (words: string) => {
    const opened = open(database(), api, ++asked)
    const { gateway, send, ts } = opened
    await send(message({ text: `<@${bot}> ${words}`, ts, event_ts: ts }))
    const shown = () => api.posts.find(({ blocks }) => JSON.stringify(blocks ?? []).includes('12 EUR'))
    await settleUntil(gateway, () => shown() !== undefined)
    await gateway.settle()
    const written = JSON.stringify(shown()?.blocks)
    const code = /"value":"(\w+)"/.exec(written)?.[1] ?? /approve (\w+) or/.exec(written)?.[1] ?? ''
    const click = {
      type: 'block_actions',
      user: { id: ada, name: 'ada.l', team_id: 'T0PARLEY1' },
      team: { id: 'T0PARLEY1' },
      channel: { id: 'C0GENERAL1' },
      container: { message_ts: shown()?.ts, thread_ts: ts },
      message: { ts: shown()?.ts, thread_ts: ts, text: shown()?.text },
      actions: [{ action_id: 'approve', block_id: 'parley_approval', value: code, action_ts: `${ts}8` }],
    }
    const inThread = { text: `<@${bot}> /approve ${code}`, ts: `${ts}7`, event_ts: `${ts}7`, thread_ts: ts }
    const ways = {
      'a press': () => send(click),
      'a slash command': () => opened.order(slash(`approve ${code}`)),
      'a message in the thread': () => send(message(inThread, { event_id: `Ev${ts}` })),
    }
    return { ...opened, shown, ways }
  }

  test.each(['a press', 'a slash command', 'a message in the thread'] as const)(
    'that is decided by %s loses its buttons and says by name who decided',
    async (way) => {
      const { gateway, shown, ways } = await ask('card')
      expect(JSON.stringify(shown()?.blocks)).toContain('parley_approval')
      await ways[way]()
      await settleUntil(gateway, () => String(shown()?.text).startsWith('Approved'))
      await gateway.settle()
      expect(shown()?.text).toBe('Approved by Ada Lovelace: pay 12 EUR.')
      expect(JSON.stringify(shown()?.blocks)).not.toContain('parley_approval')
    },
  )

  test('that is decided where Slack does not say names says who decided by their user name', async () => {
    api.failAlways('users.info', apiError('missing_scope'))
    const { gateway, shown, ways } = await ask('card')
    await ways['a slash command']()
    await settleUntil(gateway, () => String(shown()?.text).startsWith('Approved'))
    expect(shown()?.text).toBe('Approved by ada.l: pay 12 EUR.')
  })

  test.each([
    ['words', 'I looked at the bill.'],
    ['grow', 'I look at the bill.'],
  ])('among other words (%s) keeps them and says who decided in place of what to reply', async (words, kept) => {
    const { gateway, shown, ways } = await ask(words)
    await ways['a slash command']()
    await settleUntil(gateway, () => JSON.stringify(shown()?.blocks).includes('Approved'))
    await gateway.settle()
    const written = JSON.stringify(shown()?.blocks)
    expect(written).toContain(kept)
    expect(written).toContain('Approved by Ada Lovelace: pay 12 EUR.')
    expect(written).not.toMatch(/parley_approval|I need an approval|parley approve/)
    expect(shown()?.text).toBe(`${kept}\n\nApproved by Ada Lovelace: pay 12 EUR.`)
    expect(api.posts.filter(({ blocks }) => JSON.stringify(blocks ?? []).includes('12 EUR'))).toHaveLength(1)
  })
})

function open(
  database: Database,
  api: SlackApi,
  number: number,
  access: { readonly mode: 'public' | 'pairing'; readonly allow: readonly [] } = { mode: 'public', allow: [] },
) {
  const agent = defineAgent({
    slug: 'demo',
    async run({ parts }, { pause, show }) {
      const said = parts.map((part) => ('content' in part ? part.content : '')).join('')
      if (!['pay', 'card', 'words', 'grow'].includes(said)) return `you said: ${said}`
      if (said === 'grow') {
        show('I look at the bill.')
        await until(() => api.posts.length > 0)
      }
      const { action, question } = await pause.approval({ summary: 'pay 12 EUR', apply_input: {} })
      if (said === 'pay') return question
      if (said === 'words') return `I looked at the bill.\n\n${question}`
      return { parts: [questionPart(action)], status: 'input_required' }
    },
    onSignal: () => 'paid',
  })
  const connection = {
    channel: 'slack',
    id: `story${number}`,
    access,
    settings: fixtures.settings(api.origin),
  } as const
  const gateway = createTestGateway(database, { agents: [agent], connections: [connection] }, {}, [slackChannel])
  const [at] = gateway.gateway.connections
  const send = async (payload: unknown): Promise<void> => {
    if (at === undefined) throw new Error('no connection')
    const arrival = await fixtures.sign(bytesOf(payload), { at: Date.now() })
    await gateway.gateway.receive(at, { ...arrival, receivedAt: new Date().toISOString() })
  }
  const order = async (fields: Readonly<Record<string, string>>): Promise<void> => {
    if (at === undefined) throw new Error('no connection')
    const type = 'application/x-www-form-urlencoded'
    const body = bytesOf(new URLSearchParams(fields).toString())
    const arrival = await fixtures.sign(body, { at: Date.now(), type })
    await gateway.gateway.receive(at, { ...arrival, receivedAt: new Date().toISOString() })
  }
  return { gateway, send, order, ts: `${Math.floor(Date.now() / 1000)}.${String(number).padStart(6, '0')}` }
}
