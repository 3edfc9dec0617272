// A client of the crash test `a2a-resume`: sends one message as a stream, and whenever its line goes dead takes the stream up again
// behind the last event it saw. It shows what a person would see: what is appended, and what replaces what was shown.
import { delay } from './crash-test.ts'

/** How a client comes back: to the task it was told of, or with the very message it sent. */
export type Return = 'subscribe' | 'resend'
export type Binding = 'JSONRPC' | 'HTTP+JSON'

export type SeenEvent = { readonly id: string; readonly kind: 'words' | 'state'; readonly text: string }

export type ResumingClient = {
  readonly name: string
  readonly binding: Binding
  readonly back: Return
  readonly seen: readonly SeenEvent[]
  readonly taskId: () => string | undefined
  /** What is shown now. */
  readonly shown: () => string
  /** How often something that was shown was replaced by something else. */
  readonly replaced: () => number
  /** Streams that were taken up behind an event, and how many of these began with another picture than the one left behind. */
  readonly resumed: () => number
  readonly jumps: () => number
  /** How often something was shown that nobody ever said so. */
  readonly mixtures: () => number
  /** Subscribing came too late: the task was over. */
  readonly wasLate: () => boolean
  /** The place of the log at which it was first shown the task: what lies before that is part of the picture. */
  readonly joinedAt: () => string | undefined
  readonly refusals: readonly string[]
  /** How often it was told to come again, and did. */
  readonly deferred: () => number
  readonly done: Promise<void>
  /** The artifact's text as it stands in the end. */
  readonly artifact: () => Promise<string>
}

export type ClientOptions = Pick<ResumingClient, 'name' | 'binding' | 'back'> & {
  readonly url: () => string | undefined
  readonly text: string
  readonly isOneAnswer: (shown: string) => boolean
  readonly giveUpMs: number
}

type Parts = readonly { readonly text?: string }[]
type Artifact = { readonly artifactId: string; readonly parts: Parts }
/** The answers of the protocol that are met here. */
type Frame = {
  readonly task?: { readonly id: string; readonly status: { readonly state: string }; readonly artifacts?: Artifact[] }
  readonly artifactUpdate?: { readonly artifact: Artifact; readonly append?: boolean }
  readonly statusUpdate?: { readonly status: { readonly state: string } }
}
type Envelope = Frame & { readonly result?: Frame; readonly error?: { readonly message: string } }

const retryMs = 50
const isFinal = (state: string | undefined): boolean => /COMPLETED|FAILED|CANCELED|REJECTED/.test(state ?? '')
const textOf = (parts: Parts): string => parts.map(({ text = '' }) => text).join('')

