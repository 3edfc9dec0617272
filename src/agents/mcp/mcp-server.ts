// MCP servers as configured, checked before anything is started. Secrets among their settings are wrapped at once, so that no
// list of agents can show them.
import * as z from 'zod'
import { GatewayError } from '../../lib/errors.ts'
import { type Secret, secret } from '../../lib/secret.ts'

type Shared = {
  /** The namespace of its tools: `<name>/<tool>`. */
  readonly name: string
  /** Believe what it says about its tools: which only read, which may be repeated. Without it every tool counts as writing. */
  readonly trust?: boolean
  /** How long it may take to start and to list its tools (60 s). A turn does not wait so long; what is there later is for the next. */
  readonly startTimeoutMs?: number
  /** How long a call may take (60 s); never longer than the turn itself. */
  readonly timeoutMs?: number
  /** The same for single tools, by their names. */
  readonly toolTimeoutsMs?: Readonly<Record<string, number>>
}

/** A program of this machine that speaks on its standard input and output. It is given `env` and the PATH, nothing else of ours. */
export type McpCommandServer = Shared & {
  readonly command: string
  readonly args?: readonly string[]
  readonly env?: Readonly<Record<string, string | Secret>>
  readonly cwd?: string
}

/** A server reached by streamable HTTP. */
export type McpUrlServer = Shared & {
  readonly url: string
  readonly headers?: Readonly<Record<string, string | Secret>>
}

export type McpServerConfig = McpCommandServer | McpUrlServer

/** A server after the check. */
export type McpServer = {
  readonly name: string
  /** Whose it is: each agent has connections of its own. */
  readonly agent: string
  readonly isTrusted: boolean
  readonly startTimeoutMs: number
  readonly timeoutMs: number
  readonly toolTimeoutsMs: Readonly<Record<string, number>>
  readonly reach:
    | {
        readonly kind: 'command'
        readonly command: string
        readonly args: readonly string[]
        readonly env: Readonly<Record<string, Secret>>
        readonly cwd?: string
      }
    | { readonly kind: 'url'; readonly url: string; readonly headers: Readonly<Record<string, Secret>> }
}

const loopbackHost = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/

const value = z.union([
  z.string(),
  z.custom<Secret>((given) => typeof given === 'object' && given !== null && 'reveal' in given),
])
/** What other MCP clients allow as well. */
const defaultTimeoutMs = 60_000
const timeout = z
  .number('must be a number of milliseconds')
  .positive('must be a number of milliseconds')
  .max(3_600_000, 'must be an hour at most, in milliseconds')
const values = z.record(z.string().min(1), value, 'must be texts or secrets by name').default({})
const shared = {
  name: z
    .string()
    .regex(/^[a-z][a-z0-9_-]{0,31}$/, 'must be a short lower-case word: it is the namespace of its tools')
    .refine((name) => name !== 'client', 'is kept for the tools of clients; choose another name'),
  trust: z.boolean('must be true or false').default(false),
  startTimeoutMs: timeout.default(defaultTimeoutMs),
  timeoutMs: timeout.default(defaultTimeoutMs),
  toolTimeoutsMs: z.record(z.string().min(1), timeout, 'must be milliseconds by the name of a tool').default({}),
}
const commandSchema = z.strictObject({
  ...shared,
  command: z.string().min(1),
  args: z.array(z.string()).default([]),
  env: values,
  cwd: z.string().min(1).optional(),
})
const urlSchema = z.strictObject({
  ...shared,
  url: z.string().refine(isAllowedServerUrl, 'must be https, or http on this machine'),
  headers: values,
})

/** Throws `config_invalid` with everything that is wrong. */
export function readMcpServers(agent: string, given: unknown): readonly McpServer[] {
  if (!Array.isArray(given)) throw invalidMcpServersError(agent, ['mcpServers must be a list'])
  const problems: string[] = []
  const servers = given.flatMap((entry: unknown, index) => readMcpServer(agent, entry, `mcpServers.${index}`, problems))
  const names = servers.map((server) => server.name)
  for (const name of new Set(names.filter((each, index) => names.indexOf(each) !== index)))
    problems.push(`two MCP servers are called "${name}"; their tools could not be told apart`)
  if (problems.length > 0) throw invalidMcpServersError(agent, problems)
  return Object.freeze(servers)
}

function readMcpServer(agent: string, entry: unknown, at: string, problems: string[]): readonly McpServer[] {
  const hasServerKey = (key: string): boolean => typeof entry === 'object' && entry !== null && key in entry
  if (hasServerKey('command') === hasServerKey('url')) {
    problems.push(`${at} needs either command (a program) or url (a server)`)
    return []
  }
  const read = hasServerKey('command') ? commandSchema.safeParse(entry) : urlSchema.safeParse(entry)
  if (!read.success) {
    problems.push(...read.error.issues.map(({ path, message }) => `${[at, ...path].join('.')} ${message}`))
    return []
  }
  const { name, trust, startTimeoutMs, timeoutMs, toolTimeoutsMs } = read.data
  const limits = { startTimeoutMs, timeoutMs, toolTimeoutsMs }
  return [Object.freeze({ name, agent, isTrusted: trust, ...limits, reach: readServerTransport(read.data) })]
}

function readServerTransport(read: z.output<typeof commandSchema> | z.output<typeof urlSchema>): McpServer['reach'] {
  if ('url' in read) return { kind: 'url', url: read.url, headers: wrapSecrets(read.headers) }
  const { command, args, env, cwd } = read
  return { kind: 'command', command, args, env: wrapSecrets(env), ...(cwd === undefined ? {} : { cwd }) }
}

function wrapSecrets(given: Readonly<Record<string, string | Secret>>): Readonly<Record<string, Secret>> {
  const entries = Object.entries(given).map(([name, each]) => [name, typeof each === 'string' ? secret(each) : each])
  return Object.freeze(Object.fromEntries(entries))
}

/** Nothing travels in the clear but on this machine. A name and password in an address would end up in logs. */
function isAllowedServerUrl(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { protocol, hostname, username, password } = new URL(text)
  if (username !== '' || password !== '') return false
  return protocol === 'https:' || (protocol === 'http:' && loopbackHost.test(hostname))
}

function invalidMcpServersError(agent: string, problems: readonly string[]): GatewayError {
  return new GatewayError('config_invalid', `[agent] ${agent}: ${problems.join('; ')}`)
}
