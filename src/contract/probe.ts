// The health probe of a connection with its platform, made without sending a message: at the start, on a schedule, and by `parley
// <channel> check`.

import type { Json } from '../lib/json-value.ts'
import type { CommandResult } from './channel-command.ts'

/** `failed`: nothing comes in, or nothing goes out. `degraded`: a part of it does not work, or nothing could be learnt. */
export type ProbeState = 'ok' | 'degraded' | 'failed'

export type ProbeProblem = {
  readonly state: Exclude<ProbeState, 'ok'>
  /** A code, such as `token_refused`. */
  readonly reason: string
  /** What is wrong, as the end of a line: `token refused (invalid_auth)`. */
  readonly problem: string
  /** What to do, as a sentence without its full stop. */
  readonly remedy: string
}

/** A line of `check`: for people by its title, for programs by its key. */
export type ProbeFact = { readonly key: string; readonly title: string; readonly text: string; readonly value: Json }

/** Nothing in it is secret: it is printed, logged and shown to operators. */
export type ProbeResult = {
  /** Who we are there and how messages come, such as `@my_bot, polling`; empty where that is not known. */
  readonly summary: string
  readonly problems: readonly ProbeProblem[]
  readonly facts?: readonly ProbeFact[]
  /** The platform was asked too often and said nothing else: what was known stays, and it is not asked before. */
  readonly retryAfterMs?: number
}

export type ProbeRequest = {
  readonly signal: AbortSignal
  /** When the last message of this connection was stored, in any process. Undefined: none, or not known. */
  readonly lastInboundAt?: number
  /** Where the gateway's public URL leads; asked once for all connections. Undefined: there is none, or no process stays to ask. */
  readonly publicUrl?: () => Promise<PublicUrlState | undefined>
}

/** Where the public URL leads. `looks_local`: here, and what comes that way cannot be told from this machine. */
export type PublicUrlState = 'checking' | 'reached' | 'looks_local' | 'another_gateway' | 'other_server' | 'unreachable'

/** As bad as its worst problem. */
export function stateFromProbeProblems({ problems }: Pick<ProbeResult, 'problems'>): ProbeState {
  if (problems.length === 0) return 'ok'
  return problems.some(({ state }) => state === 'failed') ? 'failed' : 'degraded'
}

export function findWorstProblem({ problems }: Pick<ProbeResult, 'problems'>): ProbeProblem | undefined {
  return problems.find(({ state }) => state === 'failed') ?? problems[0]
}

/** What `check` prints. */
export function probeReport(result: ProbeResult): CommandResult {
  const { summary, facts = [], problems } = result
  const width = Math.max(...['Problem', ...facts.map(({ title }) => title)].map((title) => title.length))
  const reportLine = (title: string, text: string): string => `${title.padEnd(width)}  ${text}`
  const worst = findWorstProblem(result)
  return {
    value: {
      state: stateFromProbeProblems(result),
      summary,
      ...Object.fromEntries(facts.map(({ key, value }) => [key, value])),
      problems: problems.map((each) => ({ ...each })),
    },
    text: [
      ...facts.map(({ title, text }) => reportLine(title, text)),
      ...problems.map(({ problem, remedy }) => reportLine('Problem', `${problem}; ${remedy}`)),
    ].join('\n'),
    ...(worst === undefined ? {} : { problem: `${worst.problem}; ${worst.remedy}` }),
  }
}

/** A connection that is reached at the gateway's own address. */
export type OwnAddress = {
  /** Where others reach it. Undefined: the gateway has no public URL. */
  readonly url: string | undefined
  /** No other machine gets to the gateway. */
  readonly isLocalOnly: boolean
}

/** For connections that show strangers nothing by which they could be recognised: whether the public URL leads here. */
export async function probeOwnAddress(request: ProbeRequest, { url, isLocalOnly }: OwnAddress): Promise<ProbeResult> {
  if (url === undefined) return { summary: isLocalOnly ? 'this machine only' : 'no public URL', problems: [] }
  const state = await request.publicUrl?.()
  const { host } = new URL(url)
  if (state === 'unreachable')
    return { summary: url, problems: [unreachableAddressProblem(`${host} cannot be reached from here`)] }
  if (state === 'other_server')
    return { summary: url, problems: [wrongAnswerProblem(`another server answers at ${host}`)] }
  return { summary: url, problems: [] }
}

/** Some networks do not lead back to themselves: others may get here all the same. */
export function unreachableAddressProblem(problem: string): ProbeProblem {
  const remedy = 'check PARLEY_PUBLIC_URL, its certificate and the proxy'
  return { state: 'degraded', reason: 'public_url_unreachable', problem, remedy }
}

export function wrongAnswerProblem(problem: string): ProbeProblem {
  const remedy = 'correct PARLEY_PUBLIC_URL, or have the proxy pass this on to the gateway'
  return { state: 'failed', reason: 'public_url_wrong', problem, remedy }
}
