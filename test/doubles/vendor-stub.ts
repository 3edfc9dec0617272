// The platform behind the loopback channel: takes messages, forgets repeated client ids, can look up and edit.
import { type ScriptedServer, startScriptedServer, type VendorReply, type VendorRequest } from './scripted-server.ts'

export type VendorMessage = { readonly id: string; readonly clientId?: string; conversation: string; text: string }

export type VendorStub = Pick<
  ScriptedServer,
  'origin' | 'calls' | 'unexpected' | 'failNext' | 'failAlways' | 'close'
> & {
  readonly messages: readonly VendorMessage[]
}

/** Routes: `send` POST /messages, `lookup` GET /messages?reference=…, `edit` PUT /messages/{id}. */
export async function startVendorStub(port?: number): Promise<VendorStub> {
  const messages: VendorMessage[] = []
  const server = await startScriptedServer(
    { notFound: { error: 'no such route' }, routeOf, apply: (route, request) => carryOut(route, request, messages) },
    port,
  )
  return { ...server, messages }
}

function routeOf({ method, path }: VendorRequest): string | undefined {
  if (method === 'POST' && path === '/messages') return 'send'
  if (method === 'GET' && path.startsWith('/messages?reference=')) return 'lookup'
  return method === 'PUT' && path.startsWith('/messages/') ? 'edit' : undefined
}

function carryOut(route: string, { path, body }: VendorRequest, messages: VendorMessage[]): VendorReply {
  const fields = typeof body === 'object' && body !== null ? (body as Record<string, unknown>) : {}
  switch (route) {
    case 'send':
      return send(fields, messages)
    case 'edit':
      return edit(decodeURIComponent(path.slice('/messages/'.length)), fields, messages)
    default:
      return lookUp(decodeURIComponent(path.split('=')[1] ?? ''), messages)
  }
}

function send(fields: Record<string, unknown>, messages: VendorMessage[]): VendorReply {
  const clientId = typeof fields['clientId'] === 'string' ? fields['clientId'] : undefined
  const isDeduplicated = clientId !== undefined && fields['deduplicate'] === true
  const known = isDeduplicated ? messages.find((message) => message.clientId === clientId) : undefined
  if (known !== undefined) return { status: 200, body: { id: known.id } }
  const message = {
    id: `v${messages.length + 1}`,
    ...(clientId === undefined ? {} : { clientId }),
    conversation: String(fields['conversation']),
    text: String(fields['text']),
  }
  messages.push(message)
  return { status: 201, body: { id: message.id } }
}

function edit(id: string, fields: Record<string, unknown>, messages: VendorMessage[]): VendorReply {
  const known = messages.find((message) => message.id === id)
  const conversation = String(fields['conversation'])
  const text = String(fields['text'])
  if (known === undefined) messages.push({ id, conversation, text })
  else known.text = text
  return { status: 200, body: { id } }
}

function lookUp(reference: string, messages: readonly VendorMessage[]): VendorReply {
  const found = messages.find((message) => message.clientId === reference)
  return found === undefined ? { status: 404, body: { error: 'not found' } } : { status: 200, body: { id: found.id } }
}
