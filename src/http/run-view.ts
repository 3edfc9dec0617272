// One run as JSON: `agents-api/run-result/v1`, and beside it what only this gateway knows.
import { type RunResult, readRunResult } from '../agents/loop/run-result.ts'
import type { JsonObject } from '../contract/index.ts'
import type { Run } from '../db/runs.ts'

export type RunView = RunResult & {
  readonly id: string
  readonly agent: string
  readonly connection: string
  readonly owner: string | null
  readonly session_id: string | null
  readonly conversation_id: string
  readonly attempt: number
  /** The run it went on with, after a pause. */
  readonly resumes: string | null
  readonly last_seq: number | null
}

export function runView(run: Run): RunView {
  const { summary, usage, budgets, cancelRequestedAt, cancelledBy } = run
  const isStopping = run.status === 'running' && cancelRequestedAt !== null
  const result = readRunResult({
    run_id: run.runId,
    status: isStopping ? 'cancelling' : run.status,
    timestamps: { started_at: run.createdAt, ...(run.endedAt === null ? {} : { ended_at: run.endedAt }) },
    error: runError(run),
    cancellation:
      cancelRequestedAt === null ? {} : { requested_at: cancelRequestedAt, requested_by: cancelledBy ?? '' },
    metadata: { ...summary, usage, budgets, ...(run.stopReason === null ? {} : { stop_reason: run.stopReason }) },
  })
  return {
    ...result,
    id: run.id,
    agent: run.agent,
    connection: run.connection,
    owner: run.owner,
    session_id: run.sessionId,
    conversation_id: run.conversationId,
    attempt: run.attempt,
    resumes: run.resumes,
    last_seq: run.lastSeq,
  }
}

function runError({ status, stopReason, summary }: Run): JsonObject {
  return status === 'failed' ? { code: summary['failure_type'] ?? stopReason ?? 'failed' } : {}
}
