// Interrupts of a thread and the decisions a request brings about them (msg 13.6): every one that is open must be decided at once,
// one that is over cannot be decided any more, and nothing else is begun while one is open.
import type { TaskDesk, TransportAnswer } from '../../../src/contract/index.ts'
import { parseBoundedJson } from '../../../src/verification/index.ts'
import { type RunRequest, runRequestSchema } from '../wire.ts'
import { frameOf } from './events.ts'

export type Passage =
  | { readonly kind: 'free' }
  /** The paused task that it goes on with. */
  | { readonly kind: 'decides'; readonly taskId: string }
  | { readonly kind: 'blocked'; readonly answer: TransportAnswer }

type Asked = { readonly agent: string; readonly subject: string; readonly bytes: Uint8Array; readonly accept: string }

const free: Passage = { kind: 'free' }

export async function passageOf(tasks: TaskDesk, { agent, subject, bytes, accept }: Asked): Promise<Passage> {
  const json = parseBoundedJson(bytes)
  const request = json.ok ? runRequestSchema.safeParse(json.value).data : undefined
  // What cannot be read is refused where it is read.
  if (request === undefined) return free
  const waits = await tasks.waits(agent, request.threadId, { subject })
  const open = waits.filter((wait) => !wait.isOver)
  const resume = request.resume ?? []
  if (resume.length === 0) {
    const isResult = request.messages.at(-1)?.role === 'tool'
    return open.length === 0 || isResult ? free : blocked(request, accept, problems.pending)
  }
  const decided = new Set(resume.map(({ interruptId }) => interruptId))
  const [about] = waits.filter((wait) => decided.has(wait.id))
  if (about === undefined) return blocked(request, accept, problems.unknown)
  if (open.some((wait) => !decided.has(wait.id))) return blocked(request, accept, problems.partial)
  return { kind: 'decides', taskId: about.taskId }
}

type Problem = { readonly code: string; readonly message: string; readonly remedy: string }

const problems = {
  pending: {
    code: 'interrupts_pending',
    message: 'A decision is waited for on this thread.',
    remedy: 'send resume with a decision about every open interrupt, or use another threadId',
  },
  unknown: {
    code: 'interrupt_unknown',
    message: 'Nothing of this id waits for a decision here.',
    remedy: 'use the id of an interrupt of a run on this thread; one that expired is asked for anew',
  },
  partial: {
    code: 'interrupts_not_all_decided',
    message: 'Not every open interrupt is decided.',
    remedy: 'send one resume with an entry for every open interrupt of the thread',
  },
} as const satisfies Record<string, Problem>

function blocked(request: RunRequest, accept: string, problem: Problem): Passage {
  const answer = accept.includes('text/event-stream') ? streamed(request, problem) : refused(problem)
  return { kind: 'blocked', answer }
}

function streamed({ threadId, runId }: RunRequest, { code, message, remedy }: Problem): TransportAnswer {
  const frames = [
    frameOf({ type: 'RUN_STARTED', threadId, runId }, undefined),
    frameOf({ type: 'RUN_ERROR', message: `${message} ${remedy}`, code }, undefined),
  ]
  return { status: 200, headers: { 'content-type': 'text/event-stream; charset=utf-8' }, body: frames.join('') }
}

function refused(problem: Problem): TransportAnswer {
  return {
    status: 409,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ error: problem }),
  }
}
