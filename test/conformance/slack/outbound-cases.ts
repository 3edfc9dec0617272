// What goes out, and what is made of the answers. Streams are in live-cases.ts.

import { resolutionSentenceAndDecision } from '../../../src/agents/approvals/approval-messages.ts'
import type { Adapter, NormalizedResponse, Part } from '../../../src/contract/index.ts'
import type { ActionLine, Resolution } from '../../../src/db/pending-actions.ts'
import type { JsonObject } from '../../../src/lib/json-value.ts'
import { createAttempt, createTextReply } from '../../../src/testing/adapter-contract-outbound.ts'
import { memoryNotes } from '../../doubles/memory-ttl-store.ts'
import { apiError, type SlackApi } from '../../doubles/slack-api.ts'
import type { SignOptions } from '../../fixtures/slack/index.ts'
import type { Case } from '../conform.ts'
import { adapterWith, place, read, receive, withApi } from './slack-setup.ts'

const markdown = (content: string): NormalizedResponse =>
  createTextReply('', { parts: [{ kind: 'text', mime: 'text/markdown', content }] })
const callsFor = (reply: NormalizedResponse, to: JsonObject = place, adapter: Adapter = adapterWith()) =>
  adapter.render(reply, to).map(({ call }) => call)
const shown = (content: string, adapter?: Adapter): string =>
  JSON.stringify(callsFor(markdown(content), place, adapter))
const payloadsFor = (content: string) =>
  callsFor(markdown(content)).map((call) => call['payload'] as { text: string; blocks: readonly JsonObject[] })
const post = (adapter: Adapter, to: JsonObject = place) => callsFor(createTextReply('hello'), to, adapter)[0] ?? {}
const failing = (run: (api: SlackApi) => void) =>
  withApi(async (api, adapter) => {
    run(api)
    return adapter.deliver(post(adapter), createAttempt(1))
  })

const renderCases: readonly Case[] = [
  {
    id: 'S70',
    claim: '11,900 characters are one message, 12,100 are two, cut between blocks',
    run: () => {
      const paragraphs = (last: number) =>
        [...Array.from({ length: 23 }, () => 'word '.repeat(100).trim()), 'x'.repeat(last)].join('\n\n')
      const [one, two] = [payloadsFor(paragraphs(11_900 - 23 * 501)), payloadsFor(paragraphs(12_100 - 23 * 501))]
      const whole = two.every(({ blocks }) => !/"text":"[^"]*wor"/.test(JSON.stringify(blocks)))
      return [one.length, two.length, whole]
    },
    equals: [1, 2, true],
  },
  {
    id: 'S71',
    claim: 'a broadcast in an answer is letters; where the operator grants it, it reaches everybody',
    run: () => {
      const [payload] = payloadsFor('hey <!channel> and <!here>')
      const granted = shown('hey <!channel>', adapterWith({ broadcasts: ['C0GENERAL1'] }))
      const elsewhere = shown('hey <!channel>', adapterWith({ broadcasts: ['C0OTHER001'] }))
      return [
        JSON.stringify(payload?.blocks).includes('<!channel>'),
        payload?.text,
        shown('<!channel>').includes('"broadcast"'),
        granted.includes('"type":"broadcast","range":"channel"'),
        elsewhere.includes('"broadcast"'),
      ]
    },
    equals: [true, 'hey &lt;!channel&gt; and &lt;!here&gt;', false, true, false],
  },
  {
    id: 'S72',
    claim: 'a link that is a program is its label',
    run: () => shown('[pay](javascript:alert(1))').includes('javascript'),
    equals: false,
  },
  {
    id: 'S73',
    claim: 'a label with the signs of a token keeps them, and the address stays whole',
    run: () =>
      /"text":"a \| b > c"[^}]*"url":"https:\/\/e\.example\/\?q=1"/.test(shown('[a | b > c](https://e.example/?q=1)')),
    equals: true,
  },
  {
    id: 'S74',
    claim: 'sixty blocks are several messages of at most fifty, each with a text',
    run: () => {
      const payloads = payloadsFor(Array.from({ length: 60 }, (_, index) => `# Head ${index}`).join('\n\n'))
      return [payloads.length > 1, payloads.every(({ blocks, text }) => blocks.length <= 50 && text !== '')]
    },
    equals: [true, true],
  },
  {
    id: 'S75',
    claim: 'no message holds more than 12,000 characters in all',
    run: () =>
      payloadsFor(Array.from({ length: 9 }, () => 'x'.repeat(1500)).join('\n\n')).map(
        ({ blocks }) => lettersIn(blocks) <= 12_000,
      ),
    equals: [true, true],
  },
  {
    id: 'S76',
    claim: 'an empty cell is a space',
    run: () => shown('| a | b |\n| - | - |\n| 1 | |').includes('"text":" "'),
    equals: true,
  },
]

