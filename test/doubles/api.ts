// The API of a gateway at work, asked as a caller does: from this machine or from elsewhere, with whatever headers.
import { aguiChannel } from '../../adapters/agui/index.ts'
import { type Agent, defineAgent } from '../../src/agents/define-agent.ts'
import type { AppDeps } from '../../src/api/deps.ts'
import type { Environment, ParleyConfig } from '../../src/config.ts'
import type { NormalizedMessage } from '../../src/contract/index.ts'
import type { Database } from '../../src/db/client.ts'
import type { Runtime } from '../../src/gateway/assemble.ts'
import { putToWork } from './background-gateway.ts'
import { createTestApp, operatorToken } from './test-app.ts'
import { createTestGateway, type TestGateway } from './test-gateway.ts'

// biome-ignore lint/suspicious/noExplicitAny: bodies are looked into by the tests that name them.
type Body = any

export type ApiAnswer = { readonly status: number; readonly body: Body; readonly headers: Headers }
export type ApiCall = {
  readonly token?: string
  readonly headers?: Readonly<Record<string, string>>
  /** From this machine; without it from elsewhere. */
  readonly isHere?: boolean
  readonly threadId?: string
  readonly text?: string
  readonly body?: string
  readonly query?: string
}

export type Api = {
  readonly gateway: TestGateway
  /** What the agent was given, oldest first. */
  readonly heard: readonly NormalizedMessage[]
  readonly run: (runId: string, call?: ApiCall) => Promise<ApiAnswer>
  /** Any other route, as it is answered. */
  readonly request: (path: string, init?: RequestInit, from?: Pick<ApiCall, 'token' | 'isHere'>) => Promise<Response>
  /** An operator's route, from this machine. */
  readonly operate: (method: string, path: string, body?: object, token?: string) => Promise<ApiAnswer>
  readonly stop: () => Promise<void>
}

export function startApi(
  database: Database,
  agents?: readonly Agent[],
  watchMs = 30_000,
  changes: Partial<Runtime> = {},
  { env, ...more }: Pick<ParleyConfig, 'attachments' | 'connections' | 'tokenIssuers'> & { env?: Environment } = {},
  http: Partial<AppDeps> = {},
): Api {
  const heard: NormalizedMessage[] = []
  const listener = defineAgent({
    slug: 'demo',
    run(message, context) {
      heard.push(message)
      return `${context.principal} was heard, after ${message.history?.length ?? 0} lines`
    },
  })
  const connections = [{ channel: 'agui', id: 'demo', settings: {} }]
  const config = { connections, ...more, agents: agents ?? [listener] }
  const gateway = createTestGateway(database, config, changes, [aguiChannel], env)
  const here = { 'x-test-here': 'yes' }
  const app = createTestApp(gateway, database, {
    watchMs,
    agents: [...gateway.deps.agents.values()],
    sourceOf: (context) => (context.req.header('x-test-here') === 'yes' ? 'local' : 'remote'),
    ...http,
  })
  const work = putToWork(gateway)
  const answered = async (response: Response): Promise<ApiAnswer> => ({
    status: response.status,
    body: (response.headers.get('content-type') ?? '').includes('json') ? await response.json() : await response.text(),
    headers: response.headers,
  })
  return {
    gateway,
    heard,
    async run(runId, { token, headers = {}, isHere = false, threadId = 't1', text = 'hello', body, query = '' } = {}) {
      const sent =
        body ?? JSON.stringify({ threadId, runId, messages: [{ id: `m-${runId}`, role: 'user', content: text }] })
      return answered(
        await app.request(`/api/v1/agent/run${query}`, {
          method: 'POST',
          headers: {
            'content-type': 'application/json',
            ...(isHere ? here : {}),
            ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
            ...headers,
          },
          body: sent,
        }),
      )
    },
    async request(path, init = {}, { token, isHere = false } = {}) {
      const headers = new Headers(init.headers)
      if (isHere) headers.set('x-test-here', 'yes')
      if (token !== undefined) headers.set('authorization', `Bearer ${token}`)
      return app.request(path, { ...init, headers })
    },
    async operate(method, path, body, token = operatorToken) {
      const headers = { ...here, authorization: `Bearer ${token}`, 'content-type': 'application/json' }
      const sent = body === undefined ? {} : { body: JSON.stringify(body) }
      return answered(await app.request(path, { method, headers, ...sent }))
    },
    async stop() {
      await work.stop()
      gateway.stop()
    },
  }
}

/** A hop of a chain as another gateway tells it. */
export const hopHeaders = (changes: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> => ({
  'x-agents-api-caller-agent': 'helper',
  'x-agents-api-caller-user': '0',
  'x-agents-api-caller-host': 'https://other.example',
  'x-agents-api-chain-depth': '1',
  'x-agents-api-chain-root': 'root-1',
  ...changes,
})
