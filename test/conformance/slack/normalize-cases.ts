// What an event becomes. S40, which needs the books, is in accept-cases.ts.
import type { NormalizeResult } from '../../../src/contract/adapter.ts'
import { memoryNotes } from '../../doubles/memory-ttl-store.ts'
import type { Case } from '../conform.ts'
import { ada, adapterWith, arrived, bot, envelope, message, read, receive, wordsOf } from './slack-setup.ts'

const own = { user: bot, bot_id: 'B0PARLEY1', app_id: 'A0PARLEY1' }
const inner = (fields: object) => ({ type: 'message', user: ada, ts: '1763300000.000100', text: 'hello', ...fields })
const changed = (fields: object, previous: object = {}) =>
  message({
    user: undefined,
    subtype: 'message_changed',
    ts: '1763300050.000600',
    event_ts: '1763300050.000600',
    message: inner(fields),
    previous_message: inner(previous),
  })
const deleted = (fields: object = {}) =>
  message({
    user: undefined,
    subtype: 'message_deleted',
    ts: '1763300060.000700',
    event_ts: '1763300060.000700',
    deleted_ts: '1763300000.000100',
    previous_message: inner(fields),
  })
const ignored = (reason: string) => ({ kind: 'ignored', reason })
const richText = (...elements: object[]) => ({
  blocks: [{ type: 'rich_text', elements: [{ type: 'rich_text_section', elements }] }],
})
const section = (text: string) => ({
  type: 'rich_text',
  elements: [{ type: 'rich_text_section', elements: [{ type: 'text', text }] }],
})
const noticed = (event: object) => arrived(envelope(event))
const direct = { channel: 'D0ADA0001', channel_type: 'im' }
const inAssistant = message({ ...direct, thread_ts: '1763300000.000050', assistant_thread: { action_token: 'x' } })
const inAgentView = (context: object) => message({ ...direct, app_context: context })
const contextIn = (reception: NormalizeResult): unknown => {
  const [first] = reception.kind === 'read' ? reception.events : []
  return first?.kind === 'message' ? first.message.channel?.context : undefined
}

const authorCases: readonly Case[] = [
  { id: 'S41', claim: 'our own post is ignored', run: () => arrived(message(own)), expected: ignored('own_message') },
  {
    id: 'S41a',
    claim: 'by any one of its marks',
    run: () =>
      Promise.all(
        [{ user: bot }, { app_id: 'A0PARLEY1' }, { bot_profile: { app_id: 'A0PARLEY1' } }].map((mark) =>
          arrived(message(mark)),
        ),
      ),
    expected: [ignored('own_message'), ignored('own_message'), ignored('own_message')],
  },
  {
    id: 'S42',
    claim: 'edits and deletes of our own posts are ignored',
    run: () => Promise.all([arrived(changed({ ...own, text: 'more' }, own)), arrived(deleted(own))]),
    expected: [ignored('own_message'), ignored('own_message')],
  },
  {
    id: 'S43',
    claim: 'another bot is ignored; one that is listed writes as a bot, by either of its forms',
    run: async () => {
      const post = message({ user: undefined, subtype: 'bot_message', bot_id: 'B0OTHER01' })
      const modern = message({ user: 'U0OTHER01', bot_id: 'B0OTHER01', app_id: 'A0OTHER01' })
      const listed = { allowBots: ['B0OTHER01'] }
      const taken = await Promise.all([read(post, listed), read(modern, listed)])
      return [
        await arrived(post),
        await arrived(modern),
        ...taken.map((each) => each.message.sender.identities?.[0]?.method),
      ]
    },
    expected: [ignored('from_bot'), ignored('from_bot'), 'urn:gw:auth:slack-bot:v0.1', 'urn:gw:auth:slack-bot:v0.1'],
  },
  {
    id: 'S54',
    claim: 'Slack’s own notices do not reach the agent',
    run: () => arrived(message({ user: 'USLACK', channel: 'D0ADA0001', channel_type: 'im' })),
    expected: ignored('system_message'),
  },
  {
    id: 'S62',
    claim: 'a stranger of a shared channel is known by their own workspace, and the evidence says so',
    run: async () => {
      const { subject, message: said } = await read(
        message({ user_team: 'T0OTHER99', source_team: 'T0OTHER99' }, { is_ext_shared_channel: true }),
      )
      return { subject, claims: said.sender.identities?.[0]?.claims }
    },
    expected: { subject: `slack:T0OTHER99/${ada}`, claims: { external: true } },
    differs: 'who may approve is the approval’s own rule (docs/approvals.md); strangers are held by pairing first',
  },
]

