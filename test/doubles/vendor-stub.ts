// The platform behind the loopback channel: takes messages, forgets repeated client ids, can look up and edit.
import {
  type ScriptedServer,
  startScriptedServer,
  type VendorReply,
  type VendorRequest,
} from '../../src/testing/scripted-server.ts'

export type VendorMessage = {
  readonly id: string
  readonly clientId?: string
  conversation: string
  text: string
  readonly file?: { readonly name: string; readonly data: string }
}

export type VendorStub = Pick<
  ScriptedServer,
  'origin' | 'calls' | 'unexpected' | 'failNext' | 'failAlways' | 'failBy' | 'close'
> & {
  readonly messages: readonly VendorMessage[]
  /** What people attached, by its id. */
  readonly files: Map<string, { readonly bytes: Uint8Array; readonly type?: string }>
}

/** `byKey` finds a message by its id or client id, so that the ten-thousandth costs no more than the first. */
type Mailbox = {
  readonly messages: VendorMessage[]
  readonly byKey: Map<string, VendorMessage>
  readonly onMessage: (message: VendorMessage) => void
}

/** Routes: `send` POST /messages, `lookup` GET /messages?reference=…, `edit` PUT /messages/{id}, `preview` PUT /previews/{id}, `file` GET /files/{secret}/{id}. */
export async function startVendorStub(
  port?: number,
  onMessage: (message: VendorMessage) => void = () => {},
): Promise<VendorStub> {
  const files: VendorStub['files'] = new Map()
  const mailbox: Mailbox = { messages: [], byKey: new Map(), onMessage }
  const server = await startScriptedServer(
    {
      notFound: { error: 'no such route' },
      routeOf,
      apply: (route, request) => (route === 'file' ? fileOf(request.path, files) : carryOut(route, request, mailbox)),
    },
    port,
  )
  return { ...server, messages: mailbox.messages, files }
}

function fileOf(path: string, files: VendorStub['files']): VendorReply {
  const file = files.get(decodeURIComponent(path.split('/').at(-1) ?? ''))
  if (file === undefined) return { status: 404, body: {} }
  return { status: 200, body: file.bytes, headers: { 'content-type': file.type ?? 'application/octet-stream' } }
}

function routeOf({ method, path }: VendorRequest): string | undefined {
  if (method === 'POST' && path === '/messages') return 'send'
  if (method === 'POST' && path === '/typing') return 'typing'
  if (method === 'PUT' && path.startsWith('/previews/')) return 'preview'
  if (method === 'GET' && path.startsWith('/files/')) return 'file'
  if (method === 'GET' && path.startsWith('/messages?reference=')) return 'lookup'
  return method === 'PUT' && path.startsWith('/messages/') ? 'edit' : undefined
}

function carryOut(route: string, { path, body }: VendorRequest, mailbox: Mailbox): VendorReply {
  const fields = typeof body === 'object' && body !== null ? (body as Record<string, unknown>) : {}
  switch (route) {
    case 'send':
      return send(fields, mailbox)
    case 'typing':
    case 'preview':
      return { status: 200, body: {} }
    case 'edit':
      return edit(decodeURIComponent(path.slice('/messages/'.length)), fields, mailbox)
    default:
      return lookUp(decodeURIComponent(path.split('=')[1] ?? ''), mailbox)
  }
}

function send(fields: Record<string, unknown>, mailbox: Mailbox): VendorReply {
  const clientId = typeof fields['clientId'] === 'string' ? fields['clientId'] : undefined
  const isDeduplicated = clientId !== undefined && fields['deduplicate'] === true
  const known = isDeduplicated ? mailbox.byKey.get(`client ${clientId}`) : undefined
  if (known !== undefined) return { status: 200, body: { id: known.id } }
  const message = {
    id: `v${mailbox.messages.length + 1}`,
    ...(clientId === undefined ? {} : { clientId }),
    conversation: String(fields['conversation']),
    text: String(fields['text']),
    ...('file' in fields ? { file: fields['file'] as NonNullable<VendorMessage['file']> } : {}),
  }
  keep(mailbox, message)
  return { status: 201, body: { id: message.id } }
}

function edit(id: string, fields: Record<string, unknown>, mailbox: Mailbox): VendorReply {
  const known = mailbox.byKey.get(id)
  const conversation = String(fields['conversation'])
  const text = String(fields['text'])
  if (known === undefined) keep(mailbox, { id, conversation, text })
  else known.text = text
  return { status: 200, body: { id } }
}

function lookUp(reference: string, mailbox: Mailbox): VendorReply {
  const found = mailbox.byKey.get(`client ${reference}`)
  return found === undefined ? { status: 404, body: { error: 'not found' } } : { status: 200, body: { id: found.id } }
}

function keep(mailbox: Mailbox, message: VendorMessage): void {
  mailbox.messages.push(message)
  mailbox.byKey.set(message.id, message)
  const { clientId } = message
  if (clientId !== undefined && !mailbox.byKey.has(`client ${clientId}`)) {
    mailbox.byKey.set(`client ${clientId}`, message)
  }
  mailbox.onMessage(message)
}
