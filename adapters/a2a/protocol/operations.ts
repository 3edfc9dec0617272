// The operations and extensions of the protocol, under the names they have in 1.0 and in 0.3 (JSON-RPC, REST). One table for all.

export type OperationName =
  | 'send'
  | 'stream'
  | 'get'
  | 'list'
  | 'cancel'
  | 'subscribe'
  | 'pushCreate'
  | 'pushGet'
  | 'pushList'
  | 'pushDelete'
  | 'extendedCard'

export type Dialect = '1.0' | '0.3'

type Names = {
  readonly rpc: string
  /** The scope that a token of another issuer needs for this operation alone. */
  readonly scope: string
  readonly legacyRpc?: string
  /** Method and path; `{name}` is a member of the request. */
  readonly rest: readonly string[]
  readonly legacyRest?: readonly string[]
  /** Answers with a stream. */
  readonly isStream?: true
  /** May be asked without any parameters. */
  readonly isBare?: true
  /** Changes nothing. */
  readonly isRead?: true
}

const pushPath = '/tasks/{taskId}/pushNotificationConfigs'

export const operations: Readonly<Record<OperationName, Names>> = {
  send: {
    scope: 'a2a:message.send',
    rpc: 'SendMessage',
    legacyRpc: 'message/send',
    rest: ['POST /message:send'],
    legacyRest: ['POST /message:send'],
  },
  stream: {
    scope: 'a2a:message.stream',
    rpc: 'SendStreamingMessage',
    legacyRpc: 'message/stream',
    rest: ['POST /message:stream'],
    legacyRest: ['POST /message:stream'],
    isStream: true,
  },
  get: {
    scope: 'a2a:task.read',
    rpc: 'GetTask',
    legacyRpc: 'tasks/get',
    rest: ['GET /tasks/{id}'],
    legacyRest: ['GET /tasks/{id}'],
    isRead: true,
  },
  list: { scope: 'a2a:task.read', rpc: 'ListTasks', rest: ['GET /tasks'], legacyRest: ['GET /tasks'], isRead: true },
  cancel: {
    scope: 'a2a:task.cancel',
    rpc: 'CancelTask',
    legacyRpc: 'tasks/cancel',
    rest: ['POST /tasks/{id}:cancel'],
    legacyRest: ['POST /tasks/{id}:cancel'],
  },
  // The text says POST, the proto says GET.
  subscribe: {
    scope: 'a2a:task.subscribe',
    rpc: 'SubscribeToTask',
    legacyRpc: 'tasks/resubscribe',
    rest: ['GET /tasks/{id}:subscribe', 'POST /tasks/{id}:subscribe'],
    legacyRest: ['GET /tasks/{id}:subscribe', 'POST /tasks/{id}:subscribe'],
    isStream: true,
  },
  pushCreate: {
    scope: 'a2a:push',
    rpc: 'CreateTaskPushNotificationConfig',
    legacyRpc: 'tasks/pushNotificationConfig/set',
    rest: [`POST ${pushPath}`],
    legacyRest: [`POST ${pushPath}`],
  },
  pushGet: {
    scope: 'a2a:push',
    rpc: 'GetTaskPushNotificationConfig',
    legacyRpc: 'tasks/pushNotificationConfig/get',
    rest: [`GET ${pushPath}/{id}`],
    legacyRest: [`GET ${pushPath}/{id}`],
    isRead: true,
  },
  pushList: {
    scope: 'a2a:push',
    rpc: 'ListTaskPushNotificationConfigs',
    legacyRpc: 'tasks/pushNotificationConfig/list',
    rest: [`GET ${pushPath}`],
    legacyRest: [`GET ${pushPath}`],
    isRead: true,
  },
  pushDelete: {
    scope: 'a2a:push',
    rpc: 'DeleteTaskPushNotificationConfig',
    legacyRpc: 'tasks/pushNotificationConfig/delete',
    rest: [`DELETE ${pushPath}/{id}`],
    legacyRest: [`DELETE ${pushPath}/{id}`],
  },
  extendedCard: {
    scope: 'a2a:task.read',
    rpc: 'GetExtendedAgentCard',
    legacyRpc: 'agent/getAuthenticatedExtendedCard',
    rest: ['GET /extendedAgentCard'],
    legacyRest: ['GET /card'],
    isBare: true,
    isRead: true,
  },
}

