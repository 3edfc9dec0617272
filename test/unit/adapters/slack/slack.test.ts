// Slack's quirks that no conformance case names: tokens that must not meet, clicks and commands, and what is kept of them.

import { WebClient } from '@slack/web-api'
import { describe, expect, test } from 'vitest'
import { createWebApiCaller } from '../../../../adapters/slack/deliver/web-api.ts'
import { slack, slackChannel } from '../../../../adapters/slack/index.ts'
import { endRemovedInstallation } from '../../../../adapters/slack/oauth/installations.ts'
import { renderSlack } from '../../../../adapters/slack/render/reply.ts'
import type { Installations } from '../../../../src/contract/channel.ts'
import type { JsonObject } from '../../../../src/lib/json-value.ts'
import { secret } from '../../../../src/lib/secret.ts'
import { createAttempt, createTextReply } from '../../../../src/testing/adapter-contract-outbound.ts'
import {
  ada,
  adapterWith,
  arrived,
  envelope,
  message,
  place,
  read,
  receive,
  withApi,
  wordsOf,
} from '../../../conformance/slack/slack-setup.ts'
import { slackSay } from '../../../doubles/say.ts'
import { apiError, startSlackApi } from '../../../doubles/slack-api.ts'
import { fixtures } from '../../../fixtures/slack/index.ts'

const appFacts = {
  botUserId: undefined,
  appId: undefined,
  allowBots: new Set<string>(),
  botHops: 4,
  slashCommand: 'parley',
  relaysNames: false,
}
const form = 'application/x-www-form-urlencoded'
const command = {
  command: '/parley',
  text: 'what is new?',
  user_id: ada,
  user_name: 'ada',
  team_id: 'T0PARLEY1',
  channel_id: 'C0GENERAL1',
  response_url: 'https://hooks.slack.com/commands/T0PARLEY1/secret',
  trigger_id: '13345224609.738474920.8088930838d88f008e0',
  token: 'legacy-verification-token',
  api_app_id: 'A0PARLEY1',
  is_enterprise_install: 'false',
}

async function ordered(fields: object) {
  const reception = await receive(new URLSearchParams({ ...command, ...fields }).toString(), { type: form })
  const first = reception.kind === 'read' ? reception.events[0] : undefined
  return first?.kind === 'message' ? first : expect.unreachable(JSON.stringify(reception))
}