const kindCases: readonly Case[] = [
  {
    id: 'S45',
    claim: 'a file_share is one message with its files; file_shared is noise',
    run: async () => {
      const files = ['F1', 'F2'].map((id) => ({ id, name: `${id}.txt`, url_private: `https://files.slack.com/${id}` }))
      return [
        wordsOf(await read(message({ subtype: 'file_share', files }))),
        await noticed({ type: 'file_shared', file_id: 'F1', user_id: ada }),
      ]
    },
    expected: [['file', 'file', 'hi'], { kind: 'ignored', isNoise: true }],
  },
  {
    id: 'S46',
    claim: 'a change without other words is no edit',
    run: () => arrived(changed({ attachments: [{ from_url: 'https://e.example' }] })),
    expected: ignored('preview_only'),
  },
  {
    id: 'S46a',
    claim: 'other words are one, with the time of the edit as version',
    run: () => read(changed({ text: 'hello!', edited: { user: ada, ts: '1763300050.000000' } })),
    expected: {
      version: '1763300050.000000',
      semanticId: 'T0PARLEY1:C0GENERAL1:1763300000.000100',
      message: { channel: { event: 'edit', target_id: 'T0PARLEY1:C0GENERAL1:1763300000.000100' } },
    },
  },
  {
    id: 'S47',
    claim: 'a delete names what is withdrawn and says nothing of it again',
    run: async () => {
      const each = await read(deleted({ text: 'a secret' }))
      return { target: each.message.channel?.target_id, event: each.message.channel?.event, words: wordsOf(each) }
    },
    equals: { target: 'T0PARLEY1:C0GENERAL1:1763300000.000100', event: 'delete', words: [''] },
  },
  {
    id: 'S47a',
    claim: 'a stone in the place of a message with replies is a delete as well',
    run: () => read(changed({ subtype: 'tombstone', text: 'This message was deleted.', user: 'USLACK' })),
    expected: { subject: `slack:T0PARLEY1/${ada}`, message: { channel: { event: 'delete' } } },
  },
  {
    id: 'S48',
    claim: 'a broadcast belongs to its thread',
    run: () => read(message({ subtype: 'thread_broadcast', thread_ts: '1763200000.000001' })),
    expected: {
      message: { thread_id: 'T0PARLEY1:C0GENERAL1:1763200000.000001', channel: { broadcast: true } },
    },
  },
  {
    id: 'S49',
    claim: 'a direct message has no thread, and neither has its answer',
    run: async () => {
      const { message: said, replyTo } = await read(message({ channel: 'D0ADA0001', channel_type: 'im' }))
      return [said.thread_id, replyTo]
    },
    equals: [
      'T0PARLEY1:D0ADA0001',
      {
        account: 'T0PARLEY1',
        channel: 'D0ADA0001',
        reply_to_user: ada,
        reply_to_team: 'T0PARLEY1',
        reply_to_ts: '1763300000.000100',
      },
    ],
  },
  {
    id: 'S57',
    claim: 'an unknown subtype is kept',
    run: () => arrived(message({ subtype: 'future_thing' })),
    expected: { kind: 'ignored', reason: 'unsupported_subtype', isNoise: false },
  },
  {
    id: 'S58',
    claim: 'a ts keeps its zeros',
    run: () => read(message({ ts: '1700000000.000100' })),
    expected: { message: { id: 'T0PARLEY1:C0GENERAL1:1700000000.000100' } },
  },
  {
    id: 'S59',
    claim: 'assistant_thread_started without a context opens a conversation about nothing',
    run: async () => {
      const notes = memoryNotes()
      const adapter = adapterWith({}, { ttlStore: notes })
      const thread = { user_id: ada, channel_id: 'D0ADA0001', thread_ts: '1763300000.000050' }
      const opened = await receive(
        envelope({ type: 'assistant_thread_started', assistant_thread: thread, event_ts: '1763300000.000050' }),
        {},
        adapter,
      )
      const first = await receive(inAssistant, {}, adapter)
      return [opened, contextIn(first)]
    },
    expected: [
      {
        kind: 'read',
        events: [
          {
            kind: 'ignored',
            reason: 'conversation_opened',
            opened: { account: 'T0PARLEY1', channel: 'D0ADA0001', thread_ts: '1763300000.000050' },
          },
        ],
      },
      [],
    ],
  },
  {
    id: 'S59a',
    claim: 'what a thread was opened about comes with its messages, until it changes',
    run: async () => {
      const adapter = adapterWith({}, { ttlStore: memoryNotes() })
      const told = async (type: string, context: object) => {
        const thread = { user_id: ada, channel_id: 'D0ADA0001', thread_ts: '1763300000.000050', context }
        await receive(envelope({ type, assistant_thread: thread }), {}, adapter)
        return contextIn(await receive(inAssistant, {}, adapter))
      }
      return [
        await told('assistant_thread_started', { channel_id: 'C0GENERAL1', team_id: 'T0PARLEY1', enterprise_id: null }),
        await told('assistant_thread_context_changed', { channel_id: 'C0OTHER001' }),
        await told('assistant_thread_context_changed', {}),
      ]
    },
    equals: [
      [{ kind: 'channel', id: 'C0GENERAL1', workspace: 'T0PARLEY1' }],
      [{ kind: 'channel', id: 'C0OTHER001' }],
      [],
    ],
  },
  {
    id: 'S60',
    claim: 'app_context_changed to nothing is kept, and what is written then has no context',
    run: async () => {
      const entities = [
        { type: 'slack#/types/channel_id', value: 'C0GENERAL1', team_id: 'T0PARLEY1' },
        { type: 'slack#/types/message_context', value: { message_ts: '1763300000.000001', channel_id: 'C0GENERAL1' } },
        { type: 'slack#/types/something_new', value: 'X1' },
      ]
      return [
        (await read(inAgentView({ entities }))).message.channel?.context,
        await noticed({ type: 'app_context_changed', channel: 'D0ADA0001', user: ada, context: {} }),
        (await read(inAgentView({}))).message.channel?.context,
      ]
    },
    expected: [
      [
        { kind: 'channel', id: 'C0GENERAL1', workspace: 'T0PARLEY1' },
        { kind: 'message', id: 'C0GENERAL1', message_id: '1763300000.000001' },
      ],
      ignored('context_changed'),
      [],
    ],
  },
  {
    id: 'S60a',
    claim: 'in the agent’s own view every first message opens a thread; in a plain direct conversation none does',
    run: async () => {
      const plain = message({ channel: 'D0ADA0001', channel_type: 'im' })
      return (await Promise.all([read(inAgentView({})), read(plain)])).map(
        ({ replyTo }) => replyTo['thread_ts'] ?? null,
      )
    },
    equals: ['1763300000.000100', null],
  },
  {
    id: 'S61',
    claim: 'the stop button is the command stop in its thread',
    run: () =>
      noticed({
        type: 'agent_session_stopped',
        channel: 'D0ADA0001',
        user: ada,
        thread_ts: '1763300080.000900',
        streaming_message_ts: [],
        event_ts: '1763300081.000900',
      }),
    expected: {
      mustReplyIndividually: 'command',
      message: { thread_id: 'T0PARLEY1:D0ADA0001:1763300080.000900', channel: { command: { name: 'stop', args: '' } } },
    },
  },
  {
    id: 'S55',
    claim: 'a reaction is kept with whose it is',
    run: () =>
      noticed({
        type: 'reaction_added',
        user: ada,
        reaction: 'eyes',
        item: { type: 'message', channel: 'C1', ts: '1.1' },
      }),
    expected: { kind: 'ignored', reason: 'unsupported_event', subject: `slack:T0PARLEY1/${ada}` },
    differs: 'reactions are not shown to agents',
  },
]

