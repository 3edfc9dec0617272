// Streams a run while it goes on: one stream of events per request, read from what is stored. A client that disconnects stops
// the reading and nothing else; a client that asks for the same run again is told it from the beginning, or from the last number seen.
import type { FollowRequest, Json, JsonObject, TaskEvent, TaskService } from '../../../src/contract/index.ts'
import { parseBoundedJson } from '../../../src/lib/index.ts'
import { runRequestSchema } from '../wire.ts'
import { createRunEventWriter, type RunFacts, sseFrame } from './run-events.ts'

const heartbeatMs = 15_000

const headers = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
}

/** Undefined: the client wants the answer whole, or there is nothing to show. */
export async function followRequest(tasks: TaskService, asked: FollowRequest): Promise<Response | undefined> {
  const { acceptance, bytes, headers } = asked
  if (!(headers['accept'] ?? '').includes('text/event-stream') || !('inboxId' in acceptance)) return undefined
  const taskId = await tasks.ofMessage(acceptance.inboxId)
  const json = parseBoundedJson(bytes)
  const request = json.ok ? runRequestSchema.safeParse(json.value).data : undefined
  if (taskId === undefined || request === undefined) return undefined
  const { threadId, runId, protocolVersion, parentRunId } = request
  // A run that goes on with a paused one is told from where that one stopped.
  const run = {
    taskId,
    threadId,
    runId,
    from: await tasks.cursorBefore(acceptance.inboxId),
    ...(protocolVersion ? { protocolVersion } : {}),
    ...(parentRunId ? { parentRunId } : {}),
    // Sent by the client itself, and read as JSON.
    messages: request.messages as unknown as readonly JsonObject[],
    state: (request.state ?? undefined) as Json | undefined,
  }
  return streamAguiEvents(tasks, run, asked)
}

function streamAguiEvents(tasks: TaskService, run: StreamedRun, { headers: asked, keepOpen }: FollowRequest): Response {
  const gone = new AbortController()
  const { promise: closed, resolve: close } = Promise.withResolvers<void>()
  keepOpen(closed)
  // The events before the one that was seen are read again: what they opened must be known to go on.
  const seen = asked['last-event-id'] ?? run.from
  const frames = runFrames(tasks, run, seen, gone.signal)
  const encoder = new TextEncoder()
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const next = await frames.next()
        if (next.done !== true) return controller.enqueue(encoder.encode(next.value))
        controller.close()
        close()
      } catch (error) {
        close()
        throw error
      }
    },
    async cancel() {
      gone.abort()
      await frames.return(undefined)
      close()
    },
  })
  return new Response(body, { headers })
}

type StreamedRun = RunFacts & { readonly taskId: string; readonly from: string }

async function* runFrames(
  tasks: TaskService,
  run: StreamedRun,
  seen: string,
  signal: AbortSignal,
): AsyncGenerator<string, undefined> {
  const teller = createRunEventWriter(run)
  yield teller
    .begin()
    .map((event) => sseFrame(event, undefined))
    .join('')
  const batches = tasks.watch(run.taskId, { cursor: run.from }, signal)[Symbol.asyncIterator]()
  let isShown = seen === run.from
  try {
    while (!teller.isOver()) {
      const next = await nextOrHeartbeat(batches)
      if (next === 'beat') yield ': still running\n\n'
      else if (next.done === true) return undefined
      else {
        const frames: string[] = []
        for (const [at, event] of next.value.entries()) {
          const told = teller.tell(event)
          // Only the last frame of a number carries it: a client that has the number has seen all before it.
          const isWhole = next.value[at + 1]?.cursor !== event.cursor
          const frameCursor = (index: number) => (isWhole && index === told.length - 1 ? event.cursor : undefined)
          if (isShown) frames.push(...told.map((each, index) => sseFrame(each, frameCursor(index))))
          if (isWhole && event.cursor === seen) isShown = true
        }
        if (frames.length > 0) yield frames.join('')
      }
    }
    return undefined
  } finally {
    await batches.return?.(undefined)
  }
}

/** A wait that is asked for again, so that nothing it brings is lost. */
const pendingReads = new WeakMap<object, Promise<IteratorResult<readonly TaskEvent[]>>>()

async function nextOrHeartbeat(
  batches: AsyncIterator<readonly TaskEvent[]>,
): Promise<IteratorResult<readonly TaskEvent[]> | 'beat'> {
  const waiting = pendingReads.get(batches) ?? batches.next()
  pendingReads.set(batches, waiting)
  const { promise: beat, resolve } = Promise.withResolvers<'beat'>()
  const timer = setTimeout(() => resolve('beat'), heartbeatMs)
  try {
    const next = await Promise.race([waiting, beat])
    if (next !== 'beat') pendingReads.delete(batches)
    return next
  } finally {
    clearTimeout(timer)
  }
}
