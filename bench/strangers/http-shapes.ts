// Requests as strangers may make them up, at every path that answers without a credential: each shape is one way to be large.
import { createHash, sign } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { strangerKey } from './stranger-key.ts'

export type StrangerRequest = {
  readonly method: string
  readonly path: string
  readonly headers: readonly (readonly [string, string])[]
  readonly body: Buffer
  /** The body goes out in chunks of so many bytes; without it in one, with its length told. */
  readonly chunkBytes?: number
}

/** Where the stranger's own server answers, and what it is told to say of an actor. */
export type StrangerHome = {
  readonly origin: string
  /** The gateway's own public address. */
  readonly gateway: string
  /** The document of an actor from now on; undefined: there is none. */
  readonly setActor: (path: string, document: string) => void
}

export type HttpShape = {
  readonly name: string
  /** The largest that the path takes; sizes are a quarter, a half and the whole of it. */
  readonly maxBytes: number
  readonly make: (bytes: number, serial: number, home: StrangerHome) => StrangerRequest
}

export const slackSecret = 'signing-secret-of-the-bench-0123'
export const telegramSecret = 'webhook-secret-of-the-bench-0123456789'
export const mailHookSecret = 'mail-hook-secret-of-the-bench-0123456789'

const hookBytes = 960 * 1024
const noteBytes = 250 * 1024
/** What the text of a note may have, and some. */
const signedNoteBytes = 180 * 1024
/** Node takes 16 KB of head. */
const headBytes = 12 * 1024
const json = ['content-type', 'application/json'] as const

function fill(bytes: number, piece: string): string {
  return piece.repeat(Math.max(1, Math.ceil(bytes / piece.length)))
}

function pieces(bytes: number, piece: (index: number) => string, between = ','): string {
  const made: string[] = []
  for (let [length, index] = [0, 0]; length < bytes; index += 1) {
    const next = piece(index)
    made.push(next)
    length += next.length + between.length
  }
  return made.join(between)
}

const quoted = (text: string): string => `"${text}"`
const deepArray = (bytes: number): string => `${'['.repeat(bytes / 2)}${']'.repeat(bytes / 2)}`
const deepObject = (bytes: number): string =>
  `${fill(bytes * 0.8, '{"a":')}1${'}'.repeat(Math.ceil((bytes * 0.8) / 5))}`
const wideObject = (bytes: number): string => `{${pieces(bytes, (at) => `"k${at}":1`)}}`
const sameKeys = (bytes: number): string => `{${pieces(bytes, () => '"k":1')}}`
const wideArray = (bytes: number, item: string): string => `[${pieces(bytes, () => item)}]`

// Slack.
type Headers = StrangerRequest['headers']

function post(path: string, headers: Headers, body: string | Buffer): StrangerRequest {
  return { method: 'POST', path, headers, body: typeof body === 'string' ? Buffer.from(body) : body }
}

/** Now, and with a signature of the right form that is another's. */
const slackHeaders = (): Headers => [
  ['x-slack-request-timestamp', String(Math.floor(Date.now() / 1000))],
  ['x-slack-signature', `v0=${'ab'.repeat(32)}`],
]
const slackPath = '/hooks/slack/default'
const slack = (name: string, make: (bytes: number) => string, type: string = json[1]): HttpShape => ({
  name: `Slack: ${name}`,
  maxBytes: hookBytes,
  make: (bytes) => post(slackPath, [...slackHeaders(), ['content-type', type]], make(bytes)),
})
const form = 'application/x-www-form-urlencoded'
const event = (text: string): string => `{"type":"event_callback","event":{"type":"message","text":${text}}}`

// Telegram.
const telegram = (name: string, make: (bytes: number) => string): HttpShape => ({
  name: `Telegram: ${name}`,
  maxBytes: hookBytes,
  make: (bytes) =>
    post('/hooks/telegram/default', [['x-telegram-bot-api-secret-token', 'x'.repeat(38)], json], make(bytes)),
})

// ActivityPub.
const inbox = '/ap/demo/inbox'
const activityType = ['content-type', 'application/activity+json'] as const

