// /stop: ends what runs in this conversation, and what it waits for. Only the run's owner may, or an operator.
import type { ChatCommandContext } from './command.ts'

export async function answerStop({ deps, glance, principal, isOperator, agent }: ChatCommandContext): Promise<string> {
  const runs = [...(glance?.running === null ? [] : [glance?.running]), ...(glance?.paused ?? [])].filter(
    (run) => run !== undefined,
  )
  if (runs.length === 0) return 'Nothing is running here. Write to me when you want something done.'
  const own = runs.filter((run) => isOperator || run.owner === principal)
  if (own.length === 0) {
    const attempt = { action: 'run.cancel', outcome: 'refused', code: 'not_the_owner', subject: principal, agent }
    for (const run of runs) await deps.audit.record({ ...attempt, objectId: run.id })
    return 'What runs here was started by another person. They can stop it, and so can my operator.'
  }
  const outcomes = await Promise.all(own.map((run) => deps.runs.cancel(run.id, principal)))
  if (outcomes.some((outcome) => outcome?.kind === 'stopping'))
    return 'Stopping. What has begun is finished, nothing new begins; I will tell you when it is done.'
  if (outcomes.some((outcome) => outcome?.kind === 'cancelled'))
    return 'Stopped. What I was waiting for is withdrawn. Write again when you want me to go on.'
  return 'It was already done; there was nothing left to stop.'
}
