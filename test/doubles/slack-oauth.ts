// Stands in for the two calls of an install: codes are good once, refresh tokens are good once, as with Slack.
import {
  type Fault,
  type RecordedCall,
  startScriptedServer,
  type VendorReply,
} from '../../src/testing/scripted-server.ts'

/** Who says yes in the browser, and what the app gets. */
export type Grant = {
  readonly team?: string
  readonly enterprise?: string
  readonly isOrgWide?: boolean
  /** Seconds; without it the token lives for ever. */
  readonly expiresIn?: number
}

export type SlackOauth = {
  readonly apiUrl: string
  /** Makes a code as if somebody had agreed. */
  readonly agree: (grant: Grant) => string
  readonly calls: (method: string) => readonly { readonly fields: Record<string, string>; readonly token: string }[]
  readonly failNext: (method: string, ...faults: readonly Fault[]) => void
  readonly unexpected: readonly string[]
  readonly close: () => Promise<void>
}

const refused = (error: string): VendorReply => ({ status: 200, body: { ok: false, error } })

export async function startSlackOauth(): Promise<SlackOauth> {
  const codes = new Map<string, Grant>()
  const refreshes = new Map<string, Grant>()
  let count = 0
  const tokens = (grant: Grant) => {
    count += 1
    const refresh = `xoxe-1-refresh-${count}`
    if (grant.expiresIn !== undefined) refreshes.set(refresh, grant)
    const rotating = grant.expiresIn === undefined ? {} : { refresh_token: refresh, expires_in: grant.expiresIn }
    return { access_token: `xoxb-token-${count}-of-${grant.team ?? grant.enterprise}`, ...rotating }
  }
  const access = (fields: Record<string, string>): VendorReply => {
    if (fields['client_secret'] !== 'secret-of-the-client') return refused('bad_client_secret')
    const isRefresh = fields['grant_type'] === 'refresh_token'
    const [known, key] = isRefresh ? [refreshes, fields['refresh_token']] : [codes, fields['code']]
    const grant = known.get(key ?? '')
    known.delete(key ?? '')
    if (grant === undefined) return refused(isRefresh ? 'invalid_refresh_token' : 'invalid_code')
    return { status: 200, body: { ok: true, ...described(grant), ...tokens(grant) } }
  }
  const server = await startScriptedServer({
    notFound: { ok: false, error: 'unknown_method' },
    routeOf: ({ path }) => /^\/api\/(oauth\.v2\.access|auth\.test)$/.exec(path)?.[1],
    apply: (route, { body }) =>
      route === 'auth.test'
        ? { status: 200, body: { ok: true, bot_id: 'B77', user_id: 'U77', team_id: 'T1' } }
        : access(fieldsOf(body)),
  })
  return {
    apiUrl: `${server.origin}/api/`,
    agree(grant) {
      const code = `code-${codes.size + 1}-${count}`
      codes.set(code, grant)
      return code
    },
    calls: (method) => server.calls.filter(({ route }) => route === method).map(callOf),
    failNext: server.failNext,
    unexpected: server.unexpected,
    close: server.close,
  }
}

function described({ team, enterprise, isOrgWide = false }: Grant): object {
  return {
    app_id: 'A1',
    scope: 'chat:write,commands',
    token_type: 'bot',
    bot_user_id: 'U77',
    team: team === undefined ? null : { id: team, name: `Workspace <${team}>` },
    enterprise: enterprise === undefined ? null : { id: enterprise, name: `Organization ${enterprise}` },
    is_enterprise_install: isOrgWide,
    authed_user: { id: 'U5' },
  }
}

const callOf = ({ body, headers }: RecordedCall) => ({ fields: fieldsOf(body), token: headers['authorization'] ?? '' })

function fieldsOf(body: unknown): Record<string, string> {
  return Object.fromEntries(new URLSearchParams(typeof body === 'string' ? body : ''))
}
