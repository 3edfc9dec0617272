// Interrupts of a thread: what a run that paused waits for, and the decisions a request brings about them. One resume decides
// about every one that is open; one that is over cannot be decided any more. A command decides in words, about the one it names.
import type { TaskService, TaskWait, TransportAnswer } from '../../../src/contract/index.ts'
import { parseBoundedJson } from '../../../src/lib/index.ts'
import { decisionId, parseRunCommand } from '../normalize.ts'
import { confirmationInterrupt } from '../render.ts'
import { type RunRequest, runRequestSchema } from '../wire.ts'
import { sseFrame } from './run-events.ts'

export type InterruptCheck =
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
    return open.length === 0 ? free : checkWithoutResume(request, open, isStreamed)
  return resumeInterrupts({ tasks, request, subject, waits, isStreamed })
}

type Resumption = {
  readonly tasks: TaskService
  readonly request: RunRequest
  readonly subject: string
  readonly waits: readonly TaskWait[]
  readonly isStreamed: boolean
}

async function resumeInterrupts({ tasks, request, subject, waits, isStreamed }: Resumption): Promise<InterruptCheck> {
  const open = waits.filter((wait) => !wait.isOver)
  const continuesTurn = new Map<string, string>()
  for (const { interruptId } of request.resume ?? []) {
    const wait = waits.find(({ id }) => id === interruptId)
    // Decided long ago by this very request: it is told the same again.
    const before =
      wait === undefined ? await tasks.ofMessageId(decisionId(request, interruptId), { subject }) : undefined
    if (wait === undefined && before === undefined) return blockedRequest(request, isStreamed, unknownInterrupt, open)
    const taskId = wait?.taskId ?? before
    if (taskId !== undefined && !(wait?.isOver === false && wait.isTaskOver)) continuesTurn.set(interruptId, taskId)
  }
  const decided = new Set((request.resume ?? []).map(({ interruptId }) => interruptId))
  if (open.some((wait) => !decided.has(wait.id)))
    return blockedRequest(request, isStreamed, partialDecisionProblem(open), open)
  return { kind: 'decides', tasks: continuesTurn }
}

/**
 * Without a resume: results and commands are taken, and so are words, as on every channel. Only a stream is held to its protocol,
 * whose clients begin nothing else while an interrupt is open.
 */
function checkWithoutResume(request: RunRequest, open: readonly TaskWait[], isStreamed: boolean): InterruptCheck {
  if (request.messages.at(-1)?.role === 'tool') return free
  const command = parseRunCommand(request)
  // The run that asks, sent again, is told what it asked.
  const isAgain = open.some(({ runId }) => runId === request.runId)
  if (command === undefined)
    return isStreamed && !isAgain ? blockedRequest(request, isStreamed, openInterruptProblem(open), open) : free
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

function approvalChoices(open: readonly TaskWait[]): string {
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
    remedy: `answer with ${approvalChoices(open)}, send resume with a decision about every open interrupt, or use another threadId`,
  }
}

function partialDecisionProblem(open: readonly TaskWait[]): Problem {
  return {
    code: 'interrupts_not_all_decided',
    message: 'not every open interrupt of this thread is decided',
    remedy: `send one resume with an entry for each of them, or decide one by one with ${approvalChoices(open)}`,
  }
}

const unknownInterrupt: Problem = {
  code: 'interrupt_unknown',
  message: 'nothing of this id waits for a decision here',
  remedy: 'use the id of an interrupt of a run on this thread; one that expired is asked for anew',
}

function blockedRequest(
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