function note(home: StrangerHome, serial: number, more: Readonly<Record<string, string>>): string {
  const actor = actorOf(home, serial)
  const id = `${actor}/notes/${serial}-${Date.now()}`
  const whom = `${home.gateway}/ap/demo`
  const object: Record<string, string> = {
    id: quoted(id),
    type: '"Note"',
    attributedTo: quoted(actor),
    to: `["https://www.w3.org/ns/activitystreams#Public"]`,
    cc: `[${quoted(whom)}]`,
    content: '"hello"',
    tag: `[{"type":"Mention","href":${quoted(whom)},"name":"@demo"}]`,
    ...more,
  }
  const context = more['@context'] ?? '"https://www.w3.org/ns/activitystreams"'
  const { '@context': _, ...fields } = object
  const members = Object.entries(fields).map(([name, value]) => `${quoted(name)}:${value}`)
  return `{"@context":${context},"id":${quoted(`${id}/activity`)},"type":"Create","actor":${quoted(actor)},"to":${fields['to']},"cc":${fields['cc']},"object":{${members.join(',')}}}`
}

/** Each measurement has an actor of its own, so that nothing of it is known from before. */
const actorOf = ({ origin }: StrangerHome, serial: number): string => `${origin}/users/s${serial}`

function actorDocument(home: StrangerHome, serial: number, more = ''): string {
  const id = actorOf(home, serial)
  const key = { id: `${id}#main-key`, owner: id, publicKeyPem: strangerKey().pem }
  const plain = { id, type: 'Person', preferredUsername: `s${serial}`, inbox: `${id}/inbox`, publicKey: key }
  return `{"@context":["https://www.w3.org/ns/activitystreams","https://w3id.org/security/v1"],${JSON.stringify(plain).slice(1, -1)}${more}}`
}

/** As servers sign (draft-cavage-http-signatures-12). */
function signedHeaders(home: StrangerHome, serial: number, body: Buffer): Headers {
  const { host } = new URL(home.gateway)
  const date = new Date().toUTCString()
  const digest = `SHA-256=${createHash('sha256').update(body).digest('base64')}`
  const text = `(request-target): post ${inbox}\nhost: ${host}\ndate: ${date}\ndigest: ${digest}`
  const value = sign('sha256', Buffer.from(text), strangerKey().privateKey).toString('base64')
  const signature = `keyId="${actorOf(home, serial)}#main-key",algorithm="rsa-sha256",headers="(request-target) host date digest",signature="${value}"`
  return [['host', host], ['date', date], ['digest', digest], activityType, ['signature', signature]]
}

const unsigned = (name: string, make: (bytes: number, home: StrangerHome, serial: number) => string): HttpShape => ({
  name: `ActivityPub: unsigned, ${name}`,
  maxBytes: noteBytes,
  make: (bytes, serial, home) => post(inbox, [activityType], make(bytes, home, serial)),
})
/** By an unknown actor that is who it says it is. */
const byStranger = (name: string, more: (bytes: number) => Readonly<Record<string, string>>): HttpShape => ({
  name: `ActivityPub: signed, ${name}`,
  maxBytes: signedNoteBytes,
  make(bytes, serial, home) {
    home.setActor(`/users/s${serial}`, actorDocument(home, serial))
    const body = Buffer.from(note(home, serial, more(bytes)))
    return post(inbox, signedHeaders(home, serial, body), body)
  },
})
/** A small request that makes us fetch a large document; what counts are the bytes of the document. */
const byDocument = (name: string, more: (bytes: number) => string): HttpShape => ({
  name: `ActivityPub: an actor whose document is ${name}`,
  maxBytes: noteBytes,
  make(bytes, serial, home) {
    home.setActor(`/users/s${serial}`, actorDocument(home, serial, `,"x":${more(bytes)}`))
    const body = Buffer.from(note(home, serial, {}))
    return post(inbox, signedHeaders(home, serial, body), body)
  },
})
const byHead = (name: string, headers: (bytes: number, home: StrangerHome) => Headers): HttpShape => ({
  name: `ActivityPub: ${name}`,
  maxBytes: headBytes,
  make: (bytes, serial, home) => post(inbox, [activityType, ...headers(bytes, home)], note(home, serial, {})),
})

