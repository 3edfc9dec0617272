// Calls Slack's Web API, with the result as a closed union. Errors of the client carry addresses and bodies, so none leaves here.
import type { Logger, LogLevel, WebAPIPlatformError } from '@slack/web-api'
import type { ChannelDeps, TtlStore } from '../../../src/contract/index.ts'
import type { Secret } from '../../../src/lib/index.ts'
import { errorCode } from '../../../src/lib/index.ts'
import type { SlackSettings } from '../config.ts'

export type WebApiAnswer =
  | { readonly kind: 'ok'; readonly data: Readonly<Record<string, unknown>> }
  /** Slack answered with an error code. */
  | { readonly kind: 'error'; readonly error: string }
  | { readonly kind: 'limited'; readonly afterMs: number }
  | { readonly kind: 'http'; readonly status: number }
  /** Not a byte of the call has left. */
  | { readonly kind: 'unsent' }
  /** Nothing that could be read came back. */
  | { readonly kind: 'lost' }

export type CallWebApi = (
  token: Secret,
  method: string,
  args: Readonly<Record<string, unknown>>,
  signal: AbortSignal,
) => Promise<WebApiAnswer>

// Failures of the dialling itself.
const notSent: ReadonlySet<unknown> = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'UND_ERR_CONNECT_TIMEOUT'])
const defaultWaitMs = 30_000
const ignoreLogLine = (): void => {}

type WebApi = typeof import('@slack/web-api')

/** The client would write bodies and addresses; what matters of an answer is returned. */
const silentLogger: Logger = {
  debug: ignoreLogLine,
  info: ignoreLogLine,
  warn: ignoreLogLine,
  error: ignoreLogLine,
  setLevel: ignoreLogLine,
  setName: ignoreLogLine,
  getLevel: () => 'error' as LogLevel,
}

/**
 * A client is made for every call: it holds one token and one signal, and nothing of it is shared, so that no call can be made
 * in another installation's name (the client writes its token into headers it is given).
 */
export function createWebApiCaller(
  settings: Pick<SlackSettings, 'apiUrl' | 'callTimeoutMs'>,
  deps: Pick<ChannelDeps, 'fetch'>,
): CallWebApi {
  return async (token, method, args, signal) => {
    let status = 0
    // With the first call, so that a gateway without this channel never loads it.
    const api = await import('@slack/web-api')
    const client = new api.WebClient(token.reveal(), {
      slackApiUrl: settings.apiUrl,
      logger: silentLogger,
      retryConfig: { retries: 0 },
      rejectRateLimitedCalls: true,
      allowAbsoluteUrls: false,
      timeout: settings.callTimeoutMs,
      // A plain function, because workerd refuses its fetch as a method; and it knows no redirect called 'error'.
      fetch: async (url, init) => {
        const { signal: timeout, ...rest } = init ?? {}
        const signals = timeout === undefined ? [signal] : [signal, timeout]
        const response = await deps.fetch(url, { ...rest, redirect: 'manual', signal: AbortSignal.any(signals) })
        status = response.status
        return response
      },
    })
    try {
      return { kind: 'ok', data: { ...(await client.apiCall(method, { ...args })) } }
    } catch (error) {
      return toWebApiAnswer(api, error, status)
    }
  }
}

function toWebApiAnswer(api: WebApi, error: unknown, status: number): WebApiAnswer {
  if (error instanceof api.WebAPIRateLimitedError) return { kind: 'limited', afterMs: error.retryAfter * 1000 }
  // Without a readable Retry-After the client gives up in words.
  if (status === 429) return { kind: 'limited', afterMs: defaultWaitMs }
  if (error instanceof api.WebAPIHTTPError) return { kind: 'http', status: error.statusCode }
  if (error instanceof api.WebAPIPlatformError) return answerFromPlatformError(error.data)
  if (error instanceof api.WebAPIRequestError && neverReachedSlack(error.original)) return { kind: 'unsent' }
  return { kind: 'lost' }
}

function answerFromPlatformError(data: WebAPIPlatformError['data']): WebApiAnswer {
  const { error } = data
  if (error === 'ratelimited' || error === 'rate_limited') {
    return { kind: 'limited', afterMs: (data.response_metadata?.retryAfter ?? defaultWaitMs / 1000) * 1000 }
  }
  // A body that is no JSON is given as if it were the error.
  return typeof error === 'string' && /^[a-z][a-z0-9_]{1,63}$/.test(error) ? { kind: 'error', error } : { kind: 'lost' }
}

function neverReachedSlack({ cause }: Error): boolean {
  if (cause instanceof AggregateError) return cause.errors.every((each) => notSent.has(errorCode(each)))
  return notSent.has(errorCode(cause))
}

// Which token a call is made with: the one in the settings, unless an installation's own is handed in.

export type TokenAnswer =
  | { readonly kind: 'token'; readonly token: Secret }
  /** The app is not installed there, or not any more. */
  | { readonly kind: 'gone'; readonly reason: string }
  | { readonly kind: 'retry'; readonly reason: string }

/** Asked for every call, so that no two installations ever share one. */
export type SlackTokenLookup = (account: string) => Promise<TokenAnswer>

/** Slack said that a token is no good. Undefined: there is none to try in its place. */
export type OnTokenFailed = (account: string, token: Secret, error: string) => Promise<Secret | undefined>

export function staticTokenLookup({ botToken }: { readonly botToken: Secret }): SlackTokenLookup {
  return async () => ({ kind: 'token', token: botToken })
}

export type OutboundDeps = {
  readonly call: CallWebApi
  readonly tokenOf: SlackTokenLookup
  readonly tokenFailed: OnTokenFailed
  readonly live: LiveState
}

/** What this process has learnt; forgetting it costs a call, never a word. */
export type LiveState = {
  /** Installations without native streams, and those of which the notes were asked. */
  readonly withoutStreams: Set<string>
  readonly known: Set<string>
  readonly ttlStore: TtlStore | undefined
  /** Messages that are no streams any more. */
  readonly ended: Set<string>
  /** Messages of which it is not known what they show: from here on they are written as a whole. */
  readonly doubtful: Set<string>
}

export function createLiveState(notes: TtlStore | undefined): LiveState {
  return { withoutStreams: new Set(), known: new Set(), ttlStore: notes, ended: new Set(), doubtful: new Set() }
}
