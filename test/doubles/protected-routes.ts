// Every route of a gateway that needs a known caller: what a stranger must find closed, and how each is asked.
import type { PlainRequest } from './plain-request.ts'

const json = { 'content-type': 'application/json' }
const said = (threadId: string, text: string) => ({ threadId, messages: [{ id: 'm1', role: 'user', content: text }] })
let runs = 0

export function runRequest(
  threadId: string,
  text = 'hello',
  headers: Readonly<Record<string, string>> = {},
): PlainRequest {
  runs += 1
  const body = JSON.stringify({ ...said(threadId, text), runId: `run-${runs}` })
  return { method: 'POST', path: '/api/v1/agent/run', headers: { ...json, ...headers }, body }
}

const form = [
  '--x',
  'content-disposition: form-data; name="file"; filename="a.txt"',
  'content-type: text/plain',
  '',
  'words',
  '--x--',
  '',
].join('\r\n')

/** Closed to callers without a token, also on this machine. */
export const ownedDoors: readonly PlainRequest[] = [
  { path: '/api/v1/agent/sessions' },
  { path: '/api/v1/agent/sessions?limit=50' },
  { path: '/api/v1/agent/history?threadId=t1' },
  { path: '/api/v1/agent/approvals' },
  { path: '/api/v1/agent/tool-requests' },
  { path: '/api/v1/agent/attachments/signed-url?bucket=a&path=b' },
  { path: '/api/v1/tasks/list-execution-targets' },
  { path: '/api/v1/tasks/get-task-run?run_id=r1' },
  { method: 'POST', path: '/api/v1/agent/runs/r1/cancel' },
  { method: 'POST', path: '/api/v1/agent/approvals/a1/resolve', headers: json, body: '{"decision":"approve"}' },
  {
    method: 'POST',
    path: '/api/v1/agent/attachments',
    headers: { 'content-type': 'multipart/form-data; boundary=x' },
    body: form,
  },
  {
    method: 'POST',
    path: '/api/v1/tasks/run-task',
    headers: json,
    body: JSON.stringify({ task_id: 't', input: 'hello' }),
  },
  { method: 'POST', path: '/api/v1/tasks/cancel-task-run', headers: json, body: '{"run_id":"r1"}' },
  { path: '/a2a/tasks', headers: { 'a2a-version': '1.0' } },
  { path: '/a2a/tasks/t1', headers: { 'a2a-version': '1.0' } },
  {
    method: 'POST',
    path: '/a2a/message:send',
    headers: { ...json, 'a2a-version': '1.0' },
    body: JSON.stringify({ message: { messageId: 'm1', role: 'ROLE_USER', parts: [{ text: 'hello' }] } }),
  },
  { path: '/metrics' },
  { path: '/admin/stats' },
  { path: '/admin/sessions' },
  { path: '/admin/approvals' },
  { path: '/admin/explain/m1' },
  { method: 'POST', path: '/admin/tokens', headers: json, body: '{"label":"mine"}' },
]

export function nameDoor({ method = 'GET', path }: PlainRequest): string {
  return `${method} ${path}`
}
