// Cases of slack 8.6 that concern content, clicks, membership and messages beside the bot's own chats.
import type { Case } from '../conform.ts'
import { ada, arrivals, click, dm, group, ignored, message, read, texts, us } from './scene.ts'

const content = (field: string, value: unknown): object => message({ text: undefined, [field]: value })
const place = { latitude: 48.2, longitude: 16.37 }
const contents: readonly Case[] = [
  {
    id: 'T35',
    claim: 'a location is its coordinates',
    run: () => texts(content('location', place)),
    equals: ['[location] 48.2, 16.37'],
  },
  {
    id: 'T35a',
    claim: 'a venue is named with its address',
    run: () =>
      texts(
        message({ text: undefined, location: place, venue: { location: place, title: 'Prater', address: 'Wien 2' } }),
      ),
    equals: ['[venue] Prater, Wien 2 (48.2, 16.37)'],
  },
  {
    id: 'T35b',
    claim: 'a contact is a name and a number',
    run: () => texts(content('contact', { phone_number: '+43 1', first_name: 'Bob', last_name: 'B\u202e' })),
    equals: ['[contact] Bob B, +43 1'],
  },
  {
    id: 'T35c',
    claim: 'a poll is its question and options',
    run: () => texts(content('poll', { question: 'Tea?', options: [{ text: 'yes' }, { text: 'no\nway' }] })),
    equals: ['[poll] Tea?\n- yes\n- no way'],
  },
  {
    id: 'T35d',
    claim: 'dice say what they show',
    run: () => texts(content('dice', { emoji: '🎲', value: 4 })),
    equals: ['[dice] 🎲 4'],
  },
  {
    id: 'T35e',
    claim: 'a checklist is its tasks, done or not',
    run: () =>
      texts(
        content('checklist', {
          title: 'Trip',
          tasks: [
            { id: 1, text: 'pack', completion_date: 5 },
            { id: 2, text: 'go' },
          ],
        }),
      ),
    equals: ['[checklist] Trip\n- [x] pack\n- [ ] go'],
  },
  {
    id: 'T36',
    claim: 'a rich message is flattened to Markdown',
    run: () => texts(content('rich_message', rich)),
    equals: [
      [
        '## Plan **now**',
        'See [site](https://e.com) and `x`',
        '| Name | Age |\n| --- | --- |\n| Ada | 36 |',
        '- one\n  - inner\n- [x] two',
        '> said',
        '```ts\nlet a\n```',
        '[photo] sea',
      ].join('\n\n'),
    ],
  },
  {
    id: 'T36a',
    claim: 'blocks nested without end are cut',
    run: async () => (await texts(content('rich_message', { blocks: [nested(20)] })))[0]?.includes('…'),
    equals: true,
  },
]

const rich = {
  blocks: [
    { type: 'heading', size: 2, text: ['Plan ', { type: 'bold', text: 'now' }] },
    {
      type: 'paragraph',
      text: ['See ', { type: 'url', text: 'site', url: 'https://e.com' }, ' and ', { type: 'code', text: 'x' }],
    },
    {
      type: 'table',
      cells: [
        [{ text: 'Name', is_header: true }, { text: 'Age' }],
        [{ text: 'Ada' }, { text: '36' }],
      ],
    },
    {
      type: 'list',
      items: [
        {
          label: '•',
          blocks: [paragraph('one'), { type: 'list', items: [{ label: '•', blocks: [paragraph('inner')] }] }],
        },
        { label: '•', blocks: [paragraph('two')], has_checkbox: true, is_checked: true },
      ],
    },
    { type: 'blockquote', blocks: [paragraph('said')] },
    { type: 'pre', language: 'ts', text: 'let a' },
    { type: 'photo', photo: [], caption: { text: 'sea' } },
    7,
  ],
}

function paragraph(text: string): object {
  return { type: 'paragraph', text }
}

function nested(depth: number): object {
  return depth === 0 ? paragraph('deep') : { type: 'blockquote', blocks: [nested(depth - 1)] }
}

const contexts: readonly Case[] = [
  {
    id: 'T38',
    claim: 'a quoted span of another chat says where it is from',
    run: () =>
      texts(
        message({
          quote: { text: 'one', position: 0 },
          external_reply: { origin: { type: 'hidden_user', sender_user_name: 'Eve' } },
          text: 'why?',
        }),
      ),
    equals: ['[in reply to Eve, elsewhere]', '> one', 'why?'],
  },
  {
    id: 'T38a',
    claim: 'what somebody else said comes along, what we said does not',
    run: async () => [
      await texts(message({ reply_to_message: { message_id: 3, from: ada, text: 'a\nb' } })),
      await texts(message({ reply_to_message: { message_id: 3, from: us, text: 'ours' } })),
    ],
    equals: [['[in reply to Ada]', '> a\n> b', 'hi'], ['hi']],
  },
  {
    id: 'T33',
    claim: 'a live location that moves is noise',
    differs:
      'what an edit changed is only known where the original is stored; an unchanged one is an amendment that says the same',
    run: async () =>
      (
        await arrivals({ update_id: 5, edited_message: { ...message({}).message, text: undefined, location: place } })
      )[0],
    expected: { kind: 'ignored', reason: 'live_location', isNoise: true },
  },
]

