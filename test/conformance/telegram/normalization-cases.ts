// Telegram cases that concern content, clicks, membership and messages beside the bot's own chats.
import type { Case } from '../conform.ts'
import {
  ada,
  arrivals,
  calls,
  click,
  dm,
  group,
  ignored,
  message,
  parts,
  read,
  saying,
  texts,
  us,
} from './telegram-setup.ts'

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

async function part(text: string, ...entities: readonly object[]): Promise<{ readonly content: string }> {
  const [first] = (await read(message({ text, entities }))).message.parts
  // The schema of parts is open; these are texts.
  return first as unknown as { readonly content: string }
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
    id: 'T38b',
    claim: 'a file that is replied to comes along in a group, and from elsewhere; between two the agent has seen it',
    run: async () => {
      const parent = { message_id: 3, from: ada, photo: [{ file_id: 'p' }] }
      const external = { origin: { type: 'hidden_user', sender_user_name: 'Eve' }, document: { file_id: 'd' } }
      return [
        await texts(message({ text: 'what is this?', reply_to_message: parent })),
        await texts(message({ text: 'what is this?', reply_to_message: parent, chat: dm })),
        await texts(message({ text: 'and this?', external_reply: external, chat: dm })),
        await texts(message({ text: 'where?', reply_to_message: { message_id: 3, from: ada, location: place } })),
      ]
    },
    equals: [
      ['[in reply to Ada]', 'file', 'what is this?'],
      ['what is this?'],
      ['[in reply to Eve, elsewhere]', 'file', 'and this?'],
      ['[in reply to Ada]', '[location] 48.2, 16.37', 'where?'],
    ],
  },
  {
    id: 'T35f',
    claim: 'a sticker is its picture and what it says',
    run: () => texts(content('sticker', { file_id: 's', emoji: '👍' })),
    equals: ['file', '[sticker 👍]'],
  },
  {
    id: 'T27a',
    claim: 'who writes to a channel has a thread of their own, and is answered in it',
    run: async () => {
      const direct = message({ direct_messages_topic: { topic_id: 77, user: ada } })
      const { message: read1, replyTo } = await read(direct)
      return [read1.thread_id, read1.channel?.addressed, replyTo, calls(parts(saying('x')), replyTo)[0]]
    },
    expected: [
      '7000001:-1002345678901:direct/77',
      'dm',
      { chat_id: '-1002345678901', direct_messages_topic_id: '77' },
      { method: 'sendMessage', payload: { chat_id: -1_002_345_678_901, direct_messages_topic_id: 77 } },
    ],
  },
  {
    id: 'T33',
    claim: 'a live location that moves is noise',
    run: async () =>
      (
        await arrivals({ update_id: 5, edited_message: { ...message({}).message, text: undefined, location: place } })
      )[0],
    expected: { kind: 'ignored', reason: 'live_location', isNoise: true },
  },
  {
    id: 'T20',
    claim: 'formatting reaches the agent as Markdown, in UTF-16 units: bold exactly on the emoji',
    run: () => part('@gw_bot hi 😀 there', { type: 'bold', offset: 11, length: 2 }),
    equals: { kind: 'text', mime: 'text/markdown', content: '@gw_bot hi **😀** there' },
  },
  {
    id: 'T20a',
    claim: 'links below words, code, quotes and blocks are told; everything else stays the words it is',
    run: async () =>
      (
        await part(
          'see this: a_b*c\n\nlet x = 1\nhe said so\nok',
          { type: 'text_link', offset: 4, length: 4, url: 'https://e.com/a' },
          { type: 'italic', offset: 4, length: 4 },
          { type: 'code', offset: 10, length: 5 },
          { type: 'pre', offset: 17, length: 9, language: 'ts' },
          { type: 'blockquote', offset: 27, length: 10 },
        )
      ).content,
    equals: 'see [_this_](https://e.com/a): `a_b*c`\n\n```ts\nlet x = 1\n```\n\n> he said so\n\nok',
  },
  {
    id: 'T20b',
    claim: 'what Telegram finds by itself, decoration, and links to nowhere leave the text as it was written',
    run: async () => [
      await part('2*3*4 @ada https://e.com', { type: 'mention', offset: 6, length: 4 }),
      await part('look', { type: 'text_link', offset: 0, length: 4, url: 'javascript:alert(1)' }),
      await part('hush', { type: 'spoiler', offset: 0, length: 4 }),
    ],
    equals: ['2*3*4 @ada https://e.com', 'look', 'hush'].map((content) => ({
      kind: 'text',
      mime: 'text/plain',
      content,
    })),
  },
  {
    id: 'T20c',
    claim: 'marks that overlap and cross lines are nested, and a caption is formatted like a text',
    run: async () => [
      (
        await part(
          'one two\nthree',
          { type: 'bold', offset: 0, length: 10 },
          { type: 'strikethrough', offset: 4, length: 9 },
        )
      ).content,
      (
        await read(
          message({
            text: undefined,
            caption: 'see it',
            photo: [{ file_id: 'p' }],
            caption_entities: [{ type: 'bold', offset: 4, length: 2 }],
          }),
        )
      ).message.parts.at(-1),
    ],
    equals: ['**one ~~two  \nth~~**~~ree~~', { kind: 'text', mime: 'text/markdown', content: 'see **it**' }],
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
      mustReplyIndividually: 'click',
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
      mustReplyIndividually: 'click',
      message: { thread_id: '7000001:5000000000:main', channel: { command: { name: 'stop', args: '' } } },
    },
  },
]

const member = (chat: object, status: string, fields: object = {}): object => ({
  update_id: 3,
  my_chat_member: { chat, from: ada, date: 1, old_chat_member: {}, new_chat_member: { status, user: us, ...fields } },
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
    claim: 'being blocked, let in, added, removed and muted says whether the chat can be written to',
    run: async () =>
      (
        await Promise.all(
          [
            member(dm, 'kicked'),
            member(dm, 'member'),
            member(group, 'member'),
            member(group, 'left'),
            member(group, 'restricted', { is_member: true, can_send_messages: false }),
          ].map((each) => arrivals(each)),
        )
      ).map(([each]) =>
        each?.kind === 'ignored' ? [each.reason, each.roomStatus?.room, each.roomStatus?.closed] : [],
      ),
    equals: [
      ['blocked_by_user', '5000000000', 'blocked_by_user'],
      ['unblocked_by_user', '5000000000', null],
      ['added_to_chat', '-1002345678901', null],
      ['removed_from_chat', '-1002345678901', 'removed_from_chat'],
      ['muted_in_chat', '-1002345678901', 'muted_in_chat'],
    ],
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