describe('a live message whose opening was never heard of', () => {
  const clientId = (ms: number) => {
    const hex = ms.toString(16).padStart(12, '0')
    return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000001:0`
  }
  const opened = (
    text: string,
    fault: Parameters<Awaited<ReturnType<typeof startSlackApi>>['failNext']>[1],
    ms: number,
  ) =>
    withApi(async (api, adapter) => {
      const call = JSON.parse(JSON.stringify(adapter.live?.open(place, text) ?? {})) as JsonObject
      api.failNext('chat.startStream', fault)
      if (JSON.stringify(fault).includes('unknown_method'))
        api.failNext('chat.postMessage', { kind: 'drop', when: 'after' })
      await adapter.deliver(call, createAttempt(1, { clientId: clientId(ms) }))
      const found = await adapter.reconcile?.(call, createAttempt(2, { clientId: clientId(ms) }))
      return [found, api.posts.map(({ ts }) => ts)] as const
    })

  test('is found by its words where it is a stream, and by its metadata where there are none', async () => {
    for (const fault of [{ kind: 'drop', when: 'after' } as const, apiError('unknown_method')]) {
      const [found, posts] = await opened('**Once** upon a time', fault, Date.now() - 2000)
      expect(found).toEqual({ kind: 'found', vendorId: posts[0] })
    }
  })

  test('is absent where nothing of ours is there, and left open where another may be meant', async () => {
    const [absent] = await opened('Once upon a time', { kind: 'drop', when: 'before' }, Date.now() - 2000)
    expect(absent).toEqual({ kind: 'absent' })
    const [open] = await opened('Once upon a time', { kind: 'drop', when: 'after' }, Date.now() + 3000)
    expect(open).toEqual({ kind: 'undecided', reason: 'another_may_be_meant' })
  })
})

describe('tokens of two installations', () => {
  test('each call carries its own, also at the same moment', async () => {
    const api = await startSlackApi()
    try {
      const call = createWebApiCaller({ apiUrl: `${api.origin}/api/`, callTimeoutMs: 9000 }, { fetch })
      const send = (index: number) =>
        call(
          secret(`xoxb-of-${index % 2}`),
          'chat.postMessage',
          { channel: `C${index % 2}`, text: 'x' },
          AbortSignal.timeout(5000),
        )
      await Promise.all(Array.from({ length: 40 }, (_, index) => send(index)))
      const pairs = api.calls.map(({ headers, body }) => [
        headers['authorization'],
        new URLSearchParams(String(body)).get('channel'),
      ])
      expect(new Set(pairs.map((pair) => pair.join(' ')))).toEqual(
        new Set(['Bearer xoxb-of-0 C0', 'Bearer xoxb-of-1 C1']),
      )
      expect(api.calls.some(({ body }) => String(body).includes('xoxb'))).toBe(false)
    } finally {
      await api.close()
    }
  })

  test('the client library itself would mix them where headers are shared, so none ever are', async () => {
    const headers: Record<string, string> = {}
    for (const token of ['xoxb-of-0', 'xoxb-of-1']) new WebClient(token, { headers })
    expect(headers).toEqual({ Authorization: 'Bearer xoxb-of-0' })
  })

  test('a reply that says the token is refused before any call', async () => {
    const said = createTextReply(`my token is ${fixtures.secrets.botToken}`)
    await withApi(async (api, adapter) => {
      const [first] = adapter.render(said, place)
      expect(await adapter.deliver(first?.call ?? {}, createAttempt(1))).toEqual({
        kind: 'refused',
        reason: 'text_contains_credential',
      })
      expect(api.calls).toEqual([])
    })
  })
})

describe('a slash command', () => {
  test('is a question where it is a sentence, and keeps nothing that opens a door', async () => {
    const each = await ordered({})
    expect(wordsOf(each)).toEqual(['what is new?'])
    expect(each).toMatchObject({
      mustReplyIndividually: 'command',
      message: { channel: { addressed: 'command', command: { name: 'parley' } } },
    })
    const kept = JSON.stringify(each.message.raw) + JSON.stringify(each.replyTo)
    for (const part of ['hooks.slack.com', 'legacy-verification']) expect(kept).not.toContain(part)
  })

  test.each<[string, string, JsonObject]>([
    ['/parley', 'stop', { name: 'stop', args: '' }],
    ['/parley', 'approve C0FFEE', { name: 'approve', args: 'c0ffee' }],
    ['/parley', 'stop smoking tips', { name: 'parley', args: 'stop smoking tips' }],
    ['/parley', 'consent allow share', { name: 'consent', args: 'allow share' }],
    ['/parley', 'consent forms for school', { name: 'parley', args: 'consent forms for school' }],
    ['/parley', '', { name: 'help', args: '' }],
    ['/approve', 'c0ffee', { name: 'approve', args: 'c0ffee' }],
    ['/ask', 'who is <@U0BOB0001|bob>?', { name: 'ask', args: 'who is @bob (U0BOB0001)?' }],
  ])('%s %s is %j', async (name, text, expected) => {
    expect((await ordered({ command: name, text })).message.channel?.command).toEqual(expected)
  })

  test.each([
    ['/deploy', 'staging', '/deploy staging'],
    ['/deploy', '', '/deploy'],
    ['/parley', 'what is new?', 'what is new?'],
    ['/parley', '', '/help'],
  ])('%s %s reaches the agent as %s', async (name, text, expected) => {
    expect(wordsOf(await ordered({ command: name, text }))).toEqual([expected])
  })

  test('in a channel is answered to the person who gave it, and where the bot is not in a direct message', async () => {
    const { replyTo } = await ordered({})
    await withApi(async (api, adapter) => {
      const [first] = adapter.render(createTextReply('here'), replyTo)
      expect(await adapter.deliver(first?.call ?? {}, createAttempt(1))).toMatchObject({ kind: 'delivered' })
      expect(api.ephemeral).toMatchObject([{ channel: 'C0GENERAL1', user: ada }])
      api.failNext('chat.postEphemeral', apiError('not_in_channel'))
      expect(await adapter.deliver(first?.call ?? {}, createAttempt(2))).toMatchObject({ kind: 'delivered' })
      expect(api.fields('chat.postMessage').map(({ channel }) => channel)).toEqual([ada])
      expect(adapter.live?.open(replyTo, 'growing')).toBeUndefined()
    })
  })

  test('in a direct conversation with the app is answered there like a message', async () => {
    const { replyTo } = await ordered({ channel_id: 'D0ADA0001' })
    const calls = adapterWith().render(createTextReply('here'), replyTo)
    expect(calls.map(({ call }) => call['method'])).toEqual(['chat.postMessage'])
  })
})

describe('what an event does not say', () => {
  const bare = (fields: object) => message(fields, { authorizations: undefined, api_app_id: undefined })

  test('is asked once: who the bot is', async () => {
    await withApi(
      async (api, adapter) => {
        const hello = bare({ text: '<@U0PARLEY1> hello' })
        for (let times = 0; times < 3; times += 1) {
          const arrival = await fixtures.sign(new TextEncoder().encode(JSON.stringify(hello)))
          expect(await adapter.receive(arrival, fixtures.connection)).toMatchObject({
            events: [{ message: { channel: { addressed: 'mention' }, parts: [{ content: 'hello' }] } }],
          })
        }
        expect(api.methods()).toEqual(['auth.test'])
      },
      { settings: { botUserId: undefined } },
    )
  })

  test('keeps nothing from being stored when Slack does not answer', async () => {
    expect(await arrived(bare({ text: '<@U0PARLEY1> hello' }), { botUserId: undefined })).toMatchObject({
      kind: 'message',
    })
  })
})

describe('people', () => {
  const org = {
    enterprise_id: 'E0ORG0001',
    team_id: null,
    user_id: 'U0PARLEY1',
    is_bot: true,
    is_enterprise_install: true,
  }

  test.each(['app_uninstalled', 'tokens_revoked', 'team_access_granted', 'team_access_revoked'])(
    'an organization’s %s without a team is about the organization’s installation',
    async (type) => {
      const event = envelope(
        { type, tokens: { bot: ['U0PARLEY1'] } },
        { team_id: undefined, authorizations: undefined, enterprise_id: 'E0ORG0001' },
      )
      expect(await arrived(event)).toMatchObject({ kind: 'ignored', reason: type, isNoise: false })
      const ended: string[] = []
      const installation = { account: 'E0ORG0001', status: 'active', facts: { bot_user_id: 'U0PARLEY1' } }
      const installations = {
        find: async (account: string) => (account === 'E0ORG0001' ? installation : undefined),
        end: async (account: string) => void ended.push(account),
      }
      // Only what ends an installation is asked of the store.
      await endRemovedInstallation(installations as unknown as Installations, appFacts, event)
      expect(ended).toEqual(type.startsWith('team_access') ? [] : ['E0ORG0001'])
    },
  )

  test('of one organization are the same in all its workspaces, and calls say for which', async () => {
    const each = await read(
      message({ user_team: 'T0THIRD01' }, { authorizations: [org], team_id: 'T0FIFTH01', enterprise_id: 'E0ORG0001' }),
    )
    expect(each.subject).toBe(`slack:E0ORG0001/${ada}`)
    expect(each.replyTo).toMatchObject({ account: 'E0ORG0001', team_id: 'T0FIFTH01' })
  })

  test('with one id in two workspaces are two', async () => {
    const second = {
      authorizations: [{ ...org, team_id: 'T0SECOND1', is_enterprise_install: false, enterprise_id: null }],
      team_id: 'T0SECOND1',
    }
    expect((await read(message())).subject).not.toBe((await read(message({}, second))).subject)
  })

  test('that only visit are guests in the evidence', async () => {
    const { message: said } = await read(message({ user_profile: { display_name: 'Guest', is_restricted: true } }))
    expect(said.sender.identities?.[0]?.claims).toMatchObject({ member_type: 'guest' })
  })
})

describe('the settings', () => {
  test('slack() keeps what belongs to the connection apart from what belongs to the app', () => {
    const made = slack({ id: 'second', agent: 'helper', botToken: 'xoxb-1234', signingSecret: 'x'.repeat(32) })
    expect(made).toEqual({
      channel: 'slack',
      id: 'second',
      agent: 'helper',
      settings: { botToken: 'xoxb-1234', signingSecret: 'x'.repeat(32) },
    })
  })

  test('the environment may allow a person, a workspace or everybody', () => {
    const access = (SLACK_ALLOW: string) => {
      const reading = slackChannel.fromEnvironment({ ...fixtures.environment, SLACK_ALLOW })
      return reading !== undefined && 'access' in reading ? reading.access : undefined
    }
    expect(access('T1/U1, T2/*')).toEqual({
      mode: 'allow_list',
      allow: ['slack:T1/U1'],
      rules: [{ effect: 'allow', subject_prefix: 'slack:T2/' }],
    })
    expect(access('*')).toEqual({ mode: 'public', allow: [] })
  })

  test('the environment may say how it listens; without it threads are followed', () => {
    const replyPolicy = (SLACK_REPLY_POLICY?: string) => {
      const reading = slackChannel.fromEnvironment({ ...fixtures.environment, SLACK_REPLY_POLICY })
      return reading !== undefined && 'replyPolicy' in reading ? reading.replyPolicy : undefined
    }
    expect(replyPolicy('mention')).toEqual({ mode: 'mention' })
    expect(replyPolicy()).toBeUndefined()
    expect(slackChannel.defaultReplyMode).toBe('thread')
  })

  test('a click on somebody else’s button is kept and asks for nothing', async () => {
    const click = {
      type: 'block_actions',
      user: { id: ada },
      team: { id: 'T0PARLEY1' },
      actions: [{ action_id: 'approve', block_id: 'other', value: 'x' }],
    }
    expect(await arrived(click)).toMatchObject({
      kind: 'ignored',
      reason: 'not_our_button',
      subject: `slack:T0PARLEY1/${ada}`,
    })
    expect(await arrived(envelope({ type: 'tokens_revoked', tokens: {} }))).toMatchObject({
      reason: 'tokens_revoked',
      isNoise: false,
    })
  })

  test('an address of our own names somebody a reply may call', () => {
    const name = '@u0ada0001.t0parley1@slack.parley.localhost'
    const shown = (may: ReadonlySet<string>) =>
      JSON.stringify(adapterWith().render(createTextReply(`${name} look`), place, may))
    expect(shown(new Set([name]))).toContain('"user_id":"U0ADA0001"')
    expect(shown(new Set())).not.toContain('"user_id"')
  })

  test('a reply of files alone names them in the message that grew, so that none is left open', () => {
    const attachment = { id: '018f0000-0000-7000-8000-000000000001', bucket: 'b', path: 'p.txt' }
    const digest = { kind: 'content_addressed', algo: 'sha256', digest: '0'.repeat(64) } as const
    const reply = createTextReply('', { parts: [{ kind: 'file', bytes_ref: digest, name: 'p.txt', attachment }] })
    const facts = { names: new Map(), say: slackSay, sendsFiles: true, broadcasts: new Set<string>() }
    const methods = (hasLive: boolean) =>
      renderSlack(facts, reply, place, { mayNotify: new Set(), hasLive }).map(({ call }) => call.method)
    expect(methods(false)).toEqual(['upload'])
    expect(methods(true)).toEqual(['chat.postMessage', 'upload'])
  })
})