// A2A.
const rpc = (params: string): string => `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":${params}}`
const message = (serial: number, parts: string, more = ''): string =>
  `{"message":{"messageId":"m${serial}-${Date.now()}","role":"ROLE_USER","parts":${parts}${more}}}`
const version = ['a2a-version', '1.0'] as const
const a2a = (name: string, make: (bytes: number, serial: number) => string): HttpShape => ({
  name: `A2A: ${name}`,
  maxBytes: hookBytes,
  make: (bytes, serial) => post('/a2a', [version, json], make(bytes, serial)),
})
const a2aRest = (name: string, make: (bytes: number, serial: number) => string): HttpShape => ({
  name: `A2A REST: ${name}`,
  maxBytes: hookBytes,
  make: (bytes, serial) => post('/a2a/message:send', [version, json], make(bytes, serial)),
})

// Runs and tasks.
const run = (name: string, make: (bytes: number) => string): HttpShape => ({
  name: `run: ${name}`,
  maxBytes: hookBytes,
  make: (bytes, serial) => {
    const id = `${serial}-${Date.now()}`
    return post('/api/v1/agent/run', [json], `{"threadId":"t${id}","runId":"r${id}",${make(bytes)}}`)
  },
})
const said = (content: string): string => `"messages":[{"id":"m1","role":"user","content":${content}}]`

// Uploads.
const boundary = 'stranger'
const upload = (name: string, make: (bytes: number) => string): HttpShape => ({
  name: `upload: ${name}`,
  maxBytes: hookBytes,
  make: (bytes) =>
    post('/api/v1/agent/attachments', [['content-type', `multipart/form-data; boundary=${boundary}`]], make(bytes)),
})
const field = (head: string, value: string): string =>
  `--${boundary}\r\ncontent-disposition: form-data; ${head}\r\n\r\n${value}\r\n`

const get = (name: string, path: (bytes: number) => string): HttpShape => ({
  name,
  maxBytes: headBytes,
  make: (bytes) => ({ method: 'GET', path: path(bytes), headers: [], body: Buffer.alloc(0) }),
})

const combining = (bytes: number): string => quoted(fill(bytes / 2, 'a\u0301\u0323\u0307\u0308'))
const mailHookHeaders = (): Headers => [
  ['x-mail-timestamp', String(Math.floor(Date.now() / 1000))],
  ['x-mail-nonce', crypto.randomUUID()],
  ['x-mail-signature', `sha256=${'ab'.repeat(32)}`],
]
const mailHook = (name: string, type: string, make: (bytes: number) => string): HttpShape => ({
  name: `mail hook: ${name}`,
  maxBytes: hookBytes,
  make: (bytes) => post('/hooks/email/default', [['content-type', type], ...mailHookHeaders()], make(bytes)),
})

