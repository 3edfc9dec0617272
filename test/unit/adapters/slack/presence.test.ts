// Signs on Slack: emoji on the message, the status of a thread, its title, what one might ask. None of them may ever hurt a reply.
import { describe, expect, test } from 'vitest'
import { slackSettingsSchema } from '../../../../adapters/slack/config.ts'
import type { JsonObject } from '../../../../src/lib/json-value.ts'
import { kit, place, withApi } from '../../../conformance/slack/slack-setup.ts'
import { memoryNotes } from '../../../doubles/memory-ttl-store.ts'
import { apiError, type SlackApi } from '../../../doubles/slack-api.ts'

const asked: JsonObject = { ...place, reply_to_user: 'U0ADA0001', reply_to_ts: '1763300020.000300' }
const direct: JsonObject = { account: 'T0PARLEY1', channel: 'D0ADA0001', thread_ts: '1763300030.000400' }
const inAssistant = { ...direct, reply_to_surface: 'assistant', reply_to_ts: '1763300031.000400' }
const inAgentView = {
  ...direct,
  reply_to_surface: 'agent',
  reply_to_user: 'U0ADA0001',
  reply_to_ts: '1763300031.000400',
}
const reactions = (api: SlackApi): readonly string[] =>
  api.calls.flatMap(({ route }, index) =>
    route.startsWith('reactions.')
      ? [`${route.slice(10)} ${new URLSearchParams(String(api.calls[index]?.body)).get('name')}`]
      : [],
  )

describe('emoji on a message', () => {
  test('say that it was seen, and go when it is answered', () =>
    withApi(async (api, adapter) => {
      await adapter.presence?.show(asked, 'seen', { text: 'hello' })
      await adapter.presence?.show(asked, 'ended', { outcome: 'replied' })
      expect(reactions(api)).toEqual(['add eyes', 'remove eyes'])
      expect(api.fields('reactions.add')).toMatchObject([{ channel: 'C0GENERAL1', timestamp: '1763300020.000300' }])
    }))

  test('say that it waits behind another, until it is taken up', () =>
    withApi(async (api, adapter) => {
      await adapter.presence?.show(asked, 'waiting', { messageId: '1763300020.000300' })
      await adapter.presence?.show(asked, 'seen')
      await adapter.presence?.show(asked, 'ended', { outcome: 'replied' })
      expect(reactions(api)).toEqual([
        'add hourglass_flowing_sand',
        'add eyes',
        'remove hourglass_flowing_sand',
        'remove eyes',
      ])
    }))

  test('are the ones in the settings, one at a time', () =>
    withApi(
      async (api, adapter) => {
        await adapter.presence?.show(asked, 'seen')
        await adapter.presence?.show(asked, 'typing')
        await adapter.presence?.show(asked, 'typing')
        await adapter.presence?.show(asked, 'ended', { outcome: 'replied' })
        expect(reactions(api)).toEqual([
          'add eyes',
          'add hourglass',
          'remove eyes',
          'add white_check_mark',
          'remove hourglass',
        ])
      },
      { settings: { signs: { busy: ':hourglass:', done: 'white_check_mark', status: false } } },
    ))

  test('stay while it is tried again, and mark no end of what failed', () =>
    withApi(
      async (api, adapter) => {
        await adapter.presence?.show(asked, 'seen')
        await adapter.presence?.show(asked, 'ended', { outcome: 'again' })
        expect(reactions(api)).toEqual(['add eyes'])
        await adapter.presence?.show(asked, 'ended', { outcome: 'failed' })
        expect(reactions(api)).toEqual(['add eyes', 'remove eyes'])
      },
      { settings: { signs: { done: 'tada' } } },
    ))

  test('that another process put there are taken off as well', () =>
    withApi(async (api, adapter) => {
      await adapter.presence?.show(asked, 'ended', { outcome: 'replied' })
      expect(reactions(api)).toEqual(['remove eyes'])
    }))

  test('are not shown where there is no message, nor in the app’s own views, nor where they are switched off', async () => {
    await withApi(async (api, adapter) => {
      for (const to of [place, inAssistant]) await adapter.presence?.show(to, 'seen')
      expect(reactions(api)).toEqual([])
    })
    await withApi(
      async (api, adapter) => {
        for (const what of ['seen', 'typing', 'ended'] as const) await adapter.presence?.show(asked, what)
        expect(api.methods()).toEqual([])
      },
      { settings: { signs: false } },
    )
  })

  test('are asked for once where the scope is missing, and again after an hour', () => {
    let now = Date.now()
    return withApi(
      async (api, adapter) => {
        api.failAlways('reactions.add', apiError('missing_scope'))
        for (const ts of ['1.1', '1.2']) await adapter.presence?.show({ ...asked, reply_to_ts: ts }, 'seen')
        expect(api.fields('reactions.add')).toHaveLength(1)
        now += 60 * 60_000 + 1
        await adapter.presence?.show({ ...asked, reply_to_ts: '1.3' }, 'seen')
        expect(api.fields('reactions.add')).toHaveLength(2)
      },
      { deps: { now: () => now } },
    )
  })

  test('keep within what Slack grants: no more than its tier, and nothing before Retry-After', () => {
    let now = Date.now()
    return withApi(
      async (api, adapter) => {
        for (let index = 0; index < 80; index += 1)
          await adapter.presence?.show({ ...asked, reply_to_ts: `1.${index}` }, 'seen')
        expect(api.fields('reactions.add').length).toBeLessThanOrEqual(46)
        now += 60_000
        const limited = { kind: 'answer', status: 429, body: '', headers: { 'retry-after': '30' } } as const
        api.failNext('reactions.add', limited)
        const before = api.fields('reactions.add').length
        for (const ts of ['2.1', '2.2']) await adapter.presence?.show({ ...asked, reply_to_ts: ts }, 'seen')
        expect(api.fields('reactions.add')).toHaveLength(before + 1)
        now += 30_000
        await adapter.presence?.show({ ...asked, reply_to_ts: '2.3' }, 'seen')
        expect(api.fields('reactions.add')).toHaveLength(before + 2)
      },
      { deps: { now: () => now } },
    )
  })

  test.each([[{ seen: 'not an emoji' }], [{ done: 7 }], [{ other: 'x' }], [{ status: '' }]])(
    '%j is refused',
    (signs) => {
      expect(slackSettingsSchema.safeParse({ ...kit.settings('http://127.0.0.1:9'), signs }).success).toBe(false)
    },
  )
})

