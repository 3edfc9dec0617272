// Caller context: which agent called us, and how far from the beginning. Claims for loop protection and
// audit that travel beside an authenticated token; never authority. Whatever cannot be read refuses the request.
import { type CallerContext, maxChainDepth } from '../../contract/index.ts'

export type CallerField = 'agent' | 'user' | 'host' | 'depth' | 'root'
export type CallerReading =
  | { readonly ok: true; readonly context: CallerContext }
  | {
      readonly ok: false
      readonly code: 'invalid_agent_caller_context'
      readonly field: CallerField
      readonly message: string
      /** The header and what it must be; nothing of what it was. */
      readonly remedy: string
    }

const headerNames = {
  agent: 'x-agents-api-caller-agent',
  user: 'x-agents-api-caller-user',
  host: 'x-agents-api-caller-host',
  depth: 'x-agents-api-chain-depth',
  root: 'x-agents-api-chain-root',
} as const

const plainId = /^[\w.@:-]{1,128}$/
const wholeNumber = /^(?:0|[1-9]\d{0,14})$/

type CallerHeaderValues = Readonly<Record<CallerField, string | undefined>>

/** Headers with any spelling of their names; a value sent twice is no value and is refused. */
export function readCallerContext(
  headers: Readonly<Record<string, string | undefined>>,
  { newRoot, maxDepth = maxChainDepth }: { readonly newRoot: () => string; readonly maxDepth?: number },
): CallerReading {
  const given = readCallerHeaders(headers)
  if (Object.values(given).every((value) => value === undefined)) return { ok: true, context: topOfChain(newRoot()) }
  const { depth = '', user = '0', root } = given
  if (!wholeNumber.test(depth)) return rejectCallerHeader('depth', 'must be a whole number from 0')
  if (Number(depth) > maxDepth) return rejectCallerHeader('depth', `must be at most ${maxDepth}: the chain is too long`)
  if (!wholeNumber.test(user)) return rejectCallerHeader('user', 'must be a whole number from 0')
  if (root !== undefined && !plainId.test(root)) return rejectCallerHeader('root', 'must be a plain id')
  if (Number(depth) === 0) return readChainStart(given, root ?? newRoot())
  return readChainHop(given, Number(depth), Number(user))
}

function readChainStart({ agent, user = '0', host = 'self' }: CallerHeaderValues, root: string): CallerReading {
  if (agent !== undefined) return rejectCallerHeader('agent', 'cannot be given at depth 0')
  if (host !== 'self') return rejectCallerHeader('host', 'must be self at depth 0')
  return user === '0' ? { ok: true, context: topOfChain(root) } : rejectCallerHeader('user', 'must be 0 at depth 0')
}

function readChainHop({ agent, host, root }: CallerHeaderValues, depth: number, user: number): CallerReading {
  if (agent === undefined || !plainId.test(agent))
    return rejectCallerHeader('agent', 'must be given below the top, as a plain id')
  if (root === undefined) return rejectCallerHeader('root', 'must be given below the top')
  const origin = parseHostOrigin(host)
  if (origin === undefined) return rejectCallerHeader('host', 'must be an absolute http or https address below the top')
  return {
    ok: true,
    context: { caller_agent: agent, caller_user: user, caller_host: origin, chain_depth: depth, chain_root: root },
  }
}

export function topOfChain(root: string): CallerContext {
  return { caller_agent: null, caller_user: 0, caller_host: 'self', chain_depth: 0, chain_root: root }
}

/** What goes out with a request. The top of a chain says nothing, which is how it is read again. */
export function callerHeaders(context: CallerContext): Readonly<Record<string, string>> {
  if (context.chain_depth === 0 || context.caller_agent === null) return {}
  return {
    [headerNames.agent]: context.caller_agent,
    [headerNames.user]: String(context.caller_user),
    [headerNames.host]: context.caller_host,
    [headerNames.depth]: String(context.chain_depth),
    [headerNames.root]: context.chain_root,
  }
}

/** What the agent we call is told: one deeper, with us as the caller. Undefined when that would be too deep. */
export function nextHop(
  context: CallerContext,
  self: { readonly agent: string; readonly host: string; readonly user?: number },
  maxDepth = maxChainDepth,
): CallerContext | undefined {
  if (context.chain_depth >= maxDepth) return undefined
  return {
    caller_agent: self.agent,
    caller_user: self.user ?? 0,
    caller_host: parseHostOrigin(self.host) ?? self.host,
    chain_depth: context.chain_depth + 1,
    chain_root: context.chain_root,
  }
}

function readCallerHeaders(headers: Readonly<Record<string, string | undefined>>): CallerHeaderValues {
  const lower = new Map<string, string>()
  for (const [name, value] of Object.entries(headers)) {
    const key = name.toLowerCase()
    // Joined as HTTP joins them: a comma is in no value we take.
    const before = lower.get(key)
    if (value !== undefined) lower.set(key, before === undefined ? value.trim() : `${before}, ${value.trim()}`)
  }
  const callerHeader = (field: CallerField) => lower.get(headerNames[field])
  return {
    agent: callerHeader('agent'),
    user: callerHeader('user'),
    host: callerHeader('host'),
    depth: callerHeader('depth'),
    root: callerHeader('root'),
  }
}

/** Scheme, host and port; undefined for anything but an absolute http or https address. */
export function parseHostOrigin(host: string | undefined): string | undefined {
  if (host === undefined || host.length > 512 || !/^https?:\/\/[^\s,@]+$/i.test(host)) return undefined
  return URL.canParse(host) ? new URL(host).origin : undefined
}

function rejectCallerHeader(field: CallerField, reason: string): CallerReading {
  const code = 'invalid_agent_caller_context'
  const remedy = `${headerNames[field]} ${reason}`
  return { ok: false, code, field, message: `${code}: ${remedy}`, remedy }
}