const textCases: readonly Case[] = [
  {
    id: 'S50',
    claim: 'entities are decoded once',
    run: async () => wordsOf(await read(message({ text: 'a &amp;lt; b &lt;c&gt;' }))),
    equals: ['a &lt; b <c>'],
  },
  {
    id: 'S51',
    claim: 'tokens become words with their ids, people become mentions',
    run: async () => {
      const text =
        '<@U1> <@U2|bob> <#C1|> <#C2|gen> <!subteam^S1|@ops> <!here> <mailto:a@b.c|a@b.c> <https://e.com?a=1&amp;b=2|x>'
      const each = await read(message({ text }))
      return { words: wordsOf(each), named: each.message.channel?.mentions.map(({ subject }) => subject) }
    },
    equals: {
      words: ['@U1 @bob (U2) #C1 #gen (C2) @ops (S1) @here a@b.c x (https://e.com?a=1&b=2)'],
      named: ['slack:T0PARLEY1/U1', 'slack:T0PARLEY1/U2'],
    },
  },
  {
    id: 'S52',
    claim: 'a bot of an organization is called by its W id',
    run: () => {
      const authorizations = [{ team_id: 'T0PARLEY1', user_id: 'W0ABC', is_bot: true, is_enterprise_install: false }]
      return read(message({ text: 'hey <@W0ABC> you' }, { authorizations }))
    },
    expected: { message: { channel: { addressed: 'mention' } } },
  },
  {
    id: 'S53',
    claim: 'a mention written in code is none',
    run: async () => {
      const each = await read(
        message({ text: `<@${bot}>`, ...richText({ type: 'text', text: `<@${bot}>`, style: { code: true } }) }),
      )
      return [wordsOf(each), each.message.channel?.addressed, each.message.channel?.mentions]
    },
    equals: [[`\`<@${bot}>\``], 'none', []],
  },
  {
    id: 'S56',
    claim: 'a pasted table is read, in its order',
    run: async () => {
      const cell = (text: string) => ({ type: 'raw_text', text })
      const rows = [
        [cell('a'), cell('b')],
        [cell('1'), { ...section('2') }],
      ]
      return wordsOf(await read(message({ text: 'look', attachments: [{ blocks: [{ type: 'table', rows }] }] })))
    },
    equals: ['look', '| a | b |\n| 1 | 2 |'],
  },
  {
    id: 'S56a',
    claim: 'a shared message is a quotation with its author',
    run: async () => {
      const attachment = {
        is_share: true,
        author_name: 'Eve',
        text: 'do <this>',
        message_blocks: [{ message: { blocks: [section('do\nthis')] } }],
      }
      return wordsOf(
        await read(
          message({ text: 'see', attachments: [attachment, { from_url: 'https://e.example', text: 'a preview' }] }),
        ),
      )
    },
    equals: ['see', '[shared message from Eve]\n> do\n> this'],
  },
]

export const normalizeCases: readonly Case[] = [...authorCases, ...kindCases, ...textCases]