const clicks: readonly Case[] = [
  {
    id: 'T09',
    claim: 'a click needs nothing but its code: it is the command in its conversation',
    run: () => read(click()),
    expected: {
      semanticId: 'click:4382bfdwdsb323b2d9',
      subject: 'telegram:5000000000',
      obligation: 'click',
      message: {
        thread_id: '7000001:-1002345678901:main',
        channel: { addressed: 'command', command: { name: 'approve', args: '0f3c9a' } },
      },
      replyTo: { chat_id: '-1002345678901', reply_to_click: { id: '4382bfdwdsb323b2d9', message_id: '70' } },
    },
  },
  {
    id: 'T09a',
    claim: 'the other button rejects, in its topic',
    run: () =>
      read(
        click({
          data: 'r:0f3c9a',
          message: { message_id: 7, date: 1, chat: group, message_thread_id: 9, is_topic_message: true },
        }),
      ),
    expected: {
      message: { thread_id: '7000001:-1002345678901:9', channel: { command: { name: 'reject', args: '0f3c9a' } } },
      replyTo: { message_thread_id: '9' },
    },
  },
  {
    id: 'T39',
    claim: 'an inaccessible message is enough',
    run: async () =>
      (await read(click({ message: { message_id: 70, date: 0, chat: group } }))).replyTo['reply_to_click'],
    equals: { id: '4382bfdwdsb323b2d9', message_id: '70' },
  },
  {
    id: 'T40',
    claim: 'an inline message is named by its own id',
    run: async () => (await read(click({ message: undefined, inline_message_id: 'AAB' }))).replyTo,
    equals: { chat_id: '5000000000', reply_to_click: { id: '4382bfdwdsb323b2d9', inline_message_id: 'AAB' } },
  },
  {
    id: 'T40a',
    claim: 'what no button of ours sends is kept and does nothing',
    run: () =>
      Promise.all(['', 'a:', 'x:0f3c9a', 'a:0f3c9a ', `a:${'0'.repeat(70)}`].map((data) => ignored(click({ data })))),
    equals: Array(5).fill('unknown_button'),
  },
  {
    id: 'T63',
    claim: 'the stop button is the command stop of whose chat it is',
    run: () => read({ update_id: 9, stopped_message_generation: { chat: dm, draft_id: 4 } }),
    expected: {
      subject: 'telegram:5000000000',
      obligation: 'click',
      message: { thread_id: '7000001:5000000000:main', channel: { command: { name: 'stop', args: '' } } },
    },
  },
]

const member = (chat: object, status: string): object => ({
  update_id: 3,
  my_chat_member: { chat, from: ada, date: 1, old_chat_member: {}, new_chat_member: { status, user: us } },
})

const rooms: readonly Case[] = [
  {
    id: 'T31',
    claim: 'a deletion in a business chat withdraws what the other side wrote',
    run: async () =>
      (
        await arrivals({
          update_id: 4,
          deleted_business_messages: { business_connection_id: 'biz1', chat: dm, message_ids: [7, 8] },
        })
      ).map((each) =>
        each.kind === 'message' ? [each.subject, each.message.channel?.event, each.message.channel?.target_id] : [],
      ),
    equals: [
      ['telegram:5000000000', 'delete', '7000001:biz1/5000000000:7'],
      ['telegram:5000000000', 'delete', '7000001:biz1/5000000000:8'],
    ],
  },
  {
    id: 'T32',
    claim: 'a guest message is a room of its own and is answered by its query',
    run: () => read({ update_id: 6, guest_message: { ...message({}).message, guest_query_id: 'q1' } }),
    expected: {
      message: { thread_id: '7000001:guest/-1002345678901:main', channel: { addressed: 'mention' } },
      replyTo: { chat_id: '-1002345678901', guest_query_id: 'q1' },
    },
  },
  {
    id: 'T41',
    claim: 'being blocked, let in, added and removed is recorded with who did it',
    differs:
      'recorded and shown; nothing is switched off, for Telegram itself refuses what is sent to a chat that is closed to us',
    run: () =>
      Promise.all(
        [member(dm, 'kicked'), member(dm, 'member'), member(group, 'member'), member(group, 'left')].map(ignored),
      ),
    equals: ['blocked_by_user', 'unblocked_by_user', 'added_to_chat', 'removed_from_chat'],
  },
  {
    id: 'T24',
    claim: 'a pairing link counts in a private chat only, and as what it is',
    run: () =>
      Promise.all([start('pair-BCDF-2345', dm), start('pair-BCDF-2345', group), start('pair-a=b', dm)].map(commandIn)),
    equals: [
      { name: 'pair', args: 'BCDF-2345' },
      { name: 'start', args: 'pair-BCDF-2345' },
      { name: 'start', args: 'pair-a=b' },
    ],
  },
]

function start(payload: string, chat: object): object {
  return message({ chat, text: `/start ${payload}`, entities: [{ type: 'bot_command', offset: 0, length: 6 }] })
}

async function commandIn(payload: object): Promise<unknown> {
  return (await read(payload)).message.channel?.command
}

export const normalizationCases: readonly Case[] = [...contents, ...contexts, ...clicks, ...rooms]
