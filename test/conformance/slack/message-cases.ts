// Slack as the message model sees it.

import { createTextReply } from '../../../src/testing/adapter-contract-outbound.ts'
import { fixtures } from '../../fixtures/slack/index.ts'
import type { Case } from '../conform.ts'
import {
  ada,
  adapterWith,
  arrived,
  bot,
  bytesOf,
  kit,
  message,
  now,
  place,
  read,
  receive,
  withApi,
} from './slack-setup.ts'

const callsFor = (text: string, mayNotify: ReadonlySet<string> = new Set(), settings: object = {}) =>
  adapterWith(settings)
    .render(createTextReply(text), place, mayNotify)
    .map(({ call }) => call)

export const messageCases: readonly Case[] = [
  {
    id: 'SL-01',
    claim: 'a valid signature makes a verified sender',
    run: () => read(message()),
    expected: { message: { sender: { auth_method: 'slack-signature', verified: true } } },
  },
  {
    id: 'SL-02',
    claim: 'a signature over the JSON written again is refused',
    run: async () => {
      const arrival = await fixtures.sign(bytesOf(JSON.stringify(message(), null, 1)))
      return adapterWith().receive({ ...arrival, bytes: bytesOf(message()) }, kit.connection)
    },
    equals: { kind: 'rejected', reason: 'bad_signature' },
  },
  {
    id: 'SL-03',
    claim: 'a time 301 s old is refused',
    run: () => receive(message(), { at: now - 301_000 }),
    expected: { kind: 'rejected' },
  },
  {
    id: 'SL-04',
    claim: 'one wrong digit is refused like all of them',
    run: async () => {
      const arrival = await fixtures.sign(bytesOf(message()))
      const signature = arrival.headers['x-slack-signature'] ?? ''
      const last = signature.endsWith('0') ? '1' : '0'
      const headers = { ...arrival.headers, 'x-slack-signature': signature.slice(0, -1) + last }
      return adapterWith().receive({ ...arrival, headers }, kit.connection)
    },
    equals: { kind: 'rejected', reason: 'bad_signature' },
  },
  {
    id: 'SL-05',
    claim: 'the two events of one mention have one key, and both say that we are called',
    run: async () => {
      const text = `<@${bot}> hello`
      const twins = [
        await read(message({ text })),
        await read(message({ text, type: 'app_mention', channel_type: undefined }, { event_id: 'Ev2' })),
      ]
      return twins.map(({ semanticId, version, message: said }) => ({
        semanticId,
        version,
        addressed: said.channel?.addressed,
      }))
    },
    equals: Array.from({ length: 2 }, () => ({
      semanticId: 'T0PARLEY1:C0GENERAL1:1763300000.000100',
      version: '0',
      addressed: 'mention',
    })),
  },
  {
    id: 'SL-07',
    claim: 'our own bot is ignored',
    run: () => arrived(message({ user: bot, bot_id: 'B0PARLEY1' })),
    expected: { kind: 'ignored', reason: 'own_message' },
  },
  {
    id: 'SL-08',
    claim: 'another bot that calls us proves that it called, and no membership',
    run: () =>
      read(message({ user: 'U0OTHER01', bot_id: 'B0OTHER01', text: `<@${bot}> deploy` }), { allowBots: ['B0OTHER01'] }),
    expected: {
      subject: 'slack:T0PARLEY1/U0OTHER01',
      message: { sender: { identities: [{ method: 'urn:mentionable:auth:platform-mention:v0.1' }] } },
    },
    differs: 'only a bot that the operator listed is heard at all',
  },
  {
    id: 'SL-09',
    claim: 'somebody of another workspace is theirs',
    run: () => read(message({ user_team: 'T9' })),
    expected: { subject: `slack:T9/${ada}` },
  },
  {
    id: 'SL-10',
    claim: 'a reply belongs to its thread and names what it answers',
    run: () => read(message({ thread_ts: '1763200000.000001' })),
    expected: {
      message: {
        thread_id: 'T0PARLEY1:C0GENERAL1:1763200000.000001',
        in_reply_to: 'T0PARLEY1:C0GENERAL1:1763200000.000001',
      },
    },
  },
  {
    id: 'SL-11',
    claim: 'a direct message is one conversation',
    run: () => read(message({ channel: 'D0ADA0001', channel_type: 'im' })),
    expected: { message: { thread_id: 'T0PARLEY1:D0ADA0001' } },
  },
  {
    id: 'SL-12',
    claim: 'a name that is known and may be called is called',
    run: () => {
      const names = { reviewer: 'U0REVIEW1' }
      const text = '@reviewer please check'
      return [callsFor(text, new Set(['@reviewer']), { names }), callsFor(text, new Set(), { names })].map((calls) =>
        JSON.stringify(calls).includes('"user_id":"U0REVIEW1"'),
      )
    },
    equals: [true, false],
  },
  {
    id: 'SL-13',
    claim: '<!channel> from a model calls nobody',
    run: () => JSON.stringify(callsFor('<!channel>')).includes('broadcast'),
    equals: false,
  },
  {
    id: 'SL-14',
    claim: 'a file on another host is not fetched, and no token goes there',
    run: () =>
      withApi(async (api, adapter) => {
        const ref = { account: 'T0PARLEY1', file_id: 'F1', url: 'https://files.slack.com.evil.example/a' }
        return [await adapter.openFile?.(ref, AbortSignal.timeout(5000)), api.calls.length]
      }),
    equals: [{ kind: 'refused', reason: 'not_allowed' }, 0],
  },
  {
    id: 'SL-15',
    claim: 'an url_verification with a wrong signature is refused, and its challenge is not said',
    run: async () => {
      const reception = await receive({ type: 'url_verification', challenge: 'echo-me' }, { key: 'wrong' })
      return [reception.kind, JSON.stringify(reception).includes('echo-me')]
    },
    equals: ['rejected', false],
  },
  {
    id: 'SL-16',
    claim: 'thirty thousand characters are split within the limits, in order, with whole fences',
    run: () => {
      const code = Array.from({ length: 900 }, (_, index) => `line ${index} of the program`).join('\n')
      const reply = createTextReply('', {
        parts: [
          {
            kind: 'text',
            mime: 'text/markdown',
            content: `before\n\n\`\`\`\n${code}\n\`\`\`\n\nafter ${'word '.repeat(1500)}`,
          },
        ],
      })
      const texts = adapterWith()
        .render(reply, place)
        .map(({ call }) => fixtures.textOf(call))
      const lines = [...texts.join('\n').matchAll(/line (\d+) of/g)].map(([, number]) => Number(number))
      return [
        texts.every((text) => text.length <= 12_000),
        texts.length > 2,
        lines.length === 900 && lines.every((number, index) => number === index),
      ]
    },
    equals: [true, true, true],
  },
]