export function startClient(options: ClientOptions): ResumingClient {
  const { name, binding, back } = options
  const message = { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text: options.text }] }
  const artifacts = new Map<string, string>()
  const seen: SeenEvent[] = []
  const refusals: string[] = []
  const counts = { replaced: 0, resumed: 0, jumps: 0, mixtures: 0, deferred: 0 }
  let taskId: string | undefined
  let lastId: string | undefined
  let joinedAt: string | undefined
  let isLate = false
  let isOver = false
  const shown = (): string => [...artifacts.values()].join('\n')

  const take = (id: string | undefined, frame: Frame): void => {
    const { task, artifactUpdate, statusUpdate } = frame
    if (task !== undefined) begin(task, id)
    else if (artifactUpdate !== undefined) {
      const { artifact, append = false } = artifactUpdate
      const before = artifacts.get(artifact.artifactId) ?? ''
      if (!append && before !== '') counts.replaced += 1
      artifacts.set(artifact.artifactId, (append ? before : '') + textOf(artifact.parts))
      seen.push({ id: id ?? '', kind: 'words', text: textOf(artifact.parts) })
    } else seen.push({ id: id ?? '', kind: 'state', text: statusUpdate?.status.state ?? '' })
    if (!options.isOneAnswer(shown())) counts.mixtures += 1
    isOver ||= isFinal(statusUpdate?.status.state) || isFinal(task?.status.state)
    lastId = id ?? lastId
  }
  const begin = (task: NonNullable<Frame['task']>, id: string | undefined): void => {
    taskId = task.id
    const before = shown()
    artifacts.clear()
    for (const { artifactId, parts } of task.artifacts ?? []) artifacts.set(artifactId, textOf(parts))
    joinedAt ??= id
    if (lastId === undefined) return
    counts.resumed += 1
    if (id !== lastId || shown() !== before) counts.jumps += 1
  }
  const open = (url: string): Promise<Response> => {
    const isBack = taskId !== undefined && back === 'subscribe' && !isLate
    const headers: Record<string, string> = { 'a2a-version': '1.0', 'content-type': 'application/json' }
    if (lastId !== undefined) headers['last-event-id'] = lastId
    const signal = AbortSignal.timeout(options.giveUpMs)
    if (binding === 'HTTP+JSON')
      return isBack
        ? fetch(`${url}/a2a/tasks/${taskId}:subscribe`, { headers, signal })
        : fetch(`${url}/a2a/message:stream`, { method: 'POST', headers, body: JSON.stringify({ message }), signal })
    const call = isBack
      ? { method: 'SubscribeToTask', params: { id: taskId } }
      : { method: 'SendStreamingMessage', params: { message } }
    const body = JSON.stringify({ jsonrpc: '2.0', id: 'r', ...call })
    return fetch(`${url}/a2a`, { method: 'POST', headers, body, signal })
  }
  const listen = async (url: string): Promise<void> => {
    const response = await open(url)
    if (response.headers.get('content-type')?.startsWith('text/event-stream') !== true) {
      const { error } = (await response.json()) as Envelope
      // Whoever comes back when all is over asks with the message, which shows everything that was missed.
      if (back === 'subscribe' && error?.message.startsWith('the task is over') === true) isLate = true
      else if (response.status === 503) counts.deferred += 1
      else refusals.push(`${name}: ${response.status} ${error?.message}`)
      return
    }
    for await (const { id, data } of eventsIn(response)) {
      const envelope = JSON.parse(data) as Envelope
      if (envelope.error?.message.startsWith('the gateway cannot do this right now') === true) counts.deferred += 1
      else if (envelope.error !== undefined) refusals.push(`${name}: ${envelope.error.message}`)
      else take(id, envelope.result ?? envelope)
    }
  }
  const work = async (): Promise<void> => {
    const until = performance.now() + options.giveUpMs
    while (!isOver && performance.now() < until) {
      const url = options.url()
      // A dead line is what this is about: it is taken up again.
      if (url !== undefined) await listen(url).catch(() => {})
      if (!isOver) await delay(retryMs)
    }
  }
  return {
    name,
    binding,
    back,
    seen,
    refusals,
    shown,
    taskId: () => taskId,
    replaced: () => counts.replaced,
    resumed: () => counts.resumed,
    jumps: () => counts.jumps,
    mixtures: () => counts.mixtures,
    wasLate: () => isLate,
    joinedAt: () => joinedAt,
    deferred: () => counts.deferred,
    done: work(),
    async artifact() {
      const response = await fetch(`${options.url()}/a2a/tasks/${taskId}`, { headers: { 'a2a-version': '1.0' } })
      const task = (await response.json()) as NonNullable<Frame['task']>
      return (task.artifacts ?? []).map(({ parts }) => textOf(parts)).join('\n')
    },
  }
}

/** An event counts when it is whole; what a dead line cuts off was never seen. */
async function* eventsIn(
  response: Response,
): AsyncGenerator<{ readonly id: string | undefined; readonly data: string }> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk as Uint8Array, { stream: true })
    const events = text.split('\n\n')
    text = events.pop() ?? ''
    for (const event of events) {
      const lines = event.split('\n')
      const data = lines.find((line) => line.startsWith('data: '))?.slice(6)
      if (data !== undefined) yield { id: lines.find((line) => line.startsWith('id: '))?.slice(4), data }
    }
  }
}