const outcomeCases: readonly Case[] = [
  {
    id: 'S78',
    claim: '429 holds back this conversation for as long as Slack says',
    run: () =>
      failing((api) =>
        api.failNext('chat.postMessage', { kind: 'answer', status: 429, body: '', headers: { 'retry-after': '7' } }),
      ),
    equals: { kind: 'retry', reason: 'rate_limited', afterMs: 7000, scope: 'conversation' },
  },
  {
    id: 'S78a',
    claim: 'without a readable time, and said in a body of 200, as well',
    run: async () => [
      await failing((api) => api.failNext('chat.postMessage', { kind: 'answer', status: 429, body: '' })),
      await failing((api) => api.failNext('chat.postMessage', apiError('ratelimited'))),
    ],
    expected: [
      { kind: 'retry', reason: 'rate_limited', afterMs: 30_000 },
      { kind: 'retry', reason: 'rate_limited', afterMs: 30_000 },
    ],
  },
  {
    id: 'S79',
    claim: 'a post that arrived in spite of a 500 is found again by its metadata; one that did not is not',
    run: () =>
      withApi(async (api, adapter) => {
        api.failNext('chat.postMessage', { kind: 'answer', status: 500, body: 'oops', applied: true })
        const call = post(adapter)
        const outcome = await adapter.deliver(call, createAttempt(1))
        const found = await adapter.reconcile?.(call, createAttempt(2))
        const other = await adapter.reconcile?.(call, createAttempt(2, { clientId: 'client-0002' }))
        return [outcome, found, other, api.posts.length]
      }),
    expected: [{ kind: 'unknown' }, { kind: 'found' }, { kind: 'absent' }, 1],
  },
  {
    id: 'S80',
    claim: 'a lost answer leaves a post in doubt, and an edit to be repeated',
    run: () =>
      withApi(async (api, adapter) => {
        const edit = { method: 'chat.update', account: 'T0PARLEY1', payload: { channel: 'C1', ts: '1.1', text: 'x' } }
        api.failNext('chat.update', { kind: 'drop', when: 'after' })
        api.failNext('chat.postMessage', { kind: 'drop', when: 'after' })
        return [await adapter.deliver(edit, createAttempt(1)), await adapter.deliver(post(adapter), createAttempt(1))]
      }),
    equals: [
      { kind: 'retry', reason: 'no_readable_answer' },
      { kind: 'unknown', reason: 'no_readable_answer' },
    ],
  },
  {
    id: 'S80a',
    claim: 'every refusal of the table is final, every trouble in doubt',
    run: async () => {
      const refusals =
        'invalid_auth account_inactive token_revoked token_expired not_in_channel channel_not_found is_archived missing_scope thread_not_found invalid_thread_ts message_limit_exceeded restricted_action org_login_required ekm_access_denied'
      const troubles = 'fatal_error internal_error service_unavailable'
      const kinds = (list: string) =>
        Promise.all(
          list
            .split(' ')
            .map(async (error) => (await failing((api) => api.failNext('chat.postMessage', apiError(error)))).kind),
        )
      return [new Set(await kinds(refusals)), new Set(await kinds(troubles))]
    },
    equals: [new Set(['refused']), new Set(['unknown'])],
  },
  {
    id: 'S80b',
    claim: 'blocks that are not taken are said in plain words, escaped',
    run: () =>
      withApi(async (api, adapter) => {
        api.failNext('chat.postMessage', apiError('invalid_blocks'))
        const call = callsFor(createTextReply('a <!channel> b'), place, adapter)[0] ?? {}
        return [
          (await adapter.deliver(call, createAttempt(1))).kind,
          api.posts.map(({ text, blocks }) => ({ text, blocks })),
        ]
      }),
    equals: ['delivered', [{ text: 'a &lt;!channel&gt; b', blocks: undefined }]],
  },
]