const names = Object.keys(operations) as readonly OperationName[]

export function findOperation(method: string, dialect: Dialect): OperationName | undefined {
  return names.find((name) => (dialect === '1.0' ? operations[name].rpc : operations[name].legacyRpc) === method)
}

export type RestMatch =
  | { readonly kind: 'found'; readonly name: OperationName; readonly params: Readonly<Record<string, string>> }
  | { readonly kind: 'other_method'; readonly allow: readonly string[] }
  | { readonly kind: 'nothing' }

/** `segments` of the path below the agent, decoded. */
export function matchRestRoute(method: string, segments: readonly string[], dialect: Dialect): RestMatch {
  const allow: string[] = []
  for (const name of names) {
    const routes = (dialect === '1.0' ? operations[name].rest : operations[name].legacyRest) ?? []
    for (const route of routes) {
      const [verb = '', path = ''] = route.split(' ')
      const params = matchRoutePattern(path.split('/').slice(1), segments)
      if (params === undefined) continue
      if (verb === method) return { kind: 'found', name, params }
      allow.push(verb)
    }
  }
  return allow.length === 0 ? { kind: 'nothing' } : { kind: 'other_method', allow }
}

/** A segment is a word, a member, or a member with a verb behind a colon. */
function matchRoutePattern(
  pattern: readonly string[],
  segments: readonly string[],
): Readonly<Record<string, string>> | undefined {
  if (pattern.length !== segments.length) return undefined
  const params: Record<string, string> = {}
  for (const [index, expected] of pattern.entries()) {
    const given = segments[index] ?? ''
    const [, member, verb = ''] = /^\{(\w+)\}(:\w+)?$/.exec(expected) ?? []
    if (member === undefined) {
      if (given !== expected) return undefined
      continue
    }
    const value = verb === '' ? given : given.slice(0, -verb.length)
    const isVerb = verb === '' ? !/:(?:cancel|subscribe)$/.test(given) : given.endsWith(verb)
    if (!isVerb || value === '') return undefined
    params[member] = value
  }
  return params
}

/** How a client asks for it over REST: method and path, with the members of the path filled in. */
export function buildRestRoute(
  name: OperationName,
  dialect: Dialect,
  members: Readonly<Record<string, string>>,
): { readonly method: string; readonly path: string } | undefined {
  const { rest, legacyRest } = operations[name]
  const [method, path] = (dialect === '1.0' ? rest : legacyRest)?.[0]?.split(' ') ?? []
  if (method === undefined || path === undefined) return undefined
  const filled = path.replace(/\{(\w+)\}/g, (_, member: string) => encodeURIComponent(members[member] ?? ''))
  return { method, path: filled }
}

// Extensions that this gateway knows, by their URIs.

/** Frames carry ids, and a stream that is opened again with the last one goes on behind it. */
const resumeExtension = 'urn:gw:a2a:resume:v0.1'
/** Several agents stand behind one address: who they are, and how one is named. */
export const agentsExtension = 'urn:gw:a2a:agents:v0.1'
/** A receiver that wants a bearer's token and gives none is shown one signed with the key that signs cards. */
export const signedPushExtension = 'urn:gw:a2a:signed-push:v0.1'

export const knownExtensions: Readonly<Record<string, string>> = {
  'https://mentionable.dev/ns/policy/v0.1': 'What a task waits for, as data: metadata.mentionable.policy',
  'https://mentionable.dev/ns/identity/v0.1': 'Evidence about senders: metadata.mentionable.identity_evidence',
  'https://mentionable.dev/ns/a2a-tool-events/v0.1': 'Tool calls and their results as data parts',
  [resumeExtension]: 'Frames carry ids; Last-Event-ID goes on behind one',
  [signedPushExtension]:
    'Push notifications to receivers of scheme Bearer without credentials carry a JWT signed by us',
}

// Public documents, below the origin or the base of an agent.

export const documentPaths = {
  card: '/.well-known/agent-card.json',
  early: '/.well-known/agent.json',
  addresses: '/.well-known/agent-card',
} as const
