// Methods of the client for the operations of the API that take a few fields and answer JSON. Their types are those of the table
// of operations; what they need at run time is a line each, which a test holds to that table.
import type { OperationFields, OperationOutput, OperationPath } from '../api/resource.ts'
import type { resourceTable } from '../api/resources.ts'
import type { CallOptions, Request } from './request.ts'

type Table = typeof resourceTable

/** Method, path, and where the fields go. */
type Route = `${'GET' | 'POST' | 'DELETE'} /${string}`

const routes = {
  agents: { list: 'GET /admin/agents' },
  audit: {
    list: 'GET /admin/audit ?',
    config: 'GET /admin/audit/config',
    rejected: 'GET /admin/rejected ?',
  },
  connections: { list: 'GET /admin/connections' },
  deadLetters: {
    list: 'GET /admin/dead-letters ?',
    listRefused: 'GET /admin/refused ?',
    listIgnored: 'GET /admin/ignored ?',
    effects: 'GET /admin/dead-letters/:id/effects',
    resubmit: 'POST /admin/dead-letters/:id/resubmit ?',
  },
  deliveries: {
    list: 'GET /admin/deliveries ?',
    get: 'GET /admin/deliveries/:id',
    retry: 'POST /admin/deliveries/:id/retry',
    retryMany: 'POST /admin/deliveries/retry {}',
    drop: 'POST /admin/deliveries/:id/drop',
  },
  grants: {
    list: 'GET /admin/grants ?',
    add: 'POST /admin/grants {}',
    revoke: 'POST /admin/grants/:id/revoke',
  },
  pairings: {
    list: 'GET /admin/pairings ?',
    approve: 'POST /admin/pairings/:code/approve',
    reject: 'POST /admin/pairings/:code/reject {}',
  },
  principals: {
    list: 'GET /admin/principals ?',
    links: 'GET /admin/principals/links',
    link: 'POST /admin/principals/link {}',
    unlink: 'POST /admin/principals/unlink {}',
  },
  runs: {
    list: 'GET /admin/runs ?',
    get: 'GET /admin/runs/:id',
    cancel: 'POST /admin/runs/:id/cancel',
  },
  secrets: {
    list: 'GET /admin/secrets',
    rotate: 'POST /admin/secrets/rotate {}',
    reseal: 'POST /admin/secrets/reseal',
  },
  stats: { get: 'GET /admin/stats' },
  tokens: {
    list: 'GET /admin/tokens',
    create: 'POST /admin/tokens {}',
    revoke: 'POST /admin/tokens/:id/revoke',
  },
  sessions: {
    list: 'GET /api/v1/agent/sessions ?',
    get: 'GET /api/v1/agent/sessions/:id ?',
    setTitle: 'POST /api/v1/agent/sessions/:id/title {}',
    delete: 'DELETE /api/v1/agent/sessions/:id',
  },
  approvals: {
    list: 'GET /api/v1/agent/approvals ?',
    summary: 'GET /api/v1/agent/approvals/summary',
    get: 'GET /api/v1/agent/approvals/:id',
    resolve: 'POST /api/v1/agent/approvals/:id/resolve {}',
    delete: 'DELETE /api/v1/agent/approvals/:id',
  },
  toolRequests: {
    list: 'GET /api/v1/agent/tool-requests ?',
    get: 'GET /api/v1/agent/tool-requests/:id',
    submit: 'POST /api/v1/agent/tool-requests/:id/submit {}',
    cancel: 'DELETE /api/v1/agent/tool-requests/:id',
  },
} as const satisfies { readonly [Name in keyof Table]?: { readonly [Each in keyof Table[Name]['operations']]?: Route } }

export const clientRoutes: Readonly<Record<string, Readonly<Record<string, string>>>> = routes

type PathWords<Path extends string> = Path extends `${string}:${string}/${infer Rest}`
  ? [id: string, ...PathWords<`/${Rest}`>]
  : Path extends `${string}:${string}`
    ? [id: string]
    : []

type FieldArguments<Fields> = unknown extends Fields ? [] : object extends Fields ? [fields?: Fields] : [fields: Fields]

type ClientMethod<Operation> = (
  ...given: [...PathWords<OperationPath<Operation>>, ...FieldArguments<OperationFields<Operation>>, call?: CallOptions]
) => Promise<OperationOutput<Operation>>

/** Words of the path first, then the fields, then how to ask: `client.pairings.reject('BCDF-2345', { block: true })`. */
export type ClientOperations = {
  readonly [Name in keyof typeof routes]: {
    readonly [Each in keyof (typeof routes)[Name]]: Each extends keyof Table[Name]['operations']
      ? ClientMethod<Table[Name]['operations'][Each]>
      : never
  }
}

export function createClientOperations({ json }: Request): ClientOperations {
  const methods = Object.entries(clientRoutes).map(([name, group]) => [
    name,
    Object.fromEntries(Object.entries(group).map(([each, route]) => [each, createClientMethod(json, route)])),
  ])
  // Names and lines are those of the table above, whose types say the rest.
  return Object.fromEntries(methods) as ClientOperations
}

function createClientMethod(json: Request['json'], route: string) {
  const [method = '', path = '', fields] = route.split(' ')
  return (...given: unknown[]): Promise<unknown> => {
    const rest = [...given]
    const named = path.replaceAll(/:\w+/g, () => encodeURIComponent(String(rest.shift())))
    const input = fields === undefined ? undefined : rest.shift()
    const call = rest.shift() as CallOptions | undefined
    if (fields === '{}') return json(method, named, { ...call, json: input ?? {} })
    return json(method, named, { ...call, query: (input ?? {}) as Record<string, string | number | undefined> })
  }
}
