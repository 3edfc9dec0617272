// An agent behind an HTTP endpoint: it is sent the message, signed, and answers with a response or a stream of server-sent events.

import type { AgentReply, NormalizedMessage, NormalizedResponse } from '../contract/index.ts'
import { normalizedResponseSchema } from '../contract/response.ts'
import { GatewayError } from '../lib/errors.ts'
import { createWebHmac, parseJson, readServerSentEvents, toHex } from '../lib/index.ts'
import type { Secret } from '../lib/secret.ts'
import type { AgentContext } from './context.ts'
import { createChainRefusalReply } from './remote-agents.ts'

export type HttpAgentOptions = {
  readonly secret: Secret
  readonly timeoutMs?: number
  readonly maxBytes?: number
}

const signatureHeader = 'x-parley-signature'
const timestampHeader = 'x-parley-timestamp'

const hmac = createWebHmac()

/**
 * `run` for defineAgent: the message is posted, signed, and the answer is a response or its stream (docs/spec/response.md). The request is
 * one idempotent step: the same key on every try tells the other side.
 *
 * @example
 * defineAgent({ slug: 'orders', run: httpAgent('https://agent.example/messages', { secret: secret(sharedKey) }) })
 */
export function httpAgent(url: string, options: HttpAgentOptions) {
  const { timeoutMs = 60_000, maxBytes = 4 * 1024 * 1024 } = options
  return async (message: NormalizedMessage, context: AgentContext): Promise<AgentReply> => {
    const next = await context.remoteCaller.next(undefined)
    if (!next.ok) {
      context.emit('remote_refused', { code: next.code })
      return createChainRefusalReply(next.code)
    }
    const answer = await context.step(
      'http-agent',
      async ({ key, signal, fetch }) => {
        const body = new TextEncoder().encode(JSON.stringify({ ...message, raw: undefined }))
        const response = await sendToHttpAgent(fetch, url, {
          method: 'POST',
          redirect: 'error',
          headers: { ...next.headers, ...(await signatureHeaders(options.secret, body)), 'idempotency-key': key },
          body,
          signal: AbortSignal.any([signal, context.stop, AbortSignal.timeout(timeoutMs)]),
        })
        const read = await readAgentAnswer(response, maxBytes, context)
        // Validated by its schema; what it holds is JSON, as it came.
        return JSON.parse(JSON.stringify(read))
      },
      { idempotent: true, args: message.id, label: `ask ${context.agent}` },
    )
    return answer as NormalizedResponse
  }
}

async function signatureHeaders(secret: Secret, body: Uint8Array): Promise<Record<string, string>> {
  const at = String(Math.floor(Date.now() / 1000))
  const prefix = new TextEncoder().encode(`${at}.`)
  const bytes = new Uint8Array(prefix.length + body.length)
  bytes.set(prefix)
  bytes.set(body, prefix.length)
  return {
    'content-type': 'application/json',
    accept: 'text/event-stream, application/json',
    [timestampHeader]: at,
    [signatureHeader]: `sha256=${toHex(await hmac.sha256(secret.reveal(), bytes))}`,
  }
}

async function sendToHttpAgent(fetch: typeof globalThis.fetch, url: string, init: RequestInit): Promise<Response> {
  let response: Response
  try {
    response = await fetch(url, init)
  } catch (cause) {
    throw httpAgentUnavailableError('could not be reached', cause)
  }
  if (response.status === 429 || response.status >= 500) {
    await response.body?.cancel()
    throw httpAgentUnavailableError(`answered ${response.status}`)
  }
  if (!response.ok) {
    await response.body?.cancel()
    throw new GatewayError('agent_failed', `[agent] the remote agent refused the message (${response.status})`)
  }
  return response
}

async function readAgentAnswer(
  response: Response,
  maxBytes: number,
  context: AgentContext,
): Promise<NormalizedResponse> {
  const isStream = (response.headers.get('content-type') ?? '').startsWith('text/event-stream')
  return isStream
    ? readAgentStream(response, maxBytes, context)
    : parseAgentResponse(await readAgentJson(response, maxBytes))
}

/** `done` or `error` comes last, exactly once; a stream without either was cut. */
async function readAgentStream(
  response: Response,
  maxBytes: number,
  context: AgentContext,
): Promise<NormalizedResponse> {
  for await (const { data } of readServerSentEvents(readLimitedChunks(response, maxBytes))) {
    const chunk = parseJson(data)
    if (typeof chunk !== 'object' || chunk === null || !('t' in chunk)) throw malformedAgentAnswerError()
    if (chunk.t === 'done' && 'response' in chunk) return parseAgentResponse(chunk.response)
    if (chunk.t === 'error') throw new GatewayError('agent_failed', '[agent] the remote agent failed on the message')
    if (chunk.t === 'text' && 'delta' in chunk && typeof chunk.delta === 'string') context.show(chunk.delta)
  }
  throw httpAgentUnavailableError('broke off its answer')
}

async function readAgentJson(response: Response, maxBytes: number): Promise<unknown> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of response.body ?? []) {
    size += chunk.byteLength
    if (size > maxBytes) throw malformedAgentAnswerError()
    chunks.push(chunk)
  }
  try {
    return JSON.parse(
      new TextDecoder('utf-8', { fatal: true }).decode(await new Blob(chunks as BlobPart[]).arrayBuffer()),
    )
  } catch {
    throw malformedAgentAnswerError()
  }
}

function parseAgentResponse(answer: unknown): NormalizedResponse {
  const parsed = normalizedResponseSchema.safeParse(answer)
  if (!parsed.success) throw malformedAgentAnswerError()
  return parsed.data
}

function httpAgentUnavailableError(what: string, cause?: unknown): GatewayError {
  return new GatewayError('provider_unavailable', `[agent] the remote agent ${what}; the turn waits for it`, {
    retryable: true,
    ...(cause === undefined ? {} : { cause }),
  })
}

function malformedAgentAnswerError(): GatewayError {
  return new GatewayError('agent_failed', '[agent] the remote agent answered with no valid response')
}

async function* readLimitedChunks(response: Response, maxBytes: number): AsyncGenerator<Uint8Array> {
  let size = 0
  for await (const chunk of response.body ?? []) {
    size += chunk.byteLength
    if (size > maxBytes) throw agentAnswerTooLargeError()
    yield chunk
  }
}

function agentAnswerTooLargeError(): GatewayError {
  return new GatewayError('agent_failed', '[agent] the remote agent said more than it may')
}