export const httpShapes: readonly HttpShape[] = [
  slack('one long text', (bytes) => event(quoted(fill(bytes, 'a')))),
  slack('escapes', (bytes) => event(quoted(fill(bytes, '\\u0041\\n')))),
  slack('arrays in arrays', (bytes) => event(deepArray(bytes))),
  slack('objects in objects', (bytes) => event(deepObject(bytes))),
  slack('very many keys', (bytes) => event(wideObject(bytes))),
  slack('one key again and again', (bytes) => event(sameKeys(bytes))),
  slack('a number without end', (bytes) => event(fill(bytes, '9'))),
  slack('spaces', (bytes) => fill(bytes, ' ')),
  slack('very many fields', (bytes) => pieces(bytes, (at) => `f${at}=1`, '&'), form),
  slack('signs in percent', (bytes) => `payload=${fill(bytes, '%7B%22')}`, form),
  slack('signs that are no UTF-8', (bytes) => `payload=${fill(bytes, '%FF%C3')}`, form),
  slack('separators', (bytes) => fill(bytes, '&='), form),
  {
    name: 'Slack: chunks of one byte',
    maxBytes: 64 * 1024,
    make: (bytes) => ({
      ...post(slackPath, [...slackHeaders(), json], event(quoted(fill(bytes, 'a')))),
      chunkBytes: 1,
    }),
  },
  {
    name: 'Slack: a compressed body',
    maxBytes: hookBytes,
    make: (bytes) => {
      // What it would grow to is a thousand times as much.
      const zipped = gzipSync(Buffer.alloc(bytes * 100, 'a'))
      return post(slackPath, [...slackHeaders(), json, ['content-encoding', 'gzip']], zipped)
    },
  },
  {
    name: 'Slack: without a signature',
    maxBytes: hookBytes,
    make: (bytes) => post(slackPath, [json], event(quoted(fill(bytes, 'a')))),
  },
  {
    name: 'Slack: a signature of very many values',
    maxBytes: headBytes,
    make: (bytes) =>
      post(
        slackPath,
        [json, ...slackHeaders().slice(0, 1), ['x-slack-signature', fill(bytes, 'v0=ab,')]],
        event('"a"'),
      ),
  },
  {
    name: 'Slack: very many headers',
    maxBytes: headBytes,
    make: (bytes) => {
      const count = Math.floor(bytes / 12)
      return post(
        slackPath,
        [json, ...Array.from({ length: count }, (_, at) => [`x-${at}`, 'b'] as const)],
        event('"a"'),
      )
    },
  },
  telegram('one long text', (bytes) => `{"update_id":1,"message":{"text":${quoted(fill(bytes, 'a'))}}}`),
  telegram('arrays in arrays', (bytes) => `{"update_id":1,"message":${deepArray(bytes)}}`),
  telegram('very many keys', (bytes) => `{"update_id":1,"message":${wideObject(bytes)}}`),
  unsigned('one long text', (bytes, home, serial) => note(home, serial, { content: quoted(fill(bytes, 'a')) })),
  unsigned('arrays in arrays', (bytes, home, serial) => note(home, serial, { attachment: deepArray(bytes) })),
  unsigned('very many keys', (bytes, home, serial) => note(home, serial, { attachment: wideObject(bytes) })),
  unsigned('one key again and again', (bytes, home, serial) => note(home, serial, { attachment: sameKeys(bytes) })),
  unsigned('very many contexts', (bytes, home, serial) =>
    note(home, serial, { '@context': wideArray(bytes, '"https://a.example/context"') }),
  ),
  byHead('a signature of very many parameters', (bytes) => [['signature', pieces(bytes, (at) => `p${at}="a"`)]]),
  byHead('a signature of very many headers', (bytes, home) => [
    ['signature', `keyId="${home.origin}/users/none#main-key",headers="${fill(bytes, 'date ')}",signature="YQ=="`],
  ]),
  byHead('a signature of open quotes', (bytes) => [['signature', fill(bytes, 'a="\\')]]),
  byHead('a structured signature of very many components', (bytes, home) => [
    ['signature-input', `sig=(${fill(bytes, '"date" ')});keyid="${home.origin}/users/none#main-key"`],
    ['signature', 'sig=:YQ==:'],
  ]),
  byHead('very many structured signatures', (bytes) => [
    ['signature-input', pieces(bytes / 2, (at) => `s${at}=("date")`)],
    ['signature', pieces(bytes / 2, (at) => `s${at}=:YQ==:`)],
  ]),
  byHead('very many digests', (bytes) => [
    ['digest', fill(bytes, 'SHA-256=YQ==,')],
    ['signature', 'keyId="a",signature="YQ=="'],
  ]),
  byDocument('wide', wideObject),
  byDocument('deep', deepArray),
  byDocument('one text', (bytes) => quoted(fill(bytes, 'a'))),
  byStranger('one long text', (bytes) => ({ content: quoted(fill(bytes, 'a')) })),
  byStranger('elements in elements', (bytes) => ({ content: quoted(fill(bytes, '<p>')) })),
  byStranger('lists in lists', (bytes) => ({ content: quoted(fill(bytes, '<ul><li>a')) })),
  byStranger('brackets', (bytes) => ({ content: quoted(fill(bytes, '<')) })),
  byStranger('tags without an end', (bytes) => ({ content: quoted(fill(bytes, '<a href=\\"')) })),
  byStranger('comments without an end', (bytes) => ({ content: quoted(fill(bytes, '<!--')) })),
  byStranger('entities without an end', (bytes) => ({ content: quoted(fill(bytes, '&a')) })),
  byStranger('mentions in the text', (bytes) => ({ content: quoted(fill(bytes, '@a@b.example ')) })),
  byStranger('combining signs', (bytes) => ({ content: combining(bytes) })),
  byStranger('very many tags', (bytes) => ({
    tag: wideArray(bytes, '{"type":"Mention","href":"https://a.example/b","name":"@b"}'),
  })),
  byStranger('very many files', (bytes) => ({
    attachment: wideArray(bytes, '{"type":"Document","mediaType":"image/png","url":"https://a.example/b.png"}'),
  })),
  byStranger('very many recipients', (bytes) => ({ cc: wideArray(bytes, '"https://a.example/users/b"') })),
  byStranger('very many languages', (bytes) => ({ contentMap: `{${pieces(bytes, (at) => `"l${at}":"a"`)}}` })),
  byStranger('very many contexts', (bytes) => ({ '@context': wideArray(bytes, '{"a":"https://a.example/context"}') })),
  byStranger('arrays in arrays', (bytes) => ({ attachment: deepArray(bytes) })),
  a2a('one long text', (bytes, serial) => rpc(message(serial, `[{"text":${quoted(fill(bytes, 'a'))}}]`))),
  a2a('very many parts', (bytes, serial) => rpc(message(serial, wideArray(bytes, '{"text":"a"}')))),
  a2a('data in data', (bytes, serial) => rpc(message(serial, `[{"data":${deepArray(bytes)}}]`))),
  a2a('metadata of very many keys', (bytes, serial) =>
    rpc(message(serial, '[{"text":"a"}]', `,"metadata":${wideObject(bytes)}`)),
  ),
  a2a('a file in base64', (bytes, serial) => rpc(message(serial, `[{"raw":${quoted(fill(bytes, 'QUJD'))}}]`))),
  a2a('very many references', (bytes, serial) =>
    rpc(message(serial, '[{"text":"a"}]', `,"referenceTaskIds":${wideArray(bytes, '"t1"')}`)),
  ),
  a2a('very many calls at once', (bytes, serial) => wideArray(bytes, rpc(message(serial, '[]')))),
  a2a('a method without end', (bytes) => `{"jsonrpc":"2.0","id":1,"method":${quoted(fill(bytes, 'a'))}}`),
  a2a('combining signs', (bytes, serial) => rpc(message(serial, `[{"text":${combining(bytes)}}]`))),
  a2aRest('very many parts', (bytes, serial) => message(serial, wideArray(bytes, '{"text":"a"}'))),
  a2aRest('objects in objects', (bytes, serial) =>
    message(serial, '[{"text":"a"}]', `,"metadata":${deepObject(bytes)}`),
  ),
  get('A2A REST: a query of very many members', (bytes) => `/a2a/tasks?${pieces(bytes, (at) => `a${at}=b`, '&')}`),
  run('one long text', (bytes) => said(quoted(fill(bytes, 'a')))),
  run('very many messages', (bytes) => `"messages":${wideArray(bytes, '{"id":"m","role":"user","content":"a"}')}`),
  run('very many blocks', (bytes) => said(wideArray(bytes, '{"type":"text","text":"a"}'))),
  run('a file in a block', (bytes) =>
    said(`[{"type":"binary","mimeType":"image/png","data":${quoted(fill(bytes, 'QUJD'))}}]`),
  ),
  run('state in state', (bytes) => `${said('"a"')},"state":${deepArray(bytes)}`),
  run('very many properties', (bytes) => `${said('"a"')},"forwardedProps":${wideObject(bytes)}`),
  run('lines of a speaker', (bytes) => said(quoted(fill(bytes, '[from a]\\n')))),
  run('marks of Markdown', (bytes) => said(quoted(fill(bytes, '**[a](')))),
  run('quotes in quotes', (bytes) => said(quoted(`${fill(bytes, '>')} a`))),
  {
    name: 'task: objects in objects',
    maxBytes: hookBytes,
    make: (bytes) => post('/api/v1/tasks/run-task', [json], `{"schema":"a","input":${deepObject(bytes)}}`),
  },
  upload('very many fields', (bytes) => pieces(bytes, (at) => field(`name="f${at}"`, 'a'), '')),
  upload('lines that are almost the boundary', (bytes) =>
    field('name="file"; filename="a"', fill(bytes, '\r\n--strangeR')),
  ),
  upload('a head without end', (bytes) => `--${boundary}\r\nx-a: ${fill(bytes, 'b')}`),
  upload('a head of very many parameters', (bytes) =>
    field(
      pieces(bytes, (at) => `p${at}="a"`, ';'),
      'a',
    ),
  ),
  upload('one file', (bytes) => `${field('name="file"; filename="a.bin"', fill(bytes, 'a'))}--${boundary}--\r\n`),
  get('WebFinger: signs in percent', (bytes) => `/.well-known/webfinger?resource=acct:${fill(bytes, '%61')}@a.example`),
  get(
    'WebFinger: very many resources',
    (bytes) => `/.well-known/webfinger?${pieces(bytes, () => 'resource=acct:a@b', '&')}`,
  ),
  get(
    'WebFinger: very many relations',
    (bytes) => `/.well-known/webfinger?resource=acct:a@b&${pieces(bytes, () => 'rel=self', '&')}`,
  ),
  get('a path of dots', (bytes) => `/${fill(bytes, '../')}`),
  get('a path of slashes', (bytes) => `/ap/${fill(bytes, '/')}`),
  get('a signed address of signs in percent', (bytes) => `/storage/v1/object/sign/a/${fill(bytes, '%2e')}?token=a.b.c`),
  get(
    'Slack: a browser that comes back with very many fields',
    (bytes) => `/hooks/slack/default/oauth_redirect?${pieces(bytes, (at) => `f${at}=a`, '&')}`,
  ),
  {
    name: 'run: a token of dots',
    maxBytes: headBytes,
    make: (bytes) => post('/api/v1/agent/run', [json, ['authorization', `Bearer ${fill(bytes, 'ey.')}`]], '{}'),
  },
  {
    name: 'run: very many cookies',
    maxBytes: headBytes,
    make: (bytes) => post('/api/v1/agent/run', [json, ['cookie', pieces(bytes, (at) => `c${at}=a`, '; ')]], '{}'),
  },
  mailHook('a raw mail', 'message/rfc822', (bytes) => `From: a@b.example\r\nSubject: c\r\n\r\n${fill(bytes, 'a')}`),
  mailHook(
    'JSON',
    'application/json',
    (bytes) => `{"Type":"Notification","Message":${quoted(fill(bytes, '\\u0041'))}}`,
  ),
  mailHook('a form of very many fields', form, (bytes) => pieces(bytes, (at) => `f${at}=a`, '&')),
]

/** Those that are measured at the smaller scale: at least one at every path. */
export const everydayHttpShapes: readonly string[] = [
  'Slack: arrays in arrays',
  'Slack: very many keys',
  'Slack: very many fields',
  'Slack: signs in percent',
  'Slack: chunks of one byte',
  'Slack: a compressed body',
  'Telegram: very many keys',
  'ActivityPub: unsigned, very many contexts',
  'ActivityPub: a signature of open quotes',
  'ActivityPub: an actor whose document is wide',
  'ActivityPub: signed, brackets',
  'ActivityPub: signed, very many tags',
  'A2A: data in data',
  'A2A: metadata of very many keys',
  'A2A REST: very many parts',
  'run: very many properties',
  'upload: lines that are almost the boundary',
  'WebFinger: signs in percent',
  'mail hook: a form of very many fields',
]
