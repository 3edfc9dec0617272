// The same event through Chat SDK's Slack adapter and through ours: both must say the same of it, except where the list says why
// not. What stands in the list must differ, so that it never outlives its reason.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { textOf } from '../../../src/contract/index.ts'
import { type ScriptedServer, startScriptedServer } from '../../../src/testing/scripted-server.ts'
import { bot, bytesOf, receive } from '../../conformance/slack/slack-setup.ts'
import { fixtures } from '../../fixtures/slack/index.ts'
import { chatSdk, type Reading, readByChatSdk, silent } from '../chat-sdk.ts'
import { describeBeside } from '../peer.ts'
import { cases } from './events.ts'

type Difference = Partial<Record<keyof Reading | 'isRead', string>>

const called = 'ours leaves out the name it was called by, where the words begin with it'
const named = 'theirs looks people up before it hands anything on; ours says what Slack said'

const differences: Readonly<Record<string, Difference>> = {
  'a mention as a mention': { text: called },
  'a mention as a message': { text: called },
  'a mention in a thread': { text: called },
  'a mention in a private channel': { text: called },
  'a reply shown in the channel too': { text: called },
  'a person of another workspace': { text: called },
  'a mention behind other words': { text: named },
  'words for somebody else': { text: named },
  'our name in code': { text: 'in code it is no name; theirs resolves it all the same, and drops the marks' },
  'entities of Slack': { text: 'theirs decodes twice' },
  'a link with a label': { text: 'ours keeps where the link leads' },
  'bold and code': { text: 'theirs drops the marks; ours stays what the person typed' },
  'another bot': { isRead: 'bots are not answered, or two of them never stop' },
  'a change of words': { isRead: 'theirs has no handler for it' },
  'a notice of Slack': { isRead: 'it is nobody’s message' },
}

/** What their adapter asks about people and itself. */
const known: Readonly<Record<string, object>> = {
  'auth.test': { user_id: bot, bot_id: 'B0PARLEY1', team_id: 'T0PARLEY1' },
  'users.info': {
    user: { id: 'U0ADA0001', name: 'somebody', real_name: 'Somebody', profile: { display_name: 'somebody' } },
  },
  'conversations.info': { channel: { id: 'C0GENERAL1', name: 'general' } },
}

describeBeside('Slack events beside Chat SDK', chatSdk, (module) => {
  let api: ScriptedServer
  beforeAll(async () => {
    api = await startScriptedServer({
      notFound: { ok: false, error: 'unknown_method' },
      routeOf: ({ path }) => (path.startsWith('/api/') ? path.slice('/api/'.length) : undefined),
      apply: (route) => ({ status: 200, body: { ok: true, ...known[route] } }),
    })
  })
  afterAll(() => api.close())

  const theirs = async (event: object): Promise<Reading | undefined> => {
    const { botToken, signingSecret } = fixtures.secrets
    const settings = { botToken, signingSecret, botUserId: bot, apiUrl: `${api.origin}/api/`, logger: silent }
    const adapter = module().slack['createSlackAdapter']?.(settings)
    const { bytes, headers } = await fixtures.sign(bytesOf(event), { at: Date.now() })
    const body = new TextDecoder().decode(bytes)
    const read = await readByChatSdk(
      module(),
      { slack: adapter },
      new Request('http://127.0.0.1/', { method: 'POST', headers, body }),
    )
    if (read === undefined) return undefined
    const place = read.threadId.replace(/^slack:/, '').replace(/:$/, '')
    const isForUs = read.isMention === true || place.startsWith('D')
    return {
      author: read.author.userId,
      place,
      text: read.text,
      isForUs,
      files: read.attachments.map(({ type }) => type),
    }
  }

  // Chat SDK waits two seconds for what Slack may yet say about a link.
  test.concurrent.each(Object.entries(cases))('agree on %s', async (name, event) => {
    const [mine, other] = [await ours(event), await theirs(event)]
    const listed = differences[name] ?? {}
    const isSame = (mine === undefined) === (other === undefined)
    expect(isSame, `ours ${JSON.stringify(mine)}, theirs ${JSON.stringify(other)}`).toBe(listed.isRead === undefined)
    if (mine === undefined || other === undefined) return
    const differing = (Object.keys(mine) as (keyof Reading)[]).filter(
      (field) => JSON.stringify(mine[field]) !== JSON.stringify(other[field]),
    )
    expect(differing, `ours ${JSON.stringify(mine)}, theirs ${JSON.stringify(other)}`).toEqual(Object.keys(listed))
  })
})

async function ours(event: object): Promise<Reading | undefined> {
  const reception = await receive(event)
  const arrived = reception.kind === 'read' ? reception.events[0] : undefined
  if (arrived?.kind !== 'message') return undefined
  const { message, subject } = arrived
  return {
    author: subject?.split('/').at(-1) ?? '',
    // One app may be in many workspaces: ours says in which one.
    place: message.thread_id?.replace(/^T0PARLEY1:/, '') ?? '',
    text: textOf(message.parts),
    isForUs: !['none', 'thread'].includes(message.channel?.addressed ?? 'none'),
    files: message.parts.filter(({ kind }) => kind !== 'text').map((part) => familyOf(part)),
  }
}

/** Their word for what a file is. */
function familyOf(part: object): string {
  const mime = 'mime' in part && typeof part.mime === 'string' ? part.mime : ''
  return ['image', 'audio', 'video'].find((family) => mime.startsWith(family)) ?? 'file'
}
