// Calls Slack's Web API, with the result as a closed union, and says what each result means for a delivery. Errors of the client
// carry addresses and bodies, so none leaves here.
import type { Logger, LogLevel, WebAPIPlatformError } from '@slack/web-api'
import type { ChannelDeps, DeliveryResult, TtlStore } from '../../../src/contract/index.ts'
import type { Json, JsonObject, Secret } from '../../../src/lib/index.ts'
import { errorCode } from '../../../src/lib/index.ts'
import type { SlackSettings } from '../config.ts'
import type { MessagePayload } from '../wire.ts'

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
      return webApiErrorToAnswer(api, error, status)
    }
  }
}

function webApiErrorToAnswer(api: WebApi, error: unknown, status: number): WebApiAnswer {
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

// A message is sent in plain words where Slack does not take its blocks.

/** One call with the right token and signal. */
export type Send = (method: string, args: Readonly<Record<string, unknown>>) => Promise<WebApiAnswer>

/** Blocks that are not taken are said in plain words, once; a refusal has changed nothing. */
export async function sendWithPlainFallback(
  send: Send,
  method: string,
  payload: MessagePayload,
): Promise<WebApiAnswer> {
  const answer = await send(method, payload)
  if (!isErrorOfClass(answer, 'blocks') || payload.blocks === undefined) return answer
  const { blocks, ...rest } = payload
  return send(method, { ...rest, text: blocksToPlainText(blocks) || payload.text })
}

/** What Slack shows of one text; it cuts what is longer. */
const maxPlainLength = 39_000

function blocksToPlainText(blocks: readonly JsonObject[]): string {
  const words = blocks.map((block) => blockPlainText(block)).filter((text) => text.trim() !== '')
  const escaped = words.join('\n').replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
  return escaped.slice(0, maxPlainLength).toWellFormed()
}

function blockPlainText(value: Json): string {
  if (Array.isArray(value)) return value.map((each) => blockPlainText(each)).join(areInlineElements(value) ? '' : '\n')
  if (typeof value !== 'object' || value === null) return ''
  const { text, type, user_id: user, url } = value as JsonObject
  if (type === 'user' && typeof user === 'string') return `@${user}`
  if (typeof text === 'string') return type === 'link' && typeof url === 'string' ? `${text} (${url})` : text
  return Object.values(value)
    .map((each) => (typeof each === 'object' ? blockPlainText(each) : ''))
    .filter((each) => each !== '')
    .join('\n')
}

function areInlineElements(values: readonly Json[]): boolean {
  return values.every(
    (each) =>
      typeof each === 'object' &&
      each !== null &&
      'type' in each &&
      ['text', 'link', 'user', 'emoji'].includes(String(each['type'])),
  )
}

// What an answer means for the delivery.

export function toSendOutcome(answer: WebApiAnswer, isRepeatable: boolean, knownId?: string): DeliveryResult {
  if (answer.kind !== 'ok') return slackDeliveryOutcome(answer, isRepeatable)
  const id = answer.data['ts'] ?? answer.data['message_ts'] ?? knownId
  return typeof id === 'string' ? { kind: 'delivered', vendorId: id } : { kind: 'delivered' }
}

type FailedAnswer = Exclude<WebApiAnswer, { kind: 'ok' }>

/** Without a time of its own. */
const limitMs = 30_000

/** `isRepeatable`: doing it twice shows once. */
export function slackDeliveryOutcome(answer: FailedAnswer, isRepeatable: boolean): DeliveryResult {
  const ambiguous = isRepeatable ? 'retry' : 'unknown'
  switch (answer.kind) {
    case 'limited':
      return rateLimitedOutcome(answer.afterMs)
    case 'unsent':
      return { kind: 'retry', reason: 'slack_unreachable' }
    case 'lost':
      return { kind: ambiguous, reason: 'no_readable_answer' }
    case 'http': {
      const isOpen = answer.status >= 500 || answer.status === 408
      return { kind: isOpen ? ambiguous : 'refused', reason: `slack_http_${answer.status}` }
    }
    case 'error':
      return outcomeForErrorCode(answer.error, ambiguous)
    default:
      return answer satisfies never
  }
}

function outcomeForErrorCode(error: string, ambiguous: 'retry' | 'unknown'): DeliveryResult {
  switch (classifySlackError(error)) {
    case 'doubt':
      return { kind: ambiguous, reason: error }
    case 'later':
      return { kind: 'retry', reason: error }
    case 'limit':
      return rateLimitedOutcome(limitMs)
    default:
      return { kind: 'refused', reason: error }
  }
}

function rateLimitedOutcome(afterMs: number): DeliveryResult {
  return { kind: 'retry', reason: 'rate_limited', afterMs, scope: 'conversation' }
}

/** Whether Slack refused with an error code of one of these kinds. */
export function isErrorOfClass(answer: WebApiAnswer, ...kinds: readonly ErrorClass[]): boolean {
  return answer.kind === 'error' && kinds.includes(classifySlackError(answer.error))
}

// Every error code of Slack's, for the methods Parley calls (docs.slack.dev/reference/methods), by what it means.

/**
 * - `doubt`: Slack's own trouble; it may have done what was asked all the same.
 * - `later`: nothing was done, and the same call may work in a while.
 * - `limit`: too many calls.
 * - `token`: the token is no good any more.
 * - `setup`: the app or the workspace is set up so that it cannot work; the same the next time.
 * - `absent`: the bot is not there.
 * - `place`: this channel or thread takes no such message.
 * - `blocks`: what we wrote is not taken as it stands; plain words may be.
 * - `edited`: the message that was to be changed is gone, or not ours to change.
 * - `done`: it is as it was to be.
 * - `form`: anything else about the call itself.
 */
export type ErrorClass = keyof typeof table

const table = {
  doubt: `fatal_error internal_error service_unavailable request_timeout messaging_processing_failed update_failed
    file_update_failed list_record_comment_fetch_failed`,
  later: 'team_added_to_org external_channel_migrating streaming_state_conflict',
  limit: 'ratelimited rate_limited',
  token: 'invalid_auth not_authed account_inactive token_revoked token_expired',
  setup: `missing_scope not_allowed_token_type no_permission unknown_method method_deprecated deprecated_endpoint
    feature_not_enabled feature_disabled not_agent_app not_authorized access_denied accesslimited enterprise_is_restricted
    team_access_not_granted two_factor_setup_required org_login_required ekm_access_denied app_access_restricted
    not_subscribed_to_message_stream_stopped send_on_behalf_not_allowed metadata_must_be_sent_from_app team_not_found
    file_uploads_disabled file_uploads_except_images_disabled storage_limit_reached messages_tab_disabled
    canvas_disabled_file_team canvas_disabled_user_team canvas_globally_disabled bad_client_secret bad_redirect_uri
    invalid_client_id no_scopes oauth_authorization_url_mismatch pkce_not_allowed preview_feature_not_available
    cannot_install_an_org_installed_app user_email_unverified reserved_username`,
  absent: 'not_in_channel channel_not_found',
  place: `is_archived is_inactive restricted_action restricted_action_non_threadable_channel restricted_action_read_only_channel
    restricted_action_thread_locked restricted_action_thread_only_channel thread_locked thread_not_found invalid_thread_ts
    cannot_reply_to_message channel_type_not_supported method_not_supported_for_channel_type channel_is_limited_access
    posting_to_channel_denied message_limit_exceeded user_not_in_channel user_not_found invalid_channel no_access
    channels_limit_exceeded slack_connect_canvas_sharing_blocked slack_connect_file_link_sharing_blocked
    slack_connect_lists_sharing_blocked slack_connect_blocked_file_type slack_connect_clip_sharing_blocked
    slack_connect_file_upload_sharing_blocked max_file_sharing_exceeded file_share_limit_reached unable_to_share_files`,
  blocks: 'invalid_blocks invalid_blocks_format msg_blocks_too_long msg_blocks_too_many msg_too_long no_text',
  edited: 'message_not_found cant_update_message edit_window_closed message_not_owned_by_app block_mismatch',
  done: 'already_reacted no_reaction message_not_in_streaming_state stopped_by_user',
  form: `as_user_not_supported attachment_payload_limit_exceeded draft_already_deleted draft_already_sent draft_has_conflict
    draft_not_found duplicate_channel_not_found duplicate_message_not_found invalid_metadata_format invalid_metadata_schema
    markdown_text_conflict metadata_too_large missing_file_data too_many_attachments too_many_contact_cards invalid_attachments
    blocked_file_type cant_broadcast_message file_deleted file_is_deleted file_not_found no_dual_broadcast_content_update
    invalid_chunks missing_recipient_team_id missing_recipient_user_id alt_txt_too_large file_type_not_allowed
    file_upload_size_restricted missing_argument snippet_too_large unknown_snippet_type unknown_subtype not_visible
    template_not_visible bad_timestamp invalid_name no_item_specified not_reactable too_many_emoji too_many_reactions
    file_comment_not_found invalid_status thread_ts_not_allowed thread_ts_required invalid_cursor
    invalid_metadata_filter_keys invalid_ts_latest invalid_ts_oldest invalid_code invalid_code_verifier invalid_grant_type
    invalid_refresh_token invalid_arg_name invalid_arguments invalid_array_arg invalid_charset invalid_form_data
    invalid_post_type missing_post_type is_bot`,
} as const

const classes: ReadonlyMap<string, ErrorClass> = new Map(
  // The keys of the table are its classes.
  (Object.entries(table) as [ErrorClass, string][]).flatMap(([kind, words]) =>
    words.split(/\s+/).map((word): [string, ErrorClass] => [word, kind]),
  ),
)

export const knownErrors: readonly string[] = Object.values(table).flatMap((words) => words.split(/\s+/))

/** An unknown code is a refusal, unless it speaks of trouble on Slack's side. */
export function classifySlackError(error: string): ErrorClass {
  return (
    classes.get(error) ??
    (/(?:_error|_failed|_failure|_timeout|unavailable|overloaded)$/.test(error) ? 'doubt' : 'form')
  )
}
