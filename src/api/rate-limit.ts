// The rate limit of API callers. Counted in rows, so that replicas count together, and only where a limit is set: else no
// request pays for it. Callers over it are remembered here until their window ends, so that asking on costs us nothing.
import type { Context, MiddlewareHandler } from 'hono'
import { type ApiLimits, type Limit, toLimitPerDay } from '../config/limits.ts'
import { type Counted, countAgainstLimits, type Spent } from '../db/limits.ts'
import { LruMap, sha256Hex } from '../lib/index.ts'
import { readTokenCaller } from './admin-access.ts'
import type { AppDeps } from './deps.ts'
import { answerToResponse, rateLimitAnswer } from './http-answers.ts'
import { type identifyApiCaller, identifyCallerOnce } from './identify-caller.ts'

const runPaths = new Set(['/api/v1/agent/run', '/api/v1/agent/runs', '/api/v1/tasks/run-task'])
/** Callers over their limit; beyond this many the least recent are forgotten, and looked up in the database. */
const maxRemembered = 10_000

type Deps = Parameters<typeof identifyApiCaller>[0] & Pick<AppDeps, 'adminToken' | 'db' | 'limits' | 'tokens'>
type ExceededLimit = { readonly until: number; readonly headers: Readonly<Record<string, string>> }

/** Undefined: no limit is set. */
export function createRateLimitMiddleware(deps: Deps): MiddlewareHandler | undefined {
  const { limits, now } = deps
  if (limits === undefined || Object.values(limits).every((rule) => rule === undefined)) return undefined
  const over = new LruMap<string, ExceededLimit>(maxRemembered)
  return async (context, next) => {
    const principal = await findLimitedPrincipal(deps, context)
    // A rejected caller is told so by the route, and leaves no row.
    if (principal === undefined) return next()
    const counted = await listLimitCounters(limits, context, principal)
    const known = counted.flatMap(({ scope }) => over.get(scope) ?? []).find(({ until }) => until > now())
    if (known !== undefined) return rateLimitedResponse(deps, known)
    if (counted.length === 0) return next()
    const spent = await countAgainstLimits(deps.db, counted)
    const tightest = tightestLimit(counted, spent)
    if (tightest.left >= 0) {
      await next()
      for (const [name, value] of Object.entries(tightest.headers)) context.res.headers.set(name, value)
      return undefined
    }
    const found = { until: now() + tightest.resetMs, headers: tightest.headers }
    over.set(tightest.scope, found)
    return rateLimitedResponse(deps, found)
  }
}

/** A caller that may talk to agents, or holds a token for looking at what is theirs. */
async function findLimitedPrincipal(deps: Deps, context: Context): Promise<string | undefined> {
  // Guests are counted together: each thread they name makes them another caller.
  if (deps.sourceOf(context) === 'guest' && context.req.header('authorization') === undefined) return 'gw:guest'
  const identification = await identifyCallerOnce(deps, context)
  if (identification.kind === 'admitted') return identification.caller.principal
  const known = context.req.header('authorization') === undefined ? undefined : await readTokenCaller(deps, context)
  return known?.kind === 'owner' ? known.principal : undefined
}

function rateLimitedResponse({ log, now }: Pick<Deps, 'log' | 'now'>, { until, headers }: ExceededLimit): Response {
  const seconds = Math.max(1, Math.ceil((until - now()) / 1000))
  log.warn('rate_limited')
  return answerToResponse(rateLimitAnswer(seconds, { ...headers, 'ratelimit-reset': String(seconds) }))
}

/** People and tokens stand in the scope by a hash: the counters do not tell whom. */
async function listLimitCounters(rules: ApiLimits, context: Context, principal: string): Promise<readonly Counted[]> {
  const token = context.req.header('authorization')
  const isRun = context.req.method === 'POST' && runPaths.has(context.req.path)
  const wanted: readonly (readonly [kind: string, limit: Limit | undefined, who: string | undefined])[] = [
    ['principal', rules.perPrincipal, principal],
    ['token', rules.perToken, token],
    ['runs', rules.runsPerDay === undefined || !isRun ? undefined : toLimitPerDay(rules.runsPerDay), principal],
  ]
  const counted = await Promise.all(
    wanted.map(async ([kind, limit, who]) =>
      limit === undefined || who === undefined
        ? []
        : [{ ...limit, scope: `${kind}:${await sha256Hex(`${kind} ${who}`)}` }],
    ),
  )
  return counted.flat()
}

function tightestLimit(counted: readonly Counted[], spent: readonly Spent[]) {
  const lines = spent.flatMap(({ scope, used, resetMs }) => {
    const limit = counted.find((each) => each.scope === scope)
    if (limit === undefined) return []
    const left = limit.count - used
    const seconds = Math.max(1, Math.ceil(resetMs / 1000))
    const headers = {
      'ratelimit-limit': String(limit.count),
      'ratelimit-remaining': String(Math.max(0, left)),
      'ratelimit-reset': String(seconds),
      'ratelimit-policy': `${limit.count};w=${limit.perMs / 1000}`,
    }
    return [{ scope, left, resetMs, headers }]
  })
  return lines.reduce((one, other) => (other.left < one.left ? other : one))
}
