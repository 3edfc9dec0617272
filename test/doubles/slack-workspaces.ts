// Several workspaces behind one Slack: every call is filed under the token it was made with, and files are there to be fetched.
import { type RecordedCall, startScriptedServer } from '../../src/testing/scripted-server.ts'

export type WorkspaceCall = {
  readonly method: string
  readonly token: string
  /** The whole body as it came. */
  readonly body: string
}

export type SlackWorkspaces = {
  readonly apiUrl: string
  readonly origin: string
  readonly calls: () => readonly WorkspaceCall[]
  readonly close: () => Promise<void>
}

export async function startSlackWorkspaces(): Promise<SlackWorkspaces> {
  let count = 0
  const server = await startScriptedServer({
    notFound: { ok: false, error: 'unknown_method' },
    routeOf: ({ path }) =>
      path.startsWith('/api/') ? path.slice('/api/'.length) : path.startsWith('/files/') ? path : undefined,
    apply(route) {
      if (route.startsWith('/files/'))
        return {
          status: 200,
          body: new TextEncoder().encode(`bytes of ${route}`),
          headers: { 'content-type': 'text/plain' },
        }
      count += 1
      return {
        status: 200,
        body: { ok: true, ts: `1763300200.${String(count).padStart(6, '0')}`, channel: 'C0GENERAL1' },
      }
    },
  })
  return {
    apiUrl: `${server.origin}/api/`,
    origin: server.origin,
    calls: () => server.calls.map(callOf),
    close: server.close,
  }
}

function callOf({ route, headers, body }: RecordedCall): WorkspaceCall {
  const token = (headers['authorization'] ?? '').replace('Bearer ', '')
  return { method: route, token, body: typeof body === 'string' ? body : JSON.stringify(body) }
}
