// Frames as server-sent events: pulled by their reader, so that a slow one holds nothing but its place; a keep-alive comment in
// silence; an end in time. A reader that disconnects stops nothing.
import type { Frame, Outcome } from './call.ts'

export type EventStreamOptions = {
  readonly write: (frame: Frame) => string
  /** What is said when it breaks after it began; then it ends. */
  readonly writeFailure: (error: unknown) => string
  readonly heartbeatMs: number
  readonly lifeMs: number
  /** Called when the reader is gone or all was said. */
  readonly onEnd: () => void
}

const utf8 = new TextEncoder()

type Stream = Extract<Outcome, { kind: 'stream' }>

export function eventStream({ first, rest }: Stream, options: EventStreamOptions): ReadableStream<Uint8Array> {
  const frames = rest[Symbol.asyncIterator]()
  let next: Promise<IteratorResult<readonly Frame[]>> | undefined
  let waiting: readonly Frame[] = first
  const endsAt = Promise.withResolvers<'over'>()
  const life = setTimeout(() => endsAt.resolve('over'), options.lifeMs)
  let isEnded = false
  const endEventStream = (): void => {
    if (isEnded) return
    isEnded = true
    clearTimeout(life)
    options.onEnd()
  }
  const enqueueFrames = (controller: ReadableStreamDefaultController<Uint8Array>, batch: readonly Frame[]): void => {
    for (const frame of batch) controller.enqueue(utf8.encode(eventText(frame, options.write)))
    if (batch.at(-1)?.isLast !== true) return
    controller.close()
    endEventStream()
  }
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          for (;;) {
            if (waiting.length > 0) {
              const batch = waiting
              waiting = []
              return enqueueFrames(controller, batch)
            }
            next ??= frames.next()
            const got = await nextOrSilence(next, endsAt.promise, options.heartbeatMs)
            // Its reader has disconnected.
            if (isEnded) return
            if (got === 'silence') return controller.enqueue(utf8.encode(': still here\n\n'))
            next = undefined
            if (got !== 'over' && got.done !== true) {
              waiting = got.value
              continue
            }
            controller.close()
            return endEventStream()
          }
        } catch (error) {
          if (isEnded) return
          controller.enqueue(utf8.encode(`data: ${options.writeFailure(error)}\n\n`))
          controller.close()
          endEventStream()
        }
      },
      cancel: endEventStream,
    },
    // Nothing is fetched before the reader pulls.
    { highWaterMark: 0 },
  )
}

function eventText(frame: Frame, write: (frame: Frame) => string): string {
  const id = frame.id === undefined || frame.id === '' ? '' : `id: ${frame.id}\n`
  return `${id}data: ${write(frame)}\n\n`
}

async function nextOrSilence<T>(
  next: Promise<T>,
  over: Promise<'over'>,
  afterMs: number,
): Promise<T | 'silence' | 'over'> {
  const { promise: silence, resolve } = Promise.withResolvers<'silence'>()
  const timer = setTimeout(() => resolve('silence'), afterMs)
  try {
    return await Promise.race([next, over, silence])
  } finally {
    clearTimeout(timer)
  }
}
