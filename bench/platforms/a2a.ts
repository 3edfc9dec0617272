// Requests as agents of elsewhere send them: one message of its own in a conversation of its own, over JSON-RPC.
import { httpRequest, scene } from './http-request.ts'

export const a2aPath = '/a2a'

export function a2aRequests(method: string, count: number): readonly Buffer[] {
  return Array.from({ length: count }, (_, index) => {
    const message = { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text: scene(index).text }] }
    const body = { jsonrpc: '2.0', id: index, method, params: { message } }
    return httpRequest(a2aPath, { 'a2a-version': '1.0' }, Buffer.from(JSON.stringify(body)))
  })
}