describe('a thread of the app’s own view', () => {
  test('is called by its first words, once, whichever process hears the next', async () => {
    const notes = memoryNotes()
    const titled = () =>
      withApi(
        async (api, adapter) => {
          await adapter.presence?.show(inAssistant, 'seen', { text: `  Plan my   trip\nto ${'x'.repeat(99)}` })
          await adapter.presence?.show(inAssistant, 'seen', { text: 'and then' })
          return api.fields('assistant.threads.setTitle').map(({ title, thread_ts }) => [title, thread_ts])
        },
        { deps: { ttlStore: notes } },
      )
    expect([await titled(), await titled()]).toEqual([[['Plan my trip', '1763300030.000400']], []])
  })

  test('has a stop button while it is worked on: its session is processing, and active at the end', () =>
    withApi(async (api, adapter) => {
      await adapter.presence?.show(inAgentView, 'seen', { text: 'Plan my trip' })
      await adapter.presence?.show(inAgentView, 'typing')
      await adapter.presence?.show(inAgentView, 'ended', { outcome: 'failed' })
      expect(api.fields('agents.sessions.setStatus').map(({ status, title }) => [status, title])).toEqual([
        ['processing', 'Plan my trip'],
        ['active', undefined],
      ])
    }))

  test('that has no sessions is asked for one once', () =>
    withApi(async (api, adapter) => {
      api.failAlways('agents.sessions.setStatus', apiError('unknown_method'))
      for (const thread of ['1.1', '1.2']) {
        await adapter.presence?.show({ ...inAgentView, thread_ts: thread }, 'seen')
        await adapter.presence?.show({ ...inAgentView, thread_ts: thread }, 'typing')
        await adapter.presence?.show({ ...inAgentView, thread_ts: thread }, 'ended', { outcome: 'replied' })
      }
      expect(api.fields('agents.sessions.setStatus')).toHaveLength(1)
      expect(api.fields('assistant.threads.setStatus')).toHaveLength(4)
    }))
})

describe('what one might ask', () => {
  const starters = ['a', 'b', 'c', 'd', 'e'].map((title) => ({ title, message: `${title}?` }))

  test('is the connection’s own or the agent’s, at most four, and once', async () => {
    const offered = (settings: object) =>
      withApi(
        async (api, adapter) => {
          await adapter.presence?.show(inAssistant, 'opened', { starters })
          await adapter.presence?.show(inAssistant, 'opened', { starters })
          return api.fields('assistant.threads.setSuggestedPrompts').map(({ prompts, channel_id, thread_ts }) => {
            const titles = (JSON.parse(prompts ?? '[]') as { title: string }[]).map(({ title }) => title)
            return [channel_id, thread_ts, titles.join('')]
          })
        },
        { settings },
      )
    expect(await offered({})).toEqual([['D0ADA0001', '1763300030.000400', 'abcd']])
    expect(await offered({ prompts: [{ title: 'z', message: 'z?' }] })).toEqual([
      ['D0ADA0001', '1763300030.000400', 'z'],
    ])
  })

  test('is nothing where nobody wrote any down', () =>
    withApi(async (api, adapter) => {
      await adapter.presence?.show(inAssistant, 'opened', { starters: [] })
      expect(api.methods()).toEqual([])
    }))
})
