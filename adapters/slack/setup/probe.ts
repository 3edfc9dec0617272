// Probes the app at Slack: its bot token and scopes, and Socket Mode. Asked at the start, on a schedule and by `parley slack check`.
import type { ProbeFact, ProbeProblem, ProbeRequest, ProbeResult, Secret } from '../../../src/contract/index.ts'
import type { SlackSettings } from '../config.ts'
import type { CallWebApi, WebApiAnswer } from '../deliver/web-api.ts'
import type { SocketWatch } from '../socket-mode/source.ts'
import { botScopes } from './manifest.ts'

export type SlackProbeDeps = {
  readonly settings: Pick<SlackSettings, 'botToken' | 'appToken'>
  readonly call: CallWebApi
  /** The socket of this process, where it has one. Without it Slack is asked for one, which is then not used. */
  readonly socket?: SocketWatch
  /** Workspaces that installed the app, where it has no token of its own. */
  readonly installed?: () => Promise<number>
}

const tokenRemedy = 'set SLACK_BOT_TOKEN to the "Bot User OAuth Token" of your app'
const socketRemedy = 'make a token with the scope connections:write under Basic Information and set SLACK_APP_TOKEN'
/** How long a start waits for the socket that is just being opened. */
const socketWaitMs = 3_000

export function createSlackProbe(deps: SlackProbeDeps): (request: ProbeRequest) => Promise<ProbeResult> {
  const { settings } = deps
  return async ({ signal }) => {
    const bot =
      settings.botToken === undefined ? await probeInstalls(deps) : await probeBot(deps, settings.botToken, signal)
    const way = settings.appToken === undefined ? events : await probeSocket(deps, settings.appToken, signal)
    const parts = [bot, way]
    const waits = parts.flatMap(({ retryAfterMs }) => retryAfterMs ?? [])
    const problems = parts.flatMap((part) => part.problems)
    return {
      summary: bot.summary === '' ? '' : `${bot.summary}, ${way.summary}`,
      facts: parts.flatMap(({ facts = [] }) => facts),
      problems,
      // What another part found out is told all the same.
      ...(waits.length === 0 || problems.length > 0 ? {} : { retryAfterMs: Math.max(...waits) }),
    }
  }
}

const events: ProbeResult = {
  summary: 'events by webhook',
  problems: [],
  facts: [{ key: 'mode', title: 'Mode', text: 'events by webhook', value: 'events' }],
}

async function probeInstalls({ installed }: SlackProbeDeps): Promise<ProbeResult> {
  const count = await installed?.()
  if (count === undefined) return { summary: 'installed by workspaces', problems: [] }
  const text = `installed into ${count} ${count === 1 ? 'workspace' : 'workspaces'}`
  return { summary: text, problems: [], facts: [{ key: 'workspaces', title: 'Workspaces', text, value: count }] }
}

async function probeBot({ call }: SlackProbeDeps, token: Secret, signal: AbortSignal): Promise<ProbeResult> {
  const answer = await call(token, 'auth.test', {}, signal)
  if (answer.kind !== 'ok') return refusedTokenProbe(answer, 'token', tokenRemedy)
  const { user, user_id, team, team_id } = answer.data
  const name = printableAnswerField(user ?? user_id)
  const workspace = printableAnswerField(team ?? team_id)
  const missing = missingScopes(answer.data)
  const facts: readonly ProbeFact[] = [
    {
      key: 'bot',
      title: 'Bot',
      text: `@${name} (${printableAnswerField(user_id)})`,
      value: { user: name, userId: printableAnswerField(user_id) },
    },
    {
      key: 'workspace',
      title: 'Workspace',
      text: workspace,
      value: { name: workspace, id: printableAnswerField(team_id) },
    },
    {
      key: 'missingScopes',
      title: 'Scopes',
      value: missing === undefined ? null : [...missing],
      text: missing === undefined ? 'Slack does not say' : missing.length === 0 ? 'all there' : 'some are missing',
    },
  ]
  return { summary: `@${name} in ${workspace}`, facts, problems: scopeProblems(missing ?? []) }
}

