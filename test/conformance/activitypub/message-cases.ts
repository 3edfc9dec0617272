// What comes in, and what an agent gets to read of it.
import { expect } from 'vitest'
import { validateMessage } from '../../../src/contract/validate-message.ts'
import { cpuMs } from '../../doubles/linear-time.ts'
import type { Case } from '../conform.ts'
import {
  aCreate,
  alice,
  aNote,
  anActivity,
  everybody,
  mentionOf,
  message,
  partsIn,
  readAs,
  receivedAt,
  sibling,
  textsIn,
  unheard,
  us,
} from './message-setup.ts'

const direct = { to: [us], cc: [] }
const image = { type: 'Document', mediaType: 'image/png', url: 'https://files.social.example/a.png' }
const reasons = (activity: unknown, reading = {}) =>
  readAs(activity, reading).map((each) => (each.kind === 'ignored' ? each.reason : each.message.channel?.event))

export const messageCases: readonly Case[] = [
  {
    id: 'AP-080',
    claim: 'a mention is a message without it, in its thread',
    run: () => message(aCreate(aNote({ inReplyTo: 'https://social.example/users/bob/statuses/9' }))),
    expected: {
      agent: 'demo',
      message: {
        id: `${alice}/statuses/1`,
        in_reply_to: 'https://social.example/users/bob/statuses/9',
        thread_id: 'tag:social.example,2026-03-01:objectId=7:objectType=Conversation',
        parts: [{ kind: 'text', mime: 'text/plain', content: 'what is the time?' }],
      },
      thread: {
        platformVerified: false,
        candidates: [
          `o:${alice}/statuses/1`,
          'o:https://social.example/users/bob/statuses/9',
          'c:tag:social.example,2026-03-01:objectId=7:objectType=Conversation',
        ],
      },
    },
  },
  {
    id: 'AP-081',
    claim: 'a mention without an address wakes nobody',
    run: () => unheard(aCreate(aNote({ cc: [`${alice}/followers`] }))),
    expected: { reason: 'not_addressed', isNoise: true },
  },
  {
    id: 'AP-082',
    claim: 'an address without a mention wakes nobody in public, and does in a direct note',
    run: () => [reasons(aCreate(aNote({ tag: [] }))), reasons(aCreate(aNote({ tag: [], ...direct })))],
    equals: [['not_addressed'], ['new']],
  },
  {
    id: 'AP-083',
    claim: 'a name in the text is text',
    run: () => reasons(aCreate(aNote({ tag: [], cc: [], content: '<p>@demo@bot.example hello</p>' }))),
    equals: ['not_addressed'],
  },
  {
    id: 'AP-084',
    claim: 'single values, lists and languages are read alike',
    run: () => {
      const { content: _content, ...note } = aNote({
        tag: mentionOf(us),
        to: us,
        cc: [],
        inReplyTo: ['https://social.example/n/1', 'https://social.example/n/2'],
        contentMap: { nl: '<p>hoe laat is het?</p>' },
      })
      const { message: read, replyTo } = message(aCreate(note))
      return [read.in_reply_to, read.parts, replyTo['reply_to_language'], read.channel?.visibility]
    },
    equals: [
      'https://social.example/n/1',
      [{ kind: 'text', mime: 'text/plain', content: 'hoe laat is het?' }],
      'nl',
      'direct',
    ],
  },
  {
    id: 'AP-085',
    claim: 'two agents that are mentioned get a message each, of one thread',
    run: () => {
      const tag = [mentionOf(us), mentionOf(sibling, '@helper@bot.example')]
      const arrived = readAs(aCreate(aNote({ tag, cc: [us, sibling] })))
      return arrived.map(
        (each) => each.kind === 'message' && [each.agent, each.message.recipient, each.thread.newThreadKey],
      )
    },
    equals: [
      ['demo', '@demo@bot.example', `o:${alice}/statuses/1`],
      ['helper', '@helper@bot.example', `o:${alice}/statuses/1`],
    ],
  },
  {
    id: 'AP-086',
    claim: 'a warning comes first, on its own, and goes with the answer',
    run: () => {
      const { message: read, replyTo } = message(aCreate(aNote({ summary: 'food', sensitive: true })))
      return [read.parts.map((part) => 'content' in part && part.content), replyTo['reply_to_as_summary']]
    },
    equals: [['[content warning] food', 'what is the time?'], 'food'],
  },
  {
    id: 'AP-087',
    claim: 'a poll is its question and a list',
    run: () => {
      const oneOf = ['tea', 'coffee'].map((name) => ({ type: 'Note', name, replies: { totalItems: 0 } }))
      return [textsIn({ type: 'Question', oneOf }), textsIn({ type: 'Question', content: '', anyOf: oneOf })]
    },
    equals: [['what is the time?', '- tea\n- coffee'], ['- tea\n- coffee']],
  },
  {
    id: 'AP-088',
    claim: 'a vote is no message',
    run: () => reasons(aCreate(aNote({ name: 'tea', content: undefined, inReplyTo: `${us}/notes/1`, ...direct }))),
    equals: ['vote'],
  },
  {
    id: 'AP-089',
    claim: 'a picture alone is a file and no empty text',
    run: () => partsIn({ content: '', attachment: [image] }),
    equals: [{ kind: 'file', mime: 'image/png', bytes_ref: { kind: 'url', url: image.url } }],
  },
  {
    id: 'AP-090',
    claim: 'nothing said is no message',
    run: () => [reasons(aCreate(aNote({ content: '' }))), reasons(aCreate(aNote({ content: '', summary: 'cw' })))],
    equals: [['no_content'], ['no_content']],
  },
  {
    id: 'AP-091',
    claim: 'chat messages, private notes and specified notes are direct',
    run: () =>
      [
        { type: 'ChatMessage', to: [us], cc: [], tag: [] },
        { to: [us], cc: [], tag: [] },
        { ...direct, _misskey_content: 'x' },
      ].map((note) => message(aCreate(aNote(note))).message.channel),
    expected: [1, 2, 3].map(() => ({ visibility: 'direct', room_kind: 'dm', addressed: 'dm' })),
  },
  {
    id: 'AP-092',
    claim: 'an article, a page and a video are their title, their summary and a link',
    run: () =>
      ['Article', 'Page', 'Video'].map((type) =>
        partsIn({ type, name: 'On time', summary: '<p>It passes.</p>', content: '', attachment: [] }),
      ),
    equals: [1, 2, 3].map(() => [
      { kind: 'text', mime: 'text/plain', content: 'On time' },
      { kind: 'text', mime: 'text/plain', content: 'It passes.' },
      { kind: 'link', url: 'https://social.example/@alice/1', title: 'On time' },
    ]),
  },
  {
    id: 'AP-092',
    claim: 'a note with a name has a title, if it says or shows something; a warning stays one',
    run: () => [
      textsIn({ name: 'Our next meeting' }),
      textsIn({ name: 'A cat', content: '', attachment: [image] }),
      textsIn({ name: 'Our next meeting', summary: 'long' }),
      textsIn({ name: 'what is the time?' }),
      reasons(aCreate(aNote({ name: 'tea', content: '' }))),
    ],
    equals: [
      ['Our next meeting', 'what is the time?'],
      ['A cat', 'file'],
      ['[content warning] long', 'Our next meeting', 'what is the time?'],
      ['what is the time?'],
      ['no_content'],
    ],
  },
  {
    id: 'AP-093',
    claim: 'attachments are files by their address, with what they show',
    run: () =>
      partsIn({
        attachment: [
          { ...image, name: 'a cat', blurhash: 'UBL', width: 100 },
          { type: 'Image', url: { type: 'Link', href: image.url, mediaType: 'image/webp' }, summary: 'a dog' },
        ],
      }).slice(1),
    equals: [
      { kind: 'file', mime: 'image/png', name: 'a cat', bytes_ref: { kind: 'url', url: image.url } },
      { kind: 'file', mime: 'image/webp', name: 'a dog', bytes_ref: { kind: 'url', url: image.url } },
    ],
  },
  {
    id: 'AP-094',
    claim: 'an attachment that is nowhere public is left out, the words stay',
    run: () =>
      [
        'http://127.0.0.1/x',
        'https://127.0.0.1/x',
        'data:image/png;base64,AA',
        'https://[::1]/',
        'file:///etc/passwd',
      ].map((url) => textsIn({ attachment: [{ ...image, url }] })),
    equals: [1, 2, 3, 4, 5].map(() => ['what is the time?']),
  },
  {
    id: 'AP-095',
    claim: 'programs, styles and hidden targets leave nothing, however deep they lie',
    run: () => {
      const bad = '<script>x()</script><style>p{}</style><p onclick="x()">hi <a href="javascript:x()">there</a></p>'
      expect(textsIn({ content: bad })).toEqual(['hi there'])
      const deep = `${'<b>'.repeat(5000)}deep`
      // 50 ms are enough; a busy machine is given more.
      expect(cpuMs(() => textsIn({ content: deep }))).toBeLessThan(500)
      expect(textsIn({ content: deep })).toEqual(['deep'])
    },
  },
  {
    id: 'AP-096',
    claim: 'a link that hides its ends is told in full',
    run: () => {
      const hidden = '<span class="invisible">https://www.</span>'
      const shown = '<span class="ellipsis">news.example/a/long</span><span class="invisible">/path/to/it</span>'
      return textsIn({ content: `<p><a href="https://www.news.example/a/long/path/to/it">${hidden}${shown}</a></p>` })
    },
    expected: [expect.stringContaining('https://www.news.example/a/long/path/to/it')],
  },
  {
    id: 'AP-097',
    claim: 'who is meant is told by address alone, whatever the name looks like',
    run: () => {
      const lookalike = mentionOf('https://evil.example/ap/demo', '@demo@bot.example')
      const odd = mentionOf(us, '@\u0434emo@bot.ex\u200bample')
      return [
        reasons(aCreate(aNote({ tag: [lookalike] }))),
        reasons(aCreate(aNote({ tag: [odd] }))),
        textsIn({ content: '<p>a\u202eb\u200bc</p>' }),
      ]
    },
    equals: [['not_addressed'], ['new'], ['abc']],
  },
  {
    id: 'AP-098',
    claim: 'a name is shown and proves nothing',
    run: () => {
      const { message: read } = message(aCreate(), { signer: { name: 'Admin (verified) @demo@bot.example' } })
      expect(read.sender.display_name).toBe('Admin (verified) @demo@bot.example')
      expect(JSON.stringify(read.sender.identities)).not.toContain('Admin')
      return read.sender.identities
    },
    expected: [
      {
        subject: alice,
        issuer: 'social.example',
        method: 'urn:gw:auth:ap-http-signature:v0.1',
        assurance: 'domain',
        audience: '@demo@bot.example',
        claims: { acct: 'acct:alice@social.example' },
      },
    ],
  },
  {
    id: 'AP-102',
    claim: 'a change is new where we do not know what it changes, and a change where we do',
    run: () => {
      const updated = aNote({ updated: '2026-03-01T12:30:00Z', content: '<p>what is the date?</p>' })
      return readAs(aCreate(updated, { type: 'Update', id: `${alice}/statuses/1#updates/1` }))
    },
    expected: [
      { message: { id: `${alice}/statuses/1`, channel: { event: 'new' } }, version: '0', isOnceById: true },
      {
        message: { channel: { event: 'edit', target_id: `${alice}/statuses/1` } },
        version: '2026-03-01T12:30:00Z',
        semanticId: `${alice}/statuses/1`,
      },
    ],
  },
  {
    id: 'AP-103',
    claim: 'a deletion takes back what it names, for every agent that had it',
    run: () => {
      const gone = anActivity('Delete', { id: `${alice}/statuses/1`, type: 'Tombstone' })
      const events = (arrived: ReturnType<typeof readAs>) =>
        arrived.map(
          (each) =>
            each.kind === 'message' && [each.agent, each.message.channel?.event, each.message.channel?.target_id],
        )
      return [events(readAs(gone)), events(readAs(gone, { facts: { shared: ['helper', 'demo'] } }))]
    },
    equals: [
      [['demo', 'delete', `${alice}/statuses/1`]],
      [
        ['demo', 'delete', `${alice}/statuses/1`],
        ['helper', 'delete', `${alice}/statuses/1`],
      ],
    ],
  },
  {
    id: 'AP-103',
    claim: 'a deletion of the account takes all of it back, and ends what waits for them',
    run: () => readAs(anActivity('Delete', alice)),
    expected: ['demo', 'helper'].map((agent) => ({
      kind: 'ignored',
      reason: 'actor_deleted',
      isNoise: false,
      subject: alice,
      isAccountDeleted: true,
      cancelPending: { orderKeyPrefix: `${agent} ${alice} >` },
      roomStatus: { closed: 'actor_deleted' },
    })),
  },
  {
    id: 'AP-130',
    claim: 'a link with their name leads to their page, if their own server has it',
    run: () =>
      [
        'https://social.example/@alice',
        'https://elsewhere.example/@alice',
        'mailto:alice@social.example',
        undefined,
      ].map((url) => message(aCreate(), { signer: { url } }).replyTo['url']),
    equals: ['https://social.example/@alice', alice, alice, alice],
  },
  {
    id: 'AP-104',
    claim: 'where a note and its activity disagree, fewer people may read the answer',
    run: () => message(aCreate(aNote({ to: [everybody], cc: [us] }), { to: [us], cc: [] })).replyTo['visibility'],
    equals: 'direct',
  },
  {
    id: 'AP-105',
    claim: 'what people pass on is no message',
    run: () => [reasons(anActivity('Announce', aNote())), reasons(anActivity('Announce', aCreate()))],
    equals: [['activity_announce'], ['activity_announce']],
  },
  {
    id: 'AP-106',
    claim: 'likes, reactions, moves and what nobody knows say nothing to an agent',
    run: () => ['Like', 'EmojiReact', 'Add', 'Move', 'Frobnicate'].map((type) => reasons(anActivity(type, us))[0]),
    equals: ['activity_like', 'activity_emojireact', 'activity_add', 'moved', 'unknown_activity'],
  },
  {
    id: 'AP-107',
    claim: 'a report is kept for the operator',
    run: () => unheard(anActivity('Flag', [us, `${us}/notes/1`], { content: '<p>spam</p>' })),
    expected: {
      reason: 'flag_received',
      isNoise: false,
      recordWrites: [
        { kind: 'put', family: 'flag', value: { actor: alice, about: [us, `${us}/notes/1`], complaint: 'spam' } },
      ],
    },
  },
  {
    id: 'AP-108',
    claim: 'a block ends what waits, is remembered, and can be undone',
    run: () => [
      unheard(anActivity('Block', us)),
      unheard(aCreate(), { facts: { blocked: ['demo'] } }),
      unheard(anActivity('Undo', anActivity('Block', us))),
    ],
    expected: [
      {
        reason: 'blocked_by_author',
        recordWrites: [
          { kind: 'put', family: 'block', key: `demo ${alice}` },
          { kind: 'remove', family: 'follower' },
          {},
        ],
        cancelPending: { orderKeyPrefix: `demo ${alice} >` },
        roomStatus: { room: `demo ${alice}`, closed: 'blocked' },
      },
      { reason: 'blocked_by_author', isNoise: false },
      { recordWrites: [{ kind: 'remove', family: 'block', key: `demo ${alice}` }], roomStatus: { closed: null } },
    ],
  },
  {
    id: 'AP-109',
    claim: 'a follow is accepted with no more than it needs, once an hour',
    run: () => {
      const followed = unheard(anActivity('Follow', us))
      expect(unheard(anActivity('Follow', us)).deliveryId).toBe(followed.deliveryId)
      return followed
    },
    expected: {
      reason: 'followed',
      recordWrites: [
        {
          family: 'follower',
          key: `demo ${alice}`,
          agent: 'demo',
          subject: alice,
          value: { actor: alice, inbox: `${alice}/inbox`, shared_inbox: 'https://social.example/inbox' },
        },
        { family: 'follow', key: `${alice}#follow/1`, value: { agent: 'demo', actor: alice } },
      ],
      protocolReplies: [
        {
          orderKey: `demo ${alice} >`,
          call: {
            op: 'deliver',
            inbox: `${alice}/inbox`,
            activity: {
              type: 'Accept',
              actor: us,
              object: { id: `${alice}#follow/1`, type: 'Follow', actor: alice, object: us },
            },
          },
        },
      ],
    },
  },
  {
    id: 'AP-110',
    claim: 'a follow is undone by itself or by its address',
    run: () =>
      [
        unheard(anActivity('Undo', anActivity('Follow', us))),
        unheard(anActivity('Undo', `${alice}#follow/1`), { facts: { undone: { kind: 'Follow', agent: 'demo' } } }),
      ].map(({ reason, recordWrites: effects }) => [reason, effects?.[0], effects?.at(-1)]),
    equals: [1, 2].map(() => [
      'unfollowed',
      { kind: 'remove', family: 'follower', key: `demo ${alice}` },
      { kind: 'remove', family: 'follow', key: `${alice}#follow/1` },
    ]),
  },
  {
    id: 'AP-110',
    claim: 'whoever knows the address of somebody else’s follow does not undo it',
    run: () =>
      unheard(
        anActivity('Undo', anActivity('Follow', us, { id: 'https://other.example/follows/1' })),
      ).recordWrites?.map(({ family }) => family),
    equals: ['follower', 'follow_request'],
  },
  {
    id: 'AP-110',
    claim:
      'what was deleted is not restored by undoing the deletion, and somebody else’s deletion is not theirs to undo',
    run: () => {
      const deletion = anActivity('Delete', `${alice}/statuses/1`)
      return [
        reasons(anActivity('Undo', deletion)),
        reasons(anActivity('Undo', { ...deletion, actor: 'https://other.example/users/eve' })),
      ]
    },
    equals: [['deleted_for_good'], ['not_their_own']],
  },
  {
    id: 'AP-111',
    claim: 'machines are not answered, unless the operator lets them; people who want no bots are, for they began it',
    run: () => {
      const machine = { signer: { type: 'Service' } }
      return [
        reasons(aCreate(), machine),
        reasons(aCreate(), { ...machine, moderation: { bots: [alice] } }),
        reasons(aCreate(), { ...machine, moderation: { bots: ['example'] } }),
        reasons(aCreate(), { ...machine, moderation: { bots: 'all' } }),
        reasons(aCreate(), { signer: { isNoBot: true } }),
      ]
    },
    equals: [['from_bot'], ['new'], ['new'], ['new'], ['new']],
  },
  {
    id: 'AP-112',
    claim: 'what we said ourselves is not said to us',
    run: () => unheard({ ...aCreate(), actor: us }, { signer: { id: us } }),
    expected: { reason: 'own_message' },
  },
  {
    id: 'AP-114',
    claim: 'a message says how it came, when, what it can be answered with, and what was posted',
    run: () => {
      const posted = aCreate()
      const { message: read } = message(posted)
      const scope = {
        from: 'adapter',
        receivedVia: new Set(['activitypub']),
        authMethods: new Set(['ap-http-signature']),
      } as const
      expect(validateMessage(read, scope)).toMatchObject({ ok: true, warnings: [] })
      return [read.received_via, read.received_at, read.recipient_capabilities.mention_relay, read.raw]
    },
    equals: [
      'activitypub',
      receivedAt,
      { kind: 'addressing', envelope_fields: ['to', 'cc'], also_inline: true },
      JSON.parse(JSON.stringify(aCreate())),
    ],
  },
  {
    id: 'AP-04',
    claim: 'what counts by its own proof says so',
    run: () => message(aCreate(), { method: 'ap-object-integrity-proof' }).message.sender,
    expected: {
      auth_method: 'ap-object-integrity-proof',
      verified: true,
      identities: [{ method: 'urn:gw:auth:ap-object-integrity-proof:v0.1' }],
    },
  },
  {
    id: 'AP-06',
    claim: 'somebody’s picture is named and not fetched',
    run: () => message(aCreate()).message.sender.profile,
    expected: { avatar: { url: 'https://files.social.example/alice.png' }, username: 'alice' },
  },
  {
    id: 'AP-06',
    claim: 'what only this protocol says of a sender lies below its name',
    run: () => Object.keys(message(aCreate()).message.sender.profile?.extensions ?? {}),
    expected: ['activitypub'],
  },
]
