// Runs of an agent for the client: one answer, or a stream that goes on where it broke off.

import { sleep } from '../lib/time.ts'
import { type CallOptions, ParleyError, type Request, readEventStream } from './request.ts'

const runPath = '/api/v1/agent/run'

export type TextBlock = { readonly type: 'text'; readonly text: string }
export type BinaryBlock = {
  readonly type: 'binary'
  readonly mimeType: string
  readonly url?: string
  readonly data?: string
  readonly filename?: string
}
export type RunMessage =
  | { readonly id: string; readonly role: 'user'; readonly content: string | readonly (TextBlock | BinaryBlock)[] }
  | {
      readonly id: string
      readonly role: 'tool'
      readonly toolCallId: string
      readonly content: string
      readonly error?: string
    }
  | { readonly id?: string; readonly role: 'assistant'; readonly content?: string }

export type ClientTool = { readonly name: string; readonly description?: string; readonly parameters?: object }

/** What was decided about an interrupt. Anything but `approved: true` is a no; `cancelled`: it is given up. */
export type RunDecision = {
  readonly interruptId: string
  readonly status: 'resolved' | 'cancelled'
  readonly payload?: { readonly approved: boolean }
}

/** The same runId in the same thread is the same run, however often it is sent. Either messages or a resume. */
export type RunInput = {
  readonly threadId: string
  readonly runId: string
  readonly messages?: readonly RunMessage[]
  readonly tools?: readonly ClientTool[]
  /** A decision about every open interrupt of the thread. */
  readonly resume?: readonly RunDecision[]
}

/** What a run waits for. */
export type RunInterrupt = {
  readonly id: string
  readonly reason: string
  readonly message?: string
  readonly toolCallId?: string
  readonly expiresAt?: string
  readonly responseSchema?: object
}

export type RunAnswer = {
  readonly threadId: string
  readonly runId: string
  readonly status: 'completed' | 'input_required' | 'refused' | 'failed' | 'cancelled'
  readonly messages: readonly { readonly role: 'assistant'; readonly content: string }[]
  /** There while the run waits for a decision. */
  readonly interrupts?: readonly RunInterrupt[]
  readonly response: Readonly<Record<string, unknown>>
}

/** `pending`: it is at work, or waits for a person; the same run asked for again waits for its answer. */
export type RunOutcome =
  | { readonly kind: 'answered'; readonly answer: RunAnswer }
  | { readonly kind: 'pending'; readonly status: string }

/** One event of a run, as the gateway names it. */
export type RunEvent = { readonly type: string; readonly [key: string]: unknown }

export type StreamOptions = CallOptions & {
  /** Go on behind this event. */
  readonly lastEventId?: string
  /** How often a broken stream is taken up again without a single new event. */
  readonly maxRetries?: number
}

export type StreamedEvent = { readonly id: string; readonly event: RunEvent }

export async function requestRun(request: Request, input: RunInput, options: CallOptions = {}): Promise<RunOutcome> {
  const response = await request.send('POST', runPath, { ...options, json: input })
  const body = (await response.json()) as RunAnswer | { readonly status: string }
  return 'response' in body ? { kind: 'answered', answer: body } : { kind: 'pending', status: body.status }
}

const last = new Set(['RUN_FINISHED', 'RUN_ERROR'])

/** Ends after the event that ends the run. A client that stops listening does not stop the run. */
export async function* streamRun(
  request: Request,
  input: RunInput,
  { lastEventId = '', maxRetries = 5, ...options }: StreamOptions = {},
): AsyncGenerator<StreamedEvent> {
  const place = createEventResumeTracker(lastEventId)
  for (let tries = 0; ; tries += 1) {
    try {
      const isNew = place.resume()
      for await (const { id, event } of streamRunOnce(request, input, place.behind(), options)) {
        if (!isNew(id)) continue
        tries = 0
        yield { id, event }
        if (last.has(event.type)) return
      }
    } catch (error) {
      if (options.signal?.aborted === true || !isRetryableError(error)) throw error
      if (tries >= maxRetries) throw error
    }
    if (tries >= maxRetries)
      throw new ParleyError(0, { code: 'stream_ended', detail: 'the stream ended before its run did' })
    await sleep(Math.min(250 * 2 ** tries, 5_000), options.signal)
  }
}

/**
 * Where a stream is. Several events may share an id, and the line may break between them: so we go on behind the id before, and
 * leave out what came already.
 */
function createEventResumeTracker(lastEventId: string) {
  let complete = lastEventId
  let current = ''
  let count = 0
  let isFirst = true
  return {
    behind: () => complete,
    resume() {
      const known = { id: current, left: count }
      const isAgain = !isFirst
      isFirst = false
      return (id: string): boolean => {
        // What has no id opens every stream anew.
        if (id === '') return !isAgain
        if (id === known.id && known.left > 0) {
          known.left -= 1
          return false
        }
        if (id !== current) {
          complete = current === '' ? complete : current
          current = id
          count = 0
        }
        count += 1
        return true
      }
    },
  }
}

async function* streamRunOnce(
  request: Request,
  input: RunInput,
  seen: string,
  options: CallOptions,
): AsyncGenerator<StreamedEvent> {
  const headers = { ...options.headers, accept: 'text/event-stream', ...(seen === '' ? {} : { 'last-event-id': seen }) }
  const response = await request.send('POST', runPath, { ...options, headers, json: input })
  const isStream = (response.headers.get('content-type') ?? '').includes('text/event-stream')
  if (!isStream || response.body === null) {
    const answer = (await response.json()) as Readonly<Record<string, unknown>>
    if ('response' in answer)
      yield { id: '', event: { type: 'RUN_FINISHED', threadId: input.threadId, runId: input.runId, result: answer } }
    return
  }
  for await (const { id, data } of readEventStream(response.body)) {
    const event = JSON.parse(data) as RunEvent
    yield { id, event }
  }
}

/** A broken line, or a gateway that says it will be back. */
function isRetryableError(error: unknown): boolean {
  return error instanceof ParleyError ? error.status >= 502 || error.status === 429 : error instanceof TypeError
}