/** Undefined: the answer does not list what the token may do. */
function missingScopes({
  response_metadata: metadata,
}: Readonly<Record<string, unknown>>): readonly string[] | undefined {
  const scopes = typeof metadata === 'object' && metadata !== null && 'scopes' in metadata ? metadata.scopes : undefined
  return Array.isArray(scopes) ? botScopes.filter((scope) => !scopes.includes(scope)) : undefined
}

function scopeProblems(missing: readonly string[]): readonly ProbeProblem[] {
  if (missing.length === 0) return []
  const remedy =
    'add them under OAuth & Permissions, Bot Token Scopes, and reinstall the app (parley slack manifest lists all)'
  // Without this one no answer can be sent.
  const state = missing.includes('chat:write') ? 'failed' : 'degraded'
  return [{ state, reason: 'scopes_missing', problem: `the bot token lacks ${missing.join(', ')}`, remedy }]
}

async function probeSocket({ call, socket }: SlackProbeDeps, token: Secret, signal: AbortSignal): Promise<ProbeResult> {
  const modeFact = (text: string): ProbeFact => ({ key: 'mode', title: 'Mode', text, value: 'socket' })
  if (socket === undefined) {
    const answer = await call(token, 'apps.connections.open', {}, signal)
    if (answer.kind === 'ok')
      return { summary: 'Socket Mode', problems: [], facts: [modeFact('Socket Mode, a connection is granted')] }
    const refused = refusedTokenProbe(answer, 'app-level token', socketRemedy)
    return { ...refused, summary: 'Socket Mode', facts: [modeFact('Socket Mode')] }
  }
  await socket.settled(AbortSignal.any([signal, AbortSignal.timeout(socketWaitMs)]))
  const state = socket.state()
  const summary = `Socket Mode${state === 'idle' ? ' by another process' : ''}`
  const problems: readonly ProbeProblem[] =
    state === 'refused'
      ? [probeProblem('failed', 'app_token_refused', 'app-level token refused', socketRemedy)]
      : state === 'connecting'
        ? [
            probeProblem(
              'failed',
              'socket_closed',
              'no connection for Socket Mode',
              'it is tried again; check the network',
            ),
          ]
        : []
  return { summary, problems, facts: [modeFact(summary)] }
}

function refusedTokenProbe(answer: Exclude<WebApiAnswer, { kind: 'ok' }>, what: string, remedy: string): ProbeResult {
  const none = { summary: '', facts: [] }
  if (answer.kind === 'limited') return { ...none, problems: [], retryAfterMs: answer.afterMs }
  if (answer.kind === 'error' && !isTransientSlackError(answer.error)) {
    const reason = what === 'token' ? 'token_refused' : 'app_token_refused'
    return { ...none, problems: [probeProblem('failed', reason, `${what} refused (${answer.error})`, remedy)] }
  }
  const said =
    answer.kind === 'http' ? ` (status ${answer.status})` : answer.kind === 'error' ? ` (${answer.error})` : ''
  const problem = probeProblem(
    'degraded',
    'unreachable',
    `Slack does not answer${said}`,
    'check the network and SLACK_API_URL',
  )
  return { ...none, problems: [problem] }
}

/** Slack's own trouble, which says nothing of us. */
function isTransientSlackError(error: string): boolean {
  return ['fatal_error', 'internal_error', 'service_unavailable', 'request_timeout', 'team_added_to_org'].includes(
    error,
  )
}

function probeProblem(state: ProbeProblem['state'], reason: string, problem: string, remedy: string): ProbeProblem {
  return { state, reason, problem, remedy }
}

/** Slack's words for people: printable and short. */
function printableAnswerField(value: unknown): string {
  return typeof value === 'string' ? value.replace(/[^\x20-\x7e]/g, ' ').slice(0, 80) : 'unknown'
}