const bytes = (text: string) => {
  const body = new TextEncoder().encode(text)
  return { body: new Blob([body]).stream(), size: body.length, mimeType: 'text/plain', name: 'a.txt' }
}
const filePart: Part = {
  kind: 'file',
  bytes_ref: { kind: 'content_addressed', algo: 'sha256', digest: '0'.repeat(64) },
  mime: 'text/plain',
  name: 'a.txt',
  size: 10,
  attachment: { id: '018f0000-0000-7000-8000-000000000001', bucket: 'agent-files', path: 'a/b.txt' },
}
const sendFile = (text: string, prepare: (api: SlackApi) => void = () => {}) =>
  withApi(
    async (api, adapter) => {
      prepare(api)
      const [call = {}] = callsFor(createTextReply('', { parts: [filePart] }), place, adapter)
      const { kind, ...rest } = await adapter.deliver(call, createAttempt(1))
      return {
        kind,
        ...rest,
        methods: api.methods(),
        uploads: api.uploads,
        headers: api.calls.map(({ headers }) => headers['authorization'] ?? ''),
      }
    },
    { deps: { files: { open: async () => bytes(text) } } },
  )
const openWith = (prepare: (api: SlackApi) => JsonObject) =>
  withApi(async (api, adapter) => {
    const ref = prepare(api)
    const opened = await adapter.openFile?.(
      { account: 'T0PARLEY1', file_id: 'F1', mime: 'text/plain', ...ref },
      AbortSignal.timeout(5000),
    )
    const said = opened?.kind === 'opened' ? await new Response(opened.body).text() : opened
    return { said, tokens: api.calls.filter(({ headers }) => headers['authorization'] !== undefined).length }
  })

const fileCases: readonly Case[] = [
  {
    id: 'S88',
    claim: 'an empty file is refused before any call',
    run: () => sendFile(''),
    equals: { kind: 'refused', reason: 'file_empty', methods: [], uploads: [], headers: [] },
  },
  {
    id: 'S88a',
    claim: 'any other goes in three steps, and its bytes without a token',
    run: () => sendFile('some bytes'),
    expected: {
      kind: 'delivered',
      vendorId: 'F0UPLOAD1',
      methods: ['files.getUploadURLExternal', 'upload', 'files.completeUploadExternal'],
      uploads: ['some bytes'],
      headers: { 1: '' },
    },
  },
  {
    id: 'S89',
    claim: 'bytes go to no host that is not listed',
    run: () =>
      sendFile('some bytes', (api) => {
        api.uploadHost = 'http://127.0.0.1:9'
      }),
    expected: {
      kind: 'refused',
      reason: 'upload_host_not_allowed',
      methods: ['files.getUploadURLExternal'],
      uploads: [],
    },
  },
  {
    id: 'S90',
    claim: 'a login page is not the file',
    run: () =>
      openWith((api) => {
        api.files.set('/files-pri/a.txt', { bytes: new TextEncoder().encode('<html>'), type: 'text/html' })
        return { url: '/files-pri/a.txt' }
      }),
    expected: { said: { kind: 'refused', reason: 'login_page' } },
  },
  {
    id: 'S91',
    claim: 'a redirect to another host is not followed',
    run: () =>
      openWith((api) => {
        api.failNext('download', {
          kind: 'answer',
          status: 302,
          body: '',
          headers: { location: 'http://127.0.0.1:9/' },
        })
        return { url: '/files-pri/a.txt' }
      }),
    expected: { said: { kind: 'refused', reason: 'not_allowed' }, tokens: 1 },
  },
  {
    id: 'S91a',
    claim: 'a stub is asked for first',
    run: () =>
      openWith((api) => {
        api.files.set('/files-pri/asked.txt', { bytes: new TextEncoder().encode('found'), type: 'text/plain' })
        return {}
      }),
    expected: { said: 'found' },
  },
]

