// Streams a run while it goes on: one stream of events per request, read from what is stored. A client that disconnects stops
// the reading and nothing else; a client that asks for the same run again is told it from the beginning, or from the last number seen.
import type { Adapter, TaskEvent, TaskService, TaskWait, TransportAnswer } from '../../../src/contract/index.ts'
import { type Json, type JsonObject, parseBoundedJson, settleWithin } from '../../../src/lib/index.ts'
import { decisionMessageId, parseRunCommand } from '../normalize.ts'
import { confirmationInterrupt } from '../render.ts'
import { type RunRequest, runRequestSchema } from '../wire.ts'
import { createRunEventTranslator, type RunFacts, sseFrame } from './run-events.ts'

const heartbeatMs = 15_000

const headers = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
}

type FollowRequest = Parameters<NonNullable<Adapter['follow']>>[0]

/** Undefined: the client wants the answer whole, or there is nothing to show. */
export async function streamRunOfRequest(tasks: TaskService, asked: FollowRequest): Promise<Response | undefined> {
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
  const frames = streamRunFrames(tasks, run, seen, gone.signal)
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

async function* streamRunFrames(
  tasks: TaskService,
  run: StreamedRun,
  seen: string,
  signal: AbortSignal,
): AsyncGenerator<string, undefined> {
  const teller = createRunEventTranslator(run)
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
          const lastFrameCursor = (index: number) => (isWhole && index === told.length - 1 ? event.cursor : undefined)
          if (isShown) frames.push(...told.map((each, index) => sseFrame(each, lastFrameCursor(index))))
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
  const next = await settleWithin(waiting, heartbeatMs, 'beat')
  if (next !== 'beat') pendingReads.delete(batches)
  return next
}

// Interrupts of a thread: what a run that paused waits for, and the decisions a request brings about them. One resume decides
// about every one that is open; one that is over cannot be decided any more. A command decides in words, about the one it names.

type InterruptCheck =
  | { readonly kind: 'free' }
  /** The paused tasks that it goes on with, by the interrupts it decides about. */
  | { readonly kind: 'decides'; readonly tasks: ReadonlyMap<string, string> }
  | { readonly kind: 'blocked'; readonly answer: TransportAnswer }

type InterruptRequest = {
  readonly agent: string
  readonly subject: string
  readonly bytes: Uint8Array
  readonly accept: string
}

const free: InterruptCheck = { kind: 'free' }

export async function checkOpenInterrupts(
  tasks: TaskService,
  { agent, subject, bytes, accept }: InterruptRequest,
): Promise<InterruptCheck> {
  const json = parseBoundedJson(bytes)
  const request = json.ok ? runRequestSchema.safeParse(json.value).data : undefined
  // What cannot be read is refused where it is read.
  if (request === undefined) return free
  const waits = await tasks.waits(agent, request.threadId, { subject })
  const open = waits.filter((wait) => !wait.isOver)
  const isStreamed = accept.includes('text/event-stream')
  if ((request.resume ?? []).length === 0)
    return open.length === 0 ? free : checkRequestWithoutResume(request, open, isStreamed)
  return checkResumeDecisions({ tasks, request, subject, waits, isStreamed })
}

type Resumption = {
  readonly tasks: TaskService
  readonly request: RunRequest
  readonly subject: string
  readonly waits: readonly TaskWait[]
  readonly isStreamed: boolean
}

async function checkResumeDecisions({
  tasks,
  request,
  subject,
  waits,
  isStreamed,
}: Resumption): Promise<InterruptCheck> {
  const open = waits.filter((wait) => !wait.isOver)
  const continuesTurn = new Map<string, string>()
  for (const { interruptId } of request.resume ?? []) {
    const wait = waits.find(({ id }) => id === interruptId)
    // Decided long ago by this very request: it is told the same again.
    const before =
      wait === undefined ? await tasks.ofMessageId(decisionMessageId(request, interruptId), { subject }) : undefined
    if (wait === undefined && before === undefined) return blockRunRequest(request, isStreamed, unknownInterrupt, open)
    const taskId = wait?.taskId ?? before
    if (taskId !== undefined && !(wait?.isOver === false && wait.isTaskOver)) continuesTurn.set(interruptId, taskId)
  }
  const decided = new Set((request.resume ?? []).map(({ interruptId }) => interruptId))
  if (open.some((wait) => !decided.has(wait.id)))
    return blockRunRequest(request, isStreamed, partialDecisionProblem(open), open)
  return { kind: 'decides', tasks: continuesTurn }
}

/**
 * Without a resume: results and commands are taken, and so are words, as on every channel. Only a stream is held to its protocol,
 * whose clients begin nothing else while an interrupt is open.
 */
function checkRequestWithoutResume(
  request: RunRequest,
  open: readonly TaskWait[],
  isStreamed: boolean,
): InterruptCheck {
  if (request.messages.at(-1)?.role === 'tool') return free
  const command = parseRunCommand(request)
  // The run that asks, sent again, is told what it asked.
  const isAgain = open.some(({ runId }) => runId === request.runId)
  if (command === undefined)
    return isStreamed && !isAgain ? blockRunRequest(request, isStreamed, openInterruptProblem(open), open) : free
  if (command.name !== 'approve' && command.name !== 'reject') return free
  const [, code] = /^([0-9a-f]{6,36})\b/i.exec(command.args.trim()) ?? []
  const [wait, ...others] = open.filter(({ id }) => code === undefined || id.endsWith(code.toLowerCase()))
  // The answer to the command says which one is meant.
  if (wait === undefined || others.length > 0 || wait.isTaskOver) return free
  return { kind: 'decides', tasks: new Map([[wait.id, wait.taskId]]) }
}

type Problem = { readonly code: string; readonly message: string; readonly remedy: string }

/** What a command calls an action by: the end of its id. */
const codeLength = 6
const maxNamed = 3

function approvalCommandsHint(open: readonly TaskWait[]): string {
  return open
    .slice(0, maxNamed)
    .map(({ id }) => `/approve ${id.slice(-codeLength)} or /reject ${id.slice(-codeLength)}`)
    .join(', ')
}

function openInterruptProblem(open: readonly TaskWait[]): Problem {
  const summaries = open.slice(0, maxNamed).map(({ summary }) => summary)
  return {
    code: 'interrupts_pending',
    message: `a decision is waited for on this thread: ${summaries.join('; ')}`,
    remedy: `answer with ${approvalCommandsHint(open)}, send resume with a decision about every open interrupt, or use another threadId`,
  }
}

function partialDecisionProblem(open: readonly TaskWait[]): Problem {
  return {
    code: 'interrupts_not_all_decided',
    message: 'not every open interrupt of this thread is decided',
    remedy: `send one resume with an entry for each of them, or decide one by one with ${approvalCommandsHint(open)}`,
  }
}

const unknownInterrupt: Problem = {
  code: 'interrupt_unknown',
  message: 'nothing of this id waits for a decision here',
  remedy: 'use the id of an interrupt of a run on this thread; one that expired is asked for anew',
}

function blockRunRequest(
  request: RunRequest,
  isStreamed: boolean,
  problem: Problem,
  open: readonly TaskWait[],
): InterruptCheck {
  return {
    kind: 'blocked',
    answer: isStreamed ? interruptErrorStream(request, problem) : interruptConflictAnswer(problem, open),
  }
}

function interruptErrorStream({ threadId, runId }: RunRequest, { code, message, remedy }: Problem): TransportAnswer {
  const frames = [
    sseFrame({ type: 'RUN_STARTED', threadId, runId }, undefined),
    sseFrame({ type: 'RUN_ERROR', message: `${message}; ${remedy}`, code }, undefined),
  ]
  return { status: 200, headers: { 'content-type': 'text/event-stream; charset=utf-8' }, body: frames.join('') }
}

function interruptConflictAnswer(error: Problem, open: readonly TaskWait[]): TransportAnswer {
  const interrupts = open.map(({ id, summary, expiresAt }) =>
    confirmationInterrupt({ id, message: summary, expiresAt }),
  )
  return { status: 409, headers: { 'content-type': 'application/json' }, body: JSON.stringify({ error, interrupts }) }
}
