// Stands in for slack.com/api and its file host: the methods Parley calls, with Slack's own answers. Anything else is unexpected.
import {
  type Fault,
  type ScriptedServer,
  startScriptedServer,
  type VendorReply,
  type VendorRequest,
} from '../../src/testing/scripted-server.ts'

export type SlackPost = {
  readonly ts: string
  readonly channel: string
  readonly thread_ts?: string
  text: string
  blocks: unknown
  metadata: unknown
  state: 'posted' | 'streaming' | 'stopped'
}

export type SlackApi = Pick<
  ScriptedServer,
  'origin' | 'calls' | 'unexpected' | 'failNext' | 'failAlways' | 'failBy' | 'close'
> & {
  readonly posts: readonly SlackPost[]
  readonly ephemeral: readonly Readonly<Record<string, string>>[]
  /** What people uploaded or we did, by path or id. */
  readonly files: Map<string, { readonly bytes: Uint8Array; readonly type: string }>
  readonly uploads: readonly string[]
  /** What was said to a `response_url`. */
  readonly responses: readonly unknown[]
  /** Fields of the calls of one method, whether or not they were carried out. */
  readonly fields: (method: string) => readonly Readonly<Record<string, string>>[]
  readonly methods: () => readonly string[]
  uploadHost: string | undefined
}

const methods = new Set([
  'auth.test',
  'chat.postMessage',
  'chat.update',
  'chat.postEphemeral',
  'files.info',
  'chat.startStream',
  'chat.appendStream',
  'chat.stopStream',
  'conversations.history',
  'conversations.replies',
  'files.getUploadURLExternal',
  'files.completeUploadExternal',
  'assistant.threads.setStatus',
  'assistant.threads.setTitle',
  'assistant.threads.setSuggestedPrompts',
  'agents.sessions.setStatus',
  'reactions.add',
  'reactions.remove',
  'users.info',
])

type State = {
  readonly posts: SlackPost[]
  readonly ephemeral: Readonly<Record<string, string>>[]
  readonly files: SlackApi['files']
  readonly uploads: string[]
  readonly responses: unknown[]
  readonly uploadUrl: () => string
}

export async function startSlackApi(): Promise<SlackApi> {
  const holder: { origin: string; uploadHost: string | undefined } = { origin: '', uploadHost: undefined }
  const state: State = {
    posts: [],
    ephemeral: [],
    files: new Map(),
    uploads: [],
    responses: [],
    uploadUrl: () => `${holder.uploadHost ?? holder.origin}/upload/v1/abc`,
  }
  const server = await startScriptedServer({
    notFound: { ok: false, error: 'unknown_method' },
    routeOf: ({ path }) => {
      if (path.startsWith('/upload/')) return 'upload'
      if (path.startsWith('/response/')) return 'response'
      if (path.startsWith('/files-pri/')) return 'download'
      const method = path.startsWith('/api/') ? path.slice('/api/'.length) : ''
      return methods.has(method) ? method : undefined
    },
    apply: (route, request) => carryOut(state, route, request),
  })
  holder.origin = server.origin
  return {
    ...server,
    posts: state.posts,
    ephemeral: state.ephemeral,
    files: state.files,
    uploads: state.uploads,
    responses: state.responses,
    fields: (method) => server.calls.filter(({ route }) => route === method).map(({ body }) => fieldsOf(body)),
    methods: () => server.calls.map(({ route }) => route),
    get uploadHost() {
      return holder.uploadHost
    },
    set uploadHost(host: string | undefined) {
      holder.uploadHost = host
    },
  }
}

export function apiError(error: string, applied = false): Fault {
  return { kind: 'answer', status: 200, body: JSON.stringify({ ok: false, error }), applied }
}

function carryOut(state: State, route: string, { path, body }: VendorRequest): VendorReply {
  const fields = fieldsOf(body)
  switch (route) {
    case 'download':
      return download(state, path)
    case 'response':
      state.responses.push(body)
      return { status: 200, body: 'ok' }
    case 'upload':
      state.uploads.push(String(body))
      return { status: 200, body: 'OK' }
    case 'assistant.threads.setStatus':
    case 'assistant.threads.setTitle':
    case 'assistant.threads.setSuggestedPrompts':
    case 'agents.sessions.setStatus':
    case 'reactions.add':
    case 'reactions.remove':
      return ok({})
    case 'auth.test':
      return ok({ user_id: 'U0PARLEY1', team_id: 'T0PARLEY1' })
    case 'users.info':
      return ok({
        user: { id: fields['user'], name: 'ada.l', profile: { display_name: '', real_name: 'Ada Lovelace' } },
      })
    case 'files.getUploadURLExternal':
      return ok({ upload_url: state.uploadUrl(), file_id: 'F0UPLOAD1' })
    case 'files.completeUploadExternal':
      return ok({ files: [{ id: 'F0UPLOAD1' }] })
    case 'files.info':
      return ok({ file: { id: fields['file'], url_private_download: '/files-pri/asked.txt' } })
    case 'chat.postEphemeral':
      state.ephemeral.push(fields)
      return ok({ message_ts: '1763300000.999999' })
    case 'conversations.history':
    case 'conversations.replies':
      return ok({
        messages: state.posts
          .filter((post) => post.channel === fields['channel'])
          .map((post) => ({ bot_id: 'B0PARLEY1', ...post })),
        has_more: false,
      })
    default:
      return chat(state.posts, route, fields)
  }
}

function chat(posts: SlackPost[], method: string, fields: Readonly<Record<string, string>>): VendorReply {
  const at = posts.find(({ ts }) => ts === fields['ts'])
  switch (method) {
    case 'chat.postMessage':
    case 'chat.startStream': {
      const isStream = method === 'chat.startStream'
      const ts = `${Math.floor(Date.now() / 1000)}.${String(posts.length + 1).padStart(6, '0')}`
      const thread = fields['thread_ts']
      posts.push({
        ts,
        channel: fields['channel'] ?? '',
        ...(thread === undefined ? {} : { thread_ts: thread }),
        text: fields[isStream ? 'markdown_text' : 'text'] ?? '',
        blocks: json(fields['blocks']),
        metadata: json(fields['metadata']),
        state: isStream ? 'streaming' : 'posted',
      })
      return ok({ ts, channel: fields['channel'] })
    }
    case 'chat.update':
      if (at === undefined) return refused('message_not_found')
      at.text = fields['text'] ?? ''
      at.blocks = json(fields['blocks'])
      return ok({ ts: at.ts })
    default:
      if (at?.state !== 'streaming') return refused('message_not_in_streaming_state')
      at.text += fields['markdown_text'] ?? ''
      if (method === 'chat.stopStream') at.state = 'stopped'
      return ok({ ts: at.ts })
  }
}

function download({ files }: State, path: string): VendorReply {
  const file = files.get(path)
  if (file === undefined) return { status: 404, body: {} }
  return { status: 200, body: file.bytes, headers: { 'content-type': file.type } }
}

function ok(data: object): VendorReply {
  return { status: 200, body: { ok: true, ...data } }
}

function refused(error: string): VendorReply {
  return { status: 200, body: { ok: false, error } }
}

function fieldsOf(body: unknown): Readonly<Record<string, string>> {
  return typeof body === 'string' ? Object.fromEntries(new URLSearchParams(body)) : {}
}

function json(text: string | undefined): unknown {
  return text === undefined ? undefined : JSON.parse(text)
}