const action = { summary: 'delete the branch', status: 'accepted', resolvers: 'owner' } as unknown as ActionLine
const words = (resolution: Resolution) => {
  const { says, decision } = resolutionSentenceAndDecision(resolution)
  return createTextReply(says, { control: { about: 'approve', decision } })
}
const clickedPlace: JsonObject = {
  ...place,
  reply_to_user: 'U0ADA0001',
  reply_to_card: '1763300090.001000',
  reply_to_question: 'May I?',
}
const question: Part = {
  kind: 'policy',
  policy: {
    kind: 'approval_required',
    message: 'May I?\nReply /parley approve c0ffee or /parley reject c0ffee.',
    question: 'May I?',
    action_id: 'a',
    code: 'c0ffee',
    summary: 's',
    expires_at: '2026-01-01T10:00:00.000Z',
    choices: ['approve', 'reject'],
  },
}

const approvalCases: readonly Case[] = [
  {
    id: 'S92',
    claim: 'who clicks second is told alone that it was decided, and a click has a key of its own',
    run: async () => {
      const late = { kind: 'refused', reason: 'already_resolved', action } as Resolution
      const click = (actionTs: string) => ({
        type: 'block_actions',
        user: { id: 'U0ADA0001', team_id: 'T0PARLEY1' },
        team: { id: 'T0PARLEY1' },
        channel: { id: 'C0GENERAL1' },
        container: { message_ts: '1763300090.001000', thread_ts: '1763300010.000200' },
        actions: [{ action_id: 'approve', block_id: 'parley_approval', value: 'c0ffee', action_ts: actionTs }],
      })
      const keys = await Promise.all(
        ['1763300095.001100', '1763300095.001100', '1763300095.001300'].map(
          async (at) => (await read(click(at))).semanticId,
        ),
      )
      return [callsFor(words(late), clickedPlace), new Set(keys).size]
    },
    expected: [[{ method: 'chat.postEphemeral', payload: { user: 'U0ADA0001' } }], 2],
  },
  {
    id: 'S92a',
    claim: 'a decision takes the buttons off the card and keeps the question',
    run: () => callsFor(words({ kind: 'resolved', action } as Resolution), clickedPlace),
    expected: [
      {
        method: 'chat.update',
        payload: { ts: '1763300090.001000', text: 'Approved: delete the branch. I go on with it.' },
      },
    ],
  },
  {
    id: 'S92b',
    claim: 'a question has two buttons that hold its code and nothing else, and no line to type',
    run: () => {
      const [call] = callsFor(createTextReply('', { parts: [question], status: 'input_required' }))
      const text = JSON.stringify(call)
      return [text.match(/"value":"[^"]*"/g), text.includes('Reply'), text.includes('"style":"danger"')]
    },
    equals: [['"value":"c0ffee"', '"value":"c0ffee"'], false, true],
  },
  {
    id: 'S93',
    claim: 'who may not decide is told alone, and the buttons stay',
    run: () => callsFor(words({ kind: 'refused', reason: 'not_allowed', action } as Resolution), clickedPlace),
    expected: [{ method: 'chat.postEphemeral' }],
  },
]

const pressed = (origin: string, container: object) => ({
  type: 'block_actions',
  user: { id: 'U0ADA0001', team_id: 'T0PARLEY1' },
  team: { id: 'T0PARLEY1' },
  channel: { id: 'C0GENERAL1' },
  response_url: `${origin}/response/secret-of-the-press`,
  container: { message_ts: '1763300090.001000', ...container },
  actions: [{ action_id: 'approve', block_id: 'parley_approval', value: 'c0ffee', action_ts: '1763300095.001100' }],
})
const ordered = (origin: string, text: string) =>
  new URLSearchParams({
    command: '/parley',
    text,
    user_id: 'U0ADA0001',
    team_id: 'T0PARLEY1',
    channel_id: 'C0SECRET01',
    trigger_id: '1.2',
    response_url: `${origin}/response/secret-of-the-command`,
  }).toString()
const form = { type: 'application/x-www-form-urlencoded' }

/** Receives an order, renders the answer to it, delivers that; what Slack then saw. */
const answerTo = (
  order: (origin: string) => unknown,
  reply: NormalizedResponse,
  { prepare = (_: SlackApi) => {}, how = {} }: { prepare?: (api: SlackApi) => void; how?: SignOptions } = {},
) => {
  const notes = memoryNotes()
  return withApi(
    async (api, adapter) => {
      prepare(api)
      const reception = await receive(order(api.origin), how, adapter)
      const [first] = reception.kind === 'read' ? reception.events : []
      const to = first?.kind === 'message' ? first.replyTo : {}
      const [call = {}] = callsFor(reply, to, adapter)
      const { kind } = await adapter.deliver(call, createAttempt(1))
      const stored = JSON.stringify([first, call])
      const tokens = api.calls.filter(({ route, headers }) => route === 'response' && 'authorization' in headers)
      return {
        kind,
        methods: api.methods(),
        said: api.responses.map((body) => (typeof body === 'string' ? JSON.parse(body) : body)),
        isLeaked: stored.includes('secret-of-the') || tokens.length > 0,
      }
    },
    { deps: { ttlStore: notes } },
  )
}
const decidedReply = words({ kind: 'resolved', action } as Resolution)
const gone = (api: SlackApi) => api.failAlways('response', { kind: 'answer', status: 404, body: 'expired_url' })
const absent = (api: SlackApi) => api.failNext('chat.postEphemeral', apiError('not_in_channel'))

const responseCases: readonly Case[] = [
  {
    id: 'S94',
    claim: 'a card that one person sees is changed through response_url, which is stored nowhere in the clear',
    run: () => answerTo((origin) => pressed(origin, { is_ephemeral: true }), decidedReply),
    expected: { kind: 'delivered', methods: ['response'], said: [{ replace_original: true }], isLeaked: false },
  },
  {
    id: 'S95',
    claim: 'a response_url that has run out is no failure: the card is changed as any other',
    run: () => answerTo((origin) => pressed(origin, { is_ephemeral: true }), decidedReply, { prepare: gone }),
    expected: { methods: ['response', 'chat.update'], isLeaked: false },
  },
  {
    id: 'S94a',
    claim: 'a card that everybody sees is changed with our own token, and by response_url where that is refused',
    run: async () => [
      await answerTo((origin) => pressed(origin, {}), decidedReply),
      await answerTo((origin) => pressed(origin, {}), decidedReply, {
        prepare: (api) => api.failNext('chat.update', apiError('channel_not_found')),
      }),
    ],
    expected: [
      { methods: ['chat.update', 'response'] },
      { kind: 'delivered', methods: ['chat.update', 'response'], said: [{ replace_original: true }] },
    ],
  },
  {
    id: 'S95a',
    claim: 'what the gateway or an agent says to a slash command only the person who gave it sees',
    run: async () => [
      await answerTo((origin) => ordered(origin, 'status'), createTextReply('idle', { control: { about: 'status' } }), {
        how: form,
      }),
      await answerTo((origin) => ordered(origin, 'what is it?'), createTextReply('this'), { how: form }),
    ],
    expected: [
      { methods: ['response'], said: [{ response_type: 'ephemeral', text: 'idle' }], isLeaked: false },
      {
        kind: 'delivered',
        methods: ['response'],
        said: [{ response_type: 'ephemeral', text: 'this' }],
        isLeaked: false,
      },
    ],
  },
  {
    id: 'S95b',
    claim:
      'an answer to a slash command goes by response_url; when that is over to the person alone, and where the bot is not in a direct message',
    run: async () => [
      await answerTo((origin) => ordered(origin, 'what?'), createTextReply('this'), { how: form, prepare: gone }),
      await answerTo((origin) => ordered(origin, 'what?'), createTextReply('this'), {
        how: form,
        prepare: (api) => {
          gone(api)
          absent(api)
        },
      }),
    ],
    expected: [
      { kind: 'delivered', methods: ['response', 'chat.postEphemeral'] },
      { kind: 'delivered', methods: ['response', 'chat.postEphemeral', 'chat.postMessage'] },
    ],
  },
]

function lettersIn(value: unknown): number {
  if (Array.isArray(value)) return value.reduce((sum: number, each) => sum + lettersIn(each), 0)
  if (typeof value !== 'object' || value === null) return 0
  return Object.entries(value).reduce(
    (sum, [name, each]) => sum + (name === 'text' && typeof each === 'string' ? each.length : lettersIn(each)),
    0,
  )
}

export const outboundCases: readonly Case[] = [
  ...renderCases,
  ...outcomeCases,
  ...fileCases,
  ...approvalCases,
  ...responseCases,
]
